"""The paired bootstrap: as many false alarms as it promises, real differences found, p-values of a permutation test."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import permutation_test

from goldgap.evaluate.bootstrap import compare, difference, resampled_f1
from goldgap.evaluate.counts import Counts

pytestmark = pytest.mark.slow


def two_systems(
    seed: int, documents: int = 1000, recall: tuple[float, float] = (0.7, 0.7)
) -> tuple[list[Counts], list[Counts]]:
    """Two systems on the same documents, of about two entities each; what is hard for one is hard for the other."""
    chance = np.random.default_rng(seed)
    gold = chance.poisson(2, documents)
    sides: tuple[list[Counts], list[Counts]] = ([], [])
    for number in gold:
        hardness = chance.random(number)
        noise = chance.random((2, number))
        shared = chance.random((2, number)) < 0.7  # most entities are found by both or by neither
        for side, rate in enumerate(recall):
            found = int((np.where(shared[0], hardness, noise[side]) < rate).sum())
            spurious = int(chance.poisson(0.3 * max(number, 1)))
            sides[side].append(Counts(found, found + spurious, int(number)))
    return sides


def f1(counts: list[Counts]) -> float:
    tp, predicted, gold = np.sum(counts, axis=0)
    return float(2 * tp / (predicted + gold))


def test_one_alarm_in_twenty_is_false() -> None:
    alarms = sum(compare(*two_systems(seed, documents=400)).p_value < 0.05 for seed in range(500))
    assert 0.03 <= alarms / 500 <= 0.07


def several_seeds(number: int, deviation: float, second: float = 0.7) -> list[dict[int, list[Counts]]]:
    """Two methods with three seeds on the same 1,000 documents; the recall of a seed varies around the method's."""
    chance = np.random.default_rng(number)
    gold = chance.poisson(2, 1000)
    exists, hardness = np.arange(8) < gold[:, None], chance.random((1000, 8))
    contenders = []
    for recall in (0.7, second):
        runs = {}
        for seed in range(3):
            own = np.where(chance.random((1000, 8)) < 0.7, hardness, chance.random((1000, 8)))
            found = ((own < recall + chance.normal(0, deviation)) & exists).sum(1)
            predicted = found + chance.poisson(0.3 * np.maximum(gold, 1))
            columns = (found.tolist(), predicted.tolist(), gold.tolist())
            runs[seed] = [Counts(*row) for row in zip(*columns, strict=True)]
        contenders.append(runs)
    return contenders


def found_apart(number: int, second: float, deviation: float) -> bool:
    return difference(*resampled_f1(several_seeds(number, deviation, second), samples=400)).p_value < 0.05


def test_seeds_that_differ_raise_no_more_false_alarms() -> None:
    assert sum(found_apart(number, 0.7, deviation=0.026) for number in range(150)) / 150 <= 0.085


def test_a_difference_is_found_over_seeds_that_differ() -> None:
    assert sum(found_apart(number, 0.76, deviation=0.013) for number in range(50)) >= 35


def test_a_difference_of_three_points_is_found() -> None:
    better = (0.7, 0.744)
    differences = [
        f1(second) - f1(first) for first, second in (two_systems(seed, recall=better) for seed in range(100))
    ]
    assert np.mean(differences) == pytest.approx(0.03, abs=0.003)
    found = sum(compare(*two_systems(seed, recall=better)).verdict == "better" for seed in range(100))
    assert found >= 80


def test_p_values_are_near_those_of_a_permutation_test() -> None:
    def statistic(
        first: NDArray[np.int64], second: NDArray[np.int64], axis: int = -1
    ) -> NDArray[np.float64]:  # of counts packed into whole numbers
        def score(packed: NDArray[np.int64]) -> NDArray[np.float64]:
            tp, predicted, gold = ((packed // 100**place % 100).sum(axis) for place in range(3))
            value: NDArray[np.float64] = 2 * tp / (predicted + gold)
            return value

        return score(second) - score(first)

    for seed in range(12):
        sides = two_systems(seed, documents=500)
        packed = [np.array([tp + 100 * p + 10_000 * g for tp, p, g in side]) for side in sides]
        theirs = permutation_test(
            packed, statistic, permutation_type="samples", n_resamples=5000, vectorized=True, rng=0
        )
        ours = compare(*sides, samples=20_000)
        assert ours.p_value == pytest.approx(theirs.pvalue, abs=0.05)
        assert ours.difference == pytest.approx(theirs.statistic)
