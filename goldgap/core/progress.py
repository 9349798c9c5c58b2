"""Progress: where in its training a run is. Policies and losses get it; nothing else of the loop."""

from __future__ import annotations

from typing import NamedTuple


class Progress(NamedTuple):
    """Epochs and steps are counted from 0; planned ones are what the run was started for."""

    epoch: int
    planned_epochs: int
    step: int
    planned_steps: int
