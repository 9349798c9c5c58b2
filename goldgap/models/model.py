"""What training, prediction and saving ask of every model, and what belongs to all of them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import nn

from goldgap.core.document import Document
from goldgap.core.labels import Labels
from goldgap.core.notes import Notes
from goldgap.encode.batch import Batch, Example, collate, make_examples
from goldgap.encode.device import moved
from goldgap.encode.encoder import Encoder, special_pieces
from goldgap.models.scores import SpanScores


class Model(nn.Module):
    """Scores for every span of a batch.

    several   a span can have several types
    overlap   words that neighbouring windows of a long document share
    window    most pieces of a window, special ones included
    """

    several: bool

    def __init__(self, encoder: Encoder, labels: Labels, tokenizer: Any, *, overlap: int, window: int) -> None:
        super().__init__()
        self.encoder: Any = encoder
        self.labels, self.tokenizer, self.overlap = labels, tokenizer, overlap
        self._special = special_pieces(tokenizer)
        around = len(self._special.before) + len(self._special.behind)
        self._limit = min(encoder.piece_limit(tokenizer), window - around)

    def forward(self, batch: Batch) -> SpanScores:
        raise NotImplementedError

    def examples(self, documents: Sequence[Document], notes: Notes | None = None) -> list[Example]:
        return list(make_examples(documents, self.tokenizer, limit=self._limit, overlap=self.overlap, notes=notes))

    def batch(self, examples: Sequence[Example]) -> Batch:
        return moved(collate(examples, self._special), self.device)

    @property
    def device(self) -> torch.device:
        """Where its weights are."""
        return next(self.parameters()).device

    def fit_to(self, dev: Sequence[Document]) -> None:
        """Choose on the dev set what is not learned; most models have nothing of the kind."""

    def pretrained(self) -> list[nn.Parameter]:
        """The parameters that learn at the encoder's rate; all others are new."""
        found: list[nn.Parameter] = self.encoder.pretrained()
        return found

    def save_config(self, folder: Path) -> None:
        """Write what an empty model of the same shape is built from, besides the recipe and the labels."""
        self.encoder.save_config(folder)
        self.tokenizer.save_pretrained(folder)
