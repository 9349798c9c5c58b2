"""Sums, marginals and best sequences of the chain against enumeration; tags, and the simplex."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

import pytest
import torch
from torch import Tensor

from goldgap.core.errors import ConfigError, InputError
from goldgap.core.labels import Labels
from goldgap.losses.crf import Drop, chain_loss
from goldgap.models.chain import Chain
from goldgap.models.simplex import AngleHead, simplex
from goldgap.models.tagset import Legal, TagSet

TAGS = 4


def chain(seed: int = 0, legal: Legal | None = None) -> Chain:
    generator = torch.Generator().manual_seed(seed)
    if legal is None:
        legal = Legal(*(torch.ones(*shape, dtype=torch.bool) for shape in ((TAGS,), (TAGS, TAGS), (TAGS,))))
    made = Chain(legal, learned=True).double()
    for parameter in made.parameters():
        parameter.data = torch.randn(parameter.shape, generator=generator, dtype=torch.float64)
    return made


def emissions(words: int, seed: int = 1) -> Tensor:
    return torch.randn(1, words, TAGS, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def sequences(words: int) -> Iterator[tuple[int, ...]]:
    return itertools.product(range(TAGS), repeat=words)


def weight(
    one: Chain, scores: Tensor, tags: tuple[int, ...], deleted: frozenset[int] = frozenset(), *, drop: Drop = "score"
) -> float:
    """The score of a sequence, word by word."""
    if not tags:
        return 0.0
    total = 0.0
    for word, tag in enumerate(tags):
        if word in deleted and drop == "score":
            continue
        legal = one.first_legal[tag] if word == 0 else one.behind_legal[tags[word - 1], tag]
        if not legal:
            return -math.inf
        total += (one.first[tag] if word == 0 else one.behind[tags[word - 1], tag]).item()
        total += 0.0 if word in deleted else scores[0, word, tag].item()
    return total + one.last[tags[-1]].item() if one.last_legal[tags[-1]] else -math.inf


def log_sum_exp(values: list[float]) -> float:
    top = max(values)
    return top + math.log(sum(math.exp(value - top) for value in values))


def subsets(words: int) -> Iterator[frozenset[int]]:
    for size in range(words + 1):
        yield from map(frozenset, itertools.combinations(range(words), size))


@pytest.mark.parametrize("words", range(1, 6))
def test_sums_and_marginals_are_those_of_all_sequences(words: int) -> None:
    one, scores = chain(), emissions(words)
    every = {tags: weight(one, scores, tags) for tags in sequences(words)}
    total = log_sum_exp(list(every.values()))
    assert float(one.log_sum(scores, torch.tensor([words])).detach()) == pytest.approx(total, abs=1e-9)
    marginals = one.log_marginals(scores, torch.tensor([words])).exp()
    for word, tag in itertools.product(range(words), range(TAGS)):
        share = sum(math.exp(value - total) for tags, value in every.items() if tags[word] == tag)
        assert float(marginals[0, word, tag]) == pytest.approx(share, abs=1e-9)
    best = max(every, key=lambda tags: every[tags])
    assert tuple(one.best(scores, torch.tensor([words]))[0].tolist()) == best


@pytest.mark.parametrize("drop", ["marginal", "score", "emission"])
@pytest.mark.parametrize("words", range(1, 6))
def test_the_loss_is_that_of_all_sequences_for_every_set_of_deleted_words(words: int, drop: Drop) -> None:
    one, scores = chain(), emissions(words)
    labels = tuple((2 * word + 1) % TAGS for word in range(words))
    length = torch.tensor([words])
    for deleted in subsets(words):
        given = tuple(0 if word in deleted else label for word, label in enumerate(labels))
        if drop == "marginal":
            top = [
                weight(one, scores, tags)
                for tags in sequences(words)
                if all(word in deleted or tags[word] == given[word] for word in range(words))
            ]
            bottom = [weight(one, scores, tags) for tags in sequences(words)]
        else:
            top = [weight(one, scores, given, deleted, drop=drop)]
            bottom = [weight(one, scores, tags, deleted, drop=drop) for tags in sequences(words)]
        expected = log_sum_exp(bottom) - log_sum_exp(top)
        gone = torch.tensor([[word in deleted for word in range(words)]])
        allowed = torch.nn.functional.one_hot(torch.tensor([given]), TAGS).bool() | gone.unsqueeze(-1)
        found = float(chain_loss(one, scores, length, allowed, gone, drop)[0].detach())
        assert found == pytest.approx(expected, abs=1e-9), deleted


def test_with_nothing_deleted_all_ways_are_the_plain_chain() -> None:
    one, scores = chain(), emissions(5)
    allowed = torch.nn.functional.one_hot(torch.tensor([[0, 3, 1, 2, 0]]), TAGS).bool()
    nothing = torch.zeros(1, 5, dtype=torch.bool)
    ways: tuple[Drop, ...] = ("marginal", "score", "emission")
    losses = [chain_loss(one, scores, torch.tensor([5]), allowed, nothing, drop) for drop in ways]
    plain = one.log_sum(scores, torch.tensor([5])) - weight(one, scores, (0, 3, 1, 2, 0))
    for loss in losses:
        torch.testing.assert_close(loss, plain)


def test_what_is_not_legal_has_no_weight_and_no_gradient() -> None:
    tagset = TagSet(Labels(("A",)), "bioes")
    legal = tagset.legal
    one = chain(legal=legal)
    scores = torch.randn(1, 4, 5, generator=torch.Generator().manual_seed(9), dtype=torch.float64, requires_grad=True)
    every = [weight(one, scores, tags) for tags in itertools.product(range(5), repeat=4)]
    total = one.log_sum(scores, torch.tensor([4]))
    assert float(total.detach()) == pytest.approx(log_sum_exp(every), abs=1e-9)
    total.sum().backward()
    for parameter in (scores, *one.parameters()):
        assert parameter.grad is not None
        assert parameter.grad.isfinite().all()
    assert one.behind.grad is not None
    assert (one.behind.grad[~legal.behind] == 0).all()
    assert (one.behind.grad[legal.behind] != 0).any()


def test_padding_changes_nothing() -> None:
    one = chain()
    short, long = emissions(2), emissions(5, seed=4)
    padded = torch.cat([torch.cat([short, torch.full((1, 3, TAGS), 7.0, dtype=torch.float64)], 1), long])
    words = torch.tensor([2, 5])
    alone = [one.log_sum(short, words[:1]), one.log_sum(long, words[1:])]
    torch.testing.assert_close(one.log_sum(padded, words), torch.cat(alone))
    together = one.best(padded, words)
    assert together[0, :2].tolist() == one.best(short, words[:1])[0].tolist()
    assert together[1].tolist() == one.best(long, words[1:])[0].tolist()
    nothing = torch.zeros(2, 0, TAGS, dtype=torch.float64)
    assert one.log_sum(nothing, torch.zeros(2, dtype=torch.long)).tolist() == [0, 0]
    assert one.best(nothing, torch.zeros(2, dtype=torch.long)).shape == (2, 0)
    assert one.log_sum(padded, torch.tensor([0, 5]))[0] == 0


def test_large_scores_stay_finite() -> None:
    one = Chain(TagSet(Labels(("A", "B")), "bio").legal, learned=True)
    scores = (torch.randn(2, 40, 5, generator=torch.Generator().manual_seed(0)) * 300).requires_grad_()
    loss = one.log_sum(scores, torch.tensor([40, 30])).sum()
    loss.backward()
    assert loss.isfinite()
    assert scores.grad is not None
    assert scores.grad.isfinite().all()


# Tags


@pytest.mark.parametrize("scheme", ["bio", "bioes"])
def test_what_is_legal_is_what_the_parser_finds_nothing_wrong_with(scheme: str) -> None:
    from goldgap.corpus.tags import tags_to_spans

    tagset = TagSet(Labels(("A", "B")), scheme)  # type: ignore[arg-type]
    first, behind, last = tagset.legal
    for length in (1, 2, 3):
        for numbers in itertools.product(range(len(tagset)), repeat=length):
            legal = bool(first[numbers[0]] and last[numbers[-1]])
            legal = legal and all(bool(behind[a, b]) for a, b in itertools.pairwise(numbers))
            parsed = tags_to_spans([tagset.tags[number] for number in numbers], scheme=scheme)
            assert legal == (not parsed.ill_formed), [tagset.tags[number] for number in numbers]


@pytest.mark.parametrize("scheme", ["bio", "bioes"])
def test_entities_become_tags_and_come_back_without_none(scheme: str) -> None:
    tagset = TagSet(Labels(("A", "B")), scheme, none=True)  # type: ignore[arg-type]
    spans = [(0, 1, "A"), (1, 4, "B"), (5, 7, "NONE")]
    tags = tagset.encode(8, spans)
    assert [tuple(span) for span in tagset.decode(tags)] == spans[:2]
    assert tags[4] == tags[7] == 0
    assert len(tagset) == 1 + 3 * (2 if scheme == "bio" else 4)


def test_a_corpus_with_a_type_none_is_refused() -> None:
    with pytest.raises(InputError, match="NONE"):
        TagSet(Labels(("A", "NONE")), "bio", none=True)
    plain = TagSet(Labels(("A", "NONE")), "bio")
    assert [span.label for span in plain.decode(plain.encode(2, [(0, 1, "NONE")]))] == ["NONE"]


def test_a_chain_without_a_legal_sequence_is_refused() -> None:
    never = torch.zeros(2, 2, dtype=torch.bool)
    with pytest.raises(ConfigError, match="no sequence of tags is legal"):
        Chain(Legal(torch.tensor([True, True]), never, torch.tensor([True, True])), learned=True)


# The simplex


@pytest.mark.parametrize("labels", range(2, 41))
def test_the_corners_of_the_simplex(labels: int) -> None:
    corners = simplex(labels)
    assert corners.shape == (labels, labels - 1)
    products = corners @ corners.T
    expected = torch.full((labels, labels), -1 / (labels - 1), dtype=torch.float64).fill_diagonal_(1)
    torch.testing.assert_close(products, expected)
    torch.testing.assert_close(corners.sum(0), torch.zeros(labels - 1, dtype=torch.float64), atol=1e-12, rtol=0)


def test_scores_by_angle_sum_to_zero() -> None:
    torch.manual_seed(0)
    scores = AngleHead(6, 5)(torch.randn(3, 4, 6))
    assert scores.shape == (3, 4, 5)
    torch.testing.assert_close(scores.sum(-1), torch.zeros(3, 4), atol=1e-5, rtol=0)
    assert scores.std() > 0.1
