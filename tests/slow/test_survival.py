"""Runs that are killed or stopped at any instant and resumed: the model has the same bytes as without."""

from __future__ import annotations

import itertools
import os
import random
import shutil
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch

from goldgap import Recognizer
from goldgap.train import checkpoint
from goldgap.train.checkpoint import Checkpoints, RunState
from goldgap.train.place import unfinished
from goldgap.train.step import Stepper, Taken
from tests.slow.runs import (
    EVERY,
    STEPS,
    Run,
    Whole,
    all_of,
    checkpoints_in,
    expect,
    finish,
    hashes,
    keep_copies,
    note_steps,
    put,
    steps_in,
)
from tests.slow.test_crash import watched

pytestmark = pytest.mark.slow


# Killed at any instant

TRIALS = 40
Moment = Callable[[], bool]
"""Whether it has come."""


def in_a_while(seconds: float) -> Moment:
    end = time.perf_counter() + seconds
    return lambda: time.perf_counter() >= end


def in_a_save(folder: Path, number: int, delay: float) -> Moment:
    """A while into one of the next saves."""
    seen: set[str] = set()

    def come() -> bool:
        with suppress(FileNotFoundError):  # the run was over, and the folder gone, between two looks
            seen.update(name for name in os.listdir(folder) if name.startswith(".tmp-step-"))
        if len(seen) < number:
            return False
        time.sleep(delay)
        return True

    return come


def killed(run: Run, come: Moment) -> bool:
    """Kill a run at a moment; whether that came before the run was over."""
    while run.runs() and not come():
        time.sleep(0.0005)
    run.send(signal.SIGKILL)
    status, said = run.end()
    assert status in (0, -signal.SIGKILL), said
    return status != 0


def trial(whole: Whole, place: Path, chance: random.Random, seconds: float) -> Counter[str]:
    """Kill a run, which takes so many seconds, one to three times and let it finish."""
    place.mkdir()
    output, kills = place / "model", Counter[str]()
    for _ in range(chance.randint(1, 3)):
        run = Run(whole.data.arguments(output, *(["--resume"] if kills else [])))
        if chance.random() < 0.5:
            come = in_a_save(unfinished(output), chance.randint(1, 6), chance.uniform(0, 0.008))
        else:
            come = in_a_while(chance.uniform(0, seconds))
        if not killed(run, come):
            break
        kills["landed"] += 1
        if output.exists():
            break
        kills["inside a save"] += any(place.rglob(f".tmp-*-{run.pid}"))
    if output.exists():  # the last kill came behind the model, or not at all
        assert hashes(output) == whole.files
    else:
        whole.resume(output)
    return kills


def test_a_run_killed_at_random_instants_gives_the_same_bytes(whole: Whole, tmp_path: Path) -> None:
    chance, seconds = random.Random(0), whole.seconds
    kills, trials = Counter[str](), 0
    for attempt in range(2 * TRIALS):
        began = time.perf_counter()
        found = trial(whole, tmp_path / str(attempt), chance, seconds)
        shutil.rmtree(tmp_path / str(attempt))
        if not found:  # over before its first kill: it does not count, and says how long a run takes now
            seconds = min(seconds, time.perf_counter() - began)
            continue
        trials += 1
        kills += found
        if trials == TRIALS:
            break
    print(f"{trials} trials, kills: {dict(kills)}")
    assert trials == TRIALS
    assert kills["landed"] >= TRIALS
    assert kills["inside a save"] >= 0.3 * kills["landed"]


def test_a_bi_encoder_killed_at_random_instants_gives_the_same_bytes(whole_bi_encoder: Whole, tmp_path: Path) -> None:
    """It draws sentences that stand for its types at every step, and chooses thresholds at every evaluation."""
    whole, chance, kills = whole_bi_encoder, random.Random(0), Counter[str]()
    for attempt in range(2):
        kills += trial(whole, tmp_path / str(attempt), chance, whole.seconds)
    assert kills["landed"] >= 1
    whole.resume(whole.unfinished(tmp_path / "first", EVERY))


def test_every_other_kind_killed_at_random_instants_gives_the_same_bytes(whole_other: Whole, tmp_path: Path) -> None:
    """Some train twice, and what the first training found must be there for the second."""
    whole, chance, kills = whole_other, random.Random(1), Counter[str]()
    for attempt in range(6):
        kills += trial(whole, tmp_path / str(attempt), chance, 0.8 * whole.seconds)
        if kills["landed"] >= 3:
            break
    assert kills["landed"] >= 3


# Every kill point

DIED, SURVIVED = 77, 78


def dying_before(stop: int) -> Callable[[str], None]:
    """For `watched`: the process ends before its operation number `stop`, and says which one that was."""
    counter = itertools.count()

    def before(name: str) -> None:
        if next(counter) == stop:
            os.write(1, f"died before {name}".encode())
            os._exit(DIED)

    return before


def save_in_halves(tensors: dict[str, torch.Tensor], path: Path) -> None:
    """As the library's, but seen by the watch: it can die with half of the file written."""
    from safetensors.torch import save

    data = save(tensors)
    descriptor = os.open(path, os.O_CREAT | os.O_WRONLY)
    os.write(descriptor, data[: len(data) // 2])
    os.fsync(descriptor)
    os.write(descriptor, data[len(data) // 2 :])
    os.close(descriptor)


def die_in_checkpoint(step: int, stop: int) -> None:
    """End before an operation of the save of this step, or behind it."""
    save = Checkpoints.save

    def watched_save(self: Checkpoints, state: RunState, *others: Any) -> None:
        if state.step != step:
            return save(self, state, *others)
        with watched(dying_before(stop)):
            save(self, state, *others)
        os._exit(SURVIVED)

    put(Checkpoints, "save", watched_save)
    _save_tensors_in_halves()


def die_in_model(stop: int) -> None:
    """End before an operation of the save of the model, or of what comes behind it."""
    save, watch = Recognizer.save, ExitStack()

    def watched_save(self: Recognizer, path: Path) -> None:
        watch.enter_context(watched(dying_before(stop)))  # until the process ends
        save(self, path)

    put(Recognizer, "save", watched_save)
    _save_tensors_in_halves()


def _save_tensors_in_halves() -> None:
    import safetensors.torch

    put(safetensors.torch, "save_file", save_in_halves)


def deaths(
    die: Callable[[int], None], whole: Whole, place: Path, *steps: int, survived: int
) -> Iterator[tuple[Path, str, bool]]:
    """Outputs after a death before each operation, that operation, and whether no other death left the same files."""
    seen = []
    for stop in itertools.count():
        output = whole.unfinished(place / str(stop), *steps)
        run = Run(whole.data.arguments(output, "--resume"), partial(die, stop))
        status, said = run.end()
        if status == survived:
            return
        assert status == DIED, said
        left = {name.replace(str(run.pid), "PID"): digest for name, digest in hashes(output.parent).items()}
        left.pop("model.unfinished/lock", None)  # holds the pid
        yield output, said.rpartition(" ")[2], left not in seen
        seen.append(left)


def test_a_checkpoint_is_absent_or_whole_wherever_its_save_dies(whole: Whole, tmp_path: Path) -> None:
    operations, left = Counter[str](), set()
    for output, operation, new in deaths(partial(die_in_checkpoint, 36), whole, tmp_path, 32, 34, survived=SURVIVED):
        operations[operation] += 1
        (newest,) = checkpoints_in(output)[-1:]
        left.add(newest)
        if new:
            steps = output.with_name("steps")
            whole.resume(output, partial(note_steps, steps))
            assert steps_in(steps) == list(range(newest, STEPS))
    assert left == {34, 36}
    assert set(operations) == {"mkdir", "open", "write", "fsync", "rename", "unlink", "rmdir"}
    print(f"{operations.total()} operations: {dict(operations)}")


def test_a_model_is_absent_or_whole_wherever_its_save_dies(whole: Whole, tmp_path: Path) -> None:
    operations, left = Counter[str](), set()
    for output, operation, new in deaths(die_in_model, whole, tmp_path, 36, 38, survived=0):
        operations[operation] += 1
        left.add(output.exists())
        if output.exists():
            assert hashes(output) == whole.files
            expect(2, whole.data.arguments(output, "--resume"))
            assert not list(output.parent.glob(".tmp*"))
        elif new:
            whole.resume(output)
    assert left == {False, True}
    print(f"{operations.total()} operations: {dict(operations)}")


@contextmanager
def commit_in_place(path: Path) -> Iterator[Path]:
    path.mkdir()
    yield path


def save_naively() -> None:
    """Checkpoints are written where they will be read, and are whole because they are there."""
    put(checkpoint, "commit_directory", commit_in_place)
    put(checkpoint, "verify_directory", os.listdir)


def test_a_save_in_place_is_caught_by_the_kill_points(whole: Whole, tmp_path: Path) -> None:
    output = whole.unfinished(tmp_path, 34)
    half_of_the_weights = partial(die_in_checkpoint, 36, 2)
    expect(DIED, whole.data.arguments(output, "--resume"), partial(all_of, save_naively, half_of_the_weights))
    status, said = Run(whole.data.arguments(output, "--resume"), save_naively).end()
    assert status != 0, said


# Every checkpoint


def test_a_run_resumed_from_any_checkpoint_gives_the_same_bytes(whole: Whole, tmp_path: Path) -> None:
    for step in range(EVERY, STEPS + 1, EVERY):
        whole.resume(whole.unfinished(tmp_path / str(step), step))


def draw_from_one_stream() -> None:
    """Chance is not reset at each step, and so is another one behind a checkpoint."""
    take, reset = Stepper.take, torch.manual_seed

    def take_without_reset(self: Stepper, *arguments: Any) -> Taken:
        put(torch, "manual_seed", id)
        taken = take(self, *arguments)
        put(torch, "manual_seed", reset)
        return taken

    put(Stepper, "take", take_without_reset)


def test_chance_that_is_not_reset_is_caught_by_a_resume(whole: Whole, tmp_path: Path) -> None:
    output, copies = tmp_path / "model", tmp_path / "copies"
    finish(
        whole.data.arguments(output),
        partial(all_of, draw_from_one_stream, partial(keep_copies, copies)),
    )
    resumed = tmp_path / "resumed"
    shutil.copytree(copies / "step-00000020", unfinished(resumed) / "step-00000020")
    finish(whole.data.arguments(resumed, "--resume"), draw_from_one_stream)
    changed = {name for name, digest in hashes(output).items() if hashes(resumed)[name] != digest}
    assert {"metrics.jsonl", "manifest.json"} <= changed
