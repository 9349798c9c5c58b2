"""Several contenders with several seeds on the same resamples, and p-values of several tests."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest

from goldgap.evaluate.bootstrap import compare, difference, f1_interval, holm, resampled_f1
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
    drawn = resampled_f1([[first], [second]], samples=500, seed=3)
    expected = compare(first, second, samples=500, seed=3)
    assert difference(drawn[:, 0], drawn[:, 1], expected.difference) == expected


def test_the_mean_of_equal_seeds_is_that_of_one() -> None:
    counts = some_counts(1)
    drawn = resampled_f1([[counts], [counts] * 3], samples=200)
    assert np.allclose(drawn[:, 0], drawn[:, 1])
    low, high = np.quantile(drawn[:, 0], [0.025, 0.975])
    assert (low, high) == pytest.approx(f1_interval(counts, samples=200))


def test_seeds_are_drawn_anew_and_the_same_for_all() -> None:
    # Documents that are all alike: what varies is the draw of seeds alone.
    ten = [[Counts(tp, 4, 4)] * 5 for tp in (1, 2, 4)]  # F1 0.25, 0.5, 1
    drawn = resampled_f1([ten, ten, ten[:1]], samples=4000)
    possible = {round(sum(choice) / 3, 9) for choice in itertools.product((0.25, 0.5, 1.0), repeat=3)}
    assert {round(float(value), 9) for value in drawn[:, 0]} == possible
    assert (drawn[:, 0] == drawn[:, 1]).all()
    assert (drawn[:, 2] == 0.25).all()
    assert drawn[:, 0].mean() == pytest.approx(1.75 / 3, abs=0.02)


def test_resamples_of_documents_are_the_same_for_all_contenders() -> None:
    first = some_counts(1)
    better = [Counts(min(gold, tp + 1), max(predicted, min(gold, tp + 1)), gold) for tp, predicted, gold in first]
    drawn = resampled_f1([[first], [better]], samples=300)
    assert (drawn[:, 1] >= drawn[:, 0]).all()


def test_p_values_are_adjusted_as_holm_says() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.5, 0.6]) == [1.0, 1.0]
    assert holm([0.2]) == [0.2]
    assert holm([]) == []
