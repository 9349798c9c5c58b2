"""What the two-step method left out, as a list that a person can read (002 Table 7)."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, groupby, pairwise
from typing import Literal, NamedTuple

from goldgap.core.corpus import Corpus
from goldgap.core.document import Document, Entity, Range
from goldgap.corpus.words import CJK, words_of, words_touching
from goldgap.models.model import Model
from goldgap.models.tagger import Tagger
from goldgap.train.doubts import Doubt

_UNSPACED = re.compile(f"[{CJK}]")
Kind = Literal["annotated elsewhere", "near an annotation", "other"]


class Suspicious(NamedTuple):
    """Neighbouring words that were left out, or a span: for people to read.

    kind    the same words are annotated elsewhere; they touch an annotation, or share a word with one; or neither
    added   the type that it was trained on as, if it was
    """

    kind: Kind
    surface: str
    document: str
    start: int
    end: int
    value: float
    added: str | None = None


def listed(
    found: Sequence[Doubt], model: Model, corpus: Corpus, added: Mapping[int, Sequence[Entity]]
) -> list[Suspicious]:
    """What was left out, in the order of kinds and values."""
    surfaces = {document.surface(entity) for document in corpus for entity in document.entities}
    parts = {part for surface in surfaces for part in _parts(surface)}
    examples = model.examples(corpus.documents)
    places: dict[tuple[int, int, int], float] = {}
    for index, own in groupby(sorted(found), key=lambda one: one.example):
        example = examples[index]
        for first, end, value in _spans(list(own), neighbours=isinstance(model, Tagger)):
            place = (example.document, example.words[first][0], example.words[end - 1][1])
            places[place] = min(value, places.get(place, math.inf))
    made = []
    near = {number: _near_annotations(corpus[number]) for number in {number for number, _, _ in places}}
    for (number, start, end), value in places.items():
        document, (words, those) = corpus[number], near[number]
        surface = document.text[start:end]
        touches = not those.isdisjoint(words_touching(words, start, end))
        kind: Kind = "near an annotation" if touches or not parts.isdisjoint(_parts(surface)) else "other"
        if surface in surfaces:
            kind = "annotated elsewhere"
        label = next((one.label for one in added.get(number, ()) if (one.start, one.end) == (start, end)), None)
        made.append(Suspicious(kind, surface, document.id, start, end, value, label))
    order: tuple[Kind, ...] = ("annotated elsewhere", "near an annotation", "other")
    return sorted(made, key=lambda one: (order.index(one.kind), one.value, one.document, one.start, one.end))


def _spans(own: list[Doubt], *, neighbours: bool) -> Iterator[tuple[int, int, float]]:
    """Words first..end-1 of each cell and its value; neighbouring words as one, with the smallest of their values."""
    if not neighbours:
        for one in own:
            first, extra = divmod(one.cell, one.widths)
            yield first, first + extra + 1, one.value
        return
    for _, run in groupby(enumerate(own), key=lambda pair: pair[1].cell - pair[0]):
        members = [one for _, one in run]
        yield members[0].cell, members[-1].cell + 1, min(one.value for one in members)


def _near_annotations(document: Document) -> tuple[Sequence[Range], set[int]]:
    """The words of a document, and the indices of those that are annotated or stand beside one that is."""
    words = words_of(document)
    found = (words_touching(words, entity.start, entity.end) for entity in document.entities)
    return words, {near for index in chain.from_iterable(found) for near in (index - 1, index, index + 1)}


def _parts(surface: str) -> Iterator[str]:
    """Its words; of text without blanks between words, every two neighbouring characters.

    >>> list(_parts("New York")), list(_parts("苹果手机")), list(_parts("我"))
    (['New', 'York'], ['苹果', '果手', '手机'], ['我'])
    """
    for word in surface.split():
        pairs = [a + b for a, b in pairwise(word)] if _UNSPACED.search(word) else []
        yield from pairs or [word]
