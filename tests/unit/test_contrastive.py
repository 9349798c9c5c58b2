"""The contrastive loss against loops over windows, types and spans that follow the words of METHODS 5.2 and 5.3."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any, NamedTuple

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from goldgap import Document, Entity, Rejected
from goldgap.core.notes import Notes
from goldgap.encode.windows import Window, owned
from goldgap.losses.contrastive import Candidates, Contrastive, Similarity, Thresholds, candidates
from goldgap.models.states import Knowledge, stack, states_of
from tests.unit.test_states import (
    CUTS,
    LABELS,
    TEXT,
    WHOLE,
    complete,
    entities,
    example_of,
    guessed,
    rejected,
    state_by_the_book,
    unknown,
    word_range,
)

OBJECTIVES = ("start", "end", "span")
MENTION, NOT, OPEN, NOTHING, ELSEWHERE = "mention", "not", "open", "nothing", "elsewhere"
"""Of a span for a type; nothing: it is padding, or guessed to be of another type; elsewhere: another window's."""

Span = tuple[int, int]
"""The first and the last word."""


@dataclass(frozen=True, slots=True)
class World:
    """A batch in words.

    sizes    words of each window; the widest is `longest`
    state    by (window, span, type)
    kept     (window, span) that the policy took for negatives, among those that are open for some type
    aside    (window, span) that nothing is to be learned from, among the others that are open for some type
    """

    sizes: list[int]
    widths: int
    kinds: int
    state: dict[tuple[int, Span, int], str]
    kept: set[tuple[int, Span]]
    aside: set[tuple[int, Span]] = field(default_factory=set)

    @property
    def longest(self) -> int:
        return max(self.sizes)

    def spans(self, window: int) -> list[Span]:
        size = self.sizes[window]
        return [(i, j) for i in range(size) for j in range(i, min(i + self.widths, size))]

    def places(self) -> list[tuple[int, Span, int]]:
        """Every window, span and type."""
        return [(b, s, k) for b in range(len(self.sizes)) for s in self.spans(b) for k in range(self.kinds)]

    def cell(self, span: Span) -> int:
        return span[0] * self.widths + span[1] - span[0]


STATES = (MENTION, NOT, NOT, OPEN, NOTHING, ELSEWHERE)


def world(seed: int, states: tuple[str, ...] = STATES, *, keep: float = 0.5) -> World:
    """A random batch: every span is in any of the states for each type, but never in none for some types alone."""
    chance = random.Random(seed)
    made = World([chance.randint(1, 4) for _ in range(chance.randint(1, 3))], chance.randint(1, 4), 2, {}, set())
    share = chance.random()
    for b in range(len(made.sizes)):
        for s in made.spans(b):
            own = [chance.choice(states) for _ in range(made.kinds)]
            for whole in (ELSEWHERE, NOTHING):
                own = [whole] * made.kinds if whole in own else own
            if chance.random() < share:  # so that often all spans of a word are known
                own = [NOT if state == OPEN else state for state in own]
            made.state.update({(b, s, k): state for k, state in enumerate(own)})
            if OPEN in own and chance.random() < keep:
                made.kept.add((b, s))
            elif OPEN in own and chance.random() < 0.3:
                made.aside.add((b, s))
    return made


class Tensors(NamedTuple):
    """A world as the loss is given it."""

    similarity: Similarity
    types: Tensor
    unknown: Tensor
    keep: Tensor
    aside: Tensor | None = None

    def loss(self, **weights: Any) -> Tensor:
        return Contrastive(**weights)(*self)

    def leaves(self) -> list[Tensor]:
        """What has a gradient: the scores of the three objectives, and their thresholds."""
        start, end, span, thresholds = self.similarity
        return [start, end, span, *(thresholds or ())]

    def with_leaves(self, leaves: Sequence[Tensor]) -> Tensors:
        start, end, span, *thresholds = leaves
        return self._replace(similarity=Similarity(start, end, span, Thresholds(*thresholds) if thresholds else None))


def tensors(made: World, seed: int = 0, *, thresholds: bool = True, scale: float = 3.0) -> Tensors:
    """Random similarities, and the states as tensors."""
    chance = torch.Generator().manual_seed(seed)
    batch, cells = len(made.sizes), made.longest * made.widths

    def drawn(*shape: int) -> Tensor:
        return (scale * torch.randn(*shape, generator=chance)).requires_grad_()

    ends = drawn(batch, made.longest, made.kinds), drawn(batch, made.longest, made.kinds)
    limits = Thresholds(*(drawn(batch, made.kinds) for _ in range(3)))
    types = torch.zeros(batch, cells, made.kinds, dtype=torch.int8)
    unknown, keep, aside = (torch.zeros(batch, cells, dtype=torch.bool) for _ in range(3))
    for b, s, k in made.places():
        state, cell = made.state[b, s, k], made.cell(s)
        types[b, cell, k] = {MENTION: 2, NOT: 1}.get(state, 0)
        unknown[b, cell] |= state in (OPEN, ELSEWHERE)
        keep[b, cell] |= (b, s) in made.kept
        aside[b, cell] |= state == ELSEWHERE or (b, s) in made.aside
    span = drawn(batch, cells, made.kinds)
    return Tensors(Similarity(*ends, span, limits if thresholds else None), types, unknown, keep, aside)


# The oracle


def mentions_of(made: World, window: int, kind: int) -> list[Span]:
    return [s for s in made.spans(window) if made.state[window, s, kind] == MENTION]


def negatives_of(made: World, objective: str, window: int, kind: int) -> list[int]:
    """The words or cells that a mention of the type has to be above."""
    state = {s: made.state[window, s, kind] for s in made.spans(window)}
    kept = {s for s in state if state[s] == OPEN and (window, s) in made.kept}
    if objective == "span":
        return [made.cell(s) for s in state if state[s] == NOT or s in kept]
    found = []
    for word in range(made.sizes[window]):
        here = [s for s in state if s[OBJECTIVES.index(objective)] == word and state[s] != NOTHING]
        if any(state[s] in (MENTION, ELSEWHERE) or (state[s] == OPEN and (window, s) in made.aside) for s in here):
            continue
        if any(s in kept for s in here) or (here and all(state[s] == NOT for s in here)):
            found.append(word)
    return found


def place_of(made: World, objective: str, span: Span) -> int:
    """The word or cell that a span has in an objective."""
    return made.cell(span) if objective == "span" else span[OBJECTIVES.index(objective)]


def minus_log_share(target: float, others: list[float]) -> float:
    """-log of the softmax of a score among itself and others."""
    highest = max(target, *others) if others else target
    total = sum(math.exp(score - highest) for score in (target, *others))
    return math.log(total) - (target - highest)


def mean(values: list[float]) -> float:
    return sum(values) / len(values) if values else 0.0


def by_the_book(made: World, given: Tensors, weights: dict[str, float], share: float) -> float:
    """METHODS 5.3: the mentions' terms over the batch's mentions, and the thresholds' over its windows and types."""
    total = 0.0
    limits = given.similarity.thresholds
    for objective in OBJECTIVES:
        scores = getattr(given.similarity, objective).tolist()
        limit = None if limits is None else getattr(limits, objective).tolist()
        of_mentions, of_thresholds = [], []
        for window, kind in product(range(len(made.sizes)), range(made.kinds)):
            rivals = [scores[window][place][kind] for place in negatives_of(made, objective, window, kind)]
            threshold = [] if limit is None else [limit[window][kind]]
            for mention in mentions_of(made, window, kind):
                score = scores[window][place_of(made, objective, mention)][kind]
                of_mentions.append(minus_log_share(score, rivals + threshold))
            of_thresholds += [minus_log_share(own, rivals) for own in threshold]
        total += weights[objective] * (share * mean(of_mentions) + (1 - share) * mean(of_thresholds))
    return total


WEIGHTS = {"start": 0.2, "end": 0.2, "span": 0.6}


@pytest.mark.parametrize("thresholds", [True, False])
def test_the_loss_is_that_of_loops_over_windows_types_and_spans(thresholds: bool) -> None:
    for seed in range(300):
        made = world(seed)
        given = tensors(made, seed, thresholds=thresholds)
        assert given.loss().item() == pytest.approx(by_the_book(made, given, WEIGHTS, 0.5), abs=1e-5), seed


def test_every_weight_is_where_it_says() -> None:
    for seed in range(40):
        chance, made = random.Random(seed), world(seed)
        given = tensors(made, seed)
        weights, share = {name: 2 * chance.random() for name in OBJECTIVES}, chance.random()
        expected = by_the_book(made, given, weights, share)
        assert given.loss(**weights, mentions=share).item() == pytest.approx(expected, abs=1e-5), seed


def negatives_in(made: World) -> dict[str, Tensor]:
    return {name: own.negatives for name, own in candidates(*tensors(made)[1:], words=made.longest).items()}


def as_set(negatives: Tensor, window: int, kind: int) -> set[int]:
    return set(negatives[window, :, kind].nonzero().flatten().tolist())


def check_candidates(made: World, found: dict[str, Candidates]) -> set[tuple[str, bool, bool]]:
    """Hold them against the oracle; which objectives had a type with no negatives, with some, and with every word."""
    seen = set()
    for name, own in found.items():
        mentions = [(b, place_of(made, name, s), k) for b, s, k in made.places() if made.state[b, s, k] == MENTION]
        assert sorted(map(tuple, own.mentions.tolist())) == sorted(mentions)
        for b, k in product(range(len(made.sizes)), range(made.kinds)):
            expected = negatives_of(made, name, b, k)
            assert as_set(own.negatives, b, k) == set(expected)
            seen.add((name, bool(expected), len(expected) == made.sizes[b]))
    return seen


def test_mentions_and_negatives_are_those_of_the_rule() -> None:
    seen = set()
    for seed in range(200):
        made = world(seed)
        seen |= check_candidates(made, candidates(*tensors(made)[1:], words=made.longest))
    assert len(seen) == 9


# What is fully known


def fully_known(seed: int) -> World:
    return world(seed, (MENTION, NOT, NOT, NOT))


def test_where_all_is_known_the_negatives_are_all_that_is_no_mention_of_the_type() -> None:
    """METHODS 5.2: every start that is none of the type's, entities of other types among them."""
    of_another_type = 0
    for seed in range(100):
        made = fully_known(seed)
        negatives = negatives_in(made)
        for b, k in product(range(len(made.sizes)), range(made.kinds)):
            mentions, words = mentions_of(made, b, k), set(range(made.sizes[b]))
            assert as_set(negatives["start"], b, k) == words - {i for i, _ in mentions}
            assert as_set(negatives["end"], b, k) == words - {j for _, j in mentions}
            others = set(made.spans(b)) - set(mentions)
            assert as_set(negatives["span"], b, k) == {made.cell(s) for s in others}
            of_another_type += len(others & set(mentions_of(made, b, 1 - k)))
    assert of_another_type > 50


@settings(derandomize=True, deadline=None, max_examples=200)
@given(entities, rejected, complete, unknown, st.sampled_from(CUTS), st.booleans())
def test_the_negatives_of_documents_are_those_of_what_is_known_of_them(
    entities: list[Entity], rejected: list[Rejected], complete: Any, unknown: Any, windows: list[Window], keep: bool
) -> None:
    """From documents by way of their states, window by window; who annotated a span ruled other types out."""
    document = Document(TEXT, tuple(entities), complete=complete, rejected=tuple(rejected), unknown=unknown)
    made = World([end - first for first, end in windows], 3, 2, {}, set())

    def state_of(first: int, end: int, label: str) -> str:
        known = state_by_the_book(document, first, end, label, certain=False)
        if known == "entity":
            return MENTION
        if known == "unknown" and guessed(document, first, end):
            return NOTHING
        if known == "not" or word_range(first, end) in {(e.start, e.end) for e in entities}:
            return NOT
        return OPEN

    for b, (i, j), k in made.places():
        first, end = windows[b].first + i, windows[b].first + j + 1
        state = state_of(first, end, LABELS.types[k]) if owned(windows, b, 3)[i, j - i] else ELSEWHERE
        made.state[b, (i, j), k] = state
        if state == OPEN and keep:
            made.kept.add((b, (i, j)))
    knowledge = Knowledge(LABELS, 3, flat=False, several=True)
    states = stack([states_of(example_of(windows, at), document, knowledge, Notes()) for at in range(len(windows))])
    assert states.types is not None
    aside = torch.zeros_like(states.unknown) if states.aside is None else states.aside
    found = candidates(states.types, states.unknown | aside, states.unknown & keep, aside, words=made.longest)
    for name, b, k in product(OBJECTIVES, range(len(windows)), range(2)):
        taught = as_set(found[name].negatives, b, k)
        assert taught <= set(negatives_of(made, name, b, k))
        if name == "span":
            assert taught == set(negatives_of(made, name, b, k))
            continue
        for word in taught:  # nothing that another window reads says otherwise
            at, whole = windows[b].first + word, [(s, e) for s in range(5) for e in range(s + 1, min(s + 3, 5) + 1)]
            held = [(s, e) for s, e in whole if any(a <= s and e <= z for a, z in windows)]
            here = [span for span in held if (span[0] if name == "start" else span[1] - 1) == at]
            known = {state_of(s, e, LABELS.types[k]) for s, e in here}
            assert MENTION not in known
            assert keep or OPEN not in known
        if windows == WHOLE:
            assert taught == set(negatives_of(made, name, b, k))


def test_a_long_document_teaches_all_its_spans_and_all_ends_but_those_in_the_middle_between_two_windows() -> None:
    document, windows = Document(" ".join("x" * 40), complete=True), [Window(0, 20), Window(12, 32), Window(24, 40)]
    taught: dict[str, set[int]] = {"start": set(), "end": set(), "span": set()}
    for index, (first, end) in enumerate(windows):
        knowledge = Knowledge(LABELS, 3, flat=True, several=True)
        states = stack([states_of(example_of(windows, index), document, knowledge, Notes())])
        assert states.types is not None
        assert states.aside is not None
        nothing = torch.zeros_like(states.unknown)
        found = candidates(states.types, states.aside, nothing, states.aside, words=end - first)
        for name, own in found.items():
            width = 3 if name == "span" else 1
            taught[name] |= {first * width + place for place in as_set(own.negatives, 0, 0)}
    assert taught["span"] == set(range(120)) - {116, 118, 119}  # which run past the last word
    missing = {name: set(range(40)) - taught[name] for name in ("start", "end")}
    assert missing == {"start": {15, 27}, "end": {16, 28}}


# By hand


def hand_made(sizes: list[int], widths: int, states: dict[tuple[int, Span, int], str]) -> World:
    """All that is not said is known not to be a mention."""
    made = World(sizes, widths, 2, {}, set())
    return replace(made, state={place: states.get(place, NOT) for place in made.places()})


def test_a_mention_does_not_compete_with_another_of_its_type_but_with_one_of_another() -> None:
    made = hand_made([3], 1, {(0, (0, 0), 0): MENTION, (0, (2, 2), 0): MENTION, (0, (1, 1), 1): MENTION})
    zero = torch.zeros(1, 3, 2)
    score = torch.tensor([[[5.0, 0.0], [1.0, 4.0], [2.0, 0.0]]])
    given = tensors(made)._replace(similarity=Similarity(zero, zero, score, Thresholds(*torch.zeros(3, 1, 2))))
    found = given.loss(start=0.0, end=0.0, span=1.0, mentions=1.0).item()
    first = math.log(1 + (math.e + 1) / math.exp(5))  # against the word of the other type, and the threshold
    second = math.log(1 + (math.e + 1) / math.exp(2))
    other = math.log(1 + (1 + 1 + 1) / math.exp(4))
    assert found == pytest.approx((first + second + other) / 3, abs=1e-6)


def test_one_span_can_be_a_mention_of_two_types() -> None:
    made = hand_made([2], 2, {(0, (0, 1), 0): MENTION, (0, (0, 1), 1): MENTION})
    given = tensors(made, 1)
    assert given.loss().item() == pytest.approx(by_the_book(made, given, WEIGHTS, 0.5), abs=1e-5)
    assert len(candidates(*given[1:], words=2)["span"].mentions) == 2
    negatives = negatives_in(made)
    assert [as_set(negatives["start"], 0, k) for k in (0, 1)] == [{1}, {1}]
    assert [as_set(negatives["end"], 0, k) for k in (0, 1)] == [{0}, {0}]


def test_without_a_mention_the_thresholds_alone_are_taught() -> None:
    made = hand_made([2, 3], 2, {})
    given = tensors(made, 2)
    loss = given.loss()
    assert loss.item() == pytest.approx(by_the_book(made, given, WEIGHTS, 0.5), rel=1e-5)
    assert loss.item() == pytest.approx(given.loss(mentions=0.0).item() / 2, rel=1e-5)
    gradients = torch.autograd.grad(loss, given.leaves())
    assert all(bool(gradient.isfinite().all()) for gradient in gradients)
    assert all(bool((gradient < 0).any()) for gradient in gradients[3:])  # every threshold is raised


@pytest.mark.parametrize("thresholds", [True, False])
@pytest.mark.parametrize("sizes", [[1, 2], [0], []])
def test_a_batch_that_teaches_nothing_costs_nothing_and_lets_backward_run(sizes: list[int], thresholds: bool) -> None:
    """No mention, no negative; no word; no text."""
    batch, words = len(sizes), max(sizes, default=0)
    ends = [torch.randn(batch, words, 2, requires_grad=True) for _ in range(2)]
    span = torch.randn(batch, words * 2, 2, requires_grad=True)
    limits = Thresholds(*(torch.randn(batch, 2, requires_grad=True) for _ in range(3)))
    nothing = torch.zeros(batch, words * 2, dtype=torch.bool)
    types = torch.zeros(*nothing.shape, 2, dtype=torch.int8)
    given = Tensors(Similarity(ends[0], ends[1], span, limits if thresholds else None), types, nothing, nothing)
    loss = given.loss()
    loss.backward()
    assert loss.item() == 0
    for leaf in given.leaves():
        assert leaf.grad is None or not leaf.grad.any()


@pytest.mark.parametrize("thresholds", [True, False])
def test_a_mention_without_any_negative_is_above_the_threshold_alone(thresholds: bool) -> None:
    made = replace(hand_made([1], 1, {(0, (0, 0), 0): MENTION, (0, (0, 0), 1): MENTION}), kept=set())
    given = tensors(made, 3, thresholds=thresholds)
    loss = given.loss()
    assert loss.item() == pytest.approx(by_the_book(made, given, WEIGHTS, 0.5), abs=1e-6)
    assert (loss.item() > 0) is thresholds
    for gradient in torch.autograd.grad(loss, given.leaves()):
        assert gradient.isfinite().all()
        assert bool(gradient.any()) is thresholds


# Gradients


def counts_in(made: World, objective: str) -> Tensor:
    """Which scores of an objective are a mention or a negative of their window and type."""
    size = made.longest * (made.widths if objective == "span" else 1)
    used = torch.zeros(len(made.sizes), size, made.kinds, dtype=torch.bool)
    for b, k in product(range(len(made.sizes)), range(made.kinds)):
        mentions = [place_of(made, objective, s) for s in mentions_of(made, b, k)]
        used[b, [*mentions, *negatives_of(made, objective, b, k)], k] = True
    return used


@pytest.mark.parametrize("thresholds", [True, False])
@pytest.mark.parametrize("moved", [1e4, -1e4, float("nan")])
def test_moving_a_score_that_does_not_count_changes_nothing(moved: float, thresholds: bool) -> None:
    untouched = 0
    for seed in range(60):
        made = world(seed)
        given = tensors(made, seed, thresholds=thresholds)
        masks = [counts_in(made, objective) for objective in OBJECTIVES]
        masks += [torch.ones_like(limit, dtype=torch.bool) for limit in given.leaves()[3:]]
        leaves = [torch.where(mask, score, moved) for mask, score in zip(masks, given.leaves(), strict=True)]
        other = given.with_leaves([leaf.detach().requires_grad_() for leaf in leaves])
        one, two = given.loss(), other.loss()
        assert torch.equal(one, two), seed
        gradients = (torch.autograd.grad(loss, own.leaves()) for loss, own in ((one, given), (two, other)))
        for a, b, mask in zip(*gradients, masks, strict=True):
            assert torch.equal(a, b), seed
            assert not a[~mask].any(), seed
            untouched += int((~mask).sum())
    assert untouched > 1000


@pytest.mark.parametrize("scale", [1e4, 1e2])
@pytest.mark.parametrize("thresholds", [True, False])
def test_loss_and_gradients_are_finite_at_extreme_scores(scale: float, thresholds: bool) -> None:
    for seed in range(60):
        made = world(seed)
        given = tensors(made, seed, thresholds=thresholds, scale=scale)
        loss = given.loss()
        assert loss.item() == pytest.approx(by_the_book(made, given, WEIGHTS, 0.5), rel=1e-4, abs=1e-4), seed
        for gradient in torch.autograd.grad(loss, given.leaves()):
            assert gradient.isfinite().all(), seed
            assert gradient.abs().sum() <= 2  # a softmax never pulls more than it pushes


@pytest.mark.parametrize("thresholds", [True, False])
def test_gradients_equal_finite_differences(thresholds: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Tensor, "float", lambda tensor: tensor)  # stay in float64
    for seed in range(3):
        given = tensors(world(seed), seed, thresholds=thresholds)
        leaves = [leaf.detach().double().requires_grad_() for leaf in given.leaves()]

        def loss(*scores: Tensor, given: Tensors = given) -> Tensor:
            return given.with_leaves(scores).loss()

        assert torch.autograd.gradcheck(loss, leaves)


def test_half_precision_is_summed_in_full() -> None:
    for seed in range(20):
        given = tensors(world(seed), seed)
        half = [leaf.bfloat16() for leaf in given.leaves()]
        found = given.with_leaves(half).loss()
        assert found.dtype == torch.float32
        assert found.item() == given.with_leaves([leaf.float() for leaf in half]).loss().item()
