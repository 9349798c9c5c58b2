"""A device that is none: its tensors are held by the processor, but whoever mixes them with others is refused.

It shows without a graphics card that nothing is made or left in the wrong place. Like Apple's, it has no float64.
"""

# mypy: disable-error-code="no-untyped-call, override"
from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any
from unittest.mock import patch

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map

NAME = "elsewhere"
_KEPT: list[Any] = []
_MOVES = ("_to_copy", "copy_")
_PARTLY_HERE = (  # they take numbers of the processor
    "index",
    "index_put",
    "index_put_",
    "_pack_padded_sequence",
    "_pack_padded_sequence_backward",
)


class Elsewhere(Tensor):
    """A tensor on that device."""

    held: Tensor

    @staticmethod
    def __new__(cls, held: Tensor) -> Elsewhere:
        made: Elsewhere = Tensor._make_wrapper_subclass(
            cls,
            held.size(),
            strides=held.stride(),
            storage_offset=held.storage_offset(),
            dtype=held.dtype,
            device=torch.device(NAME, 0),
            requires_grad=held.requires_grad,
        )
        made.held = held
        return made

    def tolist(self) -> Any:
        return self.held.tolist()

    @classmethod
    def __torch_dispatch__(cls, call: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return _done_there(call, args, kwargs or {})


class _Watching(TorchDispatchMode):
    """Makes tensors there that are asked for there."""

    def __torch_dispatch__(self, call: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        wanted = kwargs.get("device")
        if _any_there(args, kwargs) or (wanted is not None and torch.device(wanted).type == NAME):
            return _done_there(call, args, kwargs)
        return call(*args, **kwargs)


def _any_there(*values: Any) -> bool:
    return any(isinstance(leaf, Elsewhere) for leaf in tree_leaves(values))


def _done_there(call: Any, args: Any, kwargs: Any) -> Any:
    """The call on what is held, refused where a real device would refuse it."""
    name = call.overloadpacket.__name__
    here = [leaf for leaf in tree_leaves((args, kwargs)) if type(leaf) is not Elsewhere and isinstance(leaf, Tensor)]
    # A number alone may stay on the processor, but for the step of a fused optimiser.
    mixed = _any_there(args, kwargs) and any(leaf.dim() or name == "_fused_adamw_" for leaf in here)
    if mixed and name not in _MOVES and not (name in _PARTLY_HERE and isinstance(args[0], Elsewhere)):
        raise RuntimeError(f"{call}: tensors on two devices")
    there = isinstance(args[0], Elsewhere) if name == "copy_" else _any_there(args, kwargs)
    if kwargs.get("device") is not None:
        there = torch.device(kwargs["device"]).type == NAME
    if there and kwargs.get("generator") is not None:
        raise RuntimeError(f"{call}: a generator of the processor")
    inner_args, inner_kwargs = tree_map(_inner, (args, kwargs))
    result = call(*inner_args, **inner_kwargs)
    if there and any(isinstance(leaf, Tensor) and leaf.dtype == torch.float64 for leaf in tree_leaves(result)):
        raise TypeError(f"{call}: this device has no float64")
    if name == "_pack_padded_sequence":
        return Elsewhere(result[0]), result[1]
    if isinstance(result, Tensor) and inner_args and result is inner_args[0]:
        return args[0]
    return tree_map(lambda leaf: Elsewhere(leaf) if isinstance(leaf, Tensor) else leaf, result) if there else result


def _inner(leaf: Any) -> Any:
    if isinstance(leaf, Elsewhere):
        return leaf.held
    return torch.device("cpu") if isinstance(leaf, torch.device) else leaf


@cache
def _known_to_torch() -> None:
    from torch.utils import backend_registration as registration

    class Face(registration._DummyBackendModule):
        def get_amp_supported_dtype(self) -> list[torch.dtype]:
            return [torch.bfloat16]

    registration._setup_privateuseone_for_python_backend(NAME, backend_module=Face())
    backend = torch.library.Library("aten", "IMPL", "PrivateUse1")

    def empty(size: Any, *more: Any, dtype: torch.dtype | None = None, **options: Any) -> Tensor:
        return Elsewhere(torch.empty(size, dtype=dtype, device="cpu"))

    def copy_from(source: Tensor, target: Elsewhere, non_blocking: bool = False) -> Tensor:
        target.held.copy_(_inner(source))
        return target

    backend.impl("_copy_from", copy_from)
    backend.impl("empty.memory_format", empty)
    backend.impl("empty_strided", empty)
    _KEPT.append(backend)


@contextmanager
def another_device() -> Iterator[str]:
    """The name of a device that can be used inside of this."""
    _known_to_torch()
    move = torch.nn.Module.to

    def swapping(module: Any, *args: Any, **kwargs: Any) -> Any:
        torch.__future__.set_swap_module_params_on_conversion(True)
        try:
            return move(module, *args, **kwargs)
        finally:
            torch.__future__.set_swap_module_params_on_conversion(False)

    with patch.object(torch.nn.Module, "to", swapping), _Watching():
        yield NAME
