"""The one method that a loss is, and what its rows are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, Protocol

from torch import Tensor

from goldgap.core.progress import Progress
from goldgap.core.registry import Registry

Reduction = Literal["mean", "sum"]


class Loss(Protocol):
    """A number for the rows that count."""

    def __call__(self, logits: Tensor, targets: Tensor, progress: Progress) -> Tensor:
        """(row, label), (row,) -> scalar; 0 without rows. Label 0 is O."""


losses: Registry[Callable[..., Loss]] = Registry("loss")


def reduce(values: Tensor, reduction: Reduction) -> Tensor:
    """The sum of the rows' losses, or their mean; 0 with a gradient of 0 when there is no row."""
    total = values.sum()
    return total / max(len(values), 1) if reduction == "mean" else total
