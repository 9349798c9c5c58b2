"""Documents to documents with entities, in order and with bounded memory."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from itertools import islice

import torch

from goldgap.core.document import Document, Entity
from goldgap.decode import Candidate, decode
from goldgap.encode.batch import Batch, batch_order
from goldgap.encode.windows import owned
from goldgap.models.span import SpanScores
from goldgap.models.span_model import SpanModel

TOGETHER = 512
"""Documents that are sorted by length together; memory does not grow beyond them."""
BATCH_SIZE = 64
TOKEN_BUDGET = 8192


def predict(
    model: SpanModel, documents: Iterable[Document], *, how: str = "greedy", min_prob: float = 0.0
) -> Iterator[Document]:
    """Each document with the entities that the model finds, in place of those it had."""
    stream = iter(documents)
    while chunk := list(islice(stream, TOGETHER)):
        found: list[list[Candidate]] = [[] for _ in chunk]
        for candidates, document in _candidates(model, chunk):
            found[document] += candidates
        for document_, candidates in zip(chunk, found, strict=True):
            chosen = decode(candidates, how, min_prob=min_prob)
            entities = [Entity(c.start, c.end, model.labels.types[c.label - 1], c.score) for c in chosen]
            yield document_.replace(entities=tuple(entities), complete=False, unknown=(), rejected=(), dropped=())


def _candidates(model: SpanModel, documents: list[Document]) -> Iterator[tuple[list[Candidate], int]]:
    """The candidates of each window, with the number of its document."""
    examples = model.examples(documents)
    lengths = [example.length for example in examples]
    was_training = model.training
    model.eval()
    try:
        for indices in batch_order(lengths, batch_size=BATCH_SIZE, token_budget=TOKEN_BUDGET, seed=0, epoch=None):
            batch = model.batch([examples[index] for index in indices])
            with torch.no_grad():
                scores = model(batch)
            yield from _read_off(batch, scores)
    finally:
        model.train(was_training)


def _read_off(batch: Batch, scores: SpanScores) -> Iterator[tuple[list[Candidate], int]]:
    """Spans whose best label is a type; in characters of the document."""
    log_p = torch.log_softmax(scores.logits.float(), -1)  # (batch, cell, label)
    best, label = log_p.max(-1)
    hit = (label > 0) & scores.valid
    widths = scores.valid.shape[1] // max(batch.first.shape[1], 1)
    for row, example in enumerate(batch.examples):
        mine = hit[row]
        if len(example.windows) > 1:
            own = owned(example.windows, example.index, widths).flatten()
            mine = mine.clone()
            mine[: len(own)] &= own
        cells = mine.nonzero().flatten()
        columns = (label[row, cells], best[row, cells], log_p[row, cells, 0])
        found = []
        for cell, kind, score, outside in zip(cells.tolist(), *(c.tolist() for c in columns), strict=True):
            first, extra = divmod(cell, widths)
            start, end = example.words[first][0], example.words[first + extra][1]
            found.append(Candidate(start, end, kind, math.exp(score), score - outside))
        yield found, example.document
