"""Ask a policy, and hold it to its promise: whoever writes one is told what it did, not what broke behind it."""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor

from goldgap.core.errors import ConfigError, GoldgapError
from goldgap.core.progress import Progress
from goldgap.unknown.cells import Cells, Policy


def ask(name: str, policy: Policy, cells: Cells, progress: Progress, generator: torch.Generator) -> Tensor:
    """The unknown cells that the policy keeps.  -> (batch, cell) bool"""
    given = (cells.logits, cells.labels, cells.unknown, cells.words, cells.documents)
    before = [tensor._version for tensor in given]
    with named(name, progress):
        keep = policy(cells, progress, generator)
    if [tensor._version for tensor in given] != before:
        raise ConfigError(
            f"the policy {name!r} changed what it was given; it must work on copies, `cells.unknown.clone()`"
        )
    wanted = f"a bool tensor of {tuple(cells.unknown.shape)}, one value for each cell"
    if not isinstance(keep, Tensor):
        raise ConfigError(f"the policy {name!r} returned {type(keep).__name__}; it must return {wanted}")
    if keep.dtype != torch.bool or keep.shape != cells.unknown.shape:
        found = f"{str(keep.dtype).removeprefix('torch.')} tensor of {tuple(keep.shape)}"
        raise ConfigError(f"the policy {name!r} returned a {found}; it must return {wanted}")
    _check_known(name, keep, cells)
    return keep


@contextmanager
def named(name: str, progress: Progress) -> Iterator[None]:
    """Errors inside of a policy, with its name and where they were raised."""
    try:
        yield
    except (GoldgapError, MemoryError):
        raise
    except Exception as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        raise ConfigError(
            f"the policy {name!r} failed at step {progress.step}: {type(error).__name__}: {error} "
            f"({place.filename}:{place.lineno})"
        ) from error


def _check_known(name: str, keep: Tensor, cells: Cells) -> None:
    wrong = keep & ~cells.unknown
    if not wrong.any():
        return
    entities = int((wrong & (cells.labels > 0)).sum())
    others = int(wrong.sum()) - entities
    kinds = [(entities, "annotated as entities"), (others, "known, or padding")]
    found = " and ".join(f"{count} that are {kind}" for count, kind in kinds if count)
    raise ConfigError(
        f"the policy {name!r} keeps cells as negatives that are not unknown: {found}; it must return a subset of"
        " `cells.unknown`, for example `keep & cells.unknown`"
    )
