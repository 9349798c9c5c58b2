"""The unknown cells of a batch that are most similar to all known entities (000 section 3)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from goldgap.core.config import Share
from goldgap.core.errors import ConfigError
from goldgap.core.progress import Progress
from goldgap.unknown.cells import Cells, draw, largest, policies


@dataclass(frozen=True, slots=True)
class TopNeg:
    """ratio   share of the batch's unknown cells to keep
    aggregate   similarity to the mean of all entities, to the mean of the types' means, or to the least similar type
    pick        "top", or "bottom" for the ablation (000 Table 3)
    """

    ratio: Share = 0.05
    aggregate: Literal["mean", "mean_type", "min_type"] = "mean"
    pick: Literal["top", "bottom"] = "top"

    def __call__(self, cells: Cells, progress: Progress, generator: torch.Generator) -> Tensor:
        if (cells.labels > 0).any():
            keys = self.similarity(cells)
            keys = keys if self.pick == "top" else -keys
        else:  # nothing to be similar to: the same number, at random
            keys = draw(cells, generator)
        keys = keys.masked_fill(~cells.unknown, float("-inf"))
        wanted = math.ceil(round(self.ratio * int(cells.unknown.sum()), 9))
        return largest(keys.flatten()[None], torch.tensor([wanted], device=keys.device))[0].view_as(keys)

    @torch.no_grad()
    def similarity(self, cells: Cells) -> Tensor:
        """Mean cosine to the known entities, for every cell.  -> (batch, cell)

        The mean cosine to many vectors is one product with the mean of their unit vectors.
        """
        if cells.features is None:
            raise ConfigError("top-neg needs features, which this model does not offer for its cells")
        entities = cells.labels > 0
        unit = torch.nn.functional.normalize(cells.features.at(entities), dim=-1, eps=1e-8)  # (entity, feature)
        if self.aggregate == "mean":
            directions = unit.mean(0, keepdim=True)
        else:
            types = cells.labels[entities]
            means = [unit[types == label].mean(0) for label in sorted(set(types.tolist()))]
            directions = torch.stack(means)  # (type, feature)
            if self.aggregate == "mean_type":
                directions = directions.mean(0, keepdim=True)
        return cells.features.cosine(directions).amin(-1)


policies.add("top-neg", TopNeg)
