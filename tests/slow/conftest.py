"""A run that nothing interrupted, against which the interrupted ones are held."""

from __future__ import annotations

import time
from functools import partial
from pathlib import Path

import pytest

from goldgap import Corpus
from tests.slow.runs import EVERY, STEPS, Data, Whole, finish, hashes, keep_copies
from tests.slow.test_training import corpus

collect_ignore = ["warm.py"]  # works when it is imported: only for the process that the runs are forks of


@pytest.fixture(scope="session")
def whole(tiny_encoder: Path, tmp_path_factory: pytest.TempPathFactory) -> Whole:
    place = tmp_path_factory.mktemp("whole")
    data = Data(tiny_encoder, place / "train.jsonl", place / "dev.jsonl")
    documents = corpus(complete=False).documents
    Corpus([d.replace(id=f"doc-{part}-{d.id}") for part in range(4) for d in documents]).write(data.train)
    Corpus(list(documents)).write(data.dev)
    finish(["--version"])  # starts the process that all runs are forks of
    began = time.perf_counter()
    finish(data.arguments(place / "model"), partial(keep_copies, place / "checkpoints"))
    seconds = time.perf_counter() - began
    checkpoints = sorted((place / "checkpoints").iterdir())
    assert [int(path.name.removeprefix("step-")) for path in checkpoints] == list(range(EVERY, STEPS, EVERY))
    return Whole(data, place / "model", hashes(place / "model"), checkpoints, seconds)
