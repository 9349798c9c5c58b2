"""The average of weights: what it holds, and that the model gets its own back."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from goldgap import Corpus, Document, Entity
from goldgap.models.model import Model
from goldgap.train.average import averaged, follow
from goldgap.train.build import build
from goldgap.train.checkpoint import RunState
from goldgap.train.compose import recipe_for


@pytest.fixture
def model(tiny_encoder: Path) -> Model:
    corpus = Corpus([Document("Ann lives", (Entity(0, 3, "PER"),))])
    return build(recipe_for("span", {"encoder": {"name": str(tiny_encoder)}}), corpus)


def steps(model: Model, decay: float, count: int) -> tuple[RunState, list[torch.Tensor]]:
    """What every step leaves in one of the weights, and the average of all of them."""
    state, seen = RunState(), []
    weight = next(model.parameters())
    for number in range(count):
        with torch.no_grad():
            weight.fill_(float(number + 1))
        seen.append(weight.detach().clone())
        state.step += 1
        follow(state, model, decay)
    return state, seen


@pytest.mark.parametrize("decay", [0.3, 0.9])
def test_the_average_is_that_of_a_loop_and_follows_faster_in_the_beginning(decay: float, model: Model) -> None:
    state, seen = steps(model, decay, 30)
    expected = 1.0
    for step, weight in enumerate(seen[1:], 2):
        kept = min(decay, step / (step + 9))
        expected = kept * expected + (1 - kept) * float(weight.flatten()[0])
    name = next(iter(dict(model.named_parameters())))
    assert state.average is not None
    torch.testing.assert_close(state.average[name], torch.full_like(seen[0], expected), rtol=1e-5, atol=1e-5)
    assert state.average.keys() == model.state_dict().keys()


def test_the_model_has_the_average_inside_and_its_own_weights_behind_even_when_stopped(model: Model) -> None:
    state, seen = steps(model, 0.5, 4)
    weight = next(model.parameters())

    def inside() -> None:
        with averaged(state, model):
            assert 1 < float(weight.detach().flatten()[0]) < 4
            raise KeyError

    with pytest.raises(KeyError):
        inside()
    assert torch.equal(weight, seen[-1])


def test_without_an_average_nothing_is_touched(model: Model) -> None:
    weight = next(model.parameters())
    before = weight.detach().clone()
    with averaged(RunState(), model):
        assert torch.equal(weight, before)
