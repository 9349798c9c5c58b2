"""Policies for the unknown, on tiny tensors: their counts, their laws, their brute-force twins.

What all of them promise is in contract/test_variants.py.
"""

from __future__ import annotations

import math
from collections import Counter
from itertools import permutations

import numpy as np
import pytest
import torch
from torch import Tensor

from goldgap.core.progress import Progress
from goldgap.unknown import Cells, DenseFeatures
from goldgap.unknown.fraction import Fraction, _mix
from goldgap.unknown.top_neg import TopNeg
from goldgap.unknown.uniform import Uniform, sample_size
from goldgap.unknown.weighted import Weighted, effective_sample_size

START = Progress(epoch=0, planned_epochs=4, step=0, planned_steps=40)


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def cells(batch: int = 3, size: int = 20, *, seed: int = 0, words: int = 10, labels: Tensor | None = None) -> Cells:
    """A random batch: some cells annotated, some padding, the others unknown."""
    made = generator(seed)
    if labels is None:
        labels = torch.where(torch.rand(batch, size, generator=made) < 0.2, 1 + torch.arange(size) % 2, 0)
    unknown = (labels == 0) & (torch.rand(batch, size, generator=made) < 0.9)
    return Cells(
        logits=torch.randn(batch, size, 3, generator=made),
        labels=labels,
        unknown=unknown,
        words=torch.full((batch,), words),
        documents=torch.arange(batch),
        features=DenseFeatures(torch.randn(batch, size, 5, generator=made)),
    )


def without(batch: Cells, **changes: Tensor) -> Cells:
    values = {name: getattr(batch, name) for name in ("logits", "labels", "unknown", "words", "documents", "features")}
    return Cells(**{**values, **changes})


# Uniform


def test_uniform_draws_ceil_of_ratio_times_words() -> None:
    for words in range(1, 201):
        exact = -(-35 * words // 100)
        assert sample_size(torch.tensor([words]), 0.35, "ceil").item() == exact
        assert sample_size(torch.tensor([words]), 0.35, "floor+1").item() == 35 * words // 100 + 1
        batch = cells(batch=1, size=300, words=words, labels=torch.zeros(1, 300, dtype=torch.long))
        assert Uniform(0.35)(batch, START, generator()).sum().item() == exact


def test_uniform_takes_all_where_there_are_fewer() -> None:
    batch = cells(words=1000)
    assert torch.equal(Uniform()(batch, START, generator()), batch.unknown)


def test_uniform_takes_every_cell_equally_often() -> None:
    batch = cells(batch=1, size=8, words=6, labels=torch.zeros(1, 8, dtype=torch.long))  # ceil(.35 * 6) = 3
    made = generator(3)
    counts = sum(Uniform()(batch, START, made).long() for _ in range(4000))
    assert isinstance(counts, Tensor)
    share = counts[batch.unknown] / 4000
    assert (share - 3 / batch.unknown.sum()).abs().max() < 0.03


# Weighted


def test_temperature_falls_from_the_root_of_the_epochs_to_one() -> None:
    policy = Weighted()
    at = [policy.temperature(START._replace(epoch=epoch)) for epoch in range(4)]
    assert at == [2.0, math.sqrt(3), math.sqrt(2), 1.0]
    assert policy.temperature(START._replace(epoch=9)) == 1.0
    assert Weighted(t_min=1.5).temperature(START._replace(epoch=3)) == 1.5


@pytest.mark.parametrize(("p_outside", "weight"), [(0.99, 17.0), (0.9, 70.8), (0.7, 49.9), (0.5, 17.7)])
def test_weights_are_those_worked_out_by_hand(p_outside: float, weight: float) -> None:
    """Five labels, mu = 8, the rest spread evenly over four types: u (1 + v)^8, to three digits."""
    z = torch.tensor([p_outside] + [(1 - p_outside) / 4] * 4)
    last = START._replace(epoch=3)  # T = 1
    assert Weighted().log_weights(z.log()[None, None], last).item() == pytest.approx(weight, rel=0.003)


def test_a_cell_that_looks_like_an_entity_weighs_nearly_nothing() -> None:
    entity = torch.tensor([0.02, 0.95, 0.01, 0.01, 0.01]).log()
    easy = torch.tensor([0.9, 0.025, 0.025, 0.025, 0.025]).log()
    weights = Weighted().log_weights(torch.stack([entity, easy])[None], START)[0]
    assert weights[0] < 0.01 < weights[1]


def test_the_printed_maximum_over_all_labels_bounds_the_weights() -> None:
    logits = 5 * torch.randn(1, 2000, 5, generator=generator())
    weights = Weighted(max_over="all").log_weights(logits, START._replace(epoch=3))
    assert weights.max() <= math.log(5) + 1e-5


def test_equal_scores_give_the_law_of_uniform() -> None:
    batch = cells(batch=1, size=6, words=6, labels=torch.zeros(1, 6, dtype=torch.long))
    batch = without(batch, logits=torch.zeros(1, 6, 3), unknown=torch.ones(1, 6, dtype=torch.bool))
    made = generator(5)
    counts = sum(Weighted()(batch, START, made).long() for _ in range(4000))
    assert isinstance(counts, Tensor)
    assert (counts / 4000 - 0.5).abs().max() < 0.03


def test_draws_follow_sequential_sampling_without_replacement() -> None:
    """Two of five cells: every pair as often as drawing one after the other gives, enumerated exactly."""
    logits = torch.tensor([[0.0, 0.0], [1.0, 0.0], [2.0, 0.0], [3.0, 0.0], [0.5, 0.0]])[None]
    policy = Weighted(ratio=0.2, mu=1.0)
    log_weights = policy.log_weights(logits, START)[0]
    weights = log_weights.exp().tolist()
    expected: Counter[frozenset[int]] = Counter()
    for a, b in permutations(range(5), 2):
        expected[frozenset((a, b))] += weights[a] / sum(weights) * weights[b] / (sum(weights) - weights[a])
    batch = Cells(
        logits=logits.expand(500, 5, 2),
        labels=torch.zeros(500, 5, dtype=torch.long),
        unknown=torch.ones(500, 5, dtype=torch.bool),
        words=torch.full((500,), 10),
        documents=torch.arange(500),
    )
    made = generator(7)
    seen: Counter[frozenset[int]] = Counter()
    for _ in range(40):
        for row in policy(batch, START, made):
            seen[frozenset(row.nonzero().flatten().tolist())] += 1
    assert set(seen) == set(expected)
    for pair, probability in expected.items():
        assert seen[pair] / seen.total() == pytest.approx(probability, abs=0.012)


def test_effective_sample_size_counts_equal_weights_and_forgets_negligible_ones() -> None:
    unknown = torch.tensor([[True, True, True, False], [True, True, True, True], [False] * 4])
    log_weights = torch.tensor([[0.0, 0.0, 0.0, 9.0], [50.0, 0.0, 0.0, 0.0], [0.0] * 4])
    assert effective_sample_size(log_weights, unknown).tolist() == pytest.approx([3.0, 1.0, 0.0])


# Top-Neg


def brute_similarity(batch: Cells, aggregate: str) -> Tensor:
    """Cosines of each cell with each entity, by loops."""
    assert batch.features is not None
    vectors = batch.features.at(torch.ones_like(batch.unknown)).view(*batch.unknown.shape, -1)
    phi = torch.zeros(batch.unknown.shape)
    for b in range(phi.shape[0]):
        for s in range(phi.shape[1]):
            by_type: dict[int, list[float]] = {}
            for pb, ps in (batch.labels > 0).nonzero().tolist():
                one, other = vectors[b, s], vectors[pb, ps]
                cosine = float(one @ other / (one.norm() * other.norm()).clamp(min=1e-8))
                by_type.setdefault(int(batch.labels[pb, ps]), []).append(cosine)
            means = [sum(values) / len(values) for values in by_type.values()]
            every = [value for values in by_type.values() for value in values]
            phi[b, s] = {
                "mean": sum(every) / len(every),
                "mean_type": sum(means) / len(means),
                "min_type": min(means),
            }[aggregate]
    return phi


@pytest.mark.parametrize("aggregate", ["mean", "mean_type", "min_type"])
def test_similarity_equals_the_full_matrix_of_cosines(aggregate: str) -> None:
    batch = cells()
    fast = TopNeg(aggregate=aggregate).similarity(batch)  # type: ignore[arg-type]
    assert torch.allclose(fast, brute_similarity(batch, aggregate), atol=1e-5)


@pytest.mark.parametrize("pick", ["top", "bottom"])
def test_top_neg_keeps_the_ceiling_of_its_share_and_the_right_end(pick: str) -> None:
    batch = cells()
    for ratio in (0.03, 0.05, 0.1, 0.5, 1.0):
        policy = TopNeg(ratio, pick=pick)  # type: ignore[arg-type]
        keep = policy(batch, START, generator())
        count = int(batch.unknown.sum())
        assert keep.sum().item() == math.ceil(round(ratio * count, 9))
        phi = policy.similarity(batch) * (1 if pick == "top" else -1)
        left_out = batch.unknown & ~keep
        if left_out.any():
            assert phi[keep].min() >= phi[left_out].max()


def test_a_batch_without_entities_gets_as_many_at_random() -> None:
    batch = cells()
    bare = without(batch, labels=torch.zeros_like(batch.labels))
    one, other = TopNeg(0.3)(bare, START, generator(1)), TopNeg(0.3)(bare, START, generator(2))
    assert one.sum() == other.sum() == math.ceil(0.3 * int(batch.unknown.sum()))
    assert not torch.equal(one, other)


def test_a_zero_vector_is_similar_to_nothing() -> None:
    vectors = torch.zeros(1, 3, 4)
    vectors[0, 0, 0] = 1.0
    batch = Cells(
        logits=torch.zeros(1, 3, 2),
        labels=torch.tensor([[1, 0, 0]]),
        unknown=torch.tensor([[False, True, True]]),
        words=torch.tensor([3]),
        documents=torch.tensor([0]),
        features=DenseFeatures(vectors),
    )
    assert TopNeg().similarity(batch)[0, 1:].tolist() == [0.0, 0.0]


# Fraction


def test_fraction_chosen_once_depends_on_the_sentence_and_not_on_the_batch_or_epoch() -> None:
    batch = cells(batch=50, size=100)
    keep = Fraction()(batch, START, generator())
    assert keep.sum() / batch.unknown.sum() == pytest.approx(0.5, abs=0.03)
    order = torch.randperm(50, generator=generator(1))
    shuffled = Cells(
        batch.logits[order], batch.labels[order], batch.unknown[order], batch.words[order], batch.documents[order]
    )
    assert torch.equal(Fraction()(shuffled, START._replace(epoch=3), generator(9)), keep[order])
    assert not torch.equal(Fraction(seed=1)(batch, START, generator()), keep)


def test_numbers_are_mixed_as_splitmix64_does() -> None:
    step = 0x9E3779B97F4A7C15  # from one state of that generator to the next
    states = np.array([0, step, 2 * step % 2**64], dtype=np.uint64)
    assert _mix(states).tolist() == [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F]


def test_fraction_of_each_epoch_is_another() -> None:
    policy, batch = Fraction(when="epoch"), cells(batch=20, size=50)
    first, second = (policy(batch, START._replace(epoch=epoch), generator()) for epoch in (0, 1))
    assert not torch.equal(first, second)
    both = (first & second).sum() / batch.unknown.sum()
    assert both == pytest.approx(0.25, abs=0.05)
