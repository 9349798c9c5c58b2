"""Types as vectors: read from texts that say what they are, or learned without a text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import torch
from torch import Tensor, nn


class TypeText(NamedTuple):
    """Pieces that say what a type is, special ones included, and the one whose vector stands for it."""

    pieces: list[int]
    at: int


class TypeReader(nn.Module):
    """The vector of each type from its texts: the mean of theirs.

    texts     of each type; no type is without
    reader    a pretrained encoder; `shared`: it belongs to the text encoder, which keeps its weights
    draw      in training one text a type, at random, and in prediction the first `draw`; 0: all of them, always
    pooling   the piece that a text names, or the mean of all its pieces
    """

    def __init__(
        self,
        reader: nn.Module,
        texts: Sequence[Sequence[TypeText]],
        *,
        padding: int,
        shared: bool = False,
        draw: int = 0,
        pooling: Literal["first", "mean"] = "first",
    ) -> None:
        super().__init__()
        self.own = None if shared else reader
        self._reader = [reader]  # in a list it is not registered a second time
        self.texts = [list(own) for own in texts]
        self.padding, self.draw, self.pooling = padding, draw, pooling
        self.calls = 0

    @property
    def reader(self) -> Any:
        return self._reader[0]

    def with_texts(self, texts: Sequence[Sequence[TypeText]]) -> TypeReader:
        """A reader of other types with the same weights."""
        return TypeReader(
            self.reader,
            texts,
            padding=self.padding,
            shared=self.own is None,
            draw=self.draw,
            pooling=self.pooling,
        )

    def forward(self) -> Tensor:
        """-> (type, dimension)"""
        self.calls += 1
        texts = [self._chosen(own) for own in self.texts]
        flat = [text for own in texts for text in own]
        longest = max(len(text.pieces) for text in flat)
        pieces = torch.tensor([text.pieces + [self.padding] * (longest - len(text.pieces)) for text in flat])
        mask = torch.tensor([[1] * len(text.pieces) + [0] * (longest - len(text.pieces)) for text in flat])
        states: Tensor = self.reader(
            input_ids=pieces, attention_mask=mask
        ).last_hidden_state  # (text, piece, dimension)
        if self.pooling == "mean":
            vectors = (states * mask.unsqueeze(-1)).sum(1) / mask.sum(1, keepdim=True)
        else:
            vectors = states[torch.arange(len(flat)), torch.tensor([text.at for text in flat])]
        owner = torch.tensor([number for number, own in enumerate(texts) for _ in own])
        sums = vectors.new_zeros(len(texts), vectors.shape[-1]).index_add(0, owner, vectors)
        return sums / torch.tensor([len(own) for own in texts]).unsqueeze(-1)

    def _chosen(self, texts: list[TypeText]) -> list[TypeText]:
        if not self.draw:
            return texts
        return [texts[int(torch.randint(len(texts), ()))]] if self.training else texts[: self.draw]


class AtomicTypes(nn.Module):
    """A learned vector for each type, which says nothing of what the type is."""

    def __init__(self, types: int, dimension: int) -> None:
        super().__init__()
        self.vectors = nn.Parameter(torch.randn(types, dimension))
        self.calls = 0

    def forward(self) -> Tensor:
        self.calls += 1
        return self.vectors
