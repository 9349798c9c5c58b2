"""What a run trains on: the windows of its documents and what is known of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from types import MappingProxyType
from typing import NamedTuple

from goldgap.core.corpus import Corpus
from goldgap.core.document import Entity
from goldgap.core.errors import InputError
from goldgap.core.labels import Labels
from goldgap.core.notes import Notes
from goldgap.corpus.inspect import contradicted
from goldgap.corpus.words import words_of
from goldgap.encode.batch import Example
from goldgap.models.model import Model
from goldgap.models.states import Knowledge, States, states_of
from goldgap.models.tag_states import tag_states_of, taught
from goldgap.models.tagger import Tagger
from goldgap.train.recipe import Recipe


def is_flat(corpus: Corpus) -> bool:
    """Whether no two entities of any document overlap."""
    for document in corpus:
        keys = sorted({entity.key for entity in document.entities})  # one that stands twice overlaps nothing
        if any(start < end for (_, end, _), (start, _, _) in pairwise(keys)):
            return False
    return True


@dataclass(frozen=True, slots=True)
class TrainingSet:
    """The ids of the training documents, their windows and the states of these."""

    names: list[str]
    examples: list[Example]
    states: list[States]


class Hints(NamedTuple):
    """What an earlier training says of the same documents.

    aside   unknown cells to learn nothing from, by example
    added   entities to learn as if they were annotated, by document
    """

    aside: Mapping[int, Sequence[int]] = MappingProxyType({})
    added: Mapping[int, Sequence[Entity]] = MappingProxyType({})


NO_HINTS = Hints()


def prepare(model: Model, corpus: Corpus, recipe: Recipe, notes: Notes, hints: Hints = NO_HINTS) -> TrainingSet:
    """The windows of a corpus and what is known of their cells."""
    if hints.added:
        documents = enumerate(corpus)
        corpus = Corpus(one.replace(entities=(*one.entities, *hints.added.get(n, ()))) for n, one in documents)
    _tell_of(corpus, recipe, notes)
    examples = model.examples(corpus.documents, notes)
    states = _states(model, corpus, recipe, examples, notes)
    for index, cells in hints.aside.items():
        states[index] = states[index].without(cells)
    if recipe.model.kind == "bi-encoder" and recipe.bi_encoder.drop_empty:
        full = [index for index, item in enumerate(states) if (item.labels > 0).any()]
        examples, states = [examples[index] for index in full], [states[index] for index in full]
    if not any((item.labels > 0).any() for item in states):
        lost = "; ".join(notes.lines()) or "they cover no word"
        raise InputError(f"none of the {corpus.entity_count:,} entities in the training files can be learned: {lost}")
    return TrainingSet([document.id for document in corpus], examples, states)


def _tell_of(corpus: Corpus, recipe: Recipe, notes: Notes) -> None:
    """Note what no window says: entities without words, rejected ones, and second types that a bi-encoder learns but
    does not tell."""
    one_type = recipe.model.kind == "bi-encoder" and not recipe.model.several
    for document in corpus:
        if document.entities and not words_of(document):
            notes.change("entity in a document without words (not trained on)", document.id)
        if rejected := len(contradicted(document)):
            notes.change("entity whose span is rejected as well (trained on as an entity)", document.id, count=rejected)
        ranges = {(entity.start, entity.end, entity.label) for entity in document.entities}
        if one_type and (again := len(ranges) - len({(start, end) for start, end, _ in ranges})):
            what = "entity with the range of another type (learned; only the likelier is told, see model.several)"
            notes.change(what, document.id, count=again)


def knowledge_of(recipe: Recipe, labels: Labels, *, flat: bool) -> Knowledge:
    """How this recipe takes the annotations of spans."""
    settings, is_bi = recipe.model, recipe.model.kind == "bi-encoder"
    return Knowledge(
        labels,
        0 if is_bi and recipe.bi_encoder.train_all else settings.max_width,
        flat,
        recipe.train.certain_negatives,
        several=settings.several or is_bi,  # it compares with each type on its own
    )


def _states(model: Model, corpus: Corpus, recipe: Recipe, examples: Sequence[Example], notes: Notes) -> list[States]:
    flat = is_flat(corpus)
    if isinstance(model, Tagger):
        whole = [taught(document) for document in corpus]
        certain = recipe.train.certain_negatives and flat
        return [
            tag_states_of(
                one, corpus[one.document], whole[one.document], model.tagset, notes, certain_negatives=certain
            )
            for one in examples
        ]
    knowledge = knowledge_of(recipe, model.labels, flat=flat)
    return [states_of(one, corpus[one.document], knowledge, notes) for one in examples]
