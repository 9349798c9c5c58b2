"""Records of a training that are not as they were written: refused with file and line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.command import Run

SCORES = {"precision": 0.5, "recall": 0.5, "f1": 0.5}
SOUND: dict[str, Any] = {"step": 2, "epoch": 1.0, **SCORES, "train": SCORES, "followed": [0.5]}
DAMAGED: dict[str, tuple[Any, str]] = {
    "no object": ([1], "no evaluation"),
    "no epoch": ({"step": 1}, "epoch is no number"),
    "no step": ({"epoch": 1}, "step is no number"),
    "epoch in words": (SOUND | {"epoch": "one"}, "epoch is no number"),
    "epoch that is true": (SOUND | {"epoch": True}, "epoch is no number"),
    "score that is none": (SOUND | {"f1": float("nan")}, "f1 is no number"),
    "score beyond all": (SOUND | {"f1": 10**400}, "f1 is no number"),
    "no recall": ({"step": 1, "epoch": 1, "precision": 1.0, "f1": 1.0}, "recall is no number"),
    "training scores that are a number": (SOUND | {"train": 3}, "train holds no scores"),
    "training scores without recall": (SOUND | {"train": {"precision": 1.0, "f1": 1}}, "train.recall is no number"),
    "probabilities that are a number": (SOUND | {"followed": 0.5}, "followed is no list of numbers"),
    "probabilities in words": (SOUND | {"followed": ["high"]}, "followed is no list of numbers"),
    "scores elsewhere that are a list": (SOUND | {"others": [SCORES]}, "others holds no scores"),
    "scores elsewhere without F1": (SOUND | {"others": {"test": {"precision": 1, "recall": 1}}}, "others.test.f1 is"),
}


@pytest.mark.parametrize(("entry", "told"), DAMAGED.values(), ids=DAMAGED)
def test_a_damaged_record_is_refused_with_file_and_line(entry: Any, told: str, run: Run, tmp_path: Path) -> None:
    (tmp_path / "record.jsonl").write_text(f"{json.dumps(SOUND)}\n{json.dumps(entry)}\n", encoding="utf-8")
    (tmp_path / "spans.jsonl").write_text(
        '{"text": "Ann", "entities": [{"start": 0, "end": 3, "label": "X"}]}\n', encoding="utf-8"
    )
    for call in (("fit",), ("traces", "spans.jsonl")):
        done = run("diagnose", *call, "record.jsonl")
        assert (done.status, done.err.count("\n")) == (2, 1)
        assert done.err.startswith("goldgap: record.jsonl:2: ")
        assert told in done.err
        assert "expected what train --record wrote" in done.err


def test_a_record_nested_too_deeply_is_refused(run: Run, tmp_path: Path) -> None:
    (tmp_path / "record.jsonl").write_text("[" * 100_000, encoding="utf-8")
    assert run("diagnose", "fit", "record.jsonl").err.startswith("goldgap: record.jsonl:1: not JSON")


def test_a_sound_record_is_diagnosed(run: Run, tmp_path: Path) -> None:
    (tmp_path / "record.jsonl").write_text(f"{json.dumps(SOUND | {'others': {'test': SCORES}})}\n", encoding="utf-8")
    assert run("diagnose", "fit", "record.jsonl").status == 0
