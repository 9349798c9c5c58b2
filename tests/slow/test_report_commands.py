"""The reports of a training and of a model, from the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from goldgap import Corpus, Recognizer
from goldgap.core.manifest import sha256
from tests.command import Run
from tests.slow.test_training import corpus
from tests.unit.test_report import Page

pytestmark = pytest.mark.slow
TINY = (
    "--method",
    "uniform",
    "--encoder",
    "bilstm",
    "--epochs",
    "2",
    "--set",
    "encoder.min_count=1",
    "--set",
    "model.max_width=4",
)


def test_a_training_and_its_model_have_reports(run: Run, tmp_path: Path) -> None:
    Corpus(corpus(complete=False).documents).write(tmp_path / "train.jsonl")
    Corpus(corpus().documents).write(tmp_path / "dev.jsonl")
    done = run("train", "--train", "train.jsonl", "--dev", "dev.jsonl", "-o", "model", *TINY, "--html", "training.html")
    assert (done.status, done.err) == (0, "")
    assert "report written to training.html" in done.out
    model = Recognizer.load("model")
    page = Page((tmp_path / "training.html").read_text(encoding="utf-8"))
    assert "uniform on bilstm: dev F1" in page.text
    assert page.row("encoder.min_count") == ["encoder.min_count", "1"]
    for entry in model.metrics:
        assert page.row(f"{entry['step']:,}")[2] == f"{entry['loss']:.4g}"
    for name in ("train.jsonl", "dev.jsonl", "model/manifest.json"):
        assert page.row(name) == [name, sha256(tmp_path / name)]

    done = run("evaluate", "dev.jsonl", "model", "--html", "report.html", "--train", "train.jsonl")
    assert done.status == 0
    page = Page((tmp_path / "report.html").read_text(encoding="utf-8"))
    assert "model against dev.jsonl" in page.text
    assert page.row("encoder.name") == ["encoder.name", "bilstm"]
    assert page.row("model/manifest.json")
    assert page.row("train.jsonl")
