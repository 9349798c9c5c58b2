"""Suspects: exactly the unknown spans that a model calls an entity, found by loops over a tiny one."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from goldgap import Corpus, Document, Entity, Recognizer, Rejected
from goldgap.core.errors import InputError
from goldgap.corpus.words import split_words
from goldgap.decode import Candidate, decode
from goldgap.models.states import Knowledge
from goldgap.models.suspects import CONTEXT, Suspect, suspects
from goldgap.train.build import build
from goldgap.train.compose import recipe_for
from goldgap.train.recipe import Recipe
from tests.slow.test_training import SENTENCES, corpus

TYPES = ("LOC", "ORG", "PER")
WIDTH = 4


def tiny_recipe(encoder: Path, **groups: dict[str, object]) -> Recipe:
    """Without the knowledge that overlaps bring, unless asked for: then far more is unknown."""
    model = {"max_width": WIDTH, "hidden": 16, "width_size": 8}
    plain = {"encoder": {"name": str(encoder)}, "model": model, "train": {"certain_negatives": False}}
    return recipe_for("uniform", {"decode": {"how": "greedy"}}, plain, groups)


def recognizer_of(recipe: Recipe) -> Recognizer:
    """A model without training: it calls about three spans in four an entity."""
    return Recognizer(build(recipe, corpus()).eval(), recipe, [], "")


@pytest.fixture(scope="module")
def recognizer(tiny_encoder: Path) -> Recognizer:
    return recognizer_of(tiny_recipe(tiny_encoder))


@torch.no_grad()
def called(recognizer: Recognizer, document: Document) -> list[tuple[int, int, str, float]]:
    """Every span of a short text that the model calls an entity: start, end, type, probability."""
    words = split_words(document.text)
    if not words:
        return []
    model, found = recognizer.model, []
    scores = model(model.batch(model.examples([document])))
    widths = scores.logits.shape[1] // len(words)
    for first in range(len(words)):
        for extra in range(min(widths, len(words) - first)):
            logits = scores.logits[0, first * widths + extra]
            place = (words[first][0], words[first + extra][1])
            if model.several:
                probabilities = torch.sigmoid(logits[1:]).tolist()
                found += [(*place, label, p) for label, p in zip(TYPES, probabilities, strict=True) if p > 0.5]
            elif (best := int(logits.argmax())) > 0:
                found.append((*place, TYPES[best - 1], float(torch.softmax(logits, 0)[best])))
    return found


def unknown(document: Document, start: int, end: int, label: str, *, certain: bool) -> bool:
    """Whether nobody has said anything of a span and a type, in the words of the design."""
    if any((e.start, e.end) == (start, end) for e in document.entities):
        return False
    if any((r.start, r.end) == (start, end) and r.label in (None, label) for r in document.rejected):
        return False
    if certain and any(e.source != "dictionary" and e.start < end and start < e.end for e in document.entities):
        return False
    return not document.is_complete(label)


Places = dict[tuple[str, str], list[tuple[str, int, int, object]]]


def by_the_book(recognizer: Recognizer, documents: Corpus, how: str, min_prob: float = 0.0) -> Places:
    certain = recognizer.recipe.train.certain_negatives
    groups: Places = {}
    for document in documents:
        items = [
            Candidate(start, end, TYPES.index(label) + 1, score, 0.0)
            for start, end, label, score in called(recognizer, document)
            if unknown(document, start, end, label, certain=certain)
        ]
        for item in decode(items, how, min_prob=min_prob):
            surface = document.text[item.start : item.end]
            place = (document.id, item.start, item.end, pytest.approx(item.score, abs=1e-5))
            groups.setdefault((surface, TYPES[item.label - 1]), []).append(place)
    return groups


def places(found: list[Suspect]) -> Places:
    """In the order of the documents."""
    return {
        (suspect.surface, suspect.label): sorted(
            ((place.document, place.start, place.end, place.score) for place in suspect.places),
            key=lambda place: (int(place[0]), place[1]),
        )
        for suspect in found
    }


def known_in_every_way() -> Corpus:
    """The eight sentences: bare, by a dictionary, rejected, of one type complete, wholly complete, and twice."""
    by_dictionary = [
        d.replace(entities=tuple(replace(e, source="dictionary") for e in d.entities)) for d in corpus(False)
    ]
    rejected = (Rejected(0, 3), Rejected(4, 9, "PER"), Rejected(4, 9, "LOC"), Rejected(10, 12, "ORG"))
    first = corpus(False)[0]
    documents = [
        first.replace(entities=()),
        *by_dictionary[1:4],
        first.replace(entities=(), rejected=rejected),
        corpus(False)[4].replace(complete=frozenset({"PER", "ORG"})),
        corpus(False)[6].replace(complete=True),
        first.replace(entities=()),
        Document(""),
    ]
    return Corpus(document.replace(id="") for document in documents)  # numbered anew


@pytest.mark.parametrize("how", ["none", "greedy"])
def test_suspects_are_the_unknown_spans_that_the_model_calls_an_entity(how: str, recognizer: Recognizer) -> None:
    documents = known_in_every_way()
    expected = by_the_book(recognizer, documents, how)
    assert len(expected) > 5
    assert places(recognizer.with_decoding(how=how).suspects(documents)) == expected


@pytest.mark.parametrize(
    "groups",
    [
        {"model": {"several": True}},
        {"model": {"head": "pair", "max_width": 0}},
        {"train": {"certain_negatives": True}},
    ],
    ids=["several", "any width", "certain negatives"],
)
def test_suspects_of_other_models_are_those_of_the_loops_too(
    groups: dict[str, dict[str, object]], tiny_encoder: Path
) -> None:
    model = recognizer_of(tiny_recipe(tiny_encoder, decode={"how": "none"}, **groups))
    expected = by_the_book(model, known_in_every_way(), "none")
    assert len(expected) > 5
    assert places(model.suspects(known_in_every_way())) == expected


def test_what_is_annotated_rejected_or_complete_is_never_suspect(recognizer: Recognizer) -> None:
    everything = recognizer.with_decoding(how="none")
    bare = corpus(False).map(lambda d: d.replace(entities=()))
    annotated, spurned = [], []
    for document in bare:
        found = called(recognizer, document)
        entities = tuple(Entity(start, end, label, source="dictionary") for start, end, label, _ in found)
        annotated.append(document.replace(entities=entities))
        spurned.append(document.replace(rejected=tuple(Rejected(*item[:3]) for item in found)))
    assert len(everything.suspects(bare)) > 5
    assert everything.suspects(Corpus(annotated)) == []
    assert everything.suspects(Corpus(spurned)) == []
    assert everything.suspects(bare.map(lambda d: d.replace(complete=True))) == []
    assert everything.suspects(bare.map(lambda d: d.replace(complete=frozenset(TYPES)))) == []


def test_a_span_annotated_with_another_type_is_not_suspect(recognizer: Recognizer) -> None:
    start, end, label, _ = called(recognizer, corpus()[0])[0]
    other = next(name for name in TYPES if name != label)
    document = corpus(False)[0].replace(entities=(Entity(start, end, other, source="dictionary"),))
    found = recognizer.with_decoding(how="none").suspects(Corpus([document]))
    assert (start, end) not in [(place.start, place.end) for suspect in found for place in suspect.places]


def test_places_are_grouped_by_surface_and_type_and_the_best_come_first(recognizer: Recognizer) -> None:
    documents = Corpus([Document(text) for text, _ in SENTENCES] * 2)
    found = recognizer.suspects(documents)
    names = [(suspect.surface, suspect.label) for suspect in found]
    assert len(set(names)) == len(names)
    for suspect in found:
        assert len(suspect.places) >= 2  # every text stands there twice
        scores = [place.score for place in suspect.places]
        assert scores == sorted(scores, reverse=True)
        assert suspect.score == pytest.approx(sum(scores) / (len(scores) + 1))
        assert {documents.documents[int(p.document) - 1].text[p.start : p.end] for p in suspect.places} == {
            suspect.surface
        }
    ranks = [(-suspect.score, suspect.surface, suspect.label) for suspect in found]
    assert ranks == sorted(ranks)
    assert recognizer.suspects(Corpus(reversed(documents.documents)))[0].score == pytest.approx(found[0].score)


def test_what_is_found_often_comes_before_what_is_found_once(recognizer: Recognizer) -> None:
    once, often = Document("Ann lives in Paris ."), Document("Acme was in Oslo")
    found = recognizer.with_decoding(how="none").suspects(Corpus([once, *[often] * 9]))
    by_count = [len(suspect.places) for suspect in found]
    assert set(by_count) >= {1, 9}
    assert by_count.index(9) < by_count.index(1)


@pytest.mark.parametrize("flat", [True, False])
def test_what_overlaps_an_annotation_comes_behind_the_rest_in_a_flat_corpus(flat: bool, recognizer: Recognizer) -> None:
    text = "Ann lives in Paris ."
    document = Document(text, (Entity(4, 9, "PER", source="dictionary"),))
    knowledge = Knowledge(recognizer.labels, WIDTH, flat=flat)
    found = suspects(recognizer.model, [document] * 2 + [Document("Acme was in Oslo")], knowledge, how="none")
    overlapping = [suspect.places[0].overlaps is not None for suspect in found]
    for suspect in found:
        for place in suspect.places:
            shares = text in (place.before + suspect.surface + place.after) and place.start < 9 and place.end > 4
            assert place.overlaps == ("lives" if shares else None)
    assert any(overlapping)
    assert not all(overlapping)
    assert (overlapping == sorted(overlapping)) is flat


def test_places_that_overlap_an_annotation_do_not_count_in_a_flat_corpus(recognizer: Recognizer) -> None:
    free, bare = Document("Ann lives in Paris ."), recognizer.with_decoding(how="none").suspects
    (start, end, label, score), *_ = called(recognizer, free)
    around = Entity(start, min(end + 1, len(free.text)), "PER", source="dictionary")
    taken = free.replace(entities=(around,))
    surface = free.text[start:end]

    def own(*documents: Document) -> Suspect:
        return next(s for s in bare(Corpus(documents)) if (s.surface, s.label) == (surface, label))

    mixed = own(taken, taken, free)
    assert (mixed.counted, len(mixed.places)) == (1, 3)
    assert [place.overlaps is None for place in mixed.places] == [True, False, False]
    assert mixed.score == pytest.approx(score / 2)
    assert own(taken, taken).counted == 2
    nested = Document("a b", (Entity(0, 3, "PER", source="dictionary"), Entity(0, 1, "PER", source="dictionary")))
    assert own(taken, taken, free, nested).counted == 3  # entities may overlap there


def test_context_is_the_text_on_either_side(recognizer: Recognizer) -> None:
    text = "it was at the works " * 4 + "Ann met Bob" + " and that was at the works of Acme" * 3
    found = [place for suspect in recognizer.suspects(Corpus([Document(text)])) for place in suspect.places]
    assert len(found) > 5
    for place in found:
        assert place.before == text[max(0, place.start - CONTEXT) : place.start]
        assert place.after == text[place.end : place.end + CONTEXT]
        assert (place.before + text[place.start : place.end] + place.after) in text


@pytest.mark.parametrize("least", [0.0, 0.28, 0.3, 1.0])
def test_the_least_probability_holds_for_every_place(least: float, recognizer: Recognizer) -> None:
    documents = known_in_every_way()
    expected = by_the_book(recognizer, documents, "greedy", least)
    assert len(expected) > 3 or least == 1.0
    assert places(recognizer.suspects(documents, min_prob=least)) == expected


def test_suspects_become_json(recognizer: Recognizer) -> None:
    (first, *_) = recognizer.suspects(Corpus([Document("Ann met Bob", id="a")]))
    values = first.to_json()
    assert list(values) == ["surface", "label", "score", "places"]
    assert list(values["places"][0]) == ["document", "start", "end", "score", "before", "after", "overlaps"]
    assert values["places"][0]["document"] == "a"


def test_nothing_is_suspect_in_nothing(recognizer: Recognizer) -> None:
    assert suspects(recognizer.model, [], Knowledge(recognizer.labels, WIDTH, flat=True)) == []
    assert recognizer.suspects(Corpus([Document(""), Document("  ")])) == []


def test_documents_that_share_an_id_are_refused(recognizer: Recognizer) -> None:
    with pytest.raises(InputError, match="the id 'a' belongs to several documents"):
        recognizer.suspects(Corpus([Document("Ann met Bob", id="a"), Document("Bob met Ann", id="a")]))
