"""The span recogniser as one module: an encoder and a head."""

from __future__ import annotations

from typing import Any

from goldgap.core.labels import Labels
from goldgap.encode.batch import Batch
from goldgap.encode.encoder import Encoder
from goldgap.models.model import Model
from goldgap.models.scores import SpanScores
from goldgap.models.span import SpanHead


class SpanModel(Model):
    """A classifier of spans over the words of an encoder."""

    def __init__(
        self, encoder: Encoder, head: SpanHead, labels: Labels, tokenizer: Any, *, overlap: int, window: int
    ) -> None:
        super().__init__(encoder, labels, tokenizer, overlap=overlap, window=window)
        self.head, self.several = head, head.several

    def forward(self, batch: Batch) -> SpanScores:
        scores: SpanScores = self.head(self.encoder(batch), batch.words)
        return scores
