"""How well an exploratory training finds masked annotations, with scores by angle and without (002 Figs. 2, 3, 6)."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

from goldgap.core.corpus import Corpus
from goldgap.core.errors import InputError
from goldgap.core.notes import Notes
from goldgap.report.diagnosis import Diagnosis
from goldgap.report.svg import Series
from goldgap.train.data import TrainingSet, prepare
from goldgap.train.doubts import doubts, statistic_for
from goldgap.train.loop import Seen, train
from goldgap.train.recipe import Recipe
from goldgap.train.two_step import exploratory

SHARES = (0.01, 0.02, 0.03, 0.05, 0.075, 0.1, 0.15, 0.2)
"""Of what is not annotated, picked as doubtful."""


class Value(NamedTuple):
    """How sure a model is that a cell that is not annotated is none, and whether its annotation was masked."""

    value: float
    masked: bool


Explored = list[list[Value]]
"""The values after each epoch."""


def explored(recipe: Recipe, corpus: Corpus, epochs: int) -> Explored:
    """Train on a masked corpus as the first of two steps does, and look at what is not annotated after each epoch."""
    if not any(document.dropped for document in corpus):
        raise InputError("nothing is masked in this corpus: make one with goldgap mask")
    longest = max(epochs, recipe.train.epochs)  # an exploratory training is no longer than what it is for
    once = recipe.train.model_copy(update={"evaluations": 1, "epochs": longest})
    steps = recipe.two_step.model_copy(update={"explore": epochs})
    first = exploratory(recipe.model_copy(update={"train": once, "two_step": steps}))
    data: list[TrainingSet] = []
    found: Explored = []

    def look(seen: Seen) -> None:
        if seen.model is None or seen.recipe is None:
            return
        if not data:
            data.append(prepare(seen.model, corpus, seen.recipe, Notes()))
        values = doubts(seen.model, data[0], statistic_for(recipe.two_step))
        found.append([Value(one.value, _is_masked(data[0], one.example, one.cell)) for one in values])

    train(first, corpus, None, observe=look)
    if not any(one.masked for one in found[-1]):
        raise InputError("no masked word is unknown: the documents are complete; leave out what says so")
    return found


def _is_masked(data: TrainingSet, example: int, cell: int) -> bool:
    dropped = data.states[example].dropped
    return dropped is not None and bool(dropped.flatten()[cell])


def with_and_without_angle(recipe: Recipe, corpus: Corpus, epochs: int) -> dict[str, Explored]:
    """Both ways to score, from the same beginning."""
    ways = {"by angle": True, "plain": False}
    return {
        name: explored(
            recipe.model_copy(update={"tagger": recipe.tagger.model_copy(update={"angle": angle})}), corpus, epochs
        )
        for name, angle in ways.items()
    }


def scores_of_outside(runs: dict[str, Explored]) -> Diagnosis:
    """The mean value of masked cells and of the others, epoch by epoch (002 Fig. 2)."""
    rows, series = [], []
    for name, epochs in runs.items():
        means = [tuple(_mean(values, masked=masked) for masked in (True, False)) for values in epochs]
        rows += [
            (name, str(number), f"{masked:.2f}", f"{other:.2f}", f"{other - masked:.2f}")
            for number, (masked, other) in enumerate(means, 1)
        ]
        for column, what in enumerate(("masked", "others")):
            points = [(float(number), pair[column]) for number, pair in enumerate(means, 1)]
            series.append(Series(f"{name}, {what}", points))
    name, epochs = next(iter(runs.items()))
    gap = _mean(epochs[0], masked=False) - _mean(epochs[0], masked=True)
    return Diagnosis(
        "The score of O over the epochs",
        f"After the first epoch the score of O of what was masked is {gap:.2f} below that of the rest ({name}).",
        ("scores", "epoch", "masked", "others", "gap"),
        rows,
        series,
        x="epoch",
        y="score of O",
    )


def _mean(values: Sequence[Value], *, masked: bool) -> float:
    chosen = [one.value for one in values if one.masked is masked]
    return statistics.mean(chosen) if chosen else 0.0


def detection(runs: dict[str, Explored]) -> Diagnosis:
    """Precision and recall of the smallest values after the last epoch as more are picked (002 Figs. 3, 6)."""
    rows, series, at_five = [], [], {}
    for name, epochs in runs.items():
        found = picked(epochs[-1])
        rows += [
            (name, f"{100 * share:g} %", f"{100 * precision:.2f}", f"{100 * recall:.2f}")
            for share, precision, recall in found
        ]
        for column, what in ((1, "precision"), (2, "recall")):
            series.append(Series(f"{name}, {what}", [(100 * one[0], 100 * one[column]) for one in found]))
        at_five[name] = next(one for one in found if one[0] == 0.05)
    told = "; ".join(
        f"{name} {100 * p:.1f} % are masked annotations, and {100 * r:.1f} % of all such"
        for name, (_, p, r) in at_five.items()
    )
    return Diagnosis(
        "What the exploratory training finds",
        f"Of the 5 % that look most like entities, scored {told}.",
        ("scores", "picked", "precision", "recall"),
        rows,
        series,
        x="% of what is not annotated that is picked",
        y="%",
    )


def picked(values: Sequence[Value]) -> list[tuple[float, float, float]]:
    """Share picked, precision, recall."""
    hits = list(accumulate(int(one.masked) for one in sorted(values)))
    rows = []
    for share in SHARES:
        count = max(1, round(share * len(values)))
        rows.append((share, hits[count - 1] / count, hits[count - 1] / max(hits[-1], 1)))
    return rows
