"""Where a run lives on disk: the folder of its checkpoints, held by one process."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from goldgap.core.errors import InputError, RunError
from goldgap.core.writing import remove_stale, require_unicode

LOCK, LEFT_OUT = "lock", "left_out"


class InUseError(InputError):
    """Another process is at it."""


def unfinished(output: Path) -> Path:
    """The folder beside a model in which its run keeps checkpoints until the model is whole."""
    return output.with_name(output.name + ".unfinished")


@contextmanager
def claim(output: Path, *, resume: bool) -> Iterator[Path]:
    """The folder for the checkpoints of a run that writes `output`; it is gone when the block ends without error.

    Refuses a model that exists, a folder that a running process holds, and, unless `resume`, checkpoints that are
    there already: nothing is overwritten.
    """
    _refuse_existing(output)
    require_unicode(output)
    folder = unfinished(output)
    if not output.parent.is_dir():
        raise InputError(f"the folder {output.parent} does not exist; create it first", path=output)
    with held(folder):
        try:
            _refuse_existing(output)  # by a run that ended just now
            if not resume and begun(folder):
                raise InputError(
                    "an unfinished run is here; go on with --resume, or remove this folder first", path=folder
                )
            remove_stale(folder)
            remove_stale(output.parent, output.name)
            yield folder
        except BaseException:
            if not begun(folder):  # nothing to go on from
                remove_held(folder, output.name)
            raise
        remove_held(folder, output.name)


def begun(folder: Path) -> bool:
    """Whether a run has left something to go on from: a checkpoint, or what an exploratory training found."""
    return any(folder.rglob("step-*")) or (folder / LEFT_OUT).exists()


def _refuse_existing(output: Path) -> None:
    if not output.name:
        raise InputError("a folder that is there, expected the name of a new one", path=output)
    if os.path.lexists(output):
        remove_stale(output.parent, output.name)
        rest = unfinished(output)
        hint = f"; if it is whole, {rest} is a rest of its run to remove" if rest.exists() else ""
        raise InputError(f"exists already; name a new folder, or remove this one first{hint}", path=output)


def remove_held(folder: Path, name: str) -> None:
    """Remove the folder of a run while holding it: under its name it is there with its lock, or not at all.

    name   what `remove_stale` will know the rest by, should this process be killed
    """
    aside = folder.with_name(f".tmp-{name}-{os.getpid()}")
    os.rename(folder, aside)
    shutil.rmtree(aside)


@contextmanager
def held(folder: Path) -> Iterator[None]:
    """Make and hold a folder by a lock that the system takes back when this process ends, however it ends."""
    descriptor = _lock(folder)
    try:
        try:
            os.ftruncate(descriptor, 0)
            os.write(descriptor, str(os.getpid()).encode())
        except OSError as error:
            raise RunError(f"{folder / LOCK}: could not be written: {error.strerror}") from None
        yield
    finally:
        os.close(descriptor)


def _lock(folder: Path) -> int:
    import fcntl

    path = folder / LOCK
    for _ in range(100):  # the run that holds the folder may end and remove it between any two of these lines
        try:
            with suppress(FileExistsError):
                folder.mkdir()
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        except FileNotFoundError:
            continue
        except OSError as error:
            raise InputError(f"cannot be created: {error.strerror}", path=folder) from None
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            holder = os.read(descriptor, 32).decode() or "another process"
            os.close(descriptor)
            raise InUseError(
                f"in use by the running process {holder}; wait until it ends, or name another output", path=folder
            ) from None
        with suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(descriptor), path.stat()):
                return descriptor
        os.close(descriptor)  # of a lock that was removed meanwhile: it keeps nobody out
    raise InputError("cannot be created: is it a link that leads nowhere?", path=folder)
