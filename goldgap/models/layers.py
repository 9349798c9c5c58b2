"""The layers of the span head over all spans, a few sentences at a time.

What the first layer gives is a sum of three projections, so it is never kept: the backward pass makes it again. Of the
tensors of size words x widths x hidden only the last layer is whole, and the rest stays in the processor's cache.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

CELLS, CELLS_WITHOUT_GRADIENT = 2000, 16000
"""Spans that are worked on together, or one sentence of more: what stays in the cache forth and back, or only forth."""


def grid(start: Tensor, end: Tensor, width: Tensor) -> Tensor:
    """The sum of three parts over all spans; without a gradient, and without the end where that is not in the sentence.

    (batch, word, n) twice, (width, n) -> (batch, word, width, n)
    """
    batch, words, size = start.shape
    padded = functional.pad(end, (0, 0, 0, len(width)))  # (batch, word + width, n)
    row, step, one = padded.stride()
    ends = padded.as_strided((batch, words, len(width), size), (row, step, step, one))  # row i + w at (i, w): no copy
    summed = start.new_empty(ends.shape)
    return torch.add(start.unsqueeze(2), ends, out=summed).add_(width)


class _SpanLayers(torch.autograd.Function):
    """relu and dropout of the grid, a layer with relu and dropout, the labels.

    start, end   (batch, word, hidden)
    width        (width, hidden)
    """

    @staticmethod
    def forward(
        ctx: Any,
        start: Tensor,
        end: Tensor,
        width: Tensor,
        second: Tensor,
        bias: Tensor,
        label: Tensor,
        offset: Tensor,
        rate: float,
    ) -> tuple[Tensor, Tensor]:
        """-> logits (batch, word, width, label), last layer (batch, word, width, hidden)"""
        shape = (*start.shape[:2], len(width))
        hidden, logits = start.new_empty(*shape, start.shape[2]), start.new_empty(*shape, len(label))
        kept = torch.empty(*shape, start.shape[2], dtype=torch.bool).bernoulli_(1 - rate) if rate else None
        scale = 1 / (1 - rate)
        for rows in _chunks(shape, CELLS):
            first = _first(start, end, width, kept, rows, scale)
            part = hidden[rows].flatten(0, 2)
            torch.addmm(bias, first.flatten(0, 2), second.T, out=part).relu_()
            if rate:
                part.mul_(torch.empty_like(part, dtype=torch.bool).bernoulli_(1 - rate)).mul_(scale)
            logits[rows] = torch.addmm(offset, part, label.T).view(*first.shape[:3], -1)
        ctx.save_for_backward(start, end, width, second, label, hidden, kept)
        ctx.scale = scale
        ctx.mark_non_differentiable(hidden)
        return logits, hidden

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        start, end, width, second, label, hidden, kept = ctx.saved_tensors
        of_start, of_width, of_second, of_label = map(torch.zeros_like, (start, width, second, label))
        of_bias, of_offset = second.new_zeros(len(second)), label.new_zeros(len(label))
        batch, words, size = end.shape
        of_end = end.new_zeros(batch, words + len(width), size)
        for rows in _chunks(hidden.shape[:3], CELLS):
            above = gradients[0][rows].flatten(0, 2)  # (cell, label)
            part = hidden[rows].flatten(0, 2)
            of_label.addmm_(above.T, part)
            of_offset += above.sum(0)
            below = (above @ label).mul_(part > 0).mul_(ctx.scale)  # dropped or negative: 0
            first = _first(start, end, width, kept, rows, ctx.scale)
            of_second.addmm_(below.T, first.flatten(0, 2))
            of_bias += below.sum(0)
            below = (below @ second).view_as(first).mul_(first > 0).mul_(ctx.scale)  # (sentence, word, width, hidden)
            of_start[rows] = below.sum(2)
            of_width += below.sum((0, 1))
            for index in range(len(width)):
                of_end[rows, index : index + words] += below[:, :, index]
        return of_start, of_end[:, :words], of_width, of_second, of_bias, of_label, of_offset, None


def _only_logits(start: Tensor, end: Tensor, width: Tensor, second: torch.nn.Linear, label: torch.nn.Linear) -> Tensor:
    """-> (batch, word, width, label)"""
    shape = (*start.shape[:2], len(width))
    logits = start.new_empty(*shape, label.out_features)
    for rows in _chunks(shape, CELLS_WITHOUT_GRADIENT):
        logits[rows] = label(second(_first(start, end, width, None, rows, 1.0)).relu_())
    return logits


def _first(start: Tensor, end: Tensor, width: Tensor, kept: Tensor | None, rows: slice, scale: float) -> Tensor:
    """The first layer of some sentences, with the dropout that was drawn for them."""
    values = grid(start[rows], end[rows], width).relu_()
    return values if kept is None else values.mul_(kept[rows]).mul_(scale)


def _chunks(shape: tuple[int, ...], cells: int) -> list[slice]:
    """Sentences that are worked on together."""
    size = max(1, cells // max(shape[1] * shape[2], 1))
    return [slice(begin, begin + size) for begin in range(0, shape[0], size)]


def span_layers(
    parts: tuple[Tensor, Tensor, Tensor], second: torch.nn.Linear, label: torch.nn.Linear, rate: float
) -> tuple[Tensor, Tensor | None]:
    """Logits and last layer of every span, from the projections of starts, ends and widths.

    The last layer has no gradient: it is for policies to look at. Where nothing is trained it is not kept.
    """
    if not torch.is_grad_enabled() and not rate:
        return _only_logits(*parts, second, label), None
    with torch.autocast(parts[0].device.type, enabled=False):  # it writes in place, which half precision cannot
        made: tuple[Tensor, Tensor] = _SpanLayers.apply(  # type: ignore[no-untyped-call]
            *(part.to(second.weight) for part in parts), second.weight, second.bias, label.weight, label.bias, rate
        )
    return made
