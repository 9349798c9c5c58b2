"""The state of every span of a window, for every type: entity, known not to be one, or unknown (DESIGN section 1)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from goldgap.core.document import Document
from goldgap.core.labels import Labels
from goldgap.core.notes import Notes
from goldgap.corpus.words import word_spans, words_of, words_touching
from goldgap.distant.annotate import SOURCE as DICTIONARY
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
    """

    labels: Tensor
    unknown: Tensor
    negative: Tensor
    possible: Tensor | None = None
    types: Tensor | None = None
    dropped: Tensor | None = None


@dataclass(frozen=True, slots=True)
class Knowledge:
    """How annotations are taken.

    max_width           words of the widest span; 0: as many as the sentence has
    certain_negatives   what overlaps an annotation made by a person is not an entity, in flat corpora
    several             a span can have several types. Whoever annotated one type of a span has looked at it: its other
                        types are ruled out; and a span of which some types are known is unknown as for the others
    """

    labels: Labels
    max_width: int
    flat: bool
    certain_negatives: bool = True
    several: bool = False


def states_of(example: Example, document: Document, knowledge: Knowledge, notes: Notes) -> States:
    """The states of the spans that this window owns."""
    types = len(knowledge.labels)
    first, end = example.window
    shape = (end - first, knowledge.max_width or end - first)
    mine = owned(example.windows, example.index, shape[1]).numpy()
    spans = _entity_spans(document, knowledge, notes if example.index == 0 else None)
    annotated = _marked(spans, knowledge, first, shape)
    ruled_out = _ruled_out(document, knowledge, first, shape) & ~annotated
    is_entity = np.any(annotated, axis=-1, keepdims=True)[..., 0]
    open_ = mine & ~is_entity
    negative = open_ & ruled_out.all(-1) if types else open_
    partly = open_ & ruled_out.any(-1) & ~negative
    labels = np.where(is_entity & mine, annotated.argmax(-1) + 1 if types else 0, 0).astype(np.int64)
    known: dict[str, Grid | NDArray[np.int8]] = {}
    if knowledge.several:
        known["types"] = (np.where(annotated, 2, ruled_out | is_entity[..., None]) * mine[..., None]).astype(np.int8)
        partly = np.zeros_like(partly)
    elif partly.any():
        known["possible"] = np.concatenate([np.ones((*shape, 1), dtype=bool), ~ruled_out], -1) & partly[..., None]
    if document.dropped:
        gone = word_spans(words_of(document), [(entity.start, entity.end) for entity in document.dropped])
        named = [(*span, entity.label) for span, entity in zip(gone, document.dropped, strict=True) if span]
        known["dropped"] = _marked(named, knowledge, first, shape).any(-1) & mine
    return States(
        torch.from_numpy(labels),
        torch.from_numpy(open_ & ~negative & ~partly),
        torch.from_numpy(negative),
        **{name: torch.from_numpy(grid) for name, grid in known.items()},
    )


def _marked(
    spans: Iterable[tuple[int, int, str]], knowledge: Knowledge, first: int, shape: tuple[int, int]
) -> NDArray[np.bool_]:
    """The spans of words that lie in a window and are not too wide.  -> (word, width, type)"""
    marked = np.zeros((*shape, len(knowledge.labels)), dtype=bool)
    for start, stop, label in spans:
        inside = first <= start and stop <= first + shape[0] and stop - start <= shape[1]
        if inside and label in knowledge.labels:
            marked[start - first, stop - start - 1, knowledge.labels.index(label)] = True
    return marked


def open_types(document: Document, knowledge: Knowledge) -> Grid:
    """Which types of each span of a document are unknown: neither annotated nor ruled out.  -> (word, width, type)"""
    words = len(words_of(document))
    shape = (words, knowledge.max_width or words)
    annotated = _marked(_entity_spans(document, knowledge, None), knowledge, 0, shape)
    return ~annotated.any(-1, keepdims=True) & ~_ruled_out(document, knowledge, 0, shape)


def _entity_spans(document: Document, knowledge: Knowledge, notes: Notes | None) -> list[tuple[int, int, str]]:
    """The entities as spans of words; those that cannot be trained on are counted."""
    words = words_of(document)
    spans = []
    ranges = word_spans(words, [(entity.start, entity.end) for entity in document.entities])
    for entity, span in zip(document.entities, ranges, strict=True):
        if span is None:
            if notes is not None:
                notes.change("entity that begins or ends inside a word (not trained on)", document.id)
            continue
        if notes is not None and 0 < knowledge.max_width < span[1] - span[0]:
            notes.change(f"entity of more than {knowledge.max_width} words (not trained on)", document.id)
        spans.append((*span, entity.label))
    return spans


def _ruled_out(document: Document, knowledge: Knowledge, first: int, shape: tuple[int, int]) -> Grid:
    """Which types each span is known not to have.  -> (word, width, type)"""
    words = words_of(document)
    ruled = np.zeros((*shape, len(knowledge.labels)), dtype=bool)
    if document.complete:
        settled = _touches_all_known(document, first, shape)
        for index, label in enumerate(knowledge.labels):
            if document.is_complete(label):
                ruled[..., index] |= settled
    for item in document.rejected:
        (span,) = word_spans(words, [(item.start, item.end)])
        if span is not None and 0 <= span[0] - first < shape[0] and span[1] - span[0] <= shape[1]:
            hit = ruled[span[0] - first, span[1] - span[0] - 1]
            hit[:] |= np.array([item.label in (None, label) for label in knowledge.labels], dtype=bool)
    if knowledge.flat and knowledge.certain_negatives:
        by_people = np.zeros(len(words), dtype=bool)
        for entity in document.entities:
            if entity.source != DICTIONARY:
                touched = words_touching(words, entity.start, entity.end)
                by_people[touched.start : touched.stop] = True
        ruled |= _any_inside(by_people, first, shape)[..., None]
    return ruled


def _touches_all_known(document: Document, first: int, shape: tuple[int, int]) -> Grid:
    """Spans about which a complete document leaves no doubt: those with a word that is known to be outside, and those
    without any unknown word."""
    words = words_of(document)
    unknown = np.zeros(len(words), dtype=bool)
    for start, end in document.unknown:
        touched = words_touching(words, start, end)
        unknown[touched.start : touched.stop] = True
    annotated = np.zeros(len(words), dtype=bool)
    for entity in document.entities:
        touched = words_touching(words, entity.start, entity.end)
        annotated[touched.start : touched.stop] = True
    return _any_inside(~unknown & ~annotated, first, shape) | ~_any_inside(unknown, first, shape)


def _any_inside(flags: Grid, first: int, shape: tuple[int, int]) -> Grid:
    """Whether a span has a flagged word; the words behind the end of the document have no flag."""
    sums = np.concatenate([[0], np.cumsum(flags)])
    start = first + np.arange(shape[0])[:, None]
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
