"""What a signal does to a run: it asks, and the run saves and stops."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def asked_to_stop(*, patient: bool = False) -> Iterator[Callable[[], int]]:
    """A function that gives the number of the signal that asked this process to stop, or 0.

    A second signal ends the process at once, unless it is patient: one that works for another hears of a stop from the
    terminal and from the other. Only for a main thread, which is the one that signals reach.
    """
    received = 0

    def note(number: int, frame: FrameType | None) -> None:
        nonlocal received
        if received and patient:
            return
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
