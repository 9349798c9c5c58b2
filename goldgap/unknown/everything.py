"""Every unknown cell is a negative: what ordinary training does, the baseline of all others."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from goldgap.core.progress import Progress
from goldgap.unknown.cells import Cells, policies


@dataclass(frozen=True, slots=True)
class All:
    """No setting."""

    def __call__(self, cells: Cells, progress: Progress, generator: torch.Generator) -> Tensor:
        return cells.unknown


policies.add("all", All)
