"""A few unknown cells of each sentence, drawn uniformly (001 section 2; Li et al. 2021)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from goldgap.core.config import Amount
from goldgap.core.progress import Progress
from goldgap.unknown.cells import Cells, draw, largest, policies

Count = Literal["ceil", "floor+1"]


def sample_size(words: Tensor, ratio: float, count: Count) -> Tensor:
    """Cells to draw from each sentence.  (batch,) -> (batch,)

    The paper says ceil(ratio * words), its code floor(ratio * words) + 1; they differ where the product is whole.
    """
    # In float64, which some devices lack, rounded to 9 digits: 0.35 * 20 must be 7, not 7.000000000000001.
    wanted = (words.cpu().double() * ratio).mul(1e9).round().div(1e9)
    sizes = wanted.ceil() if count == "ceil" else wanted.floor() + 1
    return sizes.long().to(words.device)


@dataclass(frozen=True, slots=True)
class Uniform:
    """ratio   cells for each word of the sentence
    count   how a broken number is rounded
    """

    ratio: Amount = 0.35
    count: Count = "ceil"

    def __call__(self, cells: Cells, progress: Progress, generator: torch.Generator) -> Tensor:
        keys = draw(cells, generator)
        keys = keys.masked_fill(~cells.unknown, float("-inf"))
        return largest(keys, sample_size(cells.words, self.ratio, self.count))


policies.add("uniform", Uniform)
