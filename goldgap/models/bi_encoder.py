"""The bi-encoder: spans and types as vectors in one space, an entity where a span is nearer to a type than the text
as a whole is (003, BINDER).

A span's vector is the sum of what its start, its end and its width project to. Its products with the types, and its
length, are sums over these three parts and of their products, so the vectors themselves are never built.
"""

from __future__ import annotations

import copy
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from goldgap.core.document import Document
from goldgap.core.labels import Labels
from goldgap.encode.batch import Batch
from goldgap.encode.encoder import Encoder, WordVectors
from goldgap.losses.contrastive import Similarity, Thresholds
from goldgap.models.model import Model
from goldgap.models.scores import SpanScores, end_words, inside
from goldgap.models.thresholds import best_thresholds
from goldgap.models.types import AtomicTypes, TypeReader, TypeText

TEXTS = "types.json"
BLOCK = 64
"""Words whose products with those behind them are taken at once."""


class BiEncoderShape(NamedTuple):
    """How a bi-encoder is built.

    max_width          words of the widest span that is predicted
    train_all          trained on spans of any width
    size               of the space that spans and types share
    width_size         of the embedding of a span's width
    temperature        of all three similarities at the beginning
    share_projections  one projection for start, end and span (003 Table 4)
    thresholds         the similarity of the text as a whole; a learned number a type; or chosen on the dev set
    several            a span can have several types
    """

    max_width: int = 10
    train_all: bool = False
    size: int = 128
    width_size: int = 128
    temperature: float = 0.07
    dropout: float = 0.1
    share_projections: bool = False
    thresholds: Literal["dynamic", "global", "dev"] = "dynamic"
    several: bool = False


class Sides(NamedTuple):
    """The unit vectors of types for each objective.  (type, size) each"""

    start: Tensor
    end: Tensor
    span: Tensor


@dataclass(frozen=True, slots=True)
class SummedFeatures:
    """Span vectors as the sums that they are; they are never built whole."""

    start: Tensor  # (batch, word, size)
    end: Tensor  # (batch, word, size)
    width: Tensor  # (width, size)
    length: Tensor  # (batch, word, width)

    def at(self, cells: Tensor) -> Tensor:
        row, cell = cells.nonzero(as_tuple=True)
        widths = len(self.width)
        first, extra = cell // widths, cell % widths
        return self.start[row, first] + self.end[row, first + extra] + self.width[extra]

    def cosine(self, directions: Tensor) -> Tensor:
        products = _over_spans(self.start @ directions.T, self.end @ directions.T, self.width @ directions.T)
        return (products / self.length.unsqueeze(-1)).flatten(1, 2)


class BiEncoder(Model):
    """Similarities of every span with every type, as scores above the type's threshold."""

    def __init__(
        self,
        encoder: Encoder,
        types: TypeReader | AtomicTypes,
        labels: Labels,
        tokenizer: Any,
        shape: BiEncoderShape,
        *,
        overlap: int,
        window: int,
    ) -> None:
        super().__init__(encoder, labels, tokenizer, overlap=overlap, window=window)
        self.types: Any = types
        self.shape, self.several = shape, shape.several
        dimension, size = encoder.dimension, shape.size
        shared = shape.share_projections
        sides, ends = (("all",), ("all",)) if shared else (Sides._fields, ("start", "end", "span_start", "span_end"))
        self.of_types = nn.ModuleDict({name: nn.Linear(dimension, size) for name in sides})
        self.of_words = nn.ModuleDict({name: nn.Linear(dimension, size) for name in ends})
        self.width = nn.Embedding(shape.max_width + 1, shape.width_size)  # the last: all that are wider
        self.of_width = nn.Linear(shape.width_size, size, bias=False)
        self.temperature = nn.Parameter(torch.full((3,), math.log(1 / shape.temperature)))
        limits = (nn.Parameter(torch.zeros(len(labels))) for _ in Sides._fields)  # vectors, which are not decayed
        self.limits = nn.ParameterList(limits) if shape.thresholds == "global" else None
        self.register_buffer("chosen", torch.zeros(len(labels)) if shape.thresholds == "dev" else None)
        self.chosen: Tensor | None
        self._known: Sides | None = None
        self.register_load_state_dict_post_hook(lambda model, _: model.forget())  # type: ignore[no-untyped-call]

    def forward(self, batch: Batch) -> SpanScores:
        vectors, types = self.encoder(batch), self._sides()
        words = vectors.start.shape[1]
        widths = max(words, 1) if self.training and self.shape.train_all else self.shape.max_width
        scale = self.temperature.exp()
        start = scale[0] * _unit(self._word("start", vectors.start)) @ types.start.T  # (batch, word, type)
        end = scale[1] * _unit(self._word("end", vectors.end)) @ types.end.T
        left, right = self._word("span_start", vectors.start), self._word("span_end", vectors.end)
        width = self.of_width(self.width.weight)[torch.arange(widths).clamp(max=self.shape.max_width)]  # (width, size)
        length = span_lengths(left, right, width)  # (batch, word, width)
        products = _over_spans(left @ types.span.T, right @ types.span.T, width @ types.span.T)
        span = (scale[2] * products / length.unsqueeze(-1)).flatten(1, 2).float()  # (batch, cell, type)
        thresholds = self._thresholds(vectors, types, scale)
        similarity = Similarity(start, end, span, None if self.shape.thresholds == "dev" else thresholds)
        features = None
        if self.training:
            features = SummedFeatures(left.detach(), right.detach(), width.detach(), length.detach())
        logits = functional.pad(span - thresholds.span.float().unsqueeze(1), (1, 0))
        return SpanScores(logits, inside(batch.words, words, widths), features, similarity, by_type=True)

    def _word(self, name: str, vectors: Tensor) -> Tensor:
        """Words in the shared space, for one of four ends."""
        projected: Tensor = self.of_words["all" if self.shape.share_projections else name](vectors)
        return functional.dropout(projected, self.shape.dropout, self.training)

    def _thresholds(self, vectors: WordVectors, types: Sides, scale: Tensor) -> Thresholds:
        """What each similarity of a text has to pass."""
        rows = len(vectors.whole)
        if self.limits is not None:
            start, end, span = (limit.expand(rows, -1) for limit in self.limits)
            return Thresholds(start, end, span)
        if self.chosen is not None:
            none = vectors.whole.new_full((rows, len(self.labels)), float("-inf"))
            return Thresholds(none, none, self.chosen.expand(rows, -1))
        whole = vectors.whole
        one_word = self.of_width(self.width.weight[0])
        span = self._word("span_start", whole) + self._word("span_end", whole) + one_word
        return Thresholds(
            scale[0] * _unit(self._word("start", whole)) @ types.start.T,
            scale[1] * _unit(self._word("end", whole)) @ types.end.T,
            scale[2] * _unit(span) @ types.span.T,
        )

    def _sides(self) -> Sides:
        """The types in the shared space; in prediction they are read once."""
        if self.training or torch.is_grad_enabled():
            self._known = None
            return self._read()
        if self._known is None:
            self._known = self._read()
        return self._known

    def _read(self) -> Sides:
        vectors = self.types()  # (type, dimension)
        shared = self.shape.share_projections
        projected = (self.of_types["all" if shared else name](vectors) for name in Sides._fields)
        rate = self.shape.dropout
        start, end, span = (_unit(functional.dropout(own, rate, self.training)) for own in projected)
        return Sides(start, end, span)

    def _apply(self, *given: Any, **named: Any) -> BiEncoder:
        """Another device or precision: what was read before is of the old one."""
        self.forget()
        super()._apply(*given, **named)  # type: ignore[no-untyped-call]
        return self

    def forget(self) -> None:
        """Read the types anew: weights have changed."""
        self._known = None

    def train(self, mode: bool = True) -> BiEncoder:
        if mode:
            self.forget()
        super().train(mode)
        return self

    def pretrained(self) -> list[nn.Parameter]:
        own = getattr(self.types, "own", None)
        return [*super().pretrained(), *(own.parameters() if own is not None else ())]

    def fit_to(self, dev: Sequence[Document]) -> None:
        if self.chosen is not None:
            self.chosen.copy_(best_thresholds(self, dev))

    def with_types(self, texts: Mapping[str, Sequence[TypeText]]) -> BiEncoder:
        """The same model with further types, which it was not trained for; numbers of each type are at their mean."""
        model = copy.copy(self)
        model._modules, model._parameters = dict(self._modules), dict(self._parameters)
        model._buffers = dict(self._buffers)
        model.labels = Labels((*self.labels, *texts))
        model.types = self.types.with_texts([*self.types.texts, *texts.values()])
        model.types.train(self.training)
        if self.limits is not None:
            model.limits = nn.ParameterList(_with_mean(limit.detach(), len(texts)) for limit in self.limits)
        if self.chosen is not None:
            model.chosen = _with_mean(self.chosen, len(texts))
        model.forget()
        return model

    def save_config(self, folder: Path) -> None:
        super().save_config(folder)
        if isinstance(self.types, TypeReader):
            kept = [own[: self.types.draw or len(own)] for own in self.types.texts]
            (folder / TEXTS).write_text(json.dumps(kept) + "\n", encoding="utf-8")


def read_texts(folder: Path) -> list[list[TypeText]]:
    """The texts of each type that a saved model has."""
    saved = json.loads((folder / TEXTS).read_text(encoding="utf-8"))
    return [[TypeText(pieces, at) for pieces, at in own] for own in saved]


def span_lengths(start: Tensor, end: Tensor, width: Tensor) -> Tensor:
    """The length of start_i + end_(i+w) + width_w.  (batch, word, size) twice, (width, size) -> (batch, word, width)"""
    squares = [part.square().sum(-1, keepdim=True) for part in (start, end, width)]
    last = end_words(start.shape[1], len(width))
    near = end @ width.T  # (batch, word, width)
    with_width = near[:, last, torch.arange(len(width))]
    crossed = band_products(start, end, len(width)) + start @ width.T + with_width
    total = _over_spans(*squares).squeeze(-1) + 2 * crossed
    return total.clamp(min=1e-8).sqrt()


def band_products(left: Tensor, right: Tensor, widths: int) -> Tensor:
    """left_i . right_(i+w), block by block: no product of all words with all is built.

    (batch, word, size) twice -> (batch, word, width); behind the last word, that of the last
    """
    words = left.shape[1]
    parts = []
    for begin in range(0, words, BLOCK):
        block, reach = left[:, begin : begin + BLOCK], right[:, begin : begin + BLOCK + widths]
        products = block @ reach.transpose(1, 2)  # (batch, block, reach)
        at = torch.arange(block.shape[1])[:, None] + torch.arange(widths)[None]
        at = at.clamp(max=reach.shape[1] - 1).expand(len(left), -1, -1)
        parts.append(products.gather(2, at))
    return torch.cat(parts, 1) if parts else left.new_zeros(len(left), 0, widths)


def _over_spans(start: Tensor, end: Tensor, width: Tensor) -> Tensor:
    """start_i + end_(i+w) + width_w.  (batch, word, n) twice, (width, n) -> (batch, word, width, n)"""
    last = end_words(start.shape[1], len(width))  # (word, width)
    return start.unsqueeze(2) + end[:, last] + width


def _with_mean(numbers: Tensor, more: int) -> Tensor:
    """A number for each type, and their mean for some more.  (type,) -> (type + more,)"""
    return torch.cat([numbers, numbers.mean().expand(more)])


def _unit(vectors: Tensor) -> Tensor:
    return functional.normalize(vectors, dim=-1)
