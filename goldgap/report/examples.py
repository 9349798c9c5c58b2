"""Errors in their context, as plain values: what the gold says, what was predicted, what training had seen of it."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from goldgap.core.corpus import Corpus
from goldgap.core.document import Document
from goldgap.distant.bare import Occurrences, find_surfaces
from goldgap.distant.dictionary import normal_surface
from goldgap.evaluate.counts import Key, entity_pairs, keys, pair_up
from goldgap.evaluate.errors import KINDS, Kind, Mistake, mistakes

LIMIT = 30
"""Examples of each kind of error."""
CONTEXT = 70
"""Characters before and behind an error."""


class Case(NamedTuple):
    """An error, with the gold and the predicted document that it stands in."""

    gold: Document
    predicted: Document
    mistake: Mistake

    @property
    def keys(self) -> list[Key]:
        """Of the gold entity, the predicted one, or both."""
        return [key for key in self.mistake[1:] if key is not None]


class InTraining(NamedTuple):
    """How often surfaces stand in the training documents: by type where annotated, and elsewhere."""

    annotated: Mapping[str, Mapping[str, int]]
    elsewhere: Occurrences

    def of(self, surface: str) -> dict[str, Any]:
        name = normal_surface(surface)
        return {
            "annotated": dict(self.annotated.get(name, {})),
            "overlapping": self.elsewhere.overlapping[name],
            "unannotated": self.elsewhere.bare[name],
        }


class Lane(NamedTuple):
    """An entity, whose it is, and on which line under the text it is drawn."""

    key: Key
    side: str
    line: int


def examples_of(
    gold: Corpus, predicted: Corpus, train: Corpus | None = None, *, limit: int = LIMIT
) -> list[dict[str, Any]]:
    """Errors of every kind, at most `limit` of each, spread evenly over the documents.

    kind, document        what went wrong, and the id of where
    text, before, after   the error in its context, and whether the document goes on
    gold, predicted       label, surface, `score` of the prediction if it has one; None where there is no entity;
                          with training documents `seen`: {"annotated": {label: count}, "overlapping": count,
                          "unannotated": count}, of the places where the surface is an entity, is touched by
                          another one, or is bare
    spans                 all entities in the context: start and end in it, label, side, line, and whether they are the
                          error
    """
    documents = pair_up(gold, predicted)
    found: dict[Kind, list[Case]] = {kind: [] for kind in KINDS}
    for (one, other), pair in zip(documents, entity_pairs(documents), strict=True):
        for mistake in mistakes(pair):
            found[mistake.kind].append(Case(one, other, mistake))
    chosen = [item for items in found.values() for item in _spread(items, limit)]
    surfaces = {normal_surface(_surface(item.gold, key)) for item in chosen for key in item.keys}
    seen = None if train is None else _seen(train, surfaces)
    return [_example(item, seen) for item in chosen]


def lanes(gold: Iterable[Key], predicted: Iterable[Key]) -> list[Lane]:
    """Each entity on the first line on which nothing overlaps it; the predicted ones lie below all gold ones.

    >>> [lane.line for lane in lanes([(0, 8, "ORG"), (4, 8, "LOC")], [(0, 8, "ORG")])]
    [0, 1, 2]
    """
    placed: list[Lane] = []
    above = 0
    for side, entities in (("gold", gold), ("predicted", predicted)):
        reach: list[int] = []
        for key in sorted(entities, key=lambda key: (key[0], -key[1], key[2])):
            line = next((number for number, end in enumerate(reach) if end <= key[0]), len(reach))
            reach[line : line + 1] = [key[1]]
            placed.append(Lane(key, side, above + line))
        above += len(reach)
    return placed


def _spread(items: Sequence[Case], limit: int) -> list[Case]:
    count = min(limit, len(items))
    return [items[index * len(items) // count] for index in range(count)]


def _surface(document: Document, key: Key) -> str:
    return document.text[key[0] : key[1]]


def _seen(train: Corpus, surfaces: set[str]) -> InTraining:
    annotated: dict[str, Counter[str]] = defaultdict(Counter)
    for document in train:
        for entity in document.entities:
            surface = normal_surface(document.surface(entity))
            if surface in surfaces:
                annotated[surface][entity.label] += 1
    return InTraining(annotated, find_surfaces(train, sorted(surfaces)))


def _example(item: Case, seen: InTraining | None) -> dict[str, Any]:
    document = item.gold
    first, last = _context(document.text, item.keys)
    sides = [[key for key in keys(one) if key[0] < last and first < key[1]] for one in (document, item.predicted)]
    spans = []
    for lane in lanes(*sides):
        start, end, label = lane.key
        spans.append(
            {
                "start": max(start, first) - first,
                "end": min(end, last) - first,
                "label": label,
                "side": lane.side,
                "line": lane.line,
                "error": lane.key == (item.mistake.gold if lane.side == "gold" else item.mistake.predicted),
            }
        )
    return {
        "kind": item.mistake.kind,
        "document": document.id,
        "text": document.text[first:last],
        "before": first > 0,
        "after": last < len(document.text),
        "gold": _side(document, item.mistake.gold, seen),
        "predicted": _side(item.predicted, item.mistake.predicted, seen),
        "spans": spans,
    }


def _context(text: str, entities: Sequence[Key]) -> tuple[int, int]:
    """From where to where a text is shown; words at its ends stay whole unless they are very long."""
    first = max(0, min(key[0] for key in entities) - CONTEXT)
    last = min(len(text), max(key[1] for key in entities) + CONTEXT)
    if first > 0:
        blank = text.find(" ", first, first + CONTEXT // 2)
        first = blank + 1 if blank >= 0 else first
    if last < len(text):
        blank = text.rfind(" ", last - CONTEXT // 2, last)
        last = blank if blank >= 0 else last
    return first, last


def _side(document: Document, key: Key | None, seen: InTraining | None) -> dict[str, Any] | None:
    if key is None:
        return None
    scores = [entity.score for entity in document.entities if entity.key == key and entity.score is not None]
    surface = _surface(document, key)
    return {
        "label": key[2],
        "surface": surface,
        **({"score": max(scores)} if scores else {}),
        **({} if seen is None else {"seen": seen.of(surface)}),
    }
