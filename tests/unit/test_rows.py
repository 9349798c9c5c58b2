"""Gradients of tables that are kept from step to step: the numbers of fresh ones."""

from __future__ import annotations

import copy

import pytest
import torch
from torch import nn

from goldgap.train.rows import RowGradients


class Reader(nn.Module):
    """Two tables, of which the second is frozen, and a layer."""

    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(9, 4, padding_idx=0)
        self.frozen = nn.Embedding(9, 4)
        self.frozen.weight.requires_grad_(False)
        self.layer = nn.Linear(4, 2)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        scores: torch.Tensor = self.layer(self.words(ids) + self.frozen(ids)).square()
        return scores


def test_kept_gradients_are_the_fresh_ones_step_after_step() -> None:
    torch.manual_seed(0)
    plain = Reader()
    kept = copy.deepcopy(plain)
    rows = RowGradients(kept, large=0)
    optimisers = [torch.optim.AdamW(model.parameters(), lr=0.1) for model in (plain, kept)]
    steps = [[[1, 2, 2, 0]], [[3, 1], [8, 3]], [[5]], [[0]]]  # what was looked up once is no longer, or is padding
    for batches in steps:
        for model, optimiser in zip((plain, kept), optimisers, strict=True):
            optimiser.zero_grad()
            for batch in batches:
                model(torch.tensor(batch)).sum().backward()
        rows.spread()
        assert kept.words.weight.grad is not None
        assert kept.words.weight.grad.layout == torch.strided
        torch.testing.assert_close(kept.words.weight.grad, plain.words.weight.grad)
        for optimiser in optimisers:
            optimiser.step()
        torch.testing.assert_close(kept.state_dict(), plain.state_dict())
    assert kept.frozen.weight.grad is None


def test_a_step_that_looks_nothing_up_leaves_no_gradient() -> None:
    model = Reader()
    rows = RowGradients(model, large=0)
    model(torch.tensor([1, 2])).sum().backward()
    rows.spread()
    model.zero_grad()
    model.layer(torch.ones(4)).sum().backward()
    rows.spread()
    assert model.words.weight.grad is None


@pytest.mark.parametrize(("large", "sparse"), [(36, True), (37, False)])
def test_small_tables_are_left_alone(large: int, sparse: bool) -> None:
    model = Reader()
    rows = RowGradients(model, large=large)
    assert model.words.sparse is sparse
    assert not model.frozen.sparse
    rows.release()
    assert not model.words.sparse
