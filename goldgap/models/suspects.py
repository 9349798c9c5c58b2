"""Missing annotations: unknown spans that a model calls an entity, the likeliest first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from operator import itemgetter
from typing import Any, NamedTuple

from goldgap.core.document import Document
from goldgap.core.notes import Notes
from goldgap.corpus.words import word_spans, words_of
from goldgap.decode import Candidate, decode
from goldgap.models.model import Model
from goldgap.models.predict import candidates, numbered
from goldgap.models.states import Knowledge, open_types

CONTEXT = 40
"""Characters shown on either side."""


class Place(NamedTuple):
    """One span that may be a missing annotation.

    overlaps   an annotation that shares characters with it; where entities cannot overlap, one of the two is wrong
    """

    document: str
    start: int
    end: int
    score: float
    before: str
    after: str
    overlaps: str | None


class Suspect(NamedTuple):
    """A surface that seems to be an entity of a type wherever the model found it unannotated.

    score     the sum of its places' probabilities over their number plus one: what is found often is surer than what is
              found once
    counted   the first so many places, which the score is of: in flat corpora those that overlap no annotation, where
              there are any
    """

    surface: str
    label: str
    score: float
    counted: int
    places: tuple[Place, ...]

    def to_json(self) -> dict[str, Any]:
        places = [place._asdict() for place in self.places]
        return {"surface": self.surface, "label": self.label, "score": self.score, "places": places}


def suspects(
    model: Model,
    documents: Iterable[Document],
    knowledge: Knowledge,
    *,
    how: str = "greedy",
    min_prob: float = 0.0,
    thresholds: Mapping[str, float] | None = None,
    joint: bool = False,
    rank_by: str = "similarity",
    notes: Notes | None = None,
) -> list[Suspect]:
    """Unknown spans that the model calls an entity, by surface and type, best first; decoded as in `predict`.

    In flat corpora, a place that overlaps an annotation is none of a missing one: there it is the annotation's ends
    that are in question. Such places come last, and surfaces that have no other behind all that have.
    """
    groups: dict[tuple[str, str], list[Place]] = {}
    least = numbered(thresholds, model.labels)
    for document, found in candidates(model, documents, notes, joint=joint, rank_by=rank_by):
        for item in decode(still_open(document, found, knowledge), how, min_prob=min_prob, thresholds=least):
            surface = document.text[item.start : item.end]
            groups.setdefault((surface, model.labels.types[item.label - 1]), []).append(_place(document, item))
    ranked = []
    for (surface, label), places in groups.items():
        free = [place for place in places if place.overlaps is None or not knowledge.flat]
        in_the_way = [place for place in places if place.overlaps is not None and knowledge.flat]
        counted = free or in_the_way
        score = sum(place.score for place in counted) / (len(counted) + 1)
        ordered = (*sorted(free, key=_unlikely), *sorted(in_the_way, key=_unlikely))
        ranked.append((not free, -score, surface, label, Suspect(surface, label, score, len(counted), ordered)))
    return [suspect for *_, suspect in sorted(ranked, key=itemgetter(0, 1, 2, 3))]


def _unlikely(place: Place) -> float:
    return -place.score


def still_open(document: Document, found: list[Candidate], knowledge: Knowledge) -> Iterator[Candidate]:
    """The candidates whose type is neither annotated nor ruled out there."""
    if not found:
        return
    spans = word_spans(words_of(document), [(item.start, item.end) for item in found])
    widest = max(span[1] - span[0] for span in spans if span is not None)  # without a limit, not all widths there are
    unknown = open_types(document, replace(knowledge, max_width=widest))  # (word, width, type)
    for item, span in zip(found, spans, strict=True):
        if span is not None and unknown[span[0], span[1] - span[0] - 1, item.label - 1]:
            yield item


def _place(document: Document, item: Candidate) -> Place:
    text = document.text
    before = text[max(0, item.start - CONTEXT) : item.start]
    after = text[item.end : item.end + CONTEXT]
    overlapping = (entity for entity in document.entities if entity.start < item.end and item.start < entity.end)
    other = next(overlapping, None)
    overlaps = None if other is None else document.surface(other)
    return Place(document.id, item.start, item.end, item.score, before, after, overlaps)
