"""goldgap compare and goldgap diagnose from the command line: killed and continued, wrong calls, what they write."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from goldgap import Corpus, Document
from goldgap.compare import contest, runs
from goldgap.train.place import held
from tests.command import Run
from tests.slow.test_training import corpus

pytestmark = pytest.mark.slow

FAST = (
    "--epochs", "2", "--set", "model.max_width=4", "--set", "model.hidden=16", "--set", "train.head_rate=0.01",
    "--set", "train.batch_size=4",
)  # fmt: skip


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """Training, dev and test files; the texts of the three differ."""
    for name, mark in (("train", "!"), ("dev", "?"), ("test", ";")):
        documents = [d.replace(id="", text=f"{d.text} {mark}") for d in corpus(complete=False).documents * 2]
        Corpus(documents).write(tmp_path / f"{name}.jsonl")
    return tmp_path


def arguments(encoder: Path, *more: object) -> list[object]:
    data = ("--train", "train.jsonl", "--dev", "dev.jsonl", "--test", "test.jsonl")
    return ["compare", *data, "--encoder", encoder, "-o", "out", *FAST, *more]


def comparison() -> dict[str, Any]:
    values: dict[str, Any] = json.loads(Path("out/comparison.json").read_text(encoding="utf-8"))
    return values


def test_a_comparison_writes_what_it_found_three_times(run: Run, files: Path, tiny_encoder: Path) -> None:
    done = run(
        *arguments(tiny_encoder, "--methods", "span,uniform,nrces:policy=top-neg:loss.w=10", "--drop", "0.3,0.6")
    )
    assert (done.status, done.err) == (0, "")
    values = comparison()
    assert [table["drop"] for table in values["conditions"]] == [0.3, 0.6]
    assert [row["name"] for row in values["conditions"][0]["contenders"]][2] == "nrces:policy=top-neg:loss.w=10"
    assert len(list(Path("out/runs").glob("*.json"))) == 18
    assert values["command"].startswith("goldgap compare --train train.jsonl")
    assert values["files"].keys() == {"train.jsonl", "dev.jsonl", "test.jsonl"}
    markdown = Path("out/comparison.md").read_text(encoding="utf-8")
    page = Path("out/report.html").read_text(encoding="utf-8")
    for row in values["conditions"][1]["contenders"]:
        for text in (markdown, page):
            assert f"{100 * row['f1']:.2f}" in text
    lines = done.out.split("\n")
    tables = lines[lines.index("") :]
    assert max(len(line) for line in tables if not line.startswith("Use ")) <= 80
    unmasked = run(
        *arguments(tiny_encoder, "--methods", "span,uniform", "--drop", "0.9", "--seeds", "1", "--runs", "others")
    )
    assert unmasked.status == 0
    page = Path("out/report.html").read_text(encoding="utf-8")
    counts = {what: [int(n) for n in re.findall(rf"(\d+) × {what}", page)] for what in ("as", "without annotation")}
    assert max(counts["as"], default=0) <= 2  # nine of ten annotations were taken away before
    assert max(counts["without annotation"]) > 2
    again = run(*arguments(tiny_encoder, "--methods", "span,uniform", "--drop", "0.3", "--seeds", "0,2"))
    assert again.out.count(": kept") == 4
    assert len(list(Path("out/runs").glob("*.json"))) == 18


def test_a_comparison_that_was_killed_goes_on_and_repeats_nothing(
    run: Run, files: Path, tiny_encoder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    call = [str(argument) for argument in arguments(tiny_encoder, "--methods", "span,uniform", "--seeds", "2")]
    started = subprocess.Popen([Path(sys.executable).with_name("goldgap"), *call], stdout=subprocess.DEVNULL)
    deadline = time.monotonic() + 120
    while len(kept := list(Path("out/runs").glob("*.json"))) < 2:
        assert time.monotonic() < deadline
        assert started.poll() is None
        time.sleep(0.01)
    os.kill(started.pid, signal.SIGKILL)
    started.wait()
    before = {path: path.stat().st_mtime_ns for path in kept}
    trained: list[str] = []
    train = runs._train

    def count(slot: runs.Slot, *rest: Any) -> runs.Run:
        trained.append(f"{slot.recipe.method} {slot.recipe.seed}")
        return train(slot, *rest)

    monkeypatch.setattr(runs, "_train", count)
    assert run(*call).status == 0
    assert len(trained) == 4 - len(before)
    assert {path: path.stat().st_mtime_ns for path in before} == before
    cut = comparison()
    call[call.index("out")] = "whole"
    assert run(*call).status == 0
    whole = json.loads(Path("whole/comparison.json").read_text(encoding="utf-8"))
    for values in (cut, whole):
        values.pop("command")
        for row in values["conditions"][0]["contenders"]:
            row.pop("seconds")
            for one in row["runs"]:
                one.pop("seconds")
    assert cut == whole


def test_a_method_that_fails_is_told_and_the_others_go_on(
    run: Run, files: Path, tiny_encoder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    train = runs._train

    def fail(slot: runs.Slot, *rest: Any) -> runs.Run:
        if slot.recipe.method == "weighted":
            raise RuntimeError("out of memory")
        return train(slot, *rest)

    monkeypatch.setattr(runs, "_train", fail)
    done = run(*arguments(tiny_encoder, "--methods", "span,weighted,uniform", "--seeds", "1"))
    assert done.status == 1
    assert "weighted, seed 0, failed: RuntimeError: out of memory" in done.out
    assert "out of memory" in Path("out/report.html").read_text(encoding="utf-8")
    assert [("f1" in row) for row in comparison()["conditions"][0]["contenders"]] == [True, False, True]


def test_texts_in_two_files_are_told_and_strict_refuses_them(run: Run, files: Path, tiny_encoder: Path) -> None:
    shared = Corpus.read("train.jsonl").documents[:3]
    Corpus([d.replace(id=f"t{d.id}") for d in shared]).write("test.jsonl")
    done = run(*arguments(tiny_encoder, "--methods", "span,uniform", "--seeds", "1"))
    assert done.status == 0
    assert "caution: 3 x document of the test file that is also trained on" in done.err
    assert "3 x document of the test file" in Path("out/report.html").read_text(encoding="utf-8")
    refused = run(*arguments(tiny_encoder, "--methods", "span,uniform", "--strict"))
    assert refused.status == 2
    assert "also trained on" in refused.err


@pytest.mark.parametrize(
    ("more", "what"),
    [
        (("--methods", "span"), "at least two"),
        (("--methods", "span,unifrom"), "uniform"),
        (("--methods", "span,span"), "twice"),
        (("--seeds", "0"), "--seeds"),
        (("--seeds", "1,1"), "--seeds"),
        (("--seeds", "1,01"), "--seeds"),
        (("--seeds", "00"), "--seeds"),
        (("--seeds", "0,5000000000"), "--seeds"),
        (("--grid", "train.epochs=1", "--grid", "train.epochs=2"), "twice"),
        (("--set", "seed=1"), "--seeds"),
        (("--seeds", "many"), "--seeds"),
        (("--drop", "1.5"), "--drop"),
        (("--drop", "half"), "--drop"),
        (("--grid", "policy.ratio"), "--grid"),
        (("--grid", "policy.nothing=1"), "none of the methods"),
        (("--baseline", "nrces:loss.w=3"), "baseline"),
        (("--test", "absent.jsonl"), "absent.jsonl"),
    ],
)
def test_a_call_that_is_wrong_trains_nothing(
    more: tuple[str, ...], what: str, run: Run, files: Path, tiny_encoder: Path
) -> None:
    done = run(*arguments(tiny_encoder, *more))
    assert done.status == 2
    assert what in done.err
    assert not Path("out").exists()


def test_two_comparisons_share_the_runs_of_a_folder(
    run: Run, files: Path, tiny_encoder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    call = [str(argument) for argument in arguments(tiny_encoder, "--methods", "span,uniform,weighted", "--seeds", "2")]
    other = subprocess.Popen([sys.executable, "-m", "goldgap", *call], stdout=subprocess.PIPE, text=True)
    trained = []
    whole = runs._train

    def note(slot: runs.Slot, *rest: Any) -> runs.Run:
        trained.append((slot.recipe.method, slot.recipe.seed))
        return whole(slot, *rest)

    monkeypatch.setattr(runs, "_train", note)
    monkeypatch.setattr(contest, "PAUSE", 0.05)
    deadline = time.monotonic() + 120
    while not list(Path("out/runs/unfinished").glob("*/lock")):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    done = run(*call)
    said, _ = other.communicate()
    assert (done.status, other.returncode) == (0, 0)
    assert 0 < len(trained) < 6
    assert said.count(": kept") + said.count("dev set of") == 6
    assert len(list(Path("out/runs").glob("*.json"))) == 6
    assert not list(Path("out/runs/unfinished").iterdir())
    by_two = comparison()
    shutil.rmtree("out")
    assert run(*call).status == 0
    for one, two in zip(by_two["conditions"], comparison()["conditions"], strict=True):
        assert [row["f1"] for row in one["contenders"]] == [row["f1"] for row in two["contenders"]]


def test_jobs_share_the_runs_and_one_writes_the_reports(run: Run, files: Path, tiny_encoder: Path) -> None:
    call = arguments(tiny_encoder, "--methods", "span,uniform,weighted", "--seeds", "2", "--jobs", "2")
    done = run(*call)
    assert (done.status, done.err) == (0, "")
    assert len(list(Path("out/runs").glob("*.json"))) == 6
    assert "--jobs 2" in comparison()["command"]


@pytest.mark.parametrize("everyone", [False, True], ids=["by a signal", "from the terminal"])
def test_a_comparison_that_is_stopped_stops_its_helpers_and_all_save(
    everyone: bool, files: Path, tiny_encoder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(files)
    call = [str(part) for part in arguments(tiny_encoder, "--methods", "span,uniform", "--epochs", "400")]
    started = subprocess.Popen(
        [sys.executable, "-m", "goldgap", *call, "--jobs", "2"], stdout=subprocess.DEVNULL, start_new_session=True
    )
    deadline = time.monotonic() + 120
    while len({path.parent for path in Path("out/runs/unfinished").glob("*/step-*")}) < 2:
        assert (started.poll(), time.monotonic() < deadline) == (None, True)
        time.sleep(0.05)
    number = signal.SIGINT if everyone else signal.SIGTERM
    os.killpg(started.pid, number) if everyone else started.send_signal(number)
    assert started.wait(60) == 128 + number
    assert list(Path("out/runs/unfinished").glob("*/.tmp-*")) == []
    for lock in Path("out/runs/unfinished").glob("*/lock"):
        with held(lock.parent):  # by nobody
            pass


def picture(path: str) -> None:
    assert ElementTree.fromstring(Path(path).read_text(encoding="utf-8")).tag.endswith("svg")


def test_diagnoses_of_data_and_runs(run: Run, files: Path, tiny_encoder: Path) -> None:
    assert run(*arguments(tiny_encoder, "--methods", "span,weighted", "--seeds", "2", "--drop", "0.5")).status == 0
    kept = sorted(Path("out/runs").glob("*.json"))
    assert run("mask", "train.jsonl", "-o", "masked.jsonl", "--drop", "0.5").status == 0
    for call in (
        ("sparsity", "train.jsonl"),
        ("guarantee", "masked.jsonl", "--epochs", "5"),
        ("missampling", "train.jsonl", "--seeds", "2", "--epochs", "5"),
        ("negatives", *kept),
        ("epochs", *kept),
    ):
        done = run("diagnose", *call, "-o", f"{call[0]}.svg")
        assert (done.status, done.err) == (0, ""), call
        assert max(map(len, done.out.split("\n"))) <= 80, call
        picture(f"{call[0]}.svg")
        values = json.loads(run("diagnose", *call, "--json").out)
        assert values["table"], call


def test_pictures_of_another_kind_are_refused(run: Run, files: Path) -> None:
    done = run("diagnose", "sparsity", "train.jsonl", "-o", "sparsity.png")
    assert done.status == 2
    assert "sparsity.svg" in done.err
    assert not Path("sparsity.png").exists()


def test_diagnoses_of_a_record(run: Run, files: Path, tiny_encoder: Path) -> None:
    data = ("--train", "train.jsonl", "--dev", "dev.jsonl", "--encoder", tiny_encoder)
    for method in ("span", "nrces"):
        record = ("--record", f"{method}.jsonl", "--follow", "spans.jsonl")
        Corpus([Corpus.read("dev.jsonl")[0]]).write("spans.jsonl")
        assert run("train", *data, "-o", f"model-{method}", "--method", method, *FAST, *record).status == 0
    for call in (
        ("fit", "span.jsonl"),
        ("traces", "spans.jsonl", "span.jsonl", "nrces.jsonl"),
    ):
        assert run("diagnose", *call, "-o", f"{call[0]}.svg").status == 0
        picture(f"{call[0]}.svg")
    values = json.loads(run("diagnose", "traces", "spans.jsonl", "span.jsonl", "nrces.jsonl", "--json").out)
    assert {(row["span"], row["run"]) for row in values["table"]} == {
        (name, run) for name in ("Ann", "Paris") for run in ("span", "nrces")
    }
    Path("a").mkdir()
    shutil.copy("nrces.jsonl", "a/span.jsonl")
    alike = json.loads(run("diagnose", "traces", "spans.jsonl", "span.jsonl", "a/span.jsonl", "--json").out)
    assert {row["run"] for row in alike["table"]} == {"span.jsonl", "a/span.jsonl"}
    lonely = run("train", *data, "-o", "model", *FAST, "--follow", "spans.jsonl")
    assert (lonely.status, "--record" in lonely.err) == (2, True)


def test_thresholds_of_a_file_of_predictions(run: Run, files: Path) -> None:
    gold = Corpus.read("test.jsonl")
    Corpus(
        d.replace(entities=tuple(e.__class__(e.start, e.end, e.label, 0.7) for e in d.entities)) for d in gold
    ).write("found.jsonl")
    done = run("diagnose", "threshold", "test.jsonl", "found.jsonl", "--json")
    rows = json.loads(done.out)["table"]
    assert [row["F1"] for row in rows][:15] == ["100.00"] * 15
    assert rows[-1]["F1"] == "0.00"


@pytest.mark.parametrize(
    ("call", "what"),
    [
        (("epochs", "train.jsonl"), "not a run that compare kept"),
        (("fit", "train.jsonl"), "train --record"),
        (("guarantee", "train.jsonl"), "mask the corpus first"),
        (("threshold", "test.jsonl", "test.jsonl"), "predictions with probabilities"),
        (("sparsity", "absent.jsonl"), "absent.jsonl"),
    ],
)
def test_what_cannot_be_diagnosed_is_told(call: tuple[str, ...], what: str, run: Run, files: Path) -> None:
    done = run("diagnose", *call, "-o", "picture.svg")
    assert done.status == 2
    assert what in done.err
    assert not Path("picture.svg").exists()


def test_an_empty_document_is_no_trouble(run: Run, files: Path) -> None:
    Corpus([Document("", id="a"), *Corpus.read("train.jsonl")]).write("more.jsonl")
    assert run("diagnose", "sparsity", "more.jsonl").status == 0
