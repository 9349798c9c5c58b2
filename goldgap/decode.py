"""Scores to entities. The only decoder: training, evaluation, prediction and serving all call it.

Candidates come from any model; what is decided here is which of them stay when they may not overlap. The same set of
candidates gives the same answer in any order: ties are broken by (score, start, end, label).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping
from operator import attrgetter
from typing import NamedTuple

from goldgap.core.registry import Registry


class Candidate(NamedTuple):
    """Words (or characters) start..end-1 with a label.

    score   its probability
    gain    log p(label) - log p(O): what `dp` adds up
    rank    what comes first where candidates overlap; None: the likeliest
    """

    start: int
    end: int
    label: int
    score: float
    gain: float
    rank: float | None = None


Decoder = Callable[[list[Candidate]], list[Candidate]]
decoders: Registry[Decoder] = Registry("decoder")


def decode(
    candidates: Iterable[Candidate],
    how: str = "greedy",
    *,
    min_prob: float = 0.0,
    thresholds: Mapping[int, float] | None = None,
) -> list[Candidate]:
    """The candidates that become entities, in order of the text.

    min_prob, thresholds   least score of any candidate, and of candidates with a certain label
    """
    least = thresholds or {}
    passed = [item for item in candidates if item.score >= max(min_prob, least.get(item.label, 0.0))]
    ranked = sorted(passed, key=_rank)
    return sorted(decoders.get(how)(ranked), key=attrgetter("start", "end", "label"))


def _rank(item: Candidate) -> tuple[float, int, int, int, float]:
    first = item.score if item.rank is None else item.rank
    return -first, item.start, item.end, item.label, -item.gain


def _keep_all(ranked: list[Candidate]) -> list[Candidate]:
    """Every candidate: nested entities, several labels for one span."""
    return ranked


def _greedy(ranked: list[Candidate]) -> list[Candidate]:
    """The best first, then each that shares no word with one already taken."""
    taken: list[Candidate] = []  # in order of start
    for item in ranked:
        place = bisect_right(taken, item.start, key=attrgetter("start"))
        free_before = place == 0 or taken[place - 1].end <= item.start
        free_behind = place == len(taken) or item.end <= taken[place].start
        if free_before and free_behind:
            taken.insert(place, item)
    return taken


def _exact(ranked: list[Candidate]) -> list[Candidate]:
    """The set without overlap whose gains add up to the most (weighted interval scheduling).

    Of two sets with equal sums the one is taken that is found first in the order of ranks.
    """
    by_end = sorted((item for item in ranked if item.gain > 0), key=attrgetter("end"))
    ends = [item.end for item in by_end]
    best = [0.0]  # best[i]: the most that the first i candidates give
    for index, item in enumerate(by_end):
        before = bisect_right(ends, item.start, hi=index)
        best.append(max(best[-1], best[before] + item.gain))
    chosen = []
    index = len(by_end)
    while index:
        item = by_end[index - 1]
        if best[index] == best[index - 1]:
            index -= 1
        else:
            chosen.append(item)
            index = bisect_right(ends, item.start, hi=index - 1)
    return chosen


decoders.add("none", _keep_all)
decoders.add("greedy", _greedy)
decoders.add("dp", _exact)
