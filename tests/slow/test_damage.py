"""Damaged files, a full disk and a loss that is no number: noticed and named, and the last good state is kept."""

from __future__ import annotations

import random
import resource
import shutil
import signal
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from goldgap import Recognizer
from goldgap.core.errors import IntegrityError
from goldgap.core.manifest import MANIFEST, verify_directory
from goldgap.train import step
from goldgap.train.place import LOCK, unfinished
from tests.slow.runs import (
    STEPS,
    Whole,
    before_step,
    checkpoints_in,
    expect,
    hashes,
    note_steps,
    put,
    signal_oneself,
    steps_in,
)

pytestmark = pytest.mark.slow

CHECKPOINT = ("best.safetensors", "manifest.json", "model.safetensors", "optimiser.safetensors", "state.json")
BLOCK = 256


# Damaged files


def flips(file: Path, chance: random.Random) -> Iterator[int]:
    """Flip a bit in each block of a file, one after the other; afterwards the file is as before."""
    good = file.read_bytes()
    for start in range(0, len(good), BLOCK):
        at = start + chance.randrange(min(BLOCK, len(good) - start))
        bad = bytearray(good)
        bad[at] ^= 1 << chance.randrange(8)
        file.write_bytes(bad)
        yield at
    file.write_bytes(good)


def check_every_flip(folder: Path, load: Callable[[Path], object]) -> int:
    chance, count = random.Random(0), 0
    for name in hashes(folder):
        for at in flips(folder / name, chance):
            count += 1
            with pytest.raises(IntegrityError) as caught:
                load(folder)
            assert name in str(caught.value), f"byte {at}"
    load(folder)
    return count


def test_a_bit_flipped_in_any_block_of_a_checkpoint_is_noticed(whole: Whole, tmp_path: Path) -> None:
    folder = shutil.copytree(whole.checkpoint(20), tmp_path / "checkpoint")
    size = sum(path.stat().st_size for path in folder.iterdir())
    assert check_every_flip(folder, verify_directory) >= size // BLOCK


def test_a_bit_flipped_in_any_block_of_a_model_is_noticed(whole: Whole, tmp_path: Path) -> None:
    folder = shutil.copytree(whole.model, tmp_path / "model")
    size = sum(path.stat().st_size for path in folder.iterdir())
    assert check_every_flip(folder, Recognizer.load) >= size // BLOCK


def test_every_bit_of_a_manifest_counts(whole: Whole, tmp_path: Path) -> None:
    folder = shutil.copytree(whole.checkpoint(20), tmp_path / "checkpoint")
    good = (folder / MANIFEST).read_bytes()
    for bit in range(8 * len(good)):
        bad = bytearray(good)
        bad[bit // 8] ^= 1 << bit % 8
        (folder / MANIFEST).write_bytes(bad)
        with pytest.raises(IntegrityError, match=MANIFEST):
            verify_directory(folder)


def flip_a_bit(file: Path) -> None:
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data)


def cut_in_half(file: Path) -> None:
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])


def make_a_hole(file: Path) -> None:
    data = file.read_bytes()
    middle = len(data) // 2
    file.write_bytes(data[:middle] + bytes(64) + data[middle + 64 :])


def add_a_stranger(file: Path) -> None:
    file.with_name(file.name + ".stranger").write_bytes(b"")


DAMAGES: dict[str, Callable[[Path], None]] = {
    "a bit": flip_a_bit,
    "cut": cut_in_half,
    "a hole": make_a_hole,
    "deleted": Path.unlink,
    "a stranger": add_a_stranger,
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_checkpoint_is_named_and_the_one_before_taken(whole: Whole, tmp_path: Path, damage: str) -> None:
    for name in CHECKPOINT:
        output, steps = whole.unfinished(tmp_path / name, 32, 34), tmp_path / name / "steps"
        DAMAGES[damage](unfinished(output) / "step-00000034" / name)
        said = whole.resume(output, partial(note_steps, steps))
        assert "checkpoint passed over" in said
        assert "step-00000034" in said
        assert name in said
        assert steps_in(steps) == list(range(32, STEPS))


@pytest.mark.parametrize("name", CHECKPOINT[1:])  # the best weights are the same in both
def test_files_swapped_between_checkpoints_are_noticed(whole: Whole, tmp_path: Path, name: str) -> None:
    output, steps = whole.unfinished(tmp_path, 32, 34, 36), tmp_path / "steps"
    older, newer = (unfinished(output) / f"step-{number:08d}" / name for number in (34, 36))
    older.rename(tmp_path / "aside")
    newer.rename(older)
    (tmp_path / "aside").rename(newer)
    assert checkpoints_in(output) == [32]
    said = whole.resume(output, partial(note_steps, steps))
    assert all(f"checkpoint passed over: {unfinished(output)}/step-000000{number}" in said for number in (34, 36))
    assert steps_in(steps) == list(range(32, STEPS))


def test_checkpoints_under_each_others_names_give_the_same_bytes(whole: Whole, tmp_path: Path) -> None:
    output = whole.unfinished(tmp_path, 32, 34)
    older, newer = (unfinished(output) / f"step-{number:08d}" for number in (32, 34))
    older.rename(tmp_path / "aside")
    newer.rename(older)
    (tmp_path / "aside").rename(newer)
    whole.resume(output)


def test_a_run_without_a_whole_checkpoint_begins_anew_and_keeps_its_new_ones(whole: Whole, tmp_path: Path) -> None:
    output, steps = whole.unfinished(tmp_path, 32, 34), tmp_path / "steps"
    for place in unfinished(output).glob("step-*"):
        flip_a_bit(place / "model.safetensors")
    die = partial(before_step, 7, partial(signal_oneself, signal.SIGKILL))
    expect(-signal.SIGKILL, whole.data.arguments(output, "--resume"), die)
    assert checkpoints_in(output) == [4, 6]
    whole.resume(output, partial(note_steps, steps))
    assert steps_in(steps) == list(range(6, STEPS))


def test_a_damaged_model_is_not_used(whole: Whole, tmp_path: Path) -> None:
    text = tmp_path / "text.txt"
    text.write_text("Ann lives in Paris .\n")
    for name in whole.files:
        for damage, do in DAMAGES.items():
            model = shutil.copytree(whole.model, tmp_path / damage / name)
            do(model / name)
            with pytest.raises(IntegrityError, match=name):
                Recognizer.load(model)
    said = expect(2, ["predict", str(model), str(text), "-o", str(tmp_path / "out.jsonl")])
    assert f"goldgap: {model}: " in said
    assert not (tmp_path / "out.jsonl").exists()


# A full disk


def fill_the_disk(limit: int) -> None:
    """Let no file of this process become larger."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))


@pytest.mark.parametrize("part", range(20))
def test_a_full_disk_names_the_checkpoint_and_leaves_the_old_ones(whole: Whole, tmp_path: Path, part: int) -> None:
    output = whole.unfinished(tmp_path, 34, 36)
    largest = max(path.stat().st_size for path in whole.checkpoint(36).iterdir())
    said = expect(1, whole.data.arguments(output, "--resume"), partial(fill_the_disk, largest * part // 20))
    place = unfinished(output) / (LOCK if part == 0 else "step-00000038")
    assert f"goldgap: {place}: could not be written: File too large" in said
    assert checkpoints_in(output) == [34, 36]
    assert not list(tmp_path.rglob(".tmp*"))
    whole.resume(output)


def fill_the_disk_before_the_model(limit: int) -> None:
    save = Recognizer.save

    def with_full_disk(self: Recognizer, path: Path) -> None:
        fill_the_disk(limit)
        save(self, path)

    put(Recognizer, "save", with_full_disk)


@pytest.mark.parametrize("name", ["README.md", "config.json", "model.safetensors", "tokenizer.json"])
def test_a_full_disk_names_the_model_and_leaves_the_checkpoints(whole: Whole, tmp_path: Path, name: str) -> None:
    """Where each of the writers finds the disk full: our own, and those of the libraries."""
    output = whole.unfinished(tmp_path, 38)
    limit = (whole.model / name).stat().st_size - 1
    said = expect(1, whole.data.arguments(output, "--resume"), partial(fill_the_disk_before_the_model, limit))
    assert f"goldgap: {output}: could not be written: File too large" in said
    assert not output.exists()
    assert not list(tmp_path.rglob(".tmp*"))
    whole.resume(output)


# No number


def lose_the_number(number: int) -> None:
    """The loss of one step is not a number."""
    real, now = step.total_loss, list[bool]()

    def lost(*arguments: Any) -> torch.Tensor:
        loss = real(*arguments)
        return loss * float("nan") if now else loss

    put(step, "total_loss", lost)
    before_step(number, partial(now.append, True))


def test_a_loss_that_is_no_number_ends_the_run_and_names_the_documents(whole: Whole, tmp_path: Path) -> None:
    output = whole.unfinished(tmp_path, 18)
    said = expect(1, whole.data.arguments(output, "--resume"), partial(lose_the_number, 21))
    assert "goldgap: the loss is not a number at step 21; the batch holds the documents 'doc-" in said
    assert said.count("'doc-") == 4
    assert checkpoints_in(output) == [18, 20]
    whole.resume(output)


def lose_the_gradient(number: int) -> None:
    """The loss of one step is a number, its gradient is not."""
    real, now = step.total_loss, list[bool]()

    def lost(*arguments: Any) -> torch.Tensor:
        loss = real(*arguments)
        if now:
            loss.register_hook(lambda gradient: gradient * float("nan"))
            now.clear()
        return loss

    put(step, "total_loss", lost)
    before_step(number, partial(now.append, True))


def test_weights_that_are_no_numbers_are_not_saved(whole: Whole, tmp_path: Path) -> None:
    output = whole.unfinished(tmp_path, 18)
    said = expect(1, whole.data.arguments(output, "--resume"), partial(lose_the_gradient, 21))
    assert checkpoints_in(output) == [18, 20]
    assert "not a number" in said
    whole.resume(output)


def test_a_rate_that_is_far_too_high_leaves_only_numbers(whole: Whole, tmp_path: Path) -> None:
    output = tmp_path / "model"
    settings = {"train__head_rate": 1e30, "train__encoder_rate": 1e30, "train__clip": 0, "train__checkpoint_steps": 1}
    said = expect(1, whole.data.arguments(output, **settings))
    assert "not a number" in said
    for number in checkpoints_in(output):
        weights = load_file(unfinished(output) / f"step-{number:08d}" / "model.safetensors")
        assert all(bool(tensor.isfinite().all()) for tensor in weights.values())
