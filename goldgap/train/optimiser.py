"""AdamW with one rate for what is pretrained and one for what is new; rates are a function of the step."""

from __future__ import annotations

import torch

from goldgap.models.model import Model
from goldgap.train.recipe import TrainSettings


def make_optimiser(model: Model, options: TrainSettings) -> torch.optim.Optimizer:
    """Vectors and scalars (biases, normalisation) are not decayed."""
    pretrained = {id(parameter) for parameter in model.pretrained()}
    groups: dict[tuple[float, float], list[torch.nn.Parameter]] = {}
    for parameter in model.parameters():
        if parameter.requires_grad:
            rate = options.encoder_rate if id(parameter) in pretrained else options.head_rate
            decay = options.weight_decay if parameter.dim() > 1 else 0.0
            groups.setdefault((rate, decay), []).append(parameter)
    return torch.optim.AdamW(
        [
            {"params": parameters, "lr": rate, "rate": rate, "weight_decay": decay}
            for (rate, decay), parameters in groups.items()
        ],
        fused=True,
    )


def set_rates(optimiser: torch.optim.Optimizer, options: TrainSettings, step: int, steps: int) -> None:
    """Rising in the warm-up share of the steps, then falling in a line to 0, or staying."""
    warm = max(options.warmup * steps, 1.0)
    rising = min(1.0, (step + 1) / warm)
    falling = max(0.0, (steps - step) / max(steps - warm, 1.0)) if options.schedule == "linear" else 1.0
    for group in optimiser.param_groups:
        group["lr"] = group["rate"] * min(rising, falling)
