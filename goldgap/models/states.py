"""The state of every span of a window, for every type: entity, known not to be one, or unknown (DESIGN section 1)."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from goldgap.core.document import EXPLORATORY, Document, Entity, Range, Rejected
from goldgap.core.labels import Labels
from goldgap.core.notes import Notes
from goldgap.corpus.words import word_spans, words_of, words_touching
from goldgap.encode.batch import Example
from goldgap.encode.windows import owned

Grid = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class States:
    """What is known of each cell; a cell that is in none of these states is not trained on here.

    labels      (word, width): index of the annotated type, 0 where there is none
    unknown     (word, width): nothing rules any type out
    negative    (word, width): every type is ruled out
    possible    (word, width, label) of the partly known: True where O or the type is still possible; None without any
    types       (word, width, type), where a span can have several: 2 annotated, 1 ruled out, 0 unknown
    dropped     (word, width): an entity whose annotation was taken away on purpose; None without any
    aside       (word, width): left out by the two-step method or, where a span can have several types, another
                window's: no cell for a policy, and nothing is known here of its ends; None without any
    """

    labels: Tensor
    unknown: Tensor
    negative: Tensor
    possible: Tensor | None = None
    types: Tensor | None = None
    dropped: Tensor | None = None
    aside: Tensor | None = None

    def open_cells(self) -> Tensor:
        """The numbers of the cells that are unknown, wholly or as for some label.  -> (cell,)"""
        partly = self.unknown if self.possible is None else self.unknown | self.possible.any(-1)
        if self.aside is not None:
            partly = partly & ~self.aside
        return partly.flatten().nonzero().flatten()

    def without(self, cells: Sequence[int]) -> States:
        """The same where no policy sees these cells; what is known of them stays."""
        aside = torch.zeros_like(self.unknown)
        aside.view(-1)[list(cells)] = True
        others = aside if self.aside is None else self.aside | aside
        return replace(self, unknown=self.unknown & ~aside, aside=others)


@dataclass(frozen=True, slots=True)
class Knowledge:
    """How annotations are taken.

    max_width           words of the widest span; 0: as many as the sentence has
    certain_negatives   what overlaps an annotation made by a person is not an entity, in flat corpora
    several             a span can have several types. Whoever annotated one type of a span has looked at it: its other
                        types are ruled out, but where an exploratory model guessed the one; and a span of which some
                        types are known is unknown as for the others
    """

    labels: Labels
    max_width: int
    flat: bool
    certain_negatives: bool = True
    several: bool = False


def states_of(example: Example, document: Document, knowledge: Knowledge, notes: Notes) -> States:
    """The states of the spans that this window owns; what cannot be trained on is counted with the first window."""
    if example.index == 0:
        _count_lost(example, document, knowledge, notes)
    document = seen_from(example, document)
    types, words = len(knowledge.labels), len(example.words)
    shape = (words, knowledge.max_width or words)
    mine = owned(example.windows, example.index, shape[1]).numpy()
    annotated = _marked(document, document.entities, knowledge, shape)
    ruled_out = _ruled_out(document, knowledge, shape) & ~annotated
    is_entity = np.any(annotated, axis=-1, keepdims=True)[..., 0]
    open_ = mine & ~is_entity
    negative = open_ & ruled_out.all(-1) if types else open_
    partly = open_ & ruled_out.any(-1) & ~negative
    labels = np.where(is_entity & mine, annotated.argmax(-1) + 1 if types else 0, 0).astype(np.int64)
    known: dict[str, Grid | NDArray[np.int8]] = {}
    if knowledge.several:
        looked_at = is_entity
        if any(entity.source == EXPLORATORY for entity in document.entities):
            told = [entity for entity in document.entities if entity.source != EXPLORATORY]
            looked_at = _marked(document, told, knowledge, shape).any(-1)
        of_others = (ruled_out | looked_at[..., None]) & mine[..., None]
        known["types"] = np.where(annotated & mine[..., None], 2, of_others).astype(np.int8)
        if len(example.windows) > 1:
            known["aside"] = ~mine & _read_elsewhere(example, shape)
        partly = np.zeros_like(partly)
    elif partly.any():
        known["possible"] = np.concatenate([np.ones((*shape, 1), dtype=bool), ~ruled_out], -1) & partly[..., None]
    if document.dropped:
        known["dropped"] = _marked(document, document.dropped, knowledge, shape).any(-1) & mine
    return States(
        torch.from_numpy(labels),
        torch.from_numpy(open_ & ~negative & ~partly),
        torch.from_numpy(negative),
        **{name: torch.from_numpy(grid) for name, grid in known.items()},
    )


def _read_elsewhere(example: Example, shape: tuple[int, int]) -> Grid:
    """Spans that have a word of this window, and may be another's: of what runs past its last word only where the text
    goes on.  -> (word, width)"""
    window, behind = example.windows[example.index], example.windows[example.index + 1 :]
    goes_on = bool(behind) and behind[0].first < window.end
    inside = np.add.outer(np.arange(shape[0]), np.arange(shape[1])) < shape[0]
    return inside | goes_on


def open_types(document: Document, knowledge: Knowledge) -> Grid:
    """Which types of each span of a document are unknown: neither annotated nor ruled out.  -> (word, width, type)"""
    words = len(words_of(document))
    shape = (words, knowledge.max_width or words)
    annotated = _marked(document, document.entities, knowledge, shape)
    return ~annotated.any(-1, keepdims=True) & ~_ruled_out(document, knowledge, shape)


def seen_from(example: Example, document: Document) -> Document:
    """The document with the words of a window, and of its annotations those that touch these."""
    begin, end = example.words[0][0], example.words[-1][1]
    if len(example.windows) == 1:
        return document.replace(tokens=example.words)
    return document.replace(
        tokens=example.words,
        entities=tuple(item for item in document.entities if item.start < end and begin < item.end),
        rejected=tuple(item for item in document.rejected if item.start < end and begin < item.end),
        unknown=tuple(item for item in document.unknown if item[0] < end and begin < item[1]),
        dropped=tuple(item for item in document.dropped if item.start < end and begin < item.end),
    )


def _count_lost(example: Example, document: Document, knowledge: Knowledge, notes: Notes) -> None:
    """Note the entities of a document that no window of it can be trained on for."""
    words = example.words if len(example.windows) == 1 else words_of(document)
    begins = [window.first for window in example.windows]
    trained: dict[Range, str] = {}
    for entity, span in zip(document.entities, _spans(words, document.entities), strict=True):
        if span is None:
            notes.change("entity that begins or ends inside a word (not trained on)", document.id)
        elif 0 < knowledge.max_width < span[1] - span[0]:
            notes.change(f"entity of more than {knowledge.max_width} words (not trained on)", document.id)
        elif span[1] > example.windows[bisect_right(begins, span[0]) - 1].end:
            notes.change("entity that no window of the encoder holds whole (not trained on)", document.id)
        elif trained.setdefault(span, entity.label) != entity.label and not knowledge.several:
            notes.change("entity with the range of another type (one is trained on; see model.several)", document.id)
    for span in _spans(words, document.rejected):
        if span is None:
            notes.change("rejected span that begins or ends inside a word (says nothing)", document.id)
        elif 0 < knowledge.max_width < span[1] - span[0]:
            notes.change(f"rejected span of more than {knowledge.max_width} words (says nothing)", document.id)


def _spans(words: tuple[Range, ...], entities: Sequence[Entity | Rejected]) -> list[Range | None]:
    return word_spans(words, [(entity.start, entity.end) for entity in entities])


def _marked(
    document: Document, entities: Sequence[Entity], knowledge: Knowledge, shape: tuple[int, int]
) -> NDArray[np.bool_]:
    """The entities that are whole words and not too many of them.  -> (word, width, type)"""
    marked = np.zeros((*shape, len(knowledge.labels)), dtype=bool)
    for entity, span in zip(entities, _spans(words_of(document), entities), strict=True):
        if span is not None and span[1] - span[0] <= shape[1] and entity.label in knowledge.labels:
            marked[span[0], span[1] - span[0] - 1, knowledge.labels.index(entity.label)] = True
    return marked


def _ruled_out(document: Document, knowledge: Knowledge, shape: tuple[int, int]) -> Grid:
    """Which types each span is known not to have.  -> (word, width, type)"""
    ruled = np.zeros((*shape, len(knowledge.labels)), dtype=bool)
    if document.complete:
        settled = _touches_all_known(document, shape)
        for index, label in enumerate(knowledge.labels):
            if document.is_complete(label):
                ruled[..., index] |= settled
    for item, span in zip(document.rejected, _spans(words_of(document), document.rejected), strict=True):
        if span is not None and span[1] - span[0] <= shape[1]:
            hit = ruled[span[0], span[1] - span[0] - 1]
            hit[:] |= np.array([item.label in (None, label) for label in knowledge.labels], dtype=bool)
    if knowledge.flat and knowledge.certain_negatives:
        by_people = [(entity.start, entity.end) for entity in document.entities if entity.by_people]
        ruled |= _any_inside(touched(document, by_people), shape)[..., None]
    return ruled


def _touches_all_known(document: Document, shape: tuple[int, int]) -> Grid:
    """Spans about which a complete document leaves no doubt: those with a word that is known to be outside, and those
    without any unknown word."""
    unknown = touched(document, document.unknown)
    annotated = touched(document, [(entity.start, entity.end) for entity in document.entities])
    return _any_inside(~unknown & ~annotated, shape) | ~_any_inside(unknown, shape)


def touched(document: Document, ranges: Iterable[Range]) -> Grid:
    """The words that have a character in one of the ranges.  -> (word,)"""
    words = words_of(document)
    touched = np.zeros(len(words), dtype=bool)
    for start, end in ranges:
        found = words_touching(words, start, end)
        touched[found.start : found.stop] = True
    return touched


def _any_inside(flags: Grid, shape: tuple[int, int]) -> Grid:
    """Whether a span has a flagged word; the words behind the last have no flag.  (word,) -> (word, width)"""
    sums = np.concatenate([[0], np.cumsum(flags)])
    start = np.arange(shape[0])[:, None]
    end = np.minimum(start + 1 + np.arange(shape[1])[None], len(flags))
    found: Grid = sums[end] > sums[start]
    return found


@dataclass(frozen=True, slots=True)
class BatchStates:
    """The states of a batch of examples, padded; padding is in no state. Cell = word * widths + width."""

    labels: Tensor  # (batch, cell)
    unknown: Tensor  # (batch, cell)
    negative: Tensor  # (batch, cell)
    possible: Tensor | None = None  # (batch, cell, label)
    types: Tensor | None = None  # (batch, cell, type)
    dropped: Tensor | None = None  # (batch, cell)
    aside: Tensor | None = None  # (batch, cell)


def stack(states: Sequence[States]) -> BatchStates:
    """States of several examples as one."""
    shape = tuple(max((item.labels.shape[axis] for item in states), default=0) for axis in range(2))
    parts = {
        field.name: padded
        for field in fields(States)
        if (padded := _padded([getattr(item, field.name) for item in states], shape)) is not None
    }
    return BatchStates(**parts)


def _padded(grids: Sequence[Tensor | None], shape: tuple[int, ...]) -> Tensor | None:
    """(word, width, ...) of each example -> (batch, cell, ...), or None where no example has any"""
    one = next((grid for grid in grids if grid is not None), None)
    if one is None:
        return None
    result = one.new_zeros(len(grids), *shape, *one.shape[2:])
    for row, grid in enumerate(grids):
        if grid is not None:
            result[row, : grid.shape[0], : grid.shape[1]] = grid
    return result.flatten(1, 2)
