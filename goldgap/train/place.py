"""Where a run lives on disk: the folder of its checkpoints, held by one process, and what a signal does to it."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import IO

from goldgap.core.errors import InputError
from goldgap.core.files import remove_stale

LOCK = "lock"


def unfinished(output: Path) -> Path:
    """The folder beside a model in which its run keeps checkpoints until the model is whole."""
    return output.with_name(output.name + ".unfinished")


@contextmanager
def claim(output: Path, *, resume: bool) -> Iterator[Path]:
    """The folder for the checkpoints of a run that writes `output`; it is gone when the block ends without error.

    Refuses a model that exists, a folder that a running process holds, and, unless `resume`, checkpoints that are
    there already: nothing is overwritten.
    """
    folder = unfinished(output)
    if os.path.lexists(output):
        raise InputError("exists already; name a new folder, or remove this one first", path=output)
    if not output.parent.is_dir():
        raise InputError(f"the folder {output.parent} does not exist; create it first", path=output)
    if not resume and any(folder.glob("step-*")):
        raise InputError("an unfinished run is here; go on with --resume, or remove this folder first", path=folder)
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot be created: {error.strerror}", path=folder) from None
    with _locked(folder / LOCK):
        remove_stale(folder)
        remove_stale(output.parent, output.name)
        try:
            yield folder
        except BaseException:
            if not any(folder.glob("step-*")):  # nothing to go on from
                shutil.rmtree(folder)
            raise
        shutil.rmtree(folder)


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Hold a lock that the system takes back when this process ends, however it ends."""
    import fcntl

    handle: IO[str] = path.open("a+")
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        handle.seek(0)
        holder = handle.read().strip() or "another process"
        handle.close()
        raise InputError(
            f"in use by the running process {holder}; wait until it ends, or name another output", path=path.parent
        ) from None
    try:
        handle.truncate(0)
        handle.write(str(os.getpid()))
        handle.flush()
        yield
    finally:
        handle.close()


@contextmanager
def asked_to_stop() -> Iterator[Callable[[], int]]:
    """A function that gives the number of the signal that asked this process to stop, or 0.

    A second signal ends the process at once. Only for a main thread, which is the one that signals reach.
    """
    received = 0

    def note(number: int, frame: FrameType | None) -> None:
        nonlocal received
        if received:
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)
        received = number

    before = {number: signal.signal(number, note) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield lambda: received
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
