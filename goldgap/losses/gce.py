"""Generalised cross-entropy: between cross-entropy (q to 0) and the mean absolute error (q = 1)."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from goldgap.core.config import Positive
from goldgap.core.progress import Progress
from goldgap.losses.base import Reduction, losses, reduce


@dataclass(frozen=True, slots=True)
class GCE:
    """(1 - p^q) / q of the target's probability p: bounded, so that a wrong label cannot dominate."""

    q: Positive = 0.7
    reduction: Reduction = "mean"

    def __call__(self, logits: Tensor, targets: Tensor, progress: Progress, weights: Tensor | None = None) -> Tensor:
        log_p = torch.log_softmax(logits.float(), -1).gather(-1, targets.unsqueeze(-1)).squeeze(-1)
        return reduce((1 - torch.exp(self.q * log_p)) / self.q, self.reduction, weights)


losses.add("gce", GCE)
