"""Checkpoints on a model of six weights: what is kept of a run, for which run, and how many."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, cast

import pytest
import torch
from torch import nn

from goldgap.core.errors import ConfigError, IntegrityError, RunError
from goldgap.core.notes import Notes
from goldgap.models.model import Model
from goldgap.train.checkpoint import IDENTITY, Checkpoints, RunState, claim_work

MINE = {"train.epochs": 3, "sha256 of the training documents": "a" * 64}


def small(seed: int = 0) -> tuple[Model, torch.optim.Optimizer]:
    """A model, and an optimiser that has taken a step."""
    torch.manual_seed(seed)
    model = nn.Linear(2, 2)
    optimiser = torch.optim.AdamW(model.parameters(), lr=0.1)
    model(torch.ones(1, 2)).sum().backward()
    optimiser.step()
    return cast(Model, model), optimiser


def same(one: Any, other: Any) -> bool:
    return all(torch.equal(one[name], other[name]) for name in {*one, *other})


def states(model: Model, optimiser: torch.optim.Optimizer) -> list[dict[str, torch.Tensor]]:
    return [optimiser.state[parameter] for parameter in model.parameters()]


def test_a_run_begins_with_nothing_and_counts_its_steps() -> None:
    state = RunState()
    assert (state.step, state.evaluated, state.best_step, state.waited) == (0, 0, 0, 0)
    assert (state.sums, state.metrics, state.best, state.average) == ({}, [], None, None)
    assert state.best_f1 < 0  # the first score is better, whatever it is
    state.add({"loss": 2.0, "kept": 5})
    state.add({"loss": 1.0, "kept": 3})
    assert (state.step, state.sums) == (2, {"loss": 3.0, "kept": 8, "steps": 2})


def test_what_was_saved_is_put_back(tmp_path: Path) -> None:
    model, optimiser = small()
    state = RunState(
        7, 4, {"loss": 1.5, "steps": 3}, [{"f1": 0.5}], 0.5, 4, 2, model.state_dict(), small(9)[0].state_dict()
    )
    Checkpoints(tmp_path, MINE).save(state, model, optimiser)
    other, fresh = small(1)
    notes = Notes()
    restored = Checkpoints(tmp_path, MINE).restore(other, fresh, notes)
    assert same(model.state_dict(), other.state_dict())
    assert all(same(mine, theirs) for mine, theirs in zip(states(model, optimiser), states(other, fresh), strict=True))
    assert (restored.step, restored.evaluated, restored.sums, restored.metrics) == (7, 4, state.sums, state.metrics)
    assert (restored.best_f1, restored.best_step, restored.waited) == (0.5, 4, 2)
    assert same(restored.best, state.best)
    assert same(restored.average, state.average)
    assert notes.lines() == []


def test_what_a_run_has_not_is_not_made_up(tmp_path: Path) -> None:
    model, optimiser = small()
    Checkpoints(tmp_path, MINE).save(RunState(1), model, optimiser)
    restored = Checkpoints(tmp_path, MINE).restore(model, optimiser, Notes())
    assert (restored.best, restored.average) == (None, None)
    assert Checkpoints(tmp_path / "empty", MINE).restore(model, optimiser, Notes()) == RunState()


def test_the_last_ones_are_kept_and_the_newest_is_taken(tmp_path: Path) -> None:
    checkpoints, (model, optimiser) = Checkpoints(tmp_path, MINE), small()
    for step in (5, 10, 15, 20):
        checkpoints.save(RunState(step), model, optimiser)
    assert sorted(place.name for place in tmp_path.iterdir()) == ["step-00000015", "step-00000020"]
    assert checkpoints.restore(model, optimiser, Notes()).step == 20


def test_a_damaged_one_is_passed_over_and_written_again(tmp_path: Path) -> None:
    checkpoints, (model, optimiser) = Checkpoints(tmp_path, MINE), small()
    for step in (5, 10):
        checkpoints.save(RunState(step), model, optimiser)
    (tmp_path / "step-00000010" / "state.json").write_text("{}", encoding="utf-8")
    notes = Notes()
    assert checkpoints.restore(model, optimiser, notes).step == 5
    assert "checkpoint passed over" in notes.lines()[0]
    checkpoints.save(RunState(10), model, optimiser)
    assert checkpoints.restore(model, optimiser, Notes()).step == 10


@pytest.mark.parametrize("theirs", [{**MINE, "train.epochs": 4}, {**MINE, "more": 1}, {}])
def test_a_checkpoint_of_another_run_is_refused_where_nothing_else_says_whose_it_is(
    theirs: dict[str, Any], tmp_path: Path
) -> None:
    model, optimiser = small()
    Checkpoints(tmp_path, theirs).save(RunState(1), model, optimiser)
    claim_work(tmp_path, MINE)
    assert not (tmp_path / IDENTITY).exists()
    with pytest.raises(ConfigError, match="a run goes on with the same recipe"):
        Checkpoints(tmp_path, MINE).restore(model, optimiser, Notes())


def test_a_folder_belongs_to_the_run_that_began_in_it(tmp_path: Path) -> None:
    claim_work(tmp_path, MINE)
    claim_work(tmp_path, MINE)
    assert json.loads((tmp_path / IDENTITY).read_text(encoding="utf-8")) == MINE
    with pytest.raises(ConfigError, match=r"train\.epochs is 3 there and 4 here"):
        claim_work(tmp_path, {**MINE, "train.epochs": 4})
    with pytest.raises(ConfigError, match=f"{'a' * 12}[.]{{3}} there and {'b' * 12}[.]{{3}} here"):
        claim_work(tmp_path, {**MINE, "sha256 of the training documents": "b" * 64})
    (tmp_path / IDENTITY).write_text("{", encoding="utf-8")
    with pytest.raises(IntegrityError, match="not what a run wrote"):
        claim_work(tmp_path, MINE)


def test_weights_that_are_no_numbers_leave_the_checkpoint_before(tmp_path: Path) -> None:
    checkpoints, (model, optimiser) = Checkpoints(tmp_path, MINE), small()
    checkpoints.save(RunState(5), model, optimiser)
    with torch.no_grad():
        next(model.parameters())[0, 0] = float("nan")
    with pytest.raises(RunError, match=r"weight is not a number any more after step 6"):
        checkpoints.save(RunState(6), model, optimiser)
    assert [place.name for place in tmp_path.iterdir()] == ["step-00000005"]
