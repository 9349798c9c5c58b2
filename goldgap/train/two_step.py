"""The two-step method (002): a short exploratory training finds what looks like missing annotations, which a second
training from the same beginning leaves out."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from goldgap.core.corpus import Corpus
from goldgap.core.document import EXPLORATORY, Document, Entity
from goldgap.core.errors import ConfigError
from goldgap.core.labels import Labels
from goldgap.core.manifest import commit_directory, verify_directory
from goldgap.core.notes import Notes
from goldgap.core.progress import Progress
from goldgap.core.reading import read_text
from goldgap.decode import decode
from goldgap.models.model import Model
from goldgap.models.predict import candidates, numbered
from goldgap.models.suspects import still_open
from goldgap.models.tagger import Tagger
from goldgap.models.tagset import TagSet
from goldgap.train.checkpoint import claim_work, run_identity
from goldgap.train.checks import check
from goldgap.train.compose import recipe_for
from goldgap.train.data import Hints, is_flat, knowledge_of, prepare
from goldgap.train.doubts import Doubt, doubtful
from goldgap.train.left_out import listed
from goldgap.train.loop import Observer, Seen, Trained, train
from goldgap.train.methods import METHODS
from goldgap.train.place import LEFT_OUT
from goldgap.train.recipe import Recipe, TrainSettings, TwoStepSettings
from goldgap.train.resolve import resolved
from goldgap.train.split import facts_of, split

EXPLORE, CELLS = "explore", "cells.json"
_LEARNED = {"dynamic": "dynamic", "global": "global", "dev": "dynamic"}
"""Thresholds of the exploratory training, which has no dev set."""
_SHARED = {"overlap", "certain_negatives"}
"""Settings of `train` that both steps must agree in."""


class Sure(NamedTuple):
    """An entity that the exploratory model is sure of, in a training document by its number."""

    document: int
    start: int
    end: int
    label: str
    score: float


class Found(NamedTuple):
    """What an exploratory training found."""

    doubtful: list[Doubt]
    sure: list[Sure]

    @classmethod
    def read(cls, path: Path) -> Found:
        doubtful, sure = json.loads(read_text(path))
        return cls([Doubt(*one) for one in doubtful], [Sure(*one) for one in sure])

    def hints(self) -> Hints:
        """What to leave out by example, and what to add by document; whoever reads it later knows who made it."""
        aside: dict[int, list[int]] = {}
        for one in self.doubtful:
            aside.setdefault(one.example, []).append(one.cell)
        added: dict[int, list[Entity]] = {}
        for sure in self.sure:
            added.setdefault(sure.document, []).append(
                Entity(sure.start, sure.end, sure.label, sure.score, EXPLORATORY)
            )
        return Hints(aside, added)


def train_in_two_steps(
    recipe: Recipe,
    corpus: Corpus,
    dev: Corpus | None = None,
    *,
    work: Path | None = None,
    observe: Observer = lambda _: None,
    stopped: Callable[[], bool] = lambda: False,
) -> Trained:
    """As `goldgap.train.loop.train`, with the exploratory training before; killed at any instant, it goes on.

    Where every training document is complete there is nothing to explore.
    """
    parts, first = split(recipe, corpus, dev, Notes()), exploratory(recipe)
    labels = parts.train.labels
    if all(_nothing_unknown(document, labels) for document in parts.train):
        return train(recipe, corpus, dev, work=work, observe=observe, stopped=stopped)
    resolved(recipe, parts)  # wrong names are told before the first step; types of dev alone are none of its own
    own = {name: type_ for name, type_ in first.types.items() if name in labels}
    first = first.model_copy(update={"types": own})
    if recipe.two_step.none:
        TagSet(labels, recipe.tagger.scheme, none=True)  # refused before the first step, not after it
    identity = run_identity(recipe, facts_of(parts))
    if work is not None:
        claim_work(work, identity)
    kept = None if work is None else work / LEFT_OUT
    watch = _once(observe)
    if kept is not None and kept.exists():
        verify_directory(kept)
        found = Found.read(kept / CELLS)
    else:
        found = _explored(recipe, first, parts.train, None if work is None else work / EXPLORE, watch, stopped)
        if kept is not None:
            with commit_directory(kept) as place:
                (place / CELLS).write_text(json.dumps(found), encoding="utf-8")
    if work is not None:
        shutil.rmtree(work / EXPLORE, ignore_errors=True)
    hints = found.hints()
    run = train(recipe, corpus, dev, work=work, observe=watch, stopped=stopped, hints=hints)
    run.left_out = [one._asdict() for one in listed(found.doubtful, run.model, parts.train, hints.added)]
    return run


def _nothing_unknown(document: Document, labels: Labels) -> bool:
    return not document.unknown and all(document.is_complete(label) for label in labels)


def _once(observe: Observer) -> Observer:
    """Both trainings meet the same entities that cannot be trained on: they are told once."""
    told: list[str] = []

    def watch(seen: Seen) -> None:
        if seen.notes is not None and seen.notes.lines() == told:
            seen = seen._replace(notes=None)
        elif seen.notes is not None:
            told[:] = seen.notes.lines()
        observe(seen)

    return watch


def _explored(
    recipe: Recipe, first: Recipe, corpus: Corpus, work: Path | None, observe: Observer, stopped: Callable[[], bool]
) -> Found:
    settings = recipe.two_step
    if work is not None:
        work.mkdir(parents=True, exist_ok=True)

    def watch(seen: Seen) -> None:
        observe(Seen(seen.progress, seen.taken, passed_over=seen.passed_over, notes=seen.notes))

    run = train(first, corpus, None, work=work, observe=watch, stopped=stopped)
    every = run.recipe.bi_encoder.model_copy(update={"drop_empty": False})  # doubtful cells are numbered among all
    data = prepare(run.model, corpus, run.recipe.model_copy(update={"bi_encoder": every}), Notes())
    chosen, cells = doubtful(run.model, data, settings)
    sure = list(_sure(run.model, run.recipe, corpus, settings.sure))
    what = "words" if isinstance(run.model, Tagger) else "spans"
    told = f"{len(chosen):,} of {cells:,} unannotated {what} are left out, those that look most like entities"
    if settings.sure < 1:
        told += f"; {len(sure):,} {'entity is' if len(sure) == 1 else 'entities are'} added"
    observe(Seen(Progress(0, recipe.train.epochs, 0, 0), None, told=told))
    return Found(chosen, sure)


def exploratory(recipe: Recipe) -> Recipe:
    """The recipe of the first step."""
    settings = recipe.two_step
    if settings.method:
        other = recipe_for(settings.method)
        loss = other.loss if recipe.model.kind == "span" else recipe.loss
        recipe = recipe.model_copy(update={"policy": other.policy, "loss": loss, "train": _rates(recipe, other)})
    epochs = min(settings.explore, recipe.train.epochs)
    options = recipe.train.model_copy(update={"epochs": epochs, "patience": 0})
    own_thresholds = recipe.bi_encoder.model_copy(update={"thresholds": _LEARNED[recipe.bi_encoder.thresholds]})
    first = recipe.model_copy(
        update={"select_on": "none", "train": options, "bi_encoder": own_thresholds, "two_step": TwoStepSettings()}
    )
    try:
        check(first)
    except ConfigError as error:
        raise ConfigError(f"two_step.method = {settings.method}: {error.message}") from None
    return first


def _rates(recipe: Recipe, other: Recipe) -> TrainSettings:
    """The settings of `train` with those of another method, wherever one of the two methods has its own.

    What was set for this training to another value than its method's stays, and what says how documents are cut into
    cells, and which are known: both steps are about the same cells.
    """
    theirs, mine = (METHODS[method].settings.get("train", {}) for method in (other.method, recipe.method))
    usual = TrainSettings(**mine)
    names = {name for name in {*theirs, *mine} - _SHARED if getattr(recipe.train, name) == getattr(usual, name)}
    return recipe.train.model_copy(update={name: getattr(other.train, name) for name in names})


def _sure(model: Model, recipe: Recipe, corpus: Corpus, least: float) -> Iterator[Sure]:
    """What the model finds with at least this probability where nothing is annotated, nor known not to be an entity.

    A flat corpus stays flat, and a tagger can be taught nothing else; elsewhere, of one type, nothing is added that
    overlaps another of it: one mention with several ends would be taught as several.
    """
    if least == 1:
        return
    options, knowledge = recipe.decode, knowledge_of(recipe, model.labels, flat=is_flat(corpus))
    flat = knowledge.flat or recipe.model.kind == "tagger"
    thresholds, least = numbered(options.thresholds, model.labels), max(least, options.min_prob)
    found = candidates(model, corpus, joint=options.joint, rank_by=options.rank_by)
    for number, (document, items) in enumerate(found):
        open_ = list(still_open(document, items, knowledge))
        kinds = range(1, len(model.labels) + 1)
        groups = [open_] if flat else [[one for one in open_ if one.label == kind] for kind in kinds]
        for one in chain.from_iterable(
            decode(group, "greedy", min_prob=least, thresholds=thresholds) for group in groups
        ):
            label = model.labels.types[one.label - 1]
            rivals = [other for other in document.entities if flat or other.label == label]
            if not any(other.start < one.end and one.start < other.end for other in rivals):
                yield Sure(number, one.start, one.end, label, one.score)
