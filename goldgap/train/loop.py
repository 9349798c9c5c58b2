"""Training: a plain loop that reads top to bottom. Nothing random survives from one step to the next."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from goldgap.core.corpus import Corpus
from goldgap.core.errors import GoldgapError
from goldgap.core.notes import Notes
from goldgap.core.progress import Progress
from goldgap.encode.device import device_named
from goldgap.models.model import Model
from goldgap.train.average import averaged, follow
from goldgap.train.build import build
from goldgap.train.checkpoint import (
    Checkpoints,
    Metrics,
    RunState,
    claim_work,
    put_back,
    require_numbers,
    run_identity,
)
from goldgap.train.data import NO_HINTS, Hints, prepare
from goldgap.train.optimiser import make_optimiser
from goldgap.train.plan import Plan
from goldgap.train.recipe import Recipe
from goldgap.train.resolve import resolved
from goldgap.train.select import choose, score
from goldgap.train.split import facts_of, split
from goldgap.train.step import Stepper, Taken


class Stopped(GoldgapError):  # noqa: N818  (not an error: somebody asked)
    """The run was asked to stop; its checkpoint is saved."""


class Seen(NamedTuple):
    """What an observer is told after each step.

    metrics       only after an evaluation
    model         only after an evaluation: to be looked at, not to be changed
    recipe        only after an evaluation: with nothing left open
    passed_over   only at the beginning: damaged checkpoints, if there are any
    notes         only at the beginning: what cannot be trained on, if there is any
    told          what a step before the training found, in words
    """

    progress: Progress
    taken: Taken | None
    metrics: Metrics | None = None
    model: Model | None = None
    recipe: Recipe | None = None
    passed_over: Notes | None = None
    notes: Notes | None = None
    told: str | None = None


Observer = Callable[[Seen], None]


@dataclass(slots=True)
class Trained:
    """The chosen model of a run, its recipe with nothing left open, the metrics, and what could not be trained on.

    left_out   what the two-step method took for missing annotations
    """

    model: Model
    recipe: Recipe
    metrics: list[Metrics]
    best_step: int
    facts: dict[str, Any] = field(default_factory=dict)
    notes: Notes = field(default_factory=Notes)
    left_out: list[dict[str, Any]] = field(default_factory=list)


def train(
    recipe: Recipe,
    corpus: Corpus,
    dev: Corpus | None = None,
    *,
    work: Path | None = None,
    observe: Observer = lambda _: None,
    stopped: Callable[[], bool] = lambda: False,
    hints: Hints = NO_HINTS,
) -> Trained:
    """Train on a corpus with gaps; the model with the best dev F1 is kept, or the last one without selection.

    work      folder for checkpoints; the newest whole one in it is gone on from
    stopped   asked after each step; when it says so, a checkpoint is saved and Stopped raised
    hints     what an earlier training says of the same documents
    """
    run = _start(recipe, corpus, dev, work, hints)
    state, progress = run.state, run.plan.progress(run.state.step)
    if run.passed_over.changes:
        observe(Seen(progress, None, passed_over=run.passed_over))
    if run.notes.changes:
        observe(Seen(progress, None, notes=run.notes))
    try:
        _go_through(run, observe, stopped)
    except Stopped:
        run.save()
        raise
    if state.best is not None:
        put_back(run.model, state.best)
    run.stepper.rows.release()
    require_numbers(run.model, state.step)
    run.model.eval()
    return Trained(run.model, run.recipe, state.metrics, state.best_step, run.facts, run.notes)


def _go_through(run: _Run, observe: Observer, stopped: Callable[[], bool]) -> None:
    """All steps that are left, with an evaluation wherever the plan has one."""
    state, plan, options = run.state, run.plan, run.recipe.train

    def stop_if_asked() -> None:
        if stopped():
            raise Stopped(f"stopped at step {state.step} of {plan.steps}")

    while True:
        if plan.evaluates_after(state.step) and state.evaluated < state.step:
            metrics = _measure(state, plan)
            with averaged(state, run.model):
                if run.dev is not None:
                    run.model.fit_to(run.dev.documents)
                    metrics |= score(run.model, run.recipe, run.dev, stop_if_asked)
                choose(state, metrics, run.model, run.recipe.select_on)
                observe(Seen(plan.progress(state.step - 1), None, metrics, run.model, run.recipe))
        if state.step == plan.steps or 0 < options.patience <= state.waited:
            run.save()  # for whoever cannot write the model, and calls again
            break
        every = options.checkpoint_steps
        if state.step % every == 0 if every else state.evaluated == state.step:
            run.save()
        stop_if_asked()
        progress = plan.progress(state.step)
        taken = run.stepper.take(plan.batches(state.step), progress)
        state.add(taken._asdict())
        if options.average:
            follow(state, run.model, options.average)
        observe(Seen(progress, taken))


@dataclass(slots=True)
class _Run:
    """The parts of a run, put together and brought to where its last checkpoint was."""

    recipe: Recipe
    dev: Corpus | None
    model: Model
    plan: Plan
    stepper: Stepper
    state: RunState
    checkpoints: Checkpoints | None
    facts: dict[str, Any]
    notes: Notes
    passed_over: Notes
    saved: int

    def save(self) -> None:
        """Write a checkpoint, unless this step's is there already."""
        if self.checkpoints is not None and self.saved != self.state.step:
            self.checkpoints.save(self.state, self.model, self.stepper.optimiser)
            self.saved = self.state.step


def _start(recipe: Recipe, corpus: Corpus, dev: Corpus | None, work: Path | None, hints: Hints) -> _Run:
    notes, passed_over = Notes(), Notes()
    parts = split(recipe, corpus, dev, notes)
    given, recipe = recipe, resolved(recipe, parts)
    policy, loss = recipe.make_policy(), recipe.make_loss()
    facts = facts_of(parts)
    model = build(recipe, parts.train).to(device_named(recipe.train.device))
    data = prepare(model, parts.train, recipe, notes, hints)
    optimiser = make_optimiser(model, recipe.train)
    checkpoints = None
    if work is not None:
        identity = run_identity(recipe, facts)
        claim_work(work, run_identity(given, facts))
        checkpoints = Checkpoints(work, identity)
    state = RunState() if checkpoints is None else checkpoints.restore(model, optimiser, passed_over)
    return _Run(
        recipe,
        parts.dev,
        model,
        Plan(recipe, [example.length for example in data.examples]),
        Stepper(model, optimiser, policy, loss, recipe, data),
        state,
        checkpoints,
        facts,
        notes,
        passed_over,
        saved=state.step,
    )


def _measure(state: RunState, plan: Plan) -> Metrics:
    """What the steps since the last evaluation did. No times: two runs with one seed have the same metrics."""
    sums = state.sums
    metrics: Metrics = {"step": state.step, "epoch": round(plan.epochs_done(state.step), 4)}
    metrics["loss"] = sums["loss"] / sums["steps"]
    metrics["kept"], metrics["missampled"] = int(sums["kept"]), int(sums["missampled"])
    if sums["effective"]:
        metrics["effective"] = sums["effective"] / sums["weighed"]
    return metrics
