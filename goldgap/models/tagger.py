"""The tagger: a tag for every word, by softmax or by a chain of tags (CRF), over any encoder."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor, nn

from goldgap.corpus.tags import Span
from goldgap.decode import Candidate
from goldgap.encode.batch import Batch
from goldgap.encode.encoder import Encoder
from goldgap.encode.windows import owned
from goldgap.models.chain import Chain
from goldgap.models.model import Model
from goldgap.models.scores import SpanScores
from goldgap.models.simplex import AngleHead
from goldgap.models.tagset import TagSet
from goldgap.unknown.cells import DenseFeatures


class Tagger(Model):
    """A classifier of words over the words of an encoder.

    crf     scores of neighbouring tags are learned; without, the scheme alone holds them together
    angle   the scores of a word are angles with the corners of a simplex, and sum to zero
    """

    several = False

    def __init__(
        self,
        encoder: Encoder,
        tagset: TagSet,
        tokenizer: Any,
        *,
        crf: bool,
        angle: bool,
        dropout: float,
        overlap: int,
        window: int,
    ) -> None:
        super().__init__(encoder, tagset.labels, tokenizer, overlap=overlap, window=window)
        self.tagset = tagset
        self.dropout = nn.Dropout(dropout)
        self.head: nn.Module = (AngleHead if angle else nn.Linear)(encoder.dimension, len(tagset))
        self.chain = Chain(tagset.legal, learned=crf)

    def forward(self, batch: Batch) -> SpanScores:
        """A cell for each word, a label for each tag."""
        vectors = self.encoder(batch)
        words = (vectors.start + vectors.end) / 2  # (batch, word, dimension)
        valid = torch.arange(words.shape[1])[None] < batch.words[:, None]
        return SpanScores(self.head(self.dropout(words)), valid, DenseFeatures(words.detach()), chain=self.chain)


@torch.no_grad()
def read_off_tags(batch: Batch, scores: SpanScores, tagset: TagSet) -> Iterator[tuple[list[Candidate], int]]:
    """The entities of the best tags of each window that are its own, with their probability among all tags."""
    assert isinstance(scores.chain, Chain)
    emissions = scores.logits.float()
    tags = scores.chain.best(emissions, batch.words)
    found = []
    for row, example in enumerate(batch.examples):
        own = tags[row, : len(example.words)].tolist()
        found.append(_owned(example.windows, example.index, tagset.decode(own)))
    chances = _log_chances(emissions, batch.words, tags, found, tagset, scores.chain)
    for row, example in enumerate(batch.examples):
        candidates = []
        for span in found[row]:
            log_p = next(chances)
            start, end = example.words[span.first][0], example.words[span.end - 1][1]
            gain = -math.log(max(-math.expm1(log_p), 1e-12))  # above 0: the best tags are chosen already
            candidates.append(Candidate(start, end, tagset.labels.index(span.label) + 1, math.exp(log_p), gain))
        yield candidates, example.document


def _owned(windows: list[Any], index: int, spans: list[Span]) -> list[Span]:
    if len(windows) == 1 or not spans:
        return spans
    mine = owned(windows, index, max(span.end - span.first for span in spans))
    return [span for span in spans if mine[span.first, span.end - span.first - 1]]


def _log_chances(
    emissions: Tensor, words: Tensor, tags: Tensor, found: list[list[Span]], tagset: TagSet, chain: Chain
) -> Iterator[float]:
    """How likely each entity is to be there just so, among all legal sequences of tags."""
    places = [(row, span) for row, spans in enumerate(found) for span in spans]
    if not places:
        return iter(())
    rows = torch.tensor([row for row, _ in places])
    allowed = torch.ones(len(places), *emissions.shape[1:], dtype=torch.bool)
    for number, (row, span) in enumerate(places):
        inside = slice(span.first, span.end)
        allowed[number, inside] = nn.functional.one_hot(tags[row, inside], len(tagset)).bool()
        longer = tagset.continuation(span.label)
        if longer is not None and span.end < emissions.shape[1]:
            allowed[number, span.end, longer] = False
    exact = emissions.double()  # sums over long texts are large, and their difference is small
    all_of_them = chain.log_sum(exact, words)[rows]
    with_it = chain.log_sum(exact[rows], words[rows], allowed)
    return iter((with_it - all_of_them).clamp(max=0.0).tolist())
