"""Decoding: greedy against its loop, and the exact decoder against all subsets.

What all decoders promise is in contract/test_variants.py.
"""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from goldgap.core.errors import UnknownNameError
from goldgap.decode import Candidate, decode

candidates = st.lists(
    st.builds(
        lambda start, width, label, score, gain: Candidate(start, start + width, label, score / 8, gain / 4),
        st.integers(0, 8),
        st.integers(1, 4),
        st.integers(1, 2),
        st.integers(1, 8),
        st.integers(-2, 8),
    ),
    max_size=8,
    unique=True,
)


def overlap(one: Candidate, other: Candidate) -> bool:
    return one.start < other.end and other.start < one.end


def is_flat(chosen: list[Candidate]) -> bool:
    return not any(overlap(a, b) for a, b in combinations(chosen, 2))


@settings(derandomize=True, deadline=None, max_examples=300)
@given(candidates)
def test_dp_gains_as_much_as_the_best_of_all_subsets_and_at_least_as_much_as_greedy(items: list[Candidate]) -> None:
    def gain(chosen: list[Candidate]) -> float:
        return sum(item.gain for item in chosen)

    subsets = (list(subset) for size in range(len(items) + 1) for subset in combinations(items, size))
    best = max(gain(subset) for subset in subsets if is_flat(subset))
    assert gain(decode(items, "dp")) == pytest.approx(best)
    assert gain(decode(items, "dp")) >= gain(decode(items, "greedy")) - 1e-9


@settings(derandomize=True, deadline=None)
@given(candidates)
def test_greedy_is_the_loop_that_it_is_described_as(items: list[Candidate]) -> None:
    chosen: list[Candidate] = []
    for item in sorted(items, key=lambda item: (-item.score, item.start, item.end, item.label)):
        if not any(overlap(item, other) for other in chosen):
            chosen.append(item)
    assert decode(items, "greedy") == sorted(chosen, key=lambda item: item[:3])


def test_touching_spans_do_not_overlap() -> None:
    items = [Candidate(0, 2, 1, 0.9, 1.0), Candidate(2, 3, 1, 0.8, 1.0)]
    assert decode(items, "greedy") == decode(items, "dp") == items


def test_ties_go_to_the_earlier_start_then_end_then_label() -> None:
    items = [Candidate(1, 3, 1, 0.5, 1.0), Candidate(0, 2, 2, 0.5, 1.0), Candidate(0, 2, 1, 0.5, 1.0)]
    assert decode(items, "greedy") == [Candidate(0, 2, 1, 0.5, 1.0)]


def test_thresholds_hold_for_all_and_for_each_label() -> None:
    items = [Candidate(0, 1, 1, 0.6, 1.0), Candidate(1, 2, 2, 0.6, 1.0), Candidate(2, 3, 2, 0.9, 1.0)]
    assert [item.start for item in decode(items, min_prob=0.7)] == [2]
    assert [item.start for item in decode(items, thresholds={2: 0.7})] == [0, 2]
    assert [item.start for item in decode(items, min_prob=0.6)] == [0, 1, 2]


def test_an_unknown_decoder_names_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'greedy'"):
        decode([], "gredy")
