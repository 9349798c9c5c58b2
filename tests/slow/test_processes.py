"""What other processes do to a run: signals, a second run on the same output, another place and another hash seed."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest

from goldgap.cli.signals import asked_to_stop
from goldgap.core.errors import InputError
from goldgap.train.place import LOCK, claim, unfinished
from tests.slow.runs import (
    FORKS,
    STEPS,
    Run,
    Whole,
    all_of,
    before_call,
    before_step,
    checkpoints_in,
    expect,
    finish,
    hashes,
    leftovers,
    note_steps,
    signal_oneself,
    steps_in,
    tell_and_wait,
)

pytestmark = pytest.mark.slow


# Asked to stop

SIGNALS = pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=["SIGTERM", "SIGINT"])
MOMENTS: dict[str, tuple[partial[None], int]] = {
    "before the first step": (partial(before_call, 1, "goldgap.train.checkpoint:Checkpoints", "restore"), 18),
    "in a step": (partial(before_step, 20), 21),
    "in a checkpoint": (partial(before_call, 2, "goldgap.train.checkpoint:Checkpoints", "save"), 22),
    "among the documents of an evaluation": (partial(before_call, 4, "goldgap.models.predict", "decode"), 24),
    "among the documents of the last one": (partial(before_call, 20, "goldgap.models.predict", "decode"), STEPS),
    "at the end of an evaluation": (partial(before_call, 1, "goldgap.train.select", "evaluate"), 24),
}
"""How to do something then, and where a run that went on from step 18 stops."""


@SIGNALS
@pytest.mark.parametrize("moment", MOMENTS)
def test_a_signal_stops_the_run_within_a_step(whole: Whole, tmp_path: Path, number: int, moment: str) -> None:
    when, stop = MOMENTS[moment]
    output, steps = whole.unfinished(tmp_path, 18), tmp_path / "steps"
    change = partial(all_of, partial(note_steps, steps), partial(when, partial(signal_oneself, number)))
    said = expect(128 + number, whole.data.arguments(output, "--resume"), change)
    assert f"stopped at step {stop} of {STEPS}; the same command with --resume goes on from there" in said
    assert steps_in(steps) == list(range(18, stop))
    assert checkpoints_in(output)[-1] == stop
    whole.resume(output)


@SIGNALS
def test_a_signal_before_there_is_anything_to_save_leaves_nothing(whole: Whole, tmp_path: Path, number: int) -> None:
    output = tmp_path / "model"
    when, _ = MOMENTS["before the first step"]
    expect(128 + number, whole.data.arguments(output), partial(when, partial(signal_oneself, number)))
    assert not list(tmp_path.iterdir())


@SIGNALS
def test_a_signal_while_the_model_is_saved_does_not_stop_that(whole: Whole, tmp_path: Path, number: int) -> None:
    output = whole.unfinished(tmp_path, 38)
    change = partial(before_call, 1, "goldgap.recognizer:Recognizer", "save", partial(signal_oneself, number))
    finish(whole.data.arguments(output, "--resume"), change)
    whole.check(output)


@SIGNALS
def test_a_signal_from_outside_stops_the_run_anywhere(whole: Whole, tmp_path: Path, number: int) -> None:
    chance = random.Random(number)
    output, steps = tmp_path / "model", tmp_path / "steps"
    for _ in range(3):
        steps.write_text("")
        run = Run(whole.data.arguments(output, "--resume"), partial(note_steps, steps))
        wanted = chance.randint(1, 6)
        while run.runs() and len(steps_in(steps)) < wanted:
            time.sleep(0.001)
        time.sleep(chance.uniform(0, 0.01))
        run.send(number)
        status, said = run.end()
        assert status == 128 + number, said
        assert checkpoints_in(output)[-1] == steps_in(steps)[-1] + 1
    whole.resume(output)


@pytest.mark.parametrize(
    "numbers",
    [(signal.SIGTERM, signal.SIGTERM), (signal.SIGINT, signal.SIGINT), (signal.SIGTERM, signal.SIGINT)],
    ids=["SIGTERM twice", "SIGINT twice", "SIGTERM and SIGINT"],
)
def test_a_second_signal_ends_the_run_at_once(whole: Whole, tmp_path: Path, numbers: tuple[int, int]) -> None:
    output = whole.unfinished(tmp_path, 18)
    change = partial(before_step, 20, partial(signal_oneself, *numbers))
    expect(-numbers[1], whole.data.arguments(output, "--resume"), change)
    assert checkpoints_in(output) == [18, 20]
    whole.resume(output)


@pytest.mark.parametrize("error", [None, ValueError])
def test_signals_do_what_they_did_before_once_the_run_is_over(error: type[Exception] | None) -> None:
    numbers = (signal.SIGTERM, signal.SIGINT)
    before = [signal.getsignal(number) for number in numbers]
    try:
        with asked_to_stop() as asked:
            assert all(signal.getsignal(number) not in before for number in numbers)
            assert asked() == 0
            signal.raise_signal(signal.SIGTERM)
            assert asked() == signal.SIGTERM
            if error is not None:
                raise error
    except ValueError:
        pass
    assert [signal.getsignal(number) for number in numbers] == before


def test_who_works_for_another_is_asked_twice_and_still_saves() -> None:
    with asked_to_stop(patient=True) as asked:
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGTERM)
        assert asked() == signal.SIGINT


# Two processes, one output


@contextmanager
def waiting(whole: Whole, output: Path) -> Iterator[Run]:
    """A run that waits in the middle, until there is a file `go on` or the block ends."""
    there = output.with_name("there")
    wait = partial(tell_and_wait, there, output.with_name("go on"))
    run = Run(whole.data.arguments(output, "--resume"), partial(before_step, 19, wait))
    try:
        while run.runs() and not there.exists():
            time.sleep(0.002)
        yield run
    finally:
        run.send(signal.SIGKILL)
        run.end()


def test_a_second_run_on_the_same_output_is_refused_and_changes_nothing(whole: Whole, tmp_path: Path) -> None:
    output = whole.unfinished(tmp_path, 18)
    with waiting(whole, output) as first:
        before = hashes(tmp_path)
        for resume in ([], ["--resume"]):
            said = expect(2, whole.data.arguments(output, *resume))
            assert f"{unfinished(output)}: in use by the running process {first.pid}" in said
            assert hashes(tmp_path) == before
        output.with_name("go on").touch()
        while first.runs():
            time.sleep(0.002)
    whole.check(output)


def test_the_lock_of_a_dead_process_is_taken_over(whole: Whole, tmp_path: Path) -> None:
    output = whole.unfinished(tmp_path, 18)
    with waiting(whole, output) as first:
        pass
    lock = unfinished(output) / LOCK
    assert lock.read_text() == str(first.pid)
    lock.write_text(str(os.getpid()))  # a number that somebody else has got by now
    whole.resume(output)


def test_a_model_that_exists_is_not_overwritten(whole: Whole) -> None:
    for resume in ([], ["--resume"]):
        said = expect(2, whole.data.arguments(whole.model, *resume))
        assert f"{whole.model}: exists already" in said
        assert hashes(whole.model) == whole.files
        assert not leftovers(whole.model)


def test_an_unfinished_run_is_not_overwritten(whole: Whole, tmp_path: Path) -> None:
    output = whole.unfinished(tmp_path, 18, 20)
    said = expect(2, whole.data.arguments(output))
    assert f"{unfinished(output)}: an unfinished run is here; go on with --resume" in said
    assert checkpoints_in(output) == [18, 20]
    whole.resume(output)


def test_a_resume_with_another_setting_names_it_and_changes_nothing(whole: Whole, tmp_path: Path) -> None:
    output = whole.unfinished(tmp_path, 18, 20)
    others = {
        "model.dropout is 0.1 there and 0.3 here": whole.data.arguments(output, "--resume", model__dropout=0.3),
        "policy.settings.ratio is 1.0 there and 0.5 here": whole.data.arguments(output, "--resume", policy__ratio=0.5),
        "seed is 0 there and 7 here": whole.data.arguments(output, "--resume", "--seed", "7"),
    }
    for expected, arguments in others.items():
        assert expected in expect(2, arguments)
        assert checkpoints_in(output) == [18, 20]
    whole.resume(output)


@pytest.mark.parametrize("part", ["training", "dev"])
def test_a_resume_with_other_data_names_them_and_changes_nothing(whole: Whole, tmp_path: Path, part: str) -> None:
    output = whole.unfinished(tmp_path, 18, 20)
    other = tmp_path / "other.jsonl"
    file = whole.data.train if part == "training" else whole.data.dev
    other.write_text(file.read_text().replace("lives", "lived"))
    arguments = [str(other) if word == str(file) else word for word in whole.data.arguments(output, "--resume")]
    assert f"sha256 of the {part} documents is " in expect(2, arguments)
    assert checkpoints_in(output) == [18, 20]
    whole.resume(output)


def contend(output: Path, times: int, said: Path) -> None:
    """Claim an output so many times, and write what should not happen."""
    inside, wrong, chance = output.with_name("inside"), list[str](), random.Random(os.getpid())
    while times and not wrong:
        try:
            with claim(output, resume=True) as work:
                times -= 1
                os.close(os.open(inside, os.O_CREAT | os.O_EXCL))
                (work / "of one").touch()
                time.sleep(chance.uniform(0, 0.001))
                inside.unlink()
        except InputError as error:
            if "in use by the running process" not in str(error):
                wrong.append(repr(error))
        except OSError as error:
            wrong.append(repr(error))
    said.write_text(f"claimed, wrong: {wrong}")


def test_of_many_processes_one_at_a_time_holds_an_output(tmp_path: Path) -> None:
    said = [tmp_path / f"said-{number}" for number in range(4)]
    processes = [FORKS.Process(target=contend, args=(tmp_path / "model", 100, file)) for file in said]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
        process.close()
    assert [file.read_text() for file in said] == ["claimed, wrong: []"] * len(said)


def test_a_link_that_leads_nowhere_is_no_place_for_a_run(tmp_path: Path) -> None:
    unfinished(tmp_path / "model").symlink_to(tmp_path / "nowhere")
    with pytest.raises(InputError, match="cannot be created"), claim(tmp_path / "model", resume=True):
        pass


# Same seed, same bytes


def test_the_same_seed_gives_the_same_bytes_in_every_process_and_folder(whole: Whole, tmp_path: Path) -> None:
    running = []
    for number in (1, 2):
        folder = tmp_path / str(number)
        folder.mkdir()
        command = [sys.executable, "-c", "from goldgap.cli import main; main()", *whole.data.arguments(Path("model"))]
        environment = {**os.environ, "PYTHONHASHSEED": str(number), "OMP_NUM_THREADS": "1"}
        running.append(subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.DEVNULL))
    assert [process.wait() for process in running] == [0, 0]
    assert hashes(tmp_path / "1" / "model") == hashes(tmp_path / "2" / "model") == whole.files


def test_another_seed_gives_other_bytes(whole: Whole, tmp_path: Path) -> None:
    finish(whole.data.arguments(tmp_path / "model", "--seed", "1"))
    assert hashes(tmp_path / "model")["model.safetensors"] != whole.files["model.safetensors"]
    assert hashes(tmp_path / "model")["metrics.jsonl"] != whole.files["metrics.jsonl"]
