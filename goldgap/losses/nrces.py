"""NRCES: cross-entropy on negatives fades into a bounded sigmoid loss (004)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor
from torch.nn import functional

from goldgap.core.config import Positive
from goldgap.core.progress import Progress
from goldgap.losses.base import Reduction, losses, reduce

Parts = Literal["ce+cs", "cs", "ce+cs(all)", "ce(all)+cs"]


@dataclass(frozen=True, slots=True)
class NRCES:
    """w           how slowly cross-entropy fades: beta = exp(-epoch / w), 004 eq. 8; smaller is more robust
    sign        -1: the sigmoid term is 1 - sigma(z), which pushes towards the label as described; +1 as in eq. 6
    fractional  let beta fall with every step instead of every epoch
    parts       "ce+cs" is the method: cross-entropy on entities, the fading loss on negatives. The ablations of
                004 Table 5: "cs" the fading loss everywhere; "ce+cs(all)" it on entities as well; "ce(all)+cs"
                cross-entropy on negatives as well
    """

    w: Positive = 5.0
    sign: Literal[-1, 1] = -1
    fractional: bool = False
    parts: Parts = "ce+cs"
    reduction: Reduction = "sum"

    def __call__(self, logits: Tensor, targets: Tensor, progress: Progress, weights: Tensor | None = None) -> Tensor:
        scores = logits.float()
        ce = functional.cross_entropy(scores, targets, reduction="none")
        sigmoid = torch.sigmoid(scores.gather(-1, targets.unsqueeze(-1)).squeeze(-1))
        beta = self.beta(progress)
        cs = beta * ce + (1 - beta) * (sigmoid if self.sign == 1 else 1 - sigmoid)
        negative = targets == 0
        values = {
            "ce+cs": torch.where(negative, cs, ce),
            "cs": cs,
            "ce+cs(all)": cs + torch.where(negative, torch.zeros_like(ce), ce),
            "ce(all)+cs": ce + torch.where(negative, cs, torch.zeros_like(cs)),
        }[self.parts]
        return reduce(values, self.reduction, weights)

    def beta(self, progress: Progress) -> float:
        """The weight of cross-entropy: 1 in the first epoch."""
        steps_each = progress.planned_steps / max(progress.planned_epochs, 1)
        passed = progress.step / max(steps_each, 1) if self.fractional else progress.epoch
        return math.exp(-passed / self.w)


losses.add("nrces", NRCES)
