"""The two-step method (002): a short exploratory training finds what looks like missing annotations, which a second
training from the same beginning leaves out."""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Literal, NamedTuple

from torch import Tensor

from goldgap.core.corpus import Corpus
from goldgap.core.document import Document, Entity
from goldgap.core.files import commit_directory, read_text, verify_directory
from goldgap.core.notes import Notes
from goldgap.core.progress import Progress
from goldgap.corpus.words import words_of
from goldgap.models.chain import Chain
from goldgap.models.model import Model
from goldgap.models.predict import predict, scored_examples
from goldgap.models.span import SpanScores
from goldgap.models.tagger import Tagger
from goldgap.models.tagset import TagSet
from goldgap.train.checkpoint import claim_work, run_identity
from goldgap.train.data import LeftOut, TrainingSet, describe, prepare, split
from goldgap.train.loop import NONE_ADDED, Added, Observer, Seen, Trained, train
from goldgap.train.methods import METHODS
from goldgap.train.place import LEFT_OUT
from goldgap.train.recipe import AUTO, Recipe, TwoStepSettings, recipe_for

EXPLORE, CELLS, SOURCE = "explore", "cells.json", "exploratory model"
_LEARNED = {"dynamic": "dynamic", "global": "global", "dev": "dynamic"}
"""Thresholds of the exploratory training, which has no dev set."""
Kind = Literal["annotated elsewhere", "near an annotation", "other"]


class Doubt(NamedTuple):
    """A cell that may be a missing annotation: the smaller the value, the more it looks like one.

    widths   cells of each word
    """

    example: int
    cell: int
    widths: int
    value: float


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


def train_in_two_steps(
    recipe: Recipe,
    corpus: Corpus,
    dev: Corpus | None = None,
    *,
    work: Path | None = None,
    observe: Observer = lambda _: None,
    stopped: Callable[[], bool] = lambda: False,
) -> Trained:
    """As `goldgap.train.loop.train`, with the exploratory training before; killed at any instant, it goes on."""
    parts = split(recipe, corpus, dev, Notes())
    if recipe.two_step.none:
        TagSet(parts.train.labels, recipe.tagger.scheme, none=True)  # refused before the first step, not behind it
    identity = run_identity(recipe, describe(parts))
    if work is not None:
        claim_work(work, identity)
    kept = None if work is None else work / LEFT_OUT
    watch = _once(observe)
    if kept is not None and kept.exists():
        verify_directory(kept)
        found = Found.read(kept / CELLS)
    else:
        found = _explored(recipe, parts.train, None if work is None else work / EXPLORE, watch, stopped)
        if kept is not None:
            with commit_directory(kept) as place:
                (place / CELLS).write_text(json.dumps(found), encoding="utf-8")
    if work is not None:
        shutil.rmtree(work / EXPLORE, ignore_errors=True)
    cells, added = by_example(found.doubtful), by_document(found.sure)
    run = train(recipe, corpus, dev, work=work, observe=watch, stopped=stopped, left_out=cells, added=added)
    run.left_out = [one._asdict() for one in listed(found.doubtful, run.model, parts.train, added)]
    return run


def _once(observe: Observer) -> Observer:
    """Both trainings meet the same entities that cannot be trained on: they are told once."""
    told: list[str] = []

    def watch(seen: Seen) -> None:
        if seen.left_out is not None and seen.left_out.lines() == told:
            seen = seen._replace(left_out=None)
        elif seen.left_out is not None:
            told[:] = seen.left_out.lines()
        observe(seen)

    return watch


def _explored(
    recipe: Recipe, corpus: Corpus, work: Path | None, observe: Observer, stopped: Callable[[], bool]
) -> Found:
    settings, first = recipe.two_step, exploratory(recipe)
    if work is not None:
        work.mkdir(parents=True, exist_ok=True)

    def watch(seen: Seen) -> None:
        observe(Seen(seen.progress, seen.taken, passed_over=seen.passed_over, left_out=seen.left_out))

    run = train(first, corpus, None, work=work, observe=watch, stopped=stopped)
    every = run.recipe.bi_encoder.model_copy(update={"drop_empty": False})  # doubtful cells are numbered among all
    data = prepare(run.model, corpus, run.recipe.model_copy(update={"bi_encoder": every}), Notes())
    statistic = "o-margin" if settings.share == AUTO else settings.statistic
    chosen, cells = doubtful(doubts(run.model, data, statistic), settings.share)
    sure = list(_sure(run.model, run.recipe, corpus, settings.sure))
    what = "words" if isinstance(run.model, Tagger) else "spans"
    told = f"{len(chosen):,} of {cells:,} unannotated {what} are left out, those that look most like entities"
    told += f"; {len(sure):,} entities are added" if settings.sure < 1 else ""
    observe(Seen(Progress(0, recipe.train.epochs, 0, 0), None, told=told))
    return Found(chosen, sure)


def exploratory(recipe: Recipe) -> Recipe:
    """The recipe of the first step."""
    settings = recipe.two_step
    if settings.method:
        other = recipe_for(settings.method)
        loss = other.loss if recipe.model.kind == "span" else recipe.loss
        rates = recipe.train.model_copy(update=METHODS[settings.method].settings.get("train", {}))
        recipe = recipe.model_copy(update={"policy": other.policy, "loss": loss, "train": rates})
    options = recipe.train.model_copy(update={"epochs": settings.explore, "patience": 0})
    own_thresholds = recipe.bi_encoder.model_copy(update={"thresholds": _LEARNED[recipe.bi_encoder.thresholds]})
    return recipe.model_copy(
        update={"select_on": "none", "train": options, "bi_encoder": own_thresholds, "two_step": TwoStepSettings()}
    )


def _sure(model: Model, recipe: Recipe, corpus: Corpus, least: float) -> Iterator[Sure]:
    """What the model finds beside the annotations with at least this probability."""
    if least == 1:
        return
    decoding = recipe.decode.model_dump() | {"min_prob": least}
    for number, (known, found) in enumerate(zip(corpus, predict(model, corpus, **decoding), strict=True)):
        for one in found.entities:
            if not any(other.start < one.end and one.start < other.end for other in known.entities):
                yield Sure(number, one.start, one.end, one.label, one.score or 0.0)


def doubts(model: Model, data: TrainingSet, statistic: str) -> list[Doubt]:
    """The value of every unknown cell, in order of the examples."""
    found: list[list[Doubt]] = [[] for _ in data.examples]
    places = {id(example): index for index, example in enumerate(data.examples)}
    for batch, scores in scored_examples(model, data.examples):
        values = statistic_of(scores, batch.words, statistic)
        for row, index in enumerate(places[id(example)] for example in batch.examples):
            grid = data.states[index]
            words, widths = grid.labels.shape
            own = values[row].view(batch.first.shape[1], -1)[:words, :widths].flatten()  # without padding
            cells = grid.open_cells()
            pairs = zip(cells.tolist(), own[cells].tolist(), strict=True)
            found[index] = [Doubt(index, cell, widths, value) for cell, value in pairs]
    return [one for own in found for one in own]


def statistic_of(scores: SpanScores, words: Tensor, statistic: str) -> Tensor:
    """How sure it is that a cell is O.  -> (batch, cell)

    The scores of spans are centred: all of a span's scores could be moved together without changing anything.
    """
    logits = scores.logits.float()
    if statistic == "marginal":
        assert isinstance(scores.chain, Chain), "a recipe pairs this statistic with a tagger"
        return scores.chain.log_marginals(logits, words)[..., 0]
    if statistic == "o-margin":
        return logits[..., 0] - logits[..., 1:].amax(-1)
    return logits[..., 0] if scores.chain is not None else logits[..., 0] - logits.mean(-1)


def doubtful(values: Sequence[Doubt], share: float | str) -> tuple[list[Doubt], int]:
    """The smallest of all values, or those below 0; ties by place. And how many values there were."""
    below = sum(one.value < 0 for one in values)
    count = below if isinstance(share, str) else math.ceil(round(share * len(values), 9))
    return sorted(values, key=lambda one: (one.value, one.example, one.cell))[:count], len(values)


def by_example(found: Iterable[Doubt]) -> LeftOut:
    """The cells to leave out, by example."""
    cells: dict[int, list[int]] = {}
    for one in found:
        cells.setdefault(one.example, []).append(one.cell)
    return cells


def by_document(sure: Iterable[Sure]) -> dict[int, list[Entity]]:
    """The entities to add, by document; whoever reads them later knows who made them."""
    added: dict[int, list[Entity]] = {}
    for one in sure:
        added.setdefault(one.document, []).append(Entity(one.start, one.end, one.label, one.score, SOURCE))
    return added


class Suspicious(NamedTuple):
    """Neighbouring words that were left out, or a span: for people to read.

    kind    the same words are annotated elsewhere; they touch an annotation, or share a word with one; or neither
    added   the type that it was trained on as, if it was
    """

    kind: Kind
    surface: str
    document: str
    start: int
    end: int
    value: float
    added: str | None = None


def listed(found: Sequence[Doubt], model: Model, corpus: Corpus, added: Added = NONE_ADDED) -> list[Suspicious]:
    """What was left out, in the order of kinds and values."""
    surfaces = {document.surface(entity) for document in corpus for entity in document.entities}
    parts = {word for surface in surfaces for word in surface.split()}
    examples = model.examples(corpus.documents)
    places: dict[tuple[int, int, int], float] = {}
    for index, own in groupby(sorted(found), key=lambda one: one.example):
        example = examples[index]
        for first, end, value in _spans(list(own), neighbours=isinstance(model, Tagger)):
            place = (example.document, example.words[first][0], example.words[end - 1][1])
            places[place] = min(value, places.get(place, math.inf))
    made = []
    for (number, start, end), value in places.items():
        document = corpus[number]
        surface = document.text[start:end]
        kind = _kind(document, start, end, surface, surfaces, parts)
        label = next((one.label for one in added.get(number, ()) if (one.start, one.end) == (start, end)), None)
        made.append(Suspicious(kind, surface, document.id, start, end, value, label))
    order: tuple[Kind, ...] = ("annotated elsewhere", "near an annotation", "other")
    return sorted(made, key=lambda one: (order.index(one.kind), one.value, one.document, one.start, one.end))


def _spans(own: list[Doubt], *, neighbours: bool) -> Iterator[tuple[int, int, float]]:
    """Words first..end-1 of each cell and its value; neighbouring words as one, with the smallest of their values."""
    if not neighbours:
        for one in own:
            first, extra = divmod(one.cell, one.widths)
            yield first, first + extra + 1, one.value
        return
    for _, run in groupby(enumerate(own), key=lambda pair: pair[1].cell - pair[0]):
        members = [one for _, one in run]
        yield members[0].cell, members[-1].cell + 1, min(one.value for one in members)


def _kind(document: Document, start: int, end: int, surface: str, surfaces: set[str], parts: set[str]) -> Kind:
    if surface in surfaces:
        return "annotated elsewhere"
    words = words_of(document)
    beside = [(a, b) for a, b in words if b <= start][-1:] + [(a, b) for a, b in words if a >= end][:1]
    reach = (min([start, *(a for a, _ in beside)]), max([end, *(b for _, b in beside)]))
    touches = any(entity.start < reach[1] and reach[0] < entity.end for entity in document.entities)
    return "near an annotation" if touches or not parts.isdisjoint(surface.split()) else "other"
