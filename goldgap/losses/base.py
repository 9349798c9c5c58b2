"""The one method that a loss is, and what its rows are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, Protocol

from torch import Tensor

from goldgap.core.progress import Progress
from goldgap.core.registry import Registry

Reduction = Literal["mean", "sum"]


class Loss(Protocol):
    """A number for the rows that count."""

    def __call__(self, logits: Tensor, targets: Tensor, progress: Progress, weights: Tensor | None = None) -> Tensor:
        """(row, label), (row,), (row,) -> scalar; 0 without rows. Label 0 is O."""


losses: Registry[Callable[..., Any]] = Registry("loss")
"""Those that are a Loss, and the contrastive one, which looks at whole texts."""


def reduce(values: Tensor, reduction: Reduction, weights: Tensor | None = None) -> Tensor:
    """The weighted sum of the rows' losses, or their mean; 0 with a gradient of 0 when there is no row."""
    if weights is not None:
        values = values * weights
    if reduction == "sum":
        return values.sum()
    return values.sum() / (max(len(values), 1) if weights is None else weights.sum().clamp(min=1e-8))
