"""Bootstrap over documents: the interval of an F1, and whether two sets of predictions differ.

Where a method was trained with several seeds, its score is the mean over them, and other seeds would have given
another: how far apart they are counts as well, by Student's t, since three of them say little of it.

A resample of N documents only matters through how often each kind of document is drawn, a kind being its counts.
So it is a multinomial draw over the few distinct kinds: the same law as drawing documents, at a fraction of the cost.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from goldgap.core.errors import InputError
from goldgap.evaluate.counts import Counts

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

LEVEL = 0.95
ENOUGH = 3
"""Seeds below which no difference counts."""


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
    return interval_of(_f1(*drawn.T))


def compare(first: Sequence[Counts], second: Sequence[Counts], *, samples: int = 1000, seed: int = 0) -> Comparison:
    """Paired bootstrap: both predictions are scored on the same resampled documents."""
    if len(first) != len(second):
        raise InputError(f"{len(first)} documents against {len(second)}: a paired test needs the same documents")
    if not samples or not first:
        raise InputError("a paired test needs at least one document and one resample; raise --samples")
    return difference(*resampled_f1([{0: first}, {0: second}], samples=samples, seed=seed))


class Resampled(NamedTuple):
    """F1 of the runs of one contender, or of its differences to another.

    seeds   of the runs
    f1      as it is  (run,)
    drawn   on resampled documents  (sample, run)
    """

    seeds: tuple[int, ...]
    f1: NDArray[np.float64]
    drawn: NDArray[np.float64]

    def minus(self, other: Resampled) -> Resampled:
        """Run by run, where both have the seed."""
        both = [seed for seed in self.seeds if seed in other.seeds]
        mine, theirs = ([one.seeds.index(seed) for seed in both] for one in (self, other))
        return Resampled(tuple(both), self.f1[mine] - other.f1[theirs], self.drawn[:, mine] - other.drawn[:, theirs])

    def means(self, seed: int = 0) -> NDArray[np.float64]:
        """The mean of as many other runs on other documents, drawn at random.  -> (sample,)

        Its variance is that over documents and a share of that between seeds; the fewer the seeds and the larger
        their share, the wider its tails (Welch and Satterthwaite).
        """
        import numpy as np

        mean: NDArray[np.float64] = self.drawn.mean(1)
        number = len(self.seeds)
        between = float(self.f1.var(ddof=1)) / number if number > 1 else 0.0
        if not between:
            return mean
        chance = np.random.default_rng([seed, 1])
        freedom = (number - 1) * ((mean.var() + between) / between) ** 2
        stretched = np.sqrt(freedom / chance.chisquare(freedom, len(mean)))
        off = mean - mean.mean() + np.sqrt(between) * chance.standard_normal(len(mean))
        drawn: NDArray[np.float64] = mean.mean() + off * stretched
        return drawn


def resampled_f1(
    runs: Sequence[Mapping[int, Sequence[Counts]]], *, samples: int = 1000, seed: int = 0
) -> list[Resampled]:
    """Each contender's runs on the same resampled documents; runs[contender][seed][document]."""
    import numpy as np

    every = [counts for contender in runs for counts in contender.values()]
    rows = [tuple(number for counts in row for number in counts) for row in zip(*every, strict=True)]
    totals = np.array(rows, dtype=np.int64).sum(0, keepdims=True)  # (1, 3 * run)
    drawn = _resample(rows, samples, seed)  # (sample, 3 * run)
    own, f1 = (_f1(sums[:, 0::3], sums[:, 1::3], sums[:, 2::3]) for sums in (totals, drawn))
    ends = np.cumsum([len(contender) for contender in runs])[:-1]
    return [
        Resampled(tuple(contender), *both)
        for contender, *both in zip(runs, np.split(own[0], ends), np.split(f1, ends, axis=1), strict=True)
    ]


def difference(first: Resampled, second: Resampled) -> Comparison:
    """What the resampled scores of two contenders say about the second against the first."""
    apart = second.minus(first)
    differences = apart.means()  # (sample,)
    # The share of resamples on the far side of zero, doubled; one is added so that no finite sample proves p = 0.
    below, above = int((differences <= 0).sum()), int((differences >= 0).sum())
    p_value = min(1.0, 2 * (min(below, above) + 1) / (len(differences) + 1))
    return Comparison(float(apart.f1.mean()), interval_of(differences), p_value)


def holm(p_values: Sequence[float]) -> list[float]:
    """The p-values of several tests, adjusted so that the chance of any false alarm stays what it says (Holm 1979)."""
    adjusted = [1.0] * len(p_values)
    least = 0.0
    for rank, index in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        least = max(least, min(1.0, (len(p_values) - rank) * p_values[index]))
        adjusted[index] = least
    return adjusted


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


def interval_of(values: NDArray[np.float64]) -> Interval:
    """The middle 95 % of resampled values."""
    import numpy as np

    tail = (1 - LEVEL) / 2
    low, high = np.quantile(values, [tail, 1 - tail])
    return Interval(float(low), float(high))
