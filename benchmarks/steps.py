"""Training steps of a recipe, to be timed."""

from __future__ import annotations

from collections.abc import Callable

from goldgap import Corpus
from goldgap.core.notes import Notes
from goldgap.encode.batch import Batch
from goldgap.train.build import build
from goldgap.train.data import prepare
from goldgap.train.optimiser import make_optimiser
from goldgap.train.plan import Plan
from goldgap.train.recipe import Recipe
from goldgap.train.step import Stepper


def first_steps(recipe: Recipe, corpus: Corpus, steps: int) -> tuple[Callable[[], None], list[Batch]]:
    """The work of the first steps of a training, which can be done again and again, and the batches they are on."""
    model = build(recipe, corpus)
    data = prepare(model, corpus, recipe, Notes())
    plan = Plan(recipe, [example.length for example in data.examples])
    optimiser = make_optimiser(model, recipe.train)
    stepper = Stepper(model, optimiser, recipe.make_policy(), recipe.make_loss(), recipe, data)

    def work() -> None:
        for step in range(steps):
            stepper.take(plan.batches(step), plan.progress(step))

    return work, [model.batch([data.examples[index] for index in plan.batches(step)[0]]) for step in range(steps)]
