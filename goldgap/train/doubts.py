"""How much each unknown cell looks like a missing annotation to a model, and the cells that do the most (002)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from torch import Tensor

from goldgap.models.chain import Chain
from goldgap.models.model import Model
from goldgap.models.predict import scored_examples
from goldgap.models.scores import SpanScores
from goldgap.train.data import TrainingSet
from goldgap.train.recipe import AUTO, TwoStepSettings

CALLED = "called an entity"
"""The statistic of `two_step.share = auto`: below 0, some type is ahead of O."""


class Doubt(NamedTuple):
    """A cell that may be a missing annotation: the smaller the value, the more it looks like one.

    widths   cells of each word
    """

    example: int
    cell: int
    widths: int
    value: float


def doubts(model: Model, data: TrainingSet, statistic: str, below: float = math.inf) -> list[Doubt]:
    """The value of every unknown cell, in order of the examples; of a large corpus better only those below a limit."""
    found: list[list[Doubt]] = [[] for _ in data.examples]
    places = {id(example): index for index, example in enumerate(data.examples)}
    for batch, scores in scored_examples(model, data.examples):
        values = statistic_of(scores, batch.words, statistic)
        for row, index in enumerate(places[id(example)] for example in batch.examples):
            grid = data.states[index]
            words, widths = grid.labels.shape
            own = values[row].view(batch.first.shape[1], -1)[:words, :widths].flatten()  # without padding
            cells = grid.open_cells()
            cells = cells[own[cells] < below]
            pairs = zip(cells.tolist(), own[cells].tolist(), strict=True)
            found[index] = [Doubt(index, cell, widths, value) for cell, value in pairs]
    return [one for own in found for one in own]


def statistic_for(settings: TwoStepSettings) -> str:
    """What says how doubtful a cell is: with auto, whether it is called an entity."""
    return CALLED if settings.share == AUTO else settings.statistic


def statistic_of(scores: SpanScores, words: Tensor, statistic: str) -> Tensor:
    """How sure it is that a cell is O.  -> (batch, cell)

    The scores of spans are centred: all of a span's scores could be moved together without changing anything. Where
    each type is a question of its own the score of O is none, and says nothing: its distance to the best type does.
    """
    logits = scores.logits.float()
    if statistic == "marginal":
        assert isinstance(scores.chain, Chain), "a recipe pairs this statistic with a tagger"
        return scores.chain.log_marginals(logits, words)[..., 0]
    if statistic == CALLED and isinstance(scores.chain, Chain):  # neighbouring tags have a say in it
        logits = scores.chain.log_marginals(logits, words)
    if statistic in ("o-margin", CALLED) or scores.by_type:
        return logits[..., 0] - logits[..., 1:].amax(-1)
    return logits[..., 0] if scores.chain is not None else logits[..., 0] - logits.mean(-1)


def doubtful(model: Model, data: TrainingSet, settings: TwoStepSettings) -> tuple[list[Doubt], int]:
    """The unknown cells to leave out, the smallest values first, ties by place; and of how many."""
    auto = settings.share == AUTO
    values = doubts(model, data, statistic_for(settings), settings.margin if auto else math.inf)
    return least(values, None if auto else float(settings.share)), sum(len(one.open_cells()) for one in data.states)


def least(values: Sequence[Doubt], share: float | None) -> list[Doubt]:
    """A share of the values, or all of them, the smallest first and ties by place."""
    count = len(values) if share is None else math.ceil(round(share * len(values), 9))
    return sorted(values, key=lambda one: (one.value, one.example, one.cell))[:count]
