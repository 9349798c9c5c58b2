"""Gradients of large tables of embeddings: a step looks up few rows, so only those are cleared and written."""

from __future__ import annotations

import torch
from torch import Tensor, nn

LARGE = 1 << 20
"""Numbers in a table from which on it is worth it."""


class RowGradients:
    """One gradient for each large table, kept from step to step.

    MiniLM's table has 47 MB. Made of fresh zeros for the few hundred rows of a batch, its gradient costs more than
    all layers do going forward; the optimiser gets the same numbers from one that is kept.
    """

    def __init__(self, model: nn.Module, large: int = LARGE) -> None:
        self._kept: dict[Tensor, Tensor] = {}
        self._rows: dict[Tensor, Tensor] = {}
        self._tables: list[nn.Embedding] = []
        for table in model.modules():
            if not isinstance(table, nn.Embedding) or table.weight.numel() < large:
                continue
            if table.weight.requires_grad and table.weight.device.type == "cpu":  # other devices reuse memory anyway
                table.sparse = True
                self._tables.append(table)
                self._kept[table.weight] = torch.zeros_like(table.weight)
                self._rows[table.weight] = torch.zeros(0, dtype=torch.long)

    def release(self) -> None:
        """Leave the tables as they were: whoever trains on may expect what torch gives by default."""
        for table in self._tables:
            table.sparse = False

    def spread(self) -> None:
        """Behind the backward passes of a step: give every table its gradient with a value for each row."""
        for weight, kept in self._kept.items():
            if weight.grad is not None:  # not coalesced: added up in the order of the text, as torch does it
                kept[self._rows[weight]] = 0.0
                self._rows[weight] = weight.grad._indices()[0]
                kept.index_add_(0, self._rows[weight], weight.grad._values())
                weight.grad = kept
