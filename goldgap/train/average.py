"""Weights averaged over the steps: what is scored and kept in place of the last ones, which waver from step to step."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from goldgap.models.model import Model
from goldgap.train.checkpoint import RunState, Weights, put_back, trained_weights

BEHIND = 9
"""Steps by which the average lags in the beginning, when weights move fast: that of step n holds about n / 10 steps."""


@torch.no_grad()
def follow(state: RunState, model: Model, decay: float) -> None:
    """Move the average towards the weights after the step that was just counted."""
    now = trained_weights(model)
    if state.average is None:
        state.average = _copied(now)
        return
    share = 1 - min(decay, state.step / (state.step + BEHIND))
    for name, new in now.items():
        old = state.average[name] = state.average[name].to(new.device)  # a checkpoint is read to the processor
        if old.is_floating_point():
            old.lerp_(new, share)
        else:
            old.copy_(new)


@contextmanager
def averaged(state: RunState, model: Model) -> Iterator[None]:
    """The model with the average of its weights, if one is kept, and after it as it was."""
    if state.average is None:
        yield
        return
    own = _copied(trained_weights(model))
    put_back(model, state.average)
    try:
        yield
    finally:
        put_back(model, own)


def _copied(weights: Weights) -> Weights:
    return {name: tensor.clone() for name, tensor in weights.items()}
