"""Losses, each against its formula. What all of them promise is in contract/test_variants.py."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from torch import Tensor

from goldgap.core.progress import Progress
from goldgap.losses.cross_entropy import CrossEntropy, partial_label
from goldgap.losses.gce import GCE
from goldgap.losses.nrces import NRCES

START = Progress(epoch=0, planned_epochs=10, step=0, planned_steps=100)
LATER = Progress(epoch=3, planned_epochs=10, step=35, planned_steps=100)


def rows(count: int = 6, seed: int = 0, dtype: torch.dtype = torch.float32) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    logits = torch.randn(count, 4, generator=generator, dtype=torch.float64).to(dtype)
    return logits, torch.arange(count) % 4


def test_cross_entropy_is_the_mean_or_the_sum_of_minus_log_p() -> None:
    logits, targets = rows()
    by_hand = [-math.log(torch.softmax(logits[i], 0)[targets[i]].item()) for i in range(6)]
    assert CrossEntropy()(logits, targets, START).item() == pytest.approx(sum(by_hand) / 6, rel=1e-5)
    assert CrossEntropy("sum")(logits, targets, START).item() == pytest.approx(sum(by_hand), rel=1e-5)


def test_partial_label_loss_sums_the_probability_of_what_is_possible() -> None:
    logits, _ = rows()
    possible = torch.tensor([[True, False, True, False]] * 6)  # O or the second type
    p = torch.softmax(logits, -1)
    assert torch.allclose(partial_label(logits, possible), -(p[:, 0] + p[:, 2]).log(), atol=1e-6)


def test_partial_label_loss_is_cross_entropy_for_one_possible_label_and_nothing_for_all() -> None:
    logits, targets = rows()
    only = torch.nn.functional.one_hot(targets, 4).bool()
    assert partial_label(logits, only).mean().item() == pytest.approx(CrossEntropy()(logits, targets, START).item())
    assert partial_label(logits, torch.ones_like(only)).abs().max() < 1e-6


def test_nrces_is_cross_entropy_in_the_first_epoch() -> None:
    logits, targets = rows()
    assert torch.allclose(NRCES()(logits, targets, START), CrossEntropy("sum")(logits, targets, START))


def test_nrces_fades_on_negatives_only() -> None:
    logits, targets = rows()
    beta = math.exp(-3 / 5)
    expected = 0.0
    for scores, target in zip(logits, targets, strict=True):
        ce = -torch.log_softmax(scores, 0)[target].item()
        sigmoid = torch.sigmoid(scores[target]).item()
        expected += ce if target > 0 else beta * ce + (1 - beta) * (1 - sigmoid)
    assert NRCES(w=5)(logits, targets, LATER).item() == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize(("parts", "entity", "negative"), [
    ("ce+cs", (1, 0), (0, 1)),
    ("cs", (0, 1), (0, 1)),
    ("ce+cs(all)", (1, 1), (0, 1)),
    ("ce(all)+cs", (1, 0), (1, 1)),
])  # fmt: skip
def test_ablations_put_the_two_losses_where_they_say(
    parts: Any, entity: tuple[int, int], negative: tuple[int, int]
) -> None:
    logits, _ = rows(2)
    for target, (ce_share, cs_share) in ((1, entity), (0, negative)):
        targets = torch.tensor([target, target])
        ce = CrossEntropy("sum")(logits, targets, LATER)
        cs = NRCES(parts="cs")(logits, targets, LATER)
        assert torch.allclose(NRCES(parts=parts)(logits, targets, LATER), ce_share * ce + cs_share * cs)


def test_the_default_sign_pushes_negatives_towards_outside_and_the_printed_one_away() -> None:
    late = START._replace(epoch=1000)  # beta is 0
    for sign, expected in ((-1, -1), (1, 1)):
        logits = torch.zeros(1, 3, requires_grad=True)
        NRCES(sign=sign)(logits, torch.tensor([0]), late).backward()  # type: ignore[arg-type]
        assert logits.grad is not None
        assert math.copysign(1, logits.grad[0, 0].item()) == expected


def test_beta_grows_with_w_and_falls_with_time() -> None:
    assert NRCES(w=2).beta(LATER) < NRCES(w=5).beta(LATER) < NRCES(w=10).beta(LATER) < 1
    assert [round(NRCES(w=w).beta(LATER), 2) for w in (2, 5, 10)] == [0.22, 0.55, 0.74]
    assert NRCES(fractional=True).beta(LATER) == pytest.approx(math.exp(-3.5 / 5))


def test_gce_lies_between_cross_entropy_and_absolute_error() -> None:
    logits, targets = rows()
    p = torch.softmax(logits, -1).gather(-1, targets[:, None])[:, 0]
    assert torch.allclose(GCE(q=1.0)(logits, targets, START), (1 - p).mean())
    assert GCE(q=1e-4)(logits, targets, START).item() == pytest.approx((-p.log()).mean().item(), rel=1e-3)
