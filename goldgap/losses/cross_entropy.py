"""Cross-entropy, and its form for cells of which only some labels are ruled out."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from goldgap.core.progress import Progress
from goldgap.losses.base import Reduction, losses, reduce


@dataclass(frozen=True, slots=True)
class CrossEntropy:
    """-log p of the target."""

    reduction: Reduction = "mean"

    def __call__(self, logits: Tensor, targets: Tensor, progress: Progress, weights: Tensor | None = None) -> Tensor:
        return reduce(functional.cross_entropy(logits.float(), targets, reduction="none"), self.reduction, weights)


def partial_label(logits: Tensor, possible: Tensor) -> Tensor:
    """-log of the summed probability of the labels that are still possible.  (row, label) twice -> (row,)

    "Not PER, LOC unknown" allows O and LOC; with one possible label this is cross-entropy, with all of them 0.
    """
    scores = logits.float()
    allowed = scores.masked_fill(~possible, float("-inf"))
    return torch.logsumexp(scores, -1) - torch.logsumexp(allowed, -1)


losses.add("cross-entropy", CrossEntropy)
