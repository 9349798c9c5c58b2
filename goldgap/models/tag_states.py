"""The state of every word of a window, for every tag: as `states`, with words for cells and tags for labels."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from goldgap.core.document import Document, Entity
from goldgap.core.notes import Notes
from goldgap.corpus.tags import Span
from goldgap.corpus.words import word_spans, words_of
from goldgap.encode.batch import Example
from goldgap.encode.windows import owned
from goldgap.models.states import Grid, States, seen_from, touched
from goldgap.models.tagset import TagSet


def taught(document: Document) -> set[Entity]:
    """The entities of a document that its words can be tagged with."""
    return {entity for entity, _ in _apart(document.entities, document)}


def tag_states_of(
    example: Example,
    document: Document,
    whole: Collection[Entity],
    tagset: TagSet,
    notes: Notes,
    *,
    certain_negatives: bool,
) -> States:
    """The states of the words that this window owns; what cannot be trained on is counted with the first window.

    An entity is trained on in every window that holds it whole: half of its tags would contradict those beside them.

    whole               those that are `taught` of the document
    certain_negatives   an annotation made by a person is as long as it says
    """
    if example.index == 0:
        _count_lost(example, document, notes, tagset)
    document = seen_from(example, document)
    words = words_of(document)
    entities = _apart([entity for entity in document.entities if entity in whole], document)
    spans = [span for _, span in entities]
    labels = np.array(tagset.encode(len(words), spans), dtype=np.int64)
    mine = owned(example.windows, example.index, 1).numpy()[:, 0]
    annotated = touched(document, [(entity.start, entity.end) for entity in document.entities])  # those cut as well
    possible = ~_ruled_out(document, tagset, len(words))
    if certain_negatives:
        for entity, span in entities:
            tag = tagset.continuation(span.label)
            if tag is not None and entity.by_people and span.end < len(words):
                possible[span.end, tag] = False
    real = possible[:, 1 : len(tagset) - len(tagset.of_none())]
    open_ = mine & ~annotated
    negative = open_ & ~real.any(1)
    partly = open_ & ~real.all(1) & ~negative
    return States(
        torch.from_numpy(labels)[:, None],
        torch.from_numpy(open_ & ~negative & ~partly)[:, None],
        torch.from_numpy(negative)[:, None],
        possible=torch.from_numpy(possible & partly[:, None])[:, None] if partly.any() else None,
        dropped=torch.from_numpy(_dropped(document) & mine)[:, None] if document.dropped else None,
    )


def _apart(entities: Sequence[Entity], document: Document) -> list[tuple[Entity, Span]]:
    """The entities that are whole words, without those that share a word with a longer one."""
    found = word_spans(words_of(document), [(entity.start, entity.end) for entity in entities])
    whole = [(entity, Span(*span, entity.label)) for entity, span in zip(entities, found, strict=True) if span]
    taken: set[int] = set()
    chosen = []
    for entity, span in sorted(whole, key=lambda pair: (pair[1].first - pair[1].end, pair[1])):
        if taken.isdisjoint(range(span.first, span.end)):
            taken.update(range(span.first, span.end))
            chosen.append((entity, span))
    return chosen


def _count_lost(example: Example, document: Document, notes: Notes, tagset: TagSet) -> None:
    """Note the entities, and what reviewers said, that no word can be trained on for."""
    words = words_of(document)
    spans = word_spans(words, [(entity.start, entity.end) for entity in document.entities])
    apart = [span for _, span in _apart(document.entities, document)]
    begins = [window.first for window in example.windows]
    in_two = sum(span.end > example.windows[bisect_right(begins, span.first) - 1].end for span in apart)
    rejected = word_spans(words, [(item.start, item.end) for item in document.rejected])
    single = any(tagset.single(label) is not None for label in tagset.labels)
    untold = sum(span is None or span[1] - span[0] > 1 or not single for span in rejected)
    for count, what in (
        (spans.count(None), "entity that begins or ends inside a word (not trained on)"),
        (len(spans) - spans.count(None) - len(apart), "entity that shares a word with a longer one (not trained on)"),
        (in_two, "entity that no window of the encoder holds whole (not trained on)"),
        (untold, "rejected span that says nothing of a single word's tag (not trained on)"),
    ):
        if count:
            notes.change(what, document.id, count=count)


def _ruled_out(document: Document, tagset: TagSet, words: int) -> Grid:
    """Which tags each word is known not to have.  -> (word, tag)"""
    ruled = np.zeros((words, len(tagset)), dtype=bool)
    if document.complete:
        settled = ~touched(document, document.unknown)
        for label in tagset.labels:
            if document.is_complete(label):
                ruled[settled[:, None] & np.isin(np.arange(len(tagset)), tagset.of_type(label))] = True
    spans = word_spans(words_of(document), [(item.start, item.end) for item in document.rejected])
    for item, span in zip(document.rejected, spans, strict=True):
        if span is not None and span[1] - span[0] == 1:  # of a longer span no single word's tag is known
            for label in tagset.labels:
                tag = tagset.single(label)
                if tag is not None and item.label in (None, label):
                    ruled[span[0], tag] = True
    return ruled


def _dropped(document: Document) -> NDArray[np.bool_]:
    return touched(document, [(entity.start, entity.end) for entity in document.dropped])
