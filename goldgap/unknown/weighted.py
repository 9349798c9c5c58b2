"""Unknown cells drawn with weights from the model's own uncertainty and non-entity score (001 section 4)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from goldgap.core.config import Amount
from goldgap.core.progress import Progress
from goldgap.unknown.cells import Cells, draw, largest, policies
from goldgap.unknown.uniform import Count, sample_size


@dataclass(frozen=True, slots=True)
class Weighted:
    """ratio      cells for each word of the sentence
    mu         how strongly the non-entity score counts
    t_min      floor of the temperature, which falls from sqrt(epochs) to 1
    base       added to the uncertainty. With 0, as in the paper, a cell that the model is sure about weighs nothing
               whether it is sure of an entity or of none, and the missing entities are among the unsure; with 1, what
               is surely none is drawn from, and what looks like an entity is not
    max_over   labels that O competes with in the non-entity score: "types", or "all" as printed (O among them),
               under which no weight exceeds another by more than the number of labels
    score_mode whose scores weigh: those of the very pass that is trained, dropout and all, or of a second one without
    """

    ratio: Amount = 0.35
    mu: Amount = 8.0
    t_min: Amount = 1.0
    base: Amount = 0.0
    max_over: Literal["types", "all"] = "types"
    count: Count = "ceil"
    score_mode: Literal["train", "eval"] = "train"

    def __call__(self, cells: Cells, progress: Progress, generator: torch.Generator) -> Tensor:
        noise = draw(cells, generator)
        # Drawing one after the other without replacement is taking the largest of log-weight + Gumbel noise.
        gumbel = -torch.log(-torch.log(noise.clamp(min=1e-20, max=1 - 1e-7)))
        keys = self.log_weights(cells.logits, progress) + gumbel
        keys = keys.masked_fill(~cells.unknown, float("-inf"))
        return largest(keys, sample_size(cells.words, self.ratio, self.count))

    def log_weights(self, logits: Tensor, progress: Progress) -> Tensor:
        """r / T, the logarithm of each cell's weight.  (batch, cell, label) -> (batch, cell)"""
        z = torch.softmax(logits.float(), dim=-1)
        uncertainty = -torch.special.xlogy(z, z).sum(-1)  # u, 001 eq. 14
        rivals = z[..., 1:] if self.max_over == "types" else z
        non_entity = z[..., 0] - rivals.amax(-1)  # v, in [-1, 1]
        weight: Tensor = (self.base + uncertainty) * (1 + non_entity).clamp(min=0) ** self.mu  # r
        return weight / self.temperature(progress)

    def effective_sample_size(self, cells: Cells, progress: Progress) -> Tensor:
        return effective_sample_size(self.log_weights(cells.logits, progress), cells.unknown)

    def temperature(self, progress: Progress) -> float:
        return max(self.t_min, math.sqrt(max(progress.planned_epochs - progress.epoch, 1)))


def effective_sample_size(log_weights: Tensor, unknown: Tensor) -> Tensor:
    """How many equally likely cells the weights of each sentence are worth.  (batch, cell) -> (batch,)"""
    share = torch.softmax(log_weights.masked_fill(~unknown, float("-inf")), dim=-1).nan_to_num(0.0)
    total = (share**2).sum(-1)
    return torch.where(total > 0, 1 / total.clamp(min=1e-30), total)


policies.add("weighted", Weighted)
