"""Documents to documents with entities, in order and with bounded memory."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice

import torch

from goldgap.core.document import Document, Entity
from goldgap.core.notes import Notes
from goldgap.decode import Candidate, decode
from goldgap.encode.batch import Batch, batch_order
from goldgap.encode.windows import owned
from goldgap.models.span import SpanScores
from goldgap.models.span_model import SpanModel

TOGETHER = 512
"""Documents that are sorted by length together; memory does not grow beyond them."""
BATCH_SIZE = 64
TOKEN_BUDGET = 2048
"""Pieces of a batch: more of them fall out of the processor's cache, which costs up to 40 % on long documents."""


def predict(
    model: SpanModel,
    documents: Iterable[Document],
    *,
    how: str = "greedy",
    min_prob: float = 0.0,
    thresholds: Mapping[str, float] | None = None,
    notes: Notes | None = None,
) -> Iterator[Document]:
    """Each document with the entities that the model finds, in place of those it had.

    min_prob, thresholds   least probability of an entity, and of one with a certain type
    """
    least = {model.labels.index(label) + 1: value for label, value in (thresholds or {}).items()}
    for document, found in candidates(model, documents, notes):
        chosen = decode(found, how, min_prob=min_prob, thresholds=least)
        entities = [Entity(c.start, c.end, model.labels.types[c.label - 1], c.score) for c in chosen]
        yield document.replace(entities=tuple(entities), complete=False, unknown=(), rejected=(), dropped=())


def candidates(
    model: SpanModel, documents: Iterable[Document], notes: Notes | None = None
) -> Iterator[tuple[Document, list[Candidate]]]:
    """Each document with all spans that the model calls an entity, in characters; they may overlap."""
    stream = iter(documents)
    while chunk := list(islice(stream, TOGETHER)):
        found: list[list[Candidate]] = [[] for _ in chunk]
        for own, document in _windows(model, chunk, notes):
            found[document] += own
        yield from zip(chunk, found, strict=True)


def _windows(model: SpanModel, documents: list[Document], notes: Notes | None) -> Iterator[tuple[list[Candidate], int]]:
    """The candidates of each window, with the number of its document."""
    examples = model.examples(documents, notes)
    lengths = [example.length for example in examples]
    was_training = model.training
    model.eval()
    try:
        for indices in batch_order(lengths, batch_size=BATCH_SIZE, token_budget=TOKEN_BUDGET, seed=0, epoch=None):
            batch = model.batch([examples[index] for index in indices])
            with torch.no_grad():
                scores = model(batch)
            yield from _read_off(batch, scores, several=model.head.several)
    finally:
        model.train(was_training)


def _read_off(batch: Batch, scores: SpanScores, *, several: bool) -> Iterator[tuple[list[Candidate], int]]:
    """Spans whose best label is a type, or every type that is likelier than not where a span can have several."""
    logits = scores.logits.float()  # (batch, cell, label)
    widths = scores.valid.shape[1] // max(batch.first.shape[1], 1)
    hit = scores.valid & ((logits[..., 1:] > logits[..., :1]).any(-1) if several else logits.argmax(-1) > 0)
    for row, example in enumerate(batch.examples):
        mine = hit[row]
        if len(example.windows) > 1:
            own = owned(example.windows, example.index, widths).flatten()
            mine = mine[: len(own)] & own
        cells = mine.nonzero().flatten()
        here = logits[row, cells]  # (hit, label)
        gains = here[:, 1:] - here[:, :1]
        log_p = torch.nn.functional.logsigmoid(gains) if several else torch.log_softmax(here, -1)[:, 1:]
        chosen = gains > 0 if several else torch.nn.functional.one_hot(gains.argmax(-1), gains.shape[1]).bool()
        at, types = chosen.nonzero(as_tuple=True)
        columns = (cells[at], types, log_p[at, types], gains[at, types])
        found = []
        for cell, kind, score, gain in zip(*(column.tolist() for column in columns), strict=True):
            first, extra = divmod(cell, widths)
            start, end = example.words[first][0], example.words[first + extra][1]
            found.append(Candidate(start, end, kind + 1, math.exp(score), gain))
        yield found, example.document
