"""Documents to documents with entities, in order and with bounded memory."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice

import torch

from goldgap.core.document import MODEL, Document, Entity
from goldgap.core.labels import Labels
from goldgap.core.notes import Notes
from goldgap.decode import Candidate, decode
from goldgap.encode.batch import Batch, Example, batch_order
from goldgap.encode.device import making_on, moved
from goldgap.encode.windows import owned
from goldgap.models.model import Model
from goldgap.models.scores import SpanScores, end_words
from goldgap.models.tagger import Tagger, read_off_tags

TOGETHER = 512
"""Documents that are sorted by length together; memory does not grow beyond them."""
BATCH_SIZE = 64
TOKEN_BUDGET = 2048
"""Pieces of a batch: more of them fall out of the processor's cache, which costs up to 40 % on long documents."""


def predict(
    model: Model,
    documents: Iterable[Document],
    *,
    how: str = "greedy",
    min_prob: float = 0.0,
    thresholds: Mapping[str, float] | None = None,
    joint: bool = False,
    rank_by: str = "similarity",
    notes: Notes | None = None,
) -> Iterator[Document]:
    """Each document with the entities that the model finds, in place of those it had.

    min_prob, thresholds   least probability of an entity, and of one with a certain type
    joint, rank_by         of a bi-encoder: whether the ends of a span must pass their thresholds too, and what comes
                           first where entities may not overlap, by similarity or by margin
    """
    least = numbered(thresholds, model.labels)
    for document, found in candidates(model, documents, notes, joint=joint, rank_by=rank_by):
        chosen = decode(found, how, min_prob=min_prob, thresholds=least)
        entities = [Entity(c.start, c.end, model.labels.types[c.label - 1], c.score, MODEL) for c in chosen]
        yield document.replace(entities=tuple(entities), complete=False, unknown=(), rejected=(), dropped=())


def numbered(thresholds: Mapping[str, float] | None, labels: Labels) -> dict[int, float]:
    """The thresholds of types by their numbers."""
    return {labels.index(label) + 1: value for label, value in (thresholds or {}).items()}


def candidates(
    model: Model,
    documents: Iterable[Document],
    notes: Notes | None = None,
    *,
    joint: bool = False,
    rank_by: str = "similarity",
) -> Iterator[tuple[Document, list[Candidate]]]:
    """Each document with all spans that the model calls an entity, in characters; they may overlap."""
    stream = iter(documents)
    while chunk := list(islice(stream, TOGETHER)):
        found: list[list[Candidate]] = [[] for _ in chunk]
        for batch, scores in scored(model, chunk, notes):
            for own, document in _found(model, batch, _with_ends(scores) if joint else scores, rank_by):
                found[document] += own
        yield from zip(chunk, found, strict=True)


def scored(
    model: Model, documents: Sequence[Document], notes: Notes | None = None
) -> Iterator[tuple[Batch, SpanScores]]:
    """The scores of all windows of some documents, batch by batch and by length."""
    yield from scored_examples(model, model.examples(documents, notes))


def scored_examples(model: Model, examples: Sequence[Example]) -> Iterator[tuple[Batch, SpanScores]]:
    """The scores of windows, batch by batch and by length; on the processor, whatever the model is on."""
    here = torch.device("cpu")
    lengths = [example.length for example in examples]
    was_training = model.training
    model.eval()
    try:
        for indices in batch_order(lengths, batch_size=BATCH_SIZE, token_budget=TOKEN_BUDGET, seed=0, epoch=None):
            batch = model.batch([examples[index] for index in indices])
            with torch.no_grad(), making_on(model.device):
                scores = model(batch)
            yield moved(batch, here), moved(scores, here)
    finally:
        model.train(was_training)


def _with_ends(scores: SpanScores) -> SpanScores:
    """Without the types whose thresholds the first or the last word of a span does not pass (003 Algorithm 1)."""
    similarity = scores.similarity
    if similarity is None or similarity.thresholds is None:
        return scores
    words = similarity.start.shape[1]
    widths = similarity.span.shape[1] // max(words, 1)
    starts = similarity.start >= similarity.thresholds.start.unsqueeze(1)  # (batch, word, type)
    ends = similarity.end >= similarity.thresholds.end.unsqueeze(1)
    passed = (starts.unsqueeze(2) & ends[:, end_words(words, widths)]).flatten(1, 2)  # (batch, cell, type)
    types = scores.logits[..., 1:].masked_fill(~passed, float("-inf"))
    return scores._replace(logits=torch.cat([scores.logits[..., :1], types], -1))


def _found(model: Model, batch: Batch, scores: SpanScores, rank_by: str) -> Iterator[tuple[list[Candidate], int]]:
    if isinstance(model, Tagger):
        return read_off_tags(batch, scores, model.tagset)
    return _read_off(batch, scores, several=model.several, rank_by=rank_by)


def _read_off(
    batch: Batch, scores: SpanScores, *, several: bool, rank_by: str
) -> Iterator[tuple[list[Candidate], int]]:
    """Spans whose best label is a type, or every type that is likelier than not where a span can have several."""
    ranks = None
    if scores.similarity is not None:
        ranks = scores.similarity.span if rank_by == "similarity" else scores.logits[..., 1:]
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
        columns = [cells[at], types, log_p[at, types], gains[at, types]]
        if ranks is not None:
            columns.append(ranks[row, cells[at], types])
        found = []
        for cell, kind, score, gain, *rank in zip(*(column.tolist() for column in columns), strict=True):
            first, extra = divmod(cell, widths)
            start, end = example.words[first][0], example.words[first + extra][1]
            found.append(Candidate(start, end, kind + 1, math.exp(score), gain, *rank))
        yield found, example.document
