"""A policy that breaks its promise is named, with what it did."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from goldgap.core.errors import ConfigError, RunError
from goldgap.core.progress import Progress
from goldgap.unknown import Cells, ask
from tests.unit.test_unknown import cells, generator

START = Progress(epoch=0, planned_epochs=10, step=4, planned_steps=100)


def asked(keep: Callable[[Cells], object]) -> Tensor:
    return ask("mine", lambda batch, *_: keep(batch), cells(), START, generator())  # type: ignore[arg-type]


def test_a_subset_of_the_unknown_is_passed_on() -> None:
    batch = cells()
    assert torch.equal(asked(lambda batch: batch.unknown), batch.unknown)
    assert not asked(lambda batch: torch.zeros_like(batch.unknown)).any()


@pytest.mark.parametrize(
    ("keep", "said"),
    [
        (lambda batch: batch.unknown[:, :-1], r"returned a bool tensor of \(3, 19\); it must .* tensor of \(3, 20\)"),
        (lambda batch: batch.unknown.float(), r"returned a float32 tensor of \(3, 20\); it must"),
        (lambda batch: [True], "returned list; it must return a bool tensor"),
        (lambda batch: None, "returned NoneType; it must return a bool tensor"),
        (
            lambda batch: batch.unknown | (batch.labels > 0),
            "not unknown: [1-9][0-9]* that are annotated as entities; it",
        ),
        (lambda batch: batch.unknown[:, :1] / 0 > batch.nothing, "failed at step 4: AttributeError: .*'nothing'"),
    ],
    ids=["shape", "dtype", "list", "nothing", "entity", "raises"],
)
def test_what_a_policy_did_wrong_is_said_with_its_name(keep: Callable[[Cells], object], said: str) -> None:
    with pytest.raises(ConfigError, match=f"the policy 'mine' .*{said}"):
        asked(keep)


@pytest.mark.parametrize("part", ["logits", "labels", "unknown", "words", "documents"])
def test_what_a_policy_is_given_must_stay_as_it_is(part: str) -> None:
    def change(batch: Cells) -> Tensor:
        getattr(batch, part).zero_()
        return torch.zeros_like(batch.unknown)

    with pytest.raises(ConfigError, match="the policy 'mine' changed what it was given"):
        asked(change)


def test_an_error_is_told_with_its_place() -> None:
    with pytest.raises(ConfigError, match=r"IndexError: .*test_ask\.py:\d+\)"):
        asked(lambda batch: [][3])


def test_known_negatives_and_padding_may_not_be_kept_either() -> None:
    known = int((~cells().unknown & (cells().labels == 0)).sum())
    assert known
    with pytest.raises(ConfigError, match=f"not unknown: {known} that are known, or padding; it"):
        asked(lambda batch: batch.labels == 0)


def test_an_error_on_purpose_stays_what_it_is() -> None:
    def fail(batch: Cells) -> Tensor:
        raise RunError("the disk is full")

    with pytest.raises(RunError, match=r"^the disk is full$"):
        asked(fail)
