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
SIGNIFICANT = 0.05
"""Largest p-value of a difference that counts."""
ENOUGH = 3
"""Seeds below which no difference counts."""
FEW = 30
"""Documents below which none counts either: so few say too little of how much documents differ."""
TOO_FEW = "undecided: too few documents"


class Interval(NamedTuple):
    """Where the middle 95 % of the resampled values lie."""

    low: float
    high: float


class Comparison(NamedTuple):
    """F1 of the second minus F1 of the first, its interval, and the two-sided p-value that they are equal.

    documents   how many it is of
    """

    difference: float
    interval: Interval
    p_value: float
    documents: int

    @property
    def verdict(self) -> str:
        """Of the second against the first: "better", "worse", "undecided" or TOO_FEW."""
        if self.documents < FEW:
            return TOO_FEW
        if self.p_value >= SIGNIFICANT:
            return "undecided"
        return "better" if self.difference > 0 else "worse"


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

    documents   how many it is of
    seeds       of the runs
    f1          as it is  (run,)
    drawn       on resampled documents  (sample, run)
    """

    documents: int
    seeds: tuple[int, ...]
    f1: NDArray[np.float64]
    drawn: NDArray[np.float64]

    def minus(self, other: Resampled) -> Resampled:
        """Run by run, where both have the seed."""
        both = [seed for seed in self.seeds if seed in other.seeds]
        mine, theirs = ([one.seeds.index(seed) for seed in both] for one in (self, other))
        f1, drawn = self.f1[mine] - other.f1[theirs], self.drawn[:, mine] - other.drawn[:, theirs]
        return Resampled(self.documents, tuple(both), f1, drawn)

    def means(self) -> NDArray[np.float64]:
        """The mean of as many other runs on other documents, drawn at random.  -> (sample,)

        Its variance is that over documents and a share of that between seeds; the fewer the seeds and the larger
        their share, the wider its tails (Welch and Satterthwaite). What a seed adds is drawn by its number: where it
        moved two contenders together, it does so in each draw.
        """
        import numpy as np

        mean: NDArray[np.float64] = self.drawn.mean(1)
        number = len(self.seeds)
        between = float(self.f1.var(ddof=1)) / number if number > 1 else 0.0
        if not between:
            return mean
        freedom = (number - 1) * ((mean.var() + between) / between) ** 2
        stretched = np.sqrt(freedom / np.random.default_rng(1).chisquare(freedom, len(mean)))
        weights = [np.random.default_rng([1, seed]).standard_normal(len(mean)) for seed in self.seeds]  # (run, sample)
        off = mean - mean.mean() + (self.f1 - self.f1.mean()) @ np.stack(weights) / np.sqrt(number * (number - 1))
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
        Resampled(len(rows), tuple(contender), *both)
        for contender, *both in zip(runs, np.split(own[0], ends), np.split(f1, ends, axis=1), strict=True)
    ]


def difference(first: Resampled, second: Resampled) -> Comparison:
    """What the resampled scores of two contenders say about the second against the first."""
    apart = second.minus(first)
    differences = apart.means()  # (sample,)
    # The share of resamples on the far side of zero, doubled; one is added so that no finite sample proves p = 0.
    below, above = int((differences <= 0).sum()), int((differences >= 0).sum())
    p_value = min(1.0, 2 * (min(below, above) + 1) / (len(differences) + 1))
    return Comparison(float(apart.f1.mean()), interval_of(differences), p_value, apart.documents)


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
