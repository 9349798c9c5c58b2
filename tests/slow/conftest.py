"""A run that nothing interrupted, against which the interrupted ones are held."""

from __future__ import annotations

import time
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from goldgap import Corpus
from tests.slow.runs import EVERY, OTHERS, STEPS, Data, Whole, finish, hashes, keep_copies
from tests.slow.test_training import corpus
from tests.tiny import save_tiny_encoder

collect_ignore = ["warm.py"]  # works when it is imported: only for the process that the runs are forks of


@pytest.fixture(scope="session")
def whole(tiny_encoder: Path, tmp_path_factory: pytest.TempPathFactory) -> Whole:
    return run_whole(tiny_encoder, "weighted", tmp_path_factory.mktemp("whole"))


@pytest.fixture(scope="session")
def whole_bi_encoder(tmp_path_factory: pytest.TempPathFactory) -> Whole:
    place = tmp_path_factory.mktemp("whole-bi-encoder")
    return run_whole(save_tiny_encoder(place / "encoder", mask=True), "binder", place)


@pytest.fixture(scope="session", params=OTHERS)
def whole_other(request: pytest.FixtureRequest, tiny_encoder: Path, tmp_path_factory: pytest.TempPathFactory) -> Whole:
    """Without copies of its checkpoints: two trainings have some of the same names."""
    method, place = request.param, tmp_path_factory.mktemp("whole-other")
    own = {"bilstm-crf": Path("bilstm"), "flat": Path("flat")}
    data = replace(_data(own.get(method, tiny_encoder), method, place), tiny=tiny_encoder)
    began = time.perf_counter()
    finish(data.arguments(place / "model"))
    return Whole(data, place / "model", hashes(place / "model"), [], time.perf_counter() - began)


def _data(encoder: Path, method: str, place: Path) -> Data:
    data = Data(encoder, place / "train.jsonl", place / "dev.jsonl", method)
    documents = corpus(complete=False).documents
    Corpus([d.replace(id=f"doc-{part}-{d.id}") for part in range(4) for d in documents]).write(data.train)
    Corpus(list(documents)).write(data.dev)
    finish(["--version"])  # starts the process that all runs are forks of
    return data


def run_whole(encoder: Path, method: str, place: Path) -> Whole:
    data = _data(encoder, method, place)
    began = time.perf_counter()
    finish(data.arguments(place / "model"), partial(keep_copies, place / "checkpoints"))
    seconds = time.perf_counter() - began
    checkpoints = sorted((place / "checkpoints").iterdir())
    assert [int(path.name.removeprefix("step-")) for path in checkpoints] == list(range(EVERY, STEPS + 1, EVERY))
    return Whole(data, place / "model", hashes(place / "model"), checkpoints, seconds)
