"""The state of every span of a window, for every type: entity, known not to be one, or unknown (DESIGN section 1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

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

    labels      (cell,): index of the annotated type, 0 where there is none
    unknown     (cell,): nothing rules any type out
    negative    (cell,): every type is ruled out
    possible    (cell, label) for the partly known: True where O or the type is still possible; None if there are none
    """

    labels: Tensor
    unknown: Tensor
    negative: Tensor
    possible: Tensor | None


@dataclass(frozen=True, slots=True)
class Knowledge:
    """How annotations are taken.

    certain_negatives   what overlaps an annotation made by a person is not an entity, in flat corpora
    """

    labels: Labels
    max_width: int
    flat: bool
    certain_negatives: bool = True


def states_of(example: Example, document: Document, knowledge: Knowledge, notes: Notes) -> States:
    """The states of the spans that this window owns."""
    types, widths = len(knowledge.labels), knowledge.max_width
    first, end = example.window
    shape = (end - first, widths)
    mine = owned(example.windows, example.index, widths).numpy()
    annotated = np.zeros((*shape, types), dtype=bool)
    for start, stop, label in _entity_spans(document, knowledge, notes if example.index == 0 else None):
        if first <= start and stop <= end and stop - start <= widths and label in knowledge.labels:
            annotated[start - first, stop - start - 1, knowledge.labels.index(label)] = True
    ruled_out = _ruled_out(document, knowledge, first, shape) & ~annotated
    is_entity = annotated.any(-1)
    open_ = mine & ~is_entity
    negative = open_ & ruled_out.all(-1) if types else open_
    partly = open_ & ruled_out.any(-1) & ~negative
    labels = np.where(is_entity & mine, annotated.argmax(-1) + 1 if types else 0, 0)
    possible = None
    if partly.any():
        possible = np.concatenate([np.ones((*shape, 1), dtype=bool), ~ruled_out], -1) & partly[..., None]
    return States(
        torch.from_numpy(labels.reshape(-1).astype(np.int64)),
        torch.from_numpy((open_ & ~negative & ~partly).reshape(-1)),
        torch.from_numpy(negative.reshape(-1)),
        None if possible is None else torch.from_numpy(possible.reshape(-1, types + 1)),
    )


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
        if notes is not None and span[1] - span[0] > knowledge.max_width:
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
    """The states of a batch of examples, padded; padding is in no state."""

    labels: Tensor  # (batch, cell)
    unknown: Tensor  # (batch, cell)
    negative: Tensor  # (batch, cell)
    possible: Tensor | None  # (batch, cell, label)


def stack(states: Sequence[States]) -> BatchStates:
    """States of several examples as one; cells of a sentence are in order of words, so padding comes last."""
    size = max((len(item.labels) for item in states), default=0)
    labels = torch.zeros(len(states), size, dtype=torch.long)
    unknown, negative = (torch.zeros(len(states), size, dtype=torch.bool) for _ in range(2))
    parts = [item.possible for item in states if item.possible is not None]
    possible = torch.zeros(len(states), size, parts[0].shape[-1], dtype=torch.bool) if parts else None
    for row, item in enumerate(states):
        count = len(item.labels)
        labels[row, :count], unknown[row, :count], negative[row, :count] = item.labels, item.unknown, item.negative
        if possible is not None and item.possible is not None:
            possible[row, :count] = item.possible
    return BatchStates(labels, unknown, negative, possible)
