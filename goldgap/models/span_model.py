"""The span recogniser as one module: an encoder, a head, and what belongs to them on disk."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torch import nn

from goldgap.core.document import Document
from goldgap.core.labels import Labels
from goldgap.core.notes import Notes
from goldgap.encode.batch import Batch, Example, collate, make_examples
from goldgap.encode.encoder import Encoder, special_pieces
from goldgap.models.span import SpanHead, SpanScores


class SpanModel(nn.Module):
    """Scores for every span of a batch.

    overlap   words that neighbouring windows of a long document share
    window    most pieces of a window, special ones included
    """

    def __init__(
        self, encoder: Encoder, head: SpanHead, labels: Labels, tokenizer: Any, *, overlap: int, window: int
    ) -> None:
        super().__init__()
        self.encoder: Any = encoder
        self.head = head
        self.labels, self.tokenizer, self.overlap = labels, tokenizer, overlap
        self._special = special_pieces(tokenizer)
        around = len(self._special.before) + len(self._special.behind)
        self._limit = min(encoder.piece_limit(tokenizer), window - around)

    def forward(self, batch: Batch) -> SpanScores:
        scores: SpanScores = self.head(self.encoder(batch), batch.words)
        return scores

    def examples(self, documents: Sequence[Document], notes: Notes | None = None) -> list[Example]:
        return list(make_examples(documents, self.tokenizer, limit=self._limit, overlap=self.overlap, notes=notes))

    def batch(self, examples: Sequence[Example]) -> Batch:
        return collate(examples, self._special)
