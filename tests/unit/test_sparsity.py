"""Sparsity and its promises, against brute force and the numbers in the paper."""

from __future__ import annotations

import itertools
import math

import pytest

from goldgap import Corpus, Document, Entity
from goldgap.diagnose.sparsity import (
    Sentence,
    by_length,
    coverage,
    coverage_bound,
    draws,
    expected_missampling,
    guarantee,
    guarantee_bound,
    sentences_of,
    spans,
)


@pytest.mark.parametrize("words", [1, 2, 5, 9])
@pytest.mark.parametrize("max_width", [0, 1, 3, 20])
def test_spans_are_counted_as_a_loop_counts_them(words: int, max_width: int) -> None:
    every = [(i, j) for i in range(words) for j in range(i, words) if not max_width or j - i < max_width]
    assert spans(words, max_width) == len(every)


@pytest.mark.parametrize(("annotated", "missing"), [(0, 0), (0, 1), (1, 2), (2, 3)])
@pytest.mark.parametrize("max_width", [0, 2])
def test_the_guarantee_is_the_share_of_draws_without_a_missing_entity(
    annotated: int, missing: int, max_width: int
) -> None:
    sentence = Sentence(4, annotated, missing)
    candidates = range(spans(4, max_width) - annotated)  # of which the first are the missing ones
    every = list(itertools.combinations(candidates, draws(4, 0.5)))
    clean = sum(all(candidate >= missing for candidate in drawn) for drawn in every)
    assert guarantee(sentence, 0.5, max_width) == pytest.approx(clean / len(every))


def test_the_guarantee_is_never_below_its_bound_for_sparse_sentences() -> None:
    checked = 0
    for words, annotated, missing in itertools.product(range(2, 60), range(4), range(4)):
        sentence = Sentence(words, annotated, missing)
        for ratio in (0.1, 0.35, 0.7):
            if sentence.sparse and ratio * words >= 1:
                checked += 1
                assert guarantee(sentence, ratio) >= guarantee_bound(words, ratio)
                assert coverage(sentence, ratio) <= coverage_bound(words) + 1e-12
    assert checked > 1000


def test_the_worked_example_of_the_paper() -> None:
    assert guarantee_bound(20, 0.1) == pytest.approx(0.906, abs=0.001)


def test_expected_missampling_is_the_mean_over_all_draws() -> None:
    two = [Sentence(4, 1, 1), Sentence(2, 0, 1)]
    # 2 draws from 9 candidates with 1 missing entity, 1 draw from 3 with 1.
    assert expected_missampling(two, 0.5) == pytest.approx((2 / 9 + 1 / 3) / 3)
    assert expected_missampling([], 0.5) == 0.0
    assert expected_missampling([Sentence(1, 1, 0)], 0.5) == 0.0


def test_sentences_are_counted_with_what_was_masked() -> None:
    ann, bob = Entity(0, 3, "PER"), Entity(8, 11, "PER")
    corpus = Corpus([Document("Ann met Bob", (ann,), dropped=(bob,)), Document("")])
    assert sentences_of(corpus) == [Sentence(3, 1, 1)]
    wide = Corpus([Document("Ann Lee met Bob", (Entity(0, 7, "PER"),), dropped=(Entity(8, 15, "PER"),))])
    assert sentences_of(wide, 2) == [Sentence(4, 1, 1)]
    assert sentences_of(wide, 1) == [Sentence(4, 0, 0)]  # what is too wide is no candidate
    assert not Sentence(3, 1, 1).sparse
    assert Sentence(4, 1, 1).sparse


def test_bins_hold_every_sentence_once() -> None:
    every = [Sentence(words, 0, 0) for words in range(1, 101)]
    bins = by_length(every, step=10, most=60)
    assert [(one.low, one.high) for one in bins] == [
        (1, 10), (11, 20), (21, 30), (31, 40), (41, 50), (51, 60), (61, 100)
    ]  # fmt: skip
    assert sum(len(one.sentences) for one in bins) == 100
    assert bins[0].middle == 5.5
    assert math.isclose(bins[-1].middle, 80.5)
