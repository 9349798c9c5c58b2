"""The order of a run's steps: which batches each takes, and what is due after it."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate

from goldgap.core.progress import Progress
from goldgap.encode.batch import batch_order
from goldgap.train.recipe import Recipe


class Plan:
    """Which batches each step takes, and what is due after it: a function of the recipe, with nothing to save."""

    def __init__(self, recipe: Recipe, lengths: Sequence[int]) -> None:
        options = recipe.train
        self.epochs, self.evaluations = options.epochs, options.evaluations
        self._steps: list[list[list[list[int]]]] = []  # epoch, step, batch, example
        for epoch in range(options.epochs):
            batches = batch_order(
                lengths,
                batch_size=options.batch_size,
                token_budget=options.token_budget,
                seed=recipe.seed,
                epoch=epoch,
                shuffle=options.order == "shuffled",
            )
            size = options.accumulate
            self._steps.append([batches[start : start + size] for start in range(0, len(batches), size)])
        self._ends = list(accumulate(map(len, self._steps)))

    @property
    def steps(self) -> int:
        return self._ends[-1]

    def progress(self, step: int) -> Progress:
        return Progress(bisect_right(self._ends, step), self.epochs, step, self.steps)

    def batches(self, step: int) -> list[list[int]]:
        epoch = bisect_right(self._ends, step)
        return self._steps[epoch][step - (self._ends[epoch - 1] if epoch else 0)]

    def epochs_done(self, step: int) -> float:
        """Epochs that are over once `step` steps are."""
        if step >= self.steps:
            return float(self.epochs)
        epoch = bisect_right(self._ends, step)
        begun = self._ends[epoch - 1] if epoch else 0
        return epoch + (step - begun) / len(self._steps[epoch])

    def evaluates_after(self, step: int) -> bool:
        """Whether the dev set is scored once `step` steps are over: after each of the equal parts of an epoch."""
        if step == 0:
            return False
        epoch = bisect_right(self._ends, step - 1)
        begun, size = self._ends[epoch - 1] if epoch else 0, len(self._steps[epoch])
        return step - begun in {round(size * part / self.evaluations) for part in range(1, self.evaluations + 1)}
