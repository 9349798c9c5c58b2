"""Several contenders with several seeds on the same resamples, and p-values of several tests."""

from __future__ import annotations

import random

import numpy as np
import pytest
from scipy.stats import ttest_1samp

from goldgap.evaluate.bootstrap import (
    TOO_FEW,
    Comparison,
    Interval,
    compare,
    difference,
    f1_interval,
    holm,
    resampled_f1,
)
from goldgap.evaluate.counts import Counts


def some_counts(seed: int, documents: int = 40) -> list[Counts]:
    chance = random.Random(seed)
    found = []
    for _ in range(documents):
        gold, predicted = chance.randrange(4), chance.randrange(4)
        found.append(Counts(chance.randint(0, min(gold, predicted)), predicted, gold))
    return found


def test_two_contenders_with_one_seed_are_the_paired_test() -> None:
    first, second = some_counts(1), some_counts(2)
    found = difference(*resampled_f1([{5: first}, {5: second}], samples=500, seed=3))
    assert found == compare(first, second, samples=500, seed=3)


@pytest.mark.parametrize(("documents", "verdict"), [(2, TOO_FEW), (29, TOO_FEW), (30, "better")])
def test_a_handful_of_documents_decides_nothing(documents: int, verdict: str) -> None:
    assert compare([Counts(1, 2, 2)] * documents, [Counts(2, 2, 2)] * documents).verdict == verdict


@pytest.mark.parametrize(("p_value", "verdict"), [(0.049, "better"), (0.05, "undecided")])
def test_the_verdict_is_that_of_the_p_value(p_value: float, verdict: str) -> None:
    assert Comparison(0.1, Interval(0.01, 0.2), p_value, 100).verdict == verdict
    assert Comparison(-0.1, Interval(-0.2, -0.01), p_value, 100).verdict == verdict.replace("better", "worse")


def test_what_a_seed_adds_to_two_contenders_alike_leaves_their_difference() -> None:
    first = {seed: [Counts(n, 8, 8)] * 40 for seed, n in enumerate((2, 4, 6))}
    second = {seed: [Counts(n + 1, 8, 8)] * 40 for seed, n in enumerate((2, 4, 6))}
    one, other = (own.means() for own in resampled_f1([first, second], samples=500))
    assert one.std() > 0.1
    assert np.allclose(other - one, 0.125)


def test_the_mean_of_equal_seeds_is_that_of_one() -> None:
    counts = some_counts(1)
    one, three = resampled_f1([{0: counts}, dict.fromkeys(range(3), counts)], samples=200)
    assert np.allclose(one.means(), three.means())
    low, high = np.quantile(one.means(), [0.025, 0.975])
    assert (low, high) == pytest.approx(f1_interval(counts, samples=200))


def test_seeds_alone_spread_as_student_says() -> None:
    # Documents that are all alike: what varies is the seed alone, so the interval is that of a t-test.
    scores = [0.25, 0.5, 1.0]
    ten = {seed: [Counts(round(4 * f1), 4, 4)] * 5 for seed, f1 in enumerate(scores)}
    even = {seed: [Counts(2, 4, 4)] * 5 for seed in range(3)}
    found = difference(*resampled_f1([even, ten], samples=40_000))
    expected = ttest_1samp([f1 - 0.5 for f1 in scores], 0)
    assert found.difference == pytest.approx(0.25 / 3)
    assert found.p_value == pytest.approx(expected.pvalue, abs=0.01)
    assert found.interval == pytest.approx(tuple(expected.confidence_interval()), abs=0.05)


def test_seeds_are_paired_by_number() -> None:
    first, second = some_counts(1), some_counts(2)
    several, other = resampled_f1([{0: first, 1: second}, {1: second, 2: first}], samples=50)
    apart = other.minus(several)
    assert apart.seeds == (1,)
    assert not apart.f1.any()
    assert not apart.drawn.any()


def test_resamples_of_documents_are_the_same_for_all_contenders() -> None:
    first = some_counts(1)
    better = [Counts(min(gold, tp + 1), max(predicted, min(gold, tp + 1)), gold) for tp, predicted, gold in first]
    worse, other = resampled_f1([{0: first}, {0: better}], samples=300)
    assert (other.means() >= worse.means()).all()


def test_p_values_are_adjusted_as_holm_says() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.5, 0.6]) == [1.0, 1.0]
    assert holm([0.2]) == [0.2]
    assert holm([]) == []
