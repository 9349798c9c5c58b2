"""Where tensors are. What a step or a prediction makes is made beside the model's weights."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import fields, is_dataclass, replace
from functools import cache
from typing import Any, TypeVar

import torch
from torch import Tensor

from goldgap.core.errors import ConfigError

T = TypeVar("T")


def device_named(name: str) -> torch.device:
    """A device that torch can work on here."""
    try:
        device = torch.device(name)
        torch.empty(0, device=device)
    except Exception as error:  # each kind of device fails in its own way
        reason = next(iter(str(error).splitlines()), type(error).__name__)
        raise ConfigError(f"the device {name!r} cannot be used here ({reason}); use cpu") from None
    return device


def making_on(device: torch.device) -> AbstractContextManager[Any]:
    """New tensors are made there inside of this, unless they say where."""
    return nullcontext() if device.type == "cpu" else device


def precise(values: Tensor) -> Tensor:
    """In double precision where the device has it; those of Apple have none."""
    return values.double() if _has_double(values.device) else values.float()


@cache
def _has_double(device: torch.device) -> bool:
    try:
        torch.empty(0, dtype=torch.float64, device=device)
    except (TypeError, RuntimeError):
        return False
    return True


def moved(value: T, device: torch.device) -> T:
    """The same with its tensors on a device, those of its parts too."""
    found: Any = value
    if isinstance(value, Tensor):
        found = value.to(device)
    elif isinstance(value, tuple) and hasattr(value, "_fields"):
        found = type(value)(*(moved(part, device) for part in value))
    elif is_dataclass(value) and not isinstance(value, type):
        found = replace(value, **{field.name: moved(getattr(value, field.name), device) for field in fields(value)})
    return found  # type: ignore[no-any-return]
