"""Training and prediction on another device than the processor: nothing is left behind, and the result is the same."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from goldgap import Corpus, Recognizer
from goldgap.core.errors import ConfigError
from goldgap.encode.device import device_named
from goldgap.train.compose import recipe_for
from goldgap.train.loop import Stopped
from goldgap.train.record import entity_probabilities
from tests.device import Elsewhere, another_device
from tests.slow.test_training import corpus, settings
from tests.tiny import lexicon_in

pytestmark = pytest.mark.slow

CASES: dict[str, dict[str, Any]] = {
    "span": {},
    "uniform": {"model": {"several": True}},
    "weighted": {"policy": {"settings": {"score_mode": "eval"}}},
    "top-neg": {},
    "nrces": {"model": {"head": "pair", "features": "span"}},
    "binder": {},
    "binder-top-neg": {"bi_encoder": {"thresholds": "dev"}},
    "crf": {"policy": {"name": "fraction"}},
    "two-step": {"two_step": {"share": 0.1, "none": 0.5}},
    "bilstm-crf": {"encoder": {"name": "bilstm", "bigrams": True}},
    "flat": {"encoder": {"name": "flat"}},
    "bert-word": {},
    "lebert": {},
}


@pytest.fixture
def device(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setattr(torch.nn.LSTM, "forward", _widened)
    with another_device() as name:
        yield name


def _widened(lstm: torch.nn.LSTM, packed: Any) -> tuple[Any, None]:
    """In place of an LSTM, whose cell is another one on every kind of device."""
    return packed._replace(data=packed.data[:, :1].expand(-1, 2 * lstm.hidden_size)), None


def recipe(method: str, encoder: Path, device: str) -> Any:
    own = CASES[method]
    words = {"lexicon": {"file": str(lexicon_in(encoder))}} if method in ("flat", "bert-word", "lebert") else {}
    return recipe_for(method, settings(encoder, epochs=2), words, own, {"train": {"device": device}})


def found(model: Recognizer) -> list[Any]:
    return [[(e.key, pytest.approx(e.score, abs=1e-4)) for e in one.entities] for one in model.predict(corpus())]


@pytest.mark.parametrize("method", CASES)
def test_a_model_learns_and_finds_the_same_on_another_device(
    method: str, tiny_encoder: Path, device: str, tmp_path: Path
) -> None:
    here = Recognizer.train(corpus(False), corpus(), recipe=recipe(method, tiny_encoder, "cpu"))
    there = Recognizer.train(corpus(False), corpus(), recipe=recipe(method, tiny_encoder, device))
    assert all(isinstance(tensor.data, Elsewhere) for tensor in there.model.parameters())
    for one, other in zip(here.metrics, there.metrics, strict=True):
        assert one == pytest.approx(other, rel=1e-4)
    assert found(here) == found(there)
    here.save(tmp_path / "model")
    loaded = Recognizer.load(tmp_path / "model", device=device)
    assert loaded.model.device.type == device
    assert found(here) == found(loaded)
    mine, theirs = ([(s.surface, s.label) for s in one.suspects(corpus(False))] for one in (here, there))
    assert mine == theirs
    followed = [entity_probabilities(one.model, corpus()) for one in (here, there)]
    assert followed[0] == pytest.approx(followed[1], abs=1e-4)


def test_a_run_on_another_device_goes_on_from_its_checkpoint(tiny_encoder: Path, device: str, tmp_path: Path) -> None:
    one = recipe("uniform", tiny_encoder, device)
    whole = Recognizer.train(corpus(False), corpus(), recipe=one)
    asked = iter([False, False, True])
    with pytest.raises(Stopped):
        Recognizer.train(corpus(False), corpus(), recipe=one, work=tmp_path, stopped=lambda: next(asked))
    again = Recognizer.train(corpus(False), corpus(), recipe=one, work=tmp_path)
    assert again.metrics == whole.metrics
    for mine, theirs in zip(whole.model.parameters(), again.model.parameters(), strict=True):
        assert torch.equal(mine.cpu(), theirs.cpu())


def test_what_is_left_on_the_processor_is_noticed(device: str) -> None:
    here, there = torch.ones(2), torch.ones(2, device=device)
    with pytest.raises(RuntimeError, match="tensors on two devices"):
        _ = here + there
    assert (there + 1).cpu().tolist() == [2.0, 2.0]


def test_a_device_that_is_not_there_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"'nowhere' cannot be used here .*; use cpu"):
        device_named("nowhere")
    with pytest.raises(ConfigError, match="'mps' cannot be used here"):
        Recognizer.train(Corpus(corpus(False)), method="uniform", train={"device": "mps"})
