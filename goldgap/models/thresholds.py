"""Thresholds chosen on a dev set: for each type, the similarity above which spans have the best F1 (003 Table 6)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import torch
from torch import Tensor

from goldgap.core.document import Document
from goldgap.core.labels import Labels
from goldgap.corpus.words import word_spans
from goldgap.encode.batch import Example
from goldgap.encode.windows import owned
from goldgap.models.model import Model
from goldgap.models.predict import scored


def best_thresholds(model: Model, documents: Sequence[Document]) -> Tensor:
    """-> (type,); a type that no document has gets one that nothing passes"""
    scores: list[Tensor] = []  # (span, type) of each window
    hits: list[Tensor] = []  # (span, type): it is an entity of that type
    for batch, found in scored(model, documents):
        assert found.similarity is not None, "only a bi-encoder has thresholds"
        widths = found.similarity.span.shape[1] // max(batch.first.shape[1], 1)
        for row, example in enumerate(batch.examples):
            cells, gold = gold_cells(example, documents[example.document], model.labels, widths)
            scores.append(found.similarity.span[row, : len(cells)][cells])
            hits.append(gold[cells])
    wanted = Counter(entity.label for document in documents for entity in document.entities)
    if not scores:
        return torch.zeros(len(model.labels))
    columns = zip(torch.cat(scores).T, torch.cat(hits).T, model.labels, strict=True)
    return torch.stack([_best(own, gold, wanted[label]) for own, gold, label in columns])


def gold_cells(example: Example, document: Document, labels: Labels, widths: int) -> tuple[Tensor, Tensor]:
    """The cells that a window has to score, and the types that each of its cells has.  -> (cell,), (cell, type)"""
    mine = owned(example.windows, example.index, widths)  # (word, width)
    gold = torch.zeros(*mine.shape, len(labels), dtype=torch.bool)
    spans = word_spans(example.words, [(entity.start, entity.end) for entity in document.entities])
    for entity, span in zip(document.entities, spans, strict=True):
        if span is not None and span[1] - span[0] <= widths and entity.label in labels:
            gold[span[0], span[1] - span[0] - 1, labels.index(entity.label)] = True
    return mine.flatten(), gold.flatten(0, 1)


def _best(scores: Tensor, gold: Tensor, wanted: int) -> Tensor:
    """Half-way between the last score that is taken and the first that is not.  (span,), (span,) -> scalar"""
    ranked, order = scores.sort(descending=True, stable=True)
    right = gold[order].cumsum(0)
    f1 = 2 * right / (torch.arange(1, len(ranked) + 1) + wanted)
    # Of equal scores all are taken or none: only where the next one is lower can the line be drawn.
    lower = torch.cat([ranked[1:], ranked[-1:] - 2])
    f1 = f1.masked_fill(lower == ranked, -1.0)
    if not right[-1]:
        return ranked[0] + 1
    at = int(f1.argmax())
    half = (ranked[at] + lower[at]) / 2
    return torch.where(half < ranked[at], half, lower[at])  # of neighbouring numbers, half is one of the two
