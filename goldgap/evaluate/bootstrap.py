"""Bootstrap over documents: the interval of an F1, and whether two sets of predictions differ.

A resample of N documents only matters through how often each kind of document is drawn, a kind being its counts.
So it is a multinomial draw over the few distinct kinds: the same law as drawing documents, at a fraction of the cost.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from goldgap.core.errors import InputError
from goldgap.evaluate.counts import Counts

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

LEVEL = 0.95


class Interval(NamedTuple):
    """Where the middle 95 % of the resampled values lie."""

    low: float
    high: float


class Comparison(NamedTuple):
    """F1 of the second minus F1 of the first, its interval, and the two-sided p-value that they are equal."""

    difference: float
    interval: Interval
    p_value: float

    @property
    def verdict(self) -> str:
        """Of the second against the first: "better", "worse" or "undecided"."""
        return "better" if self.interval.low > 0 else "worse" if self.interval.high < 0 else "undecided"


def f1_interval(counts: Sequence[Counts], *, samples: int = 1000, seed: int = 0) -> Interval:
    """The 95 % interval of the micro F1 when documents are drawn anew; the point itself when samples is 0."""
    import numpy as np

    if not samples or not counts:
        tp, predicted, gold = np.sum(np.asarray(counts, dtype=np.int64).reshape(-1, 3), axis=0)
        point = float(_f1(tp, predicted, gold))
        return Interval(point, point)
    drawn = _resample(counts, samples, seed)  # (sample, 3)
    return _interval(_f1(*drawn.T))


def compare(first: Sequence[Counts], second: Sequence[Counts], *, samples: int = 1000, seed: int = 0) -> Comparison:
    """Paired bootstrap: both predictions are scored on the same resampled documents."""
    if len(first) != len(second):
        raise InputError(f"{len(first)} documents against {len(second)}: a paired test needs the same documents")
    if not samples or not first:
        raise InputError("a paired test needs at least one document and one resample; raise --samples")
    pairs = [(*one, *other) for one, other in zip(first, second, strict=True)]
    drawn = _resample(pairs, samples, seed)  # (sample, 6)
    differences = _f1(*drawn[:, 3:].T) - _f1(*drawn[:, :3].T)
    observed = f1_interval(second, samples=0).low - f1_interval(first, samples=0).low
    # The share of resamples on the far side of zero, doubled; one is added so that no finite sample proves p = 0.
    below, above = int((differences <= 0).sum()), int((differences >= 0).sum())
    p_value = min(1.0, 2 * (min(below, above) + 1) / (samples + 1))
    return Comparison(observed, _interval(differences), p_value)


def _resample(counts: Sequence[tuple[int, ...]], samples: int, seed: int) -> NDArray[np.int64]:
    """Sums of the counts over documents drawn with replacement.  (document, column) -> (sample, column)"""
    import numpy as np

    tally = sorted(Counter(counts).items())
    kinds = np.array([kind for kind, _ in tally], dtype=np.int64)  # (kind, column)
    share = np.array([number for _, number in tally]) / len(counts)  # (kind,)
    times = np.random.default_rng(seed).multinomial(len(counts), share, size=samples)  # (sample, kind)
    drawn: NDArray[np.int64] = times @ kinds
    return drawn


def _f1(tp: NDArray[np.int64], predicted: NDArray[np.int64], gold: NDArray[np.int64]) -> NDArray[np.float64]:
    import numpy as np

    total = predicted + gold
    f1: NDArray[np.float64] = np.where(total > 0, 2 * tp / np.maximum(total, 1), 0.0)
    return f1


def _interval(values: NDArray[np.float64]) -> Interval:
    import numpy as np

    tail = (1 - LEVEL) / 2
    low, high = np.quantile(values, [tail, 1 - tail])
    return Interval(float(low), float(high))
