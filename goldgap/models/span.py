"""The span classifier: a label for every span up to a width, from the words at its ends.

Both heads are factored: every word is projected once, and the projections of start and end are added by broadcasting,
so that no tensor of size words x widths x 2 dimensions is ever built (DESIGN: the literal form is the oracle in tests).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from goldgap.core.registry import Registry
from goldgap.encode.encoder import WordVectors
from goldgap.models.layers import grid, span_layers
from goldgap.models.scores import SpanScores, end_words, inside
from goldgap.unknown.cells import DenseFeatures, Features


class HeadSizes(NamedTuple):
    """What a head is built with; one without widths passes over those."""

    widths: int
    hidden: int
    width_size: int
    dropout: float


@dataclass(frozen=True, slots=True)
class SpanFeatures:
    """The span vectors [start; end; width], as their three parts; they are never built whole."""

    start: Tensor  # (batch, word, dimension)
    end: Tensor  # (batch, word, dimension)
    width: Tensor  # (width, size)

    def at(self, cells: Tensor) -> Tensor:
        row, cell = cells.nonzero(as_tuple=True)
        widths = self.width.shape[0]
        first, extra = cell // widths, cell % widths
        return torch.cat([self.start[row, first], self.end[row, first + extra], self.width[extra]], -1)

    def cosine(self, directions: Tensor) -> Tensor:
        d = self.start.shape[-1]
        to_start, to_end, to_width = directions[:, :d], directions[:, d : 2 * d], directions[:, 2 * d :]
        product = grid(self.start @ to_start.T, self.end @ to_end.T, self.width @ to_width.T)
        squares = grid(*(part.square().sum(-1, keepdim=True) for part in (self.start, self.end, self.width)))
        return (product / squares.sqrt().clamp(min=1e-8)).flatten(1, 2)


class ConcatHead(nn.Module):
    """Two hidden layers over [start; end; width embedding] (PURE; 000, 004)."""

    def __init__(self, dimension: int, labels: int, sizes: HeadSizes) -> None:
        super().__init__()
        hidden = sizes.hidden
        self.width = nn.Embedding(sizes.widths, sizes.width_size)
        self.from_start = nn.Linear(dimension, hidden)
        self.from_end = nn.Linear(dimension, hidden, bias=False)
        self.from_width = nn.Linear(sizes.width_size, hidden, bias=False)
        self.second = nn.Linear(hidden, hidden)
        self.label = nn.Linear(hidden, labels)
        self.dropout = sizes.dropout

    def forward(self, vectors: WordVectors, widths: int) -> tuple[Tensor, Tensor | None]:
        parts = (self.from_start(vectors.start), self.from_end(vectors.end), self.from_width(self.width.weight))
        return span_layers(parts, self.second, self.label, self.dropout if self.training else 0.0)


class PairHead(nn.Module):
    """One tanh layer over [start; end; start - end; start * end] (001).

    W [a; b; a - b; a * b] = (W1 + W3) a + (W2 - W3) b + W4 (a * b); the product is taken width by width.
    """

    def __init__(self, dimension: int, labels: int, sizes: HeadSizes) -> None:
        super().__init__()
        self.width = None
        self.from_start = nn.Linear(dimension, sizes.hidden)
        self.from_end = nn.Linear(dimension, sizes.hidden, bias=False)
        self.from_product = nn.Linear(dimension, sizes.hidden, bias=False)
        self.label = nn.Linear(sizes.hidden, labels)

    def forward(self, vectors: WordVectors, widths: int) -> tuple[Tensor, Tensor | None]:
        start, end = vectors.start, vectors.end
        last = end_words(start.shape[1], widths).to(start.device)  # (word, width)
        left, right = self.from_start(start), self.from_end(end)
        columns = (
            torch.tanh(left + right[:, last[:, width]] + self.from_product(start * end[:, last[:, width]]))
            for width in range(widths)
        )
        if not torch.is_grad_enabled():  # as wide as the text is long, they are too many to keep
            return torch.stack([self.label(column) for column in columns], 2), None
        hidden = torch.stack(list(columns), 2)  # (batch, word, width, hidden)
        return self.label(hidden), hidden


heads: Registry[Callable[[int, int, HeadSizes], nn.Module]] = Registry("head")
heads.add("concat", ConcatHead)
heads.add("pair", PairHead)


class SpanHead(nn.Module):
    """Scores for every span of a sentence.

    labels      how many there are, O among them
    max_width   words of the widest span; 0: as many as the sentence has (only heads that embed no widths)
    several     a span can have several types: O has the score 0, and every type above it is predicted
    features    what policies compare spans by: the head's hidden layer, or the span vector itself
    """

    def __init__(
        self,
        dimension: int,
        labels: int,
        *,
        head: str = "concat",
        max_width: int = 10,
        hidden: int = 150,
        width_size: int = 150,
        dropout: float = 0.2,
        several: bool = False,
        features: Literal["ffnn", "span"] = "ffnn",
    ) -> None:
        super().__init__()
        self.max_width, self.dropout, self.several, self.features = max_width, dropout, several, features
        sizes = HeadSizes(max_width, hidden, width_size, dropout)
        self.head: Any = heads.get(head)(dimension, labels - 1 if several else labels, sizes)
        if max_width == 0 and self.head.width is not None:
            raise ValueError(f"the {head} head embeds widths, so it needs a max_width")

    def forward(self, vectors: WordVectors, words: Tensor) -> SpanScores:
        """(batch, word, dimension) twice, (batch,) -> scores of all spans"""
        start = functional.dropout(vectors.start, self.dropout, self.training)
        end = start if vectors.end is vectors.start else functional.dropout(vectors.end, self.dropout, self.training)
        widths = self.max_width or max(start.shape[1], 1)
        logits, hidden = self.head(vectors._replace(start=start, end=end), widths)
        if self.several:
            logits = functional.pad(logits, (1, 0))
        valid = inside(words, start.shape[1], widths)
        features: Features | None = None
        if self.features == "span":
            width = start.new_zeros(widths, 0) if self.head.width is None else self.head.width.weight
            features = SpanFeatures(*(part.detach().float() for part in (start, end, width)))
        elif hidden is not None:
            features = DenseFeatures(hidden.detach().flatten(1, 2))
        return SpanScores(logits.flatten(1, 2), valid, features, by_type=self.several)
