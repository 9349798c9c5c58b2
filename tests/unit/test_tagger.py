"""The tagger: states of words, probabilities of entities, spans of NONE, and what the exploratory training picks."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from typing import Any, Literal

import pytest
import torch

from goldgap import Document, Entity, Rejected
from goldgap.core.errors import ConfigError
from goldgap.core.labels import Labels
from goldgap.core.notes import Notes
from goldgap.decode import Candidate
from goldgap.encode.batch import Batch, Special, collate
from goldgap.encode.windows import Window
from goldgap.losses.crf import SequenceLoss
from goldgap.models.chain import Chain
from goldgap.models.scores import SpanScores
from goldgap.models.states import BatchStates, States, stack
from goldgap.models.tag_states import tag_states_of, taught
from goldgap.models.tagger import read_off_tags
from goldgap.models.tagset import TagSet
from goldgap.train.compose import recipe_for
from goldgap.train.doubts import CALLED, Doubt, least, statistic_of
from goldgap.train.none_spans import drawn_spans, with_none
from goldgap.train.recipe import TrainSettings
from goldgap.train.step import total_loss
from goldgap.train.two_step import Found
from tests.contract.test_variants import LATER
from tests.unit.test_states import LABELS, TEXT, WHOLE, entity, example_of, word_range

Scheme = Literal["bio", "bioes"]


def states(
    document: Document,
    scheme: Scheme = "bioes",
    *,
    none: bool = False,
    certain: bool = True,
    windows: list[Window] = WHOLE,
    index: int = 0,
    notes: Notes | None = None,
) -> States:
    tagset = TagSet(LABELS, scheme, none=none)
    example = example_of(windows, index)
    return tag_states_of(example, document, taught(document), tagset, notes or Notes(), certain_negatives=certain)


def words_where(grid: torch.Tensor) -> list[int]:
    return grid[:, 0].nonzero().flatten().tolist()


def tags_of(one: States, scheme: Scheme = "bioes") -> list[str]:
    return [TagSet(LABELS, scheme).tags[number] for number in one.labels[:, 0]]


# States


def test_what_is_not_annotated_is_unknown_and_entities_have_their_tags() -> None:
    document = Document(TEXT, (entity(0, 2, "PER"), entity(3, 4, "LOC")))
    found = states(document)
    assert tags_of(found) == ["B-PER", "E-PER", "O", "S-LOC", "O"]
    assert words_where(found.unknown) == [2, 4]
    assert not found.negative.any()
    assert found.possible is None
    assert found.labels.shape == (5, 1)


def test_a_complete_document_leaves_only_what_it_calls_unknown() -> None:
    document = Document(TEXT, (entity(0, 1, "PER"),), complete=True, unknown=(word_range(3, 4),))
    for none in (False, True):
        found = states(document, none=none)
        assert words_where(found.negative) == [1, 2, 4]
        assert words_where(found.unknown) == [3]


@pytest.mark.parametrize("none", [False, True])
def test_a_document_complete_for_one_type_leaves_the_tags_of_the_other(none: bool) -> None:
    document = Document(TEXT, (entity(0, 1, "PER"),), complete=frozenset({"LOC"}))
    found = states(document, none=none)
    tagset = TagSet(LABELS, "bioes", none=none)
    assert not found.unknown.any()
    assert not found.negative.any()
    assert found.possible is not None
    assert not found.possible[0].any()
    for word in range(1, 5):
        allowed = {tagset.tags[tag] for tag in found.possible[word, 0].nonzero().flatten()}
        expected = {"O", *(f"{letter}-PER" for letter in "BIES")} | (
            {f"{letter}-NONE" for letter in "BIES"} if none else set()
        )
        assert allowed == expected


def test_an_entity_of_a_person_is_as_long_as_it_says() -> None:
    for source, certain, ruled_out in ((None, True, True), (None, False, False), ("dictionary", True, False)):
        found = states(Document(TEXT, (entity(0, 2, "PER", source),)), "bio", certain=certain)
        assert (found.possible is not None) is ruled_out
        if found.possible is not None:
            tagset = TagSet(LABELS, "bio")
            assert {tagset.tags[tag] for tag in (~found.possible[2, 0]).nonzero().flatten()} == {"I-PER"}
            assert words_where(found.unknown) == [3, 4]
    assert states(Document(TEXT, (entity(3, 5, "PER"),)), "bio").possible is None  # nothing stands behind it


def test_a_word_that_a_reviewer_rejected_is_no_entity_of_its_own() -> None:
    document = Document(TEXT, rejected=(Rejected(*word_range(1, 2), "PER"), Rejected(*word_range(2, 4), None)))
    found = states(document)
    tagset = TagSet(LABELS, "bioes")
    assert found.possible is not None
    assert {tagset.tags[tag] for tag in (~found.possible[1, 0]).nonzero().flatten()} == {"S-PER"}
    assert words_where(found.unknown) == [0, 2, 3, 4]
    assert states(document, "bio").possible is None


def test_of_entities_that_overlap_the_longest_is_learned_and_the_rest_told() -> None:
    notes = Notes()
    cut = Entity(6, 8, "LOC")  # ends behind the blank
    found = states(Document(TEXT, (entity(0, 3, "PER"), entity(1, 2, "LOC"), cut)), notes=notes)
    assert tags_of(found) == ["B-PER", "I-PER", "E-PER", "O", "O"]
    assert words_where(found.unknown) == [4]  # the fourth word is part of an entity that is cut
    assert len(notes.lines()) == 2


def test_of_nested_entities_the_outer_is_learned_in_every_window_or_none() -> None:
    windows = [Window(0, 3), Window(2, 5)]
    document = Document(TEXT, (entity(0, 3, "PER"), entity(2, 3, "LOC")))
    first, second = (states(document, windows=windows, index=index) for index in (0, 1))
    assert tags_of(first) == ["B-PER", "I-PER", "E-PER"]
    assert tags_of(second) == ["O", "O", "O"]
    assert words_where(second.unknown) == [1, 2]  # the fourth and the fifth word


def test_what_no_word_can_be_trained_on_for_is_told() -> None:
    notes = Notes()
    rejected = (Rejected(*word_range(0, 2), None), Rejected(*word_range(4, 5), None))
    document = Document(TEXT, (entity(1, 4, "PER"),), rejected=rejected)
    states(document, windows=[Window(0, 2), Window(1, 3), Window(2, 5)], notes=notes)
    assert [line for line in notes.lines() if "no window" in line]
    assert [line for line in notes.lines() if "rejected" in line and "1 " in line]
    bio = Notes()
    states(document, "bio", notes=bio)
    assert [line for line in bio.lines() if "rejected" in line and "2 " in line]


def test_every_word_is_open_in_one_window_and_entities_in_all_that_hold_them() -> None:
    windows = [Window(0, 3), Window(1, 5)]
    document = Document(TEXT, (entity(1, 3, "PER"), entity(4, 5, "LOC")), dropped=(entity(0, 1, "LOC"),))
    first, second = (states(document, windows=windows, index=index) for index in (0, 1))
    assert tags_of(first) == ["O", "B-PER", "E-PER"]
    assert tags_of(second) == ["B-PER", "E-PER", "O", "S-LOC"]
    assert words_where(first.unknown) == [0]
    assert words_where(second.unknown) == [2]
    assert first.dropped is not None
    assert words_where(first.dropped) == [0]
    across = states(Document(TEXT, (entity(2, 4, "PER"),)), windows=windows, index=0)
    assert tags_of(across) == ["O", "O", "O"]
    assert 2 not in words_where(across.unknown)


# The loss


def chain_of(tagset: TagSet, seed: int = 0) -> Chain:
    made = Chain(tagset.legal, learned=True)
    for number, parameter in enumerate(made.parameters()):
        parameter.data = torch.randn(parameter.shape, generator=torch.Generator().manual_seed(seed + number))
    return made


@pytest.mark.parametrize("drop", ["marginal", "score", "emission"])
def test_words_that_are_left_alone_teach_their_tag_to_nobody(drop: Any) -> None:
    tagset = TagSet(LABELS, "bioes")
    document = Document(TEXT, (entity(0, 2, "PER"),))
    known = stack([states(document)])
    logits = torch.randn(1, 5, len(tagset), generator=torch.Generator().manual_seed(3), requires_grad=True)
    scores = SpanScores(logits, torch.ones(1, 5, dtype=torch.bool), None, chain=chain_of(tagset))
    keep = torch.tensor([[False, False, True, False, False]])
    total_loss(scores, known, keep, SequenceLoss(drop), TrainSettings(), LATER).backward()
    assert logits.grad is not None
    size = logits.grad[0].abs().sum(-1)
    assert (size[:3] > 1e-4).all()
    if drop == "marginal":  # of words that may have any tag, only what follows from their neighbours is learned
        assert (size[3:] < size[:3].min()).all()
    else:
        assert size[3:].tolist() == [0, 0]


def test_the_loss_of_a_partly_known_word_allows_what_is_possible() -> None:
    tagset = TagSet(LABELS, "bioes")
    known = stack([states(Document(TEXT, complete=frozenset({"LOC"})))])
    logits = torch.randn(1, 5, len(tagset), generator=torch.Generator().manual_seed(3))
    chain = chain_of(tagset)
    scores = SpanScores(logits, torch.ones(1, 5, dtype=torch.bool), None, chain=chain)
    loss = total_loss(
        scores, known, torch.zeros(1, 5, dtype=torch.bool), SequenceLoss(reduction="sum"), TrainSettings(), LATER
    )
    assert known.possible is not None
    words = torch.tensor([5])
    expected = chain.log_sum(logits, words) - chain.log_sum(logits, words, known.possible)
    assert loss.item() == pytest.approx(expected.item(), abs=1e-4)
    assert loss > 0


def test_a_sequence_that_is_far_less_likely_does_not_vanish() -> None:
    tagset = TagSet(Labels(("A",)), "bioes")
    for margin in (95.0, 300.0):
        logits = torch.zeros(1, 2, len(tagset))
        logits[0, 0, tagset.tags.index("B-A")] = margin  # nothing but O can stand behind it, which it cannot go before
        logits.requires_grad_()
        scores = SpanScores(logits, torch.ones(1, 2, dtype=torch.bool), None, chain=Chain(tagset.legal, learned=True))
        states = BatchStates(*(torch.tensor([row]) for row in ([0, 0], [True, True], [False, False])))
        keep = torch.tensor([[False, True]])
        loss = total_loss(scores, states, keep, SequenceLoss(reduction="sum"), TrainSettings(), LATER)
        assert loss.item() == pytest.approx(margin, abs=3)
        loss.backward()
        assert logits.grad is not None
        assert logits.grad.isfinite().all()


# Probabilities


def batch_of(*lengths: int) -> Batch:
    examples = [example_of([Window(0, length)]) for length in lengths]
    return collate(examples, Special([], [], 0))


@pytest.mark.parametrize("scheme", ["bio", "bioes"])
def test_the_probability_of_an_entity_is_that_of_all_tags_that_have_it(scheme: Scheme) -> None:
    labels = Labels(("A",))
    tagset = TagSet(labels, scheme)
    chain = chain_of(tagset, seed=5)
    seen: Counter[int] = Counter()
    for seed in range(12):
        logits = 2 * torch.randn(1, 4, len(tagset), generator=torch.Generator().manual_seed(seed))
        scores = SpanScores(logits, torch.ones(1, 4, dtype=torch.bool), None, chain=chain)
        weights: dict[tuple[int, ...], float] = {}
        for tags in itertools.product(range(len(tagset)), repeat=4):
            only = torch.nn.functional.one_hot(torch.tensor([tags]), len(tagset)).bool()
            legal = bool(tagset.legal.first[tags[0]] and tagset.legal.last[tags[-1]])
            if legal and all(bool(tagset.legal.behind[a, b]) for a, b in itertools.pairwise(tags)):
                weights[tags] = math.exp(chain.log_sum(logits, torch.tensor([4]), only).item())
        total = sum(weights.values())
        ((found, _),) = read_off_tags(batch_of(4), scores, tagset)
        best = max(weights, key=lambda tags: weights[tags])
        spans = {(first, end) for first, end, _ in tagset.decode(best)}
        assert {(item.start // 2, (item.end + 1) // 2) for item in found} == spans
        for item in found:
            place = (item.start // 2, (item.end + 1) // 2)
            share = sum(
                weight for tags, weight in weights.items() if place in {(a, b) for a, b, _ in tagset.decode(tags)}
            )
            assert item.score == pytest.approx(share / total, abs=1e-5)
            seen[place[1] - place[0]] += 1
    assert len(seen) >= 2  # entities of several lengths were looked at


def test_none_is_never_an_entity() -> None:
    tagset = TagSet(LABELS, "bioes", none=True)
    logits = torch.zeros(1, 5, len(tagset))
    logits[0, :, tagset.tags.index("S-NONE")] = 9.0
    logits[0, 2, tagset.tags.index("S-PER")] = 20.0
    scores = SpanScores(logits, torch.ones(1, 5, dtype=torch.bool), None, chain=Chain(tagset.legal, learned=False))
    ((found, _),) = read_off_tags(batch_of(5), scores, tagset)
    assert [(item.start, item.end, item.label) for item in found] == [(4, 5, LABELS.index("PER") + 1)]
    assert isinstance(found[0], Candidate)


# NONE

WORDS = torch.tensor([5, 5])


def test_spans_are_drawn_evenly_and_share_no_word() -> None:
    outside = [True] * 3 + [False] + [True] * 2
    first = Counter(next(drawn_spans(outside, 1, 2, f"{seed}")) for seed in range(8000))
    every = {(0, 1), (1, 2), (2, 3), (0, 2), (1, 3), (4, 5), (5, 6), (4, 6)}
    assert set(first) == every
    assert all(850 < count < 1150 for count in first.values())
    for seed in range(50):
        spans = sorted(drawn_spans(outside, 3, 0, f"{seed}"))
        assert len(spans) <= 3
        assert all(before[1] <= after[0] for before, after in itertools.pairwise(spans))
        assert all(all(outside[a:b]) for a, b in spans)
    assert max(b - a for seed in range(50) for a, b in drawn_spans(outside, 3, 0, f"{seed}")) == 3
    assert list(drawn_spans(outside, 0, 0, "x")) == []
    assert list(drawn_spans([False] * 4, 3, 0, "x")) == []


def test_words_are_retagged_as_none_and_nothing_else_changes() -> None:
    tagset = TagSet(LABELS, "bioes", none=True)
    document = Document(TEXT, (entity(0, 2, "PER"),))
    known = stack([states(document, none=True), states(Document(TEXT, complete=True), none=True)])
    keep = known.unknown.clone()
    keep[0, 4] = False  # left alone
    changed = with_none(known, keep, WORDS, tagset, ["a", "b"], share=1.0, width=1)
    names = [[tagset.tags[tag] for tag in row] for row in changed.labels]
    assert names == [["B-PER", "E-PER", "S-NONE", "S-NONE", "O"], ["S-NONE"] * 5]
    assert not changed.negative.any()
    assert torch.equal(changed.unknown, known.unknown)
    few = with_none(known, keep, WORDS, tagset, ["a", "b"], share=0.21, width=1)  # ceil(0.21 * 5) = 2
    assert (few.labels != known.labels).sum(1).tolist() == [2, 2]
    other = [
        with_none(known, keep, WORDS, tagset, ["a", f"{seed}"], share=0.2, width=1).labels[1].tolist()
        for seed in range(9)
    ]
    assert len({tuple(labels) for labels in other}) > 2
    gone = keep & (torch.arange(5) < 3)  # as many for the text, whatever is left out of it
    assert (with_none(known, gone, WORDS, tagset, ["a", "b"], share=0.4, width=1).labels[1] != 0).sum() == 2


# What the exploratory training picks


def test_the_smallest_values_are_left_out_with_ties_by_place() -> None:
    values = [Doubt(1, 0, 1, 0.5), Doubt(0, 3, 1, 0.5), Doubt(0, 1, 1, 0.9), Doubt(2, 0, 1, -1.0), Doubt(2, 1, 1, 3.0)]
    chosen = least(values, 0.41)
    assert [(one.example, one.cell) for one in chosen] == [(2, 0), (0, 3), (1, 0)]
    assert least(values, 0.0) == []
    assert len(least(values, 0.4)) == 2  # not 3 by a rounding error
    assert len(least(values, 1.0)) == len(least(values, None)) == 5
    assert Found(chosen, []).hints().aside == {2: [0], 0: [3], 1: [0]}


def test_values_by_hand() -> None:
    tagset = TagSet(Labels(("A",)), "bio")
    logits = torch.tensor([[[2.0, 1.0, -3.0], [0.0, 4.0, 1.0]]])
    chain = Chain(tagset.legal, learned=False)
    scores = SpanScores(logits, torch.ones(1, 2, dtype=torch.bool), None, chain=chain)
    words = torch.tensor([2])
    assert statistic_of(scores, words, "o-value").tolist() == [[2.0, 0.0]]
    assert statistic_of(scores, words, "o-margin").tolist() == [[1.0, -4.0]]
    assert statistic_of(scores._replace(chain=None), words, CALLED).tolist() == [[1.0, -4.0]]
    weights = {
        (a, b): math.exp(logits[0, 0, a] + logits[0, 1, b]) for a in (0, 1) for b in (0, 1, 2) if (a, b) != (0, 2)
    }
    first = sum(weight for tags, weight in weights.items() if tags[0] == 0) / sum(weights.values())
    assert statistic_of(scores, words, "marginal")[0, 0].exp().item() == pytest.approx(first, abs=1e-6)
    second = [sum(weight for tags, weight in weights.items() if tags[0] == tag) for tag in (0, 1)]
    assert statistic_of(scores, words, CALLED)[0, 0].item() == pytest.approx(math.log(second[0] / second[1]), abs=1e-5)
    spans = scores._replace(chain=None)
    assert statistic_of(spans, words, "o-value")[0].tolist() == pytest.approx([2.0, -5 / 3])
    by_type = spans._replace(logits=logits - logits[..., :1], by_type=True)  # O is 0, whatever the mean
    assert statistic_of(by_type, words, "o-value").tolist() == [[1.0, -4.0]]


def test_cells_that_are_left_out_are_in_no_state() -> None:
    document = Document(TEXT, (entity(0, 2, "PER"),), rejected=(Rejected(*word_range(4, 5), "PER"),))
    one = states(document)
    assert one.open_cells().tolist() == [2, 3, 4]
    rest = one.without([2, 4])
    assert rest.open_cells().tolist() == [3]
    assert words_where(rest.unknown) == [3]
    assert rest.possible is not None
    assert one.possible is not None
    assert torch.equal(rest.possible, one.possible)  # what is known of a word stays
    assert one.open_cells().tolist() == [2, 3, 4]


# Recipes


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"loss": {"name": "crf"}}, "only a tagger"),
        ({"two_step": {"explore": 1, "none": 0.1}}, "only a tagger"),
        ({"two_step": {"explore": 1, "statistic": "marginal"}}, "only a tagger"),
        ({"two_step": {"share": 1.5}}, "share"),
        ({"two_step": {"none": -0.5}}, "none"),
    ],
)
def test_what_a_span_model_cannot_do_is_refused(changes: dict[str, Any], what: str) -> None:
    with pytest.raises(ConfigError, match=what):
        recipe_for("span", changes)


def test_a_tagger_cannot_give_a_word_several_types_and_a_lexicon_needs_an_encoder() -> None:
    with pytest.raises(ConfigError, match="one tag"):
        recipe_for("crf", {"model": {"several": True}})
    with pytest.raises(ConfigError, match="pretrained encoder"):
        recipe_for("bilstm-crf", {"lexicon": {"used": "adapter"}})
