"""A fixed share of the unknown cells, chosen once before training or anew for each epoch (004 section 4)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
import torch
from pydantic import Field
from torch import Tensor

from goldgap.core.config import Share
from goldgap.core.progress import Progress
from goldgap.unknown.cells import Cells, policies


@dataclass(frozen=True, slots=True)
class Fraction:
    """share   probability that a cell is kept
    when    "once": a cell is kept in all epochs or in none; "epoch": drawn anew
    seed    what the choice depends on, besides the sentence and the cell
    """

    share: Share = 0.5
    when: Literal["once", "epoch"] = "once"
    seed: Annotated[int, Field(ge=0, lt=1 << 31)] = 0

    def __call__(self, cells: Cells, progress: Progress, generator: torch.Generator) -> Tensor:
        # A function of sentence and cell alone: the choice is the same in whatever batch the sentence stands.
        round_ = 0 if self.when == "once" else progress.epoch + 1
        documents = cells.documents.cpu().numpy().astype(np.uint64)[:, None]
        numbers = np.arange(cells.unknown.shape[1], dtype=np.uint64)[None]
        mixed = _mix(_mix(_mix(documents + np.uint64(1)) ^ numbers) ^ np.uint64(2 * self.seed + (round_ << 32)))
        chosen = torch.from_numpy((mixed >> np.uint64(11)).astype(np.float64) / 2**53 < self.share)
        return chosen.to(cells.unknown.device) & cells.unknown


def _mix(values: np.ndarray[tuple[int, ...], np.dtype[np.uint64]]) -> np.ndarray[tuple[int, ...], np.dtype[np.uint64]]:
    """A well-mixed number for each number (the finaliser of splitmix64)."""
    values = values + np.uint64(0x9E3779B97F4A7C15)
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))


policies.add("fraction", Fraction)
