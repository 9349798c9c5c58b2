"""Training runs in processes of their own, through the command line: to be killed, starved, stopped and resumed."""

from __future__ import annotations

import itertools
import os
import shutil
import signal
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import torch

from goldgap.cli import main
from goldgap.core.errors import IntegrityError
from goldgap.core.manifest import sha256, verify_directory
from goldgap.core.progress import Progress
from goldgap.train.checkpoint import Checkpoints, RunState
from goldgap.train.place import unfinished
from goldgap.train.step import Stepper, Taken
from tests.tiny import lexicon_in

# One process that has imported everything and computes on one thread; every run is a fork of it, and takes a second.
FORKS = get_context("forkserver")
FORKS.set_forkserver_preload(["pytest", "goldgap.cli", "goldgap.cli.watch", "goldgap.recognizer", "tests.slow.warm"])

EPOCHS, STEPS, EVERY = 5, 40, 2
"""Of a run on `Data`: 8 steps an epoch, and a checkpoint behind each second one but the last."""
SETTINGS: dict[str, object] = {
    "model.max_width": 4,
    "model.hidden": 16,
    "model.width_size": 8,
    "model.dropout": 0.1,
    "train.batch_size": 4,
    "train.encoder_rate": 5e-3,
    "train.head_rate": 2e-2,
    "train.schedule": "constant",
    "train.certain_negatives": False,
    "train.checkpoint_steps": EVERY,
}
OF_METHOD: dict[str, dict[str, object]] = {
    "weighted": {"policy.ratio": 1.0, "train.average": 0.9},
    "binder": {"bi_encoder.size": 16, "bi_encoder.describe": "prototypes", "bi_encoder.thresholds": "dev"},
    "default": {"bi_encoder.size": 16, "two_step.sure": 0.3},
    "two-step": {"two_step.explore": 2, "two_step.share": 0.2, "two_step.none": 0.2},
    "bilstm-crf": {"encoder.size": 16, "encoder.hidden": 16, "encoder.bigrams": True, "two_step.explore": 1},
    "flat": {"encoder.size": 16, "encoder.hidden": 16, "lexicon.size": 16, "tagger.angle": True},
    "bert-word": {"lexicon.size": 16, "lexicon.hidden": 16},
    "lebert": {"lexicon.size": 16, "two_step.explore": 1},
}
"""Those that draw at every step, that keep a state of their own, that train twice, and every host of a tagger."""
OTHERS = ("default", "two-step", "bilstm-crf", "flat", "bert-word", "lebert")

Change = Callable[[], None]
"""What a process does to itself before the command begins. It is sent there, so it is a function of a module, or a
`partial` of one."""


@dataclass(frozen=True, slots=True)
class Data:
    """What the runs read, and how they train."""

    encoder: Path
    train: Path
    dev: Path
    method: str = "weighted"
    tiny: Path = Path()

    def arguments(self, output: Path, *more: str, **settings: object) -> list[str]:
        """The command that trains `output`; settings are written with __ for the dot."""
        changed = {name.replace("__", "."): value for name, value in settings.items()}
        named = SETTINGS | OF_METHOD[self.method] | changed
        if any(name.startswith("lexicon.") for name in named):
            named["lexicon.file"] = lexicon_in(self.tiny)
        files = ["--train", str(self.train), "--dev", str(self.dev), "--encoder", str(self.encoder)]
        command = ["train", *files, "--method", self.method, "--epochs", str(EPOCHS), "-o", str(output), *more]
        return command + [word for name, value in named.items() for word in ("--set", f"{name}={_toml(value)}")]


def _toml(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


@dataclass(frozen=True, slots=True)
class Whole:
    """A run that nothing interrupted.

    files         the hash of every file of its model
    checkpoints   a copy of each one, oldest first
    seconds       how long it took
    """

    data: Data
    model: Path
    files: Mapping[str, str]
    checkpoints: list[Path]
    seconds: float

    def unfinished(self, place: Path, *steps: int) -> Path:
        """The output of a run that was interrupted when it had the checkpoints of these steps."""
        output = place / "model"
        for step in steps:
            copy = self.checkpoint(step)
            shutil.copytree(copy, unfinished(output) / copy.name)
        return output

    def checkpoint(self, step: int) -> Path:
        return self.checkpoints[step // EVERY - 1]

    def resume(self, output: Path, change: Change | None = None) -> str:
        """Go on with a run, which must end well and give the same bytes; what it said."""
        said = finish(self.data.arguments(output, "--resume"), change)
        self.check(output)
        return said

    def check(self, output: Path) -> None:
        assert hashes(output) == self.files
        assert not leftovers(output)


def hashes(folder: Path) -> dict[str, str]:
    return {path.relative_to(folder).as_posix(): sha256(path) for path in folder.rglob("*") if path.is_file()}


def checkpoints_in(output: Path) -> list[int]:
    """The steps of the checkpoints that an unfinished run can be gone on from, oldest first."""
    found = []
    for place in sorted(unfinished(output).glob("step-*")):
        with suppress(IntegrityError):
            verify_directory(place)
            found.append(int(place.name.removeprefix("step-")))
    return found


def leftovers(output: Path) -> list[str]:
    """What lies beside a model and should not, once its run is over."""
    return [path.name for path in output.parent.iterdir() if path.name.startswith((".tmp", f"{output.name}."))]


class Run:
    """The command line in a process of its own, and all that it says."""

    def __init__(self, arguments: list[str], change: Change | None = None) -> None:
        self._said, writing = FORKS.Pipe(duplex=False)
        self._process = FORKS.Process(target=_command_line, args=(arguments, change, writing))
        self._process.start()
        writing.close()
        assert self._process.pid is not None
        self.pid: int = self._process.pid
        self._handle = os.pidfd_open(self.pid)  # a signal to its number might reach another process

    def runs(self) -> bool:
        return self._process.is_alive()

    def send(self, number: int) -> None:
        with suppress(ProcessLookupError):  # it is over
            signal.pidfd_send_signal(self._handle, number)

    def end(self) -> tuple[int, str]:
        """The exit status, negative for a signal, and what was said."""
        said = b""
        while block := os.read(self._said.fileno(), 1 << 16):
            said += block
        self._process.join()
        status = self._process.exitcode
        assert status is not None
        self._said.close()
        self._process.close()
        os.close(self._handle)
        return status, said.decode()


def _command_line(arguments: list[str], change: Change | None, said: Connection) -> None:
    for stream in (1, 2):
        os.dup2(said.fileno(), stream)
    said.close()
    torch.set_num_threads(1)
    if change is not None:
        change()
    sys.argv = ["goldgap", *arguments]
    main()


def finish(arguments: list[str], change: Change | None = None) -> str:
    """What a run said that must end well."""
    return expect(0, arguments, change)


def expect(status: int, arguments: list[str], change: Change | None = None) -> str:
    """What a run said that must end with this status, and not in a traceback."""
    found, said = Run(arguments, change).end()
    assert found == status, said
    assert "Traceback" not in said
    return said


# What a process does to itself


def put(owner: object, name: str, value: object) -> None:
    setattr(owner, name, value)


def keep_copies(place: Path) -> None:
    """Copy every checkpoint as it appears."""
    save = Checkpoints.save

    def and_copy(self: Checkpoints, state: RunState, *others: Any) -> None:
        save(self, state, *others)
        name = f"step-{state.step:08d}"
        shutil.copytree(self.folder / name, place / name)

    put(Checkpoints, "save", and_copy)


def before_call(number: int, place: str, name: str, action: Change) -> None:
    """Do something when a function is called for the n-th time; its place as in "module" or "module:Class"."""
    owner, calls = resolve_name(place), itertools.count(1)
    real = getattr(owner, name)

    def act_and_call(*arguments: Any, **named: Any) -> Any:
        if next(calls) == number:
            action()
        return real(*arguments, **named)

    put(owner, name, act_and_call)


def before_step(step: int, action: Change) -> None:
    """Do something when this step begins."""
    take = Stepper.take

    def act_and_take(self: Stepper, batches: Any, progress: Progress) -> Taken:
        if progress.step == step:
            action()
        return take(self, batches, progress)

    put(Stepper, "take", act_and_take)


def note_steps(file: Path) -> None:
    """Write the number of every step that begins, one a line."""
    file.touch()
    for step in range(STEPS):
        before_step(step, partial(_append, file, f"{step}\n"))


def _append(file: Path, text: str) -> None:
    with file.open("a") as handle:
        handle.write(text)


def steps_in(file: Path) -> list[int]:
    return list(map(int, file.read_text().split()))


def signal_oneself(*numbers: int) -> None:
    for number in numbers:
        os.kill(os.getpid(), number)


def tell_and_wait(told: Path, until: Path) -> None:
    told.touch()
    while not until.exists():
        time.sleep(0.002)


def all_of(*changes: Change) -> None:
    for change in changes:
        change()
