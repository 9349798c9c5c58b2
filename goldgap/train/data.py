"""What a run trains on: the documents without those held out, their states, and the order of its batches."""

from __future__ import annotations

import hashlib
import json
import random
from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from types import MappingProxyType

from goldgap.core.corpus import Corpus
from goldgap.core.document import Document
from goldgap.core.errors import InputError
from goldgap.core.notes import Notes
from goldgap.core.progress import Progress
from goldgap.corpus.jsonl import to_json
from goldgap.encode.batch import Example, batch_order
from goldgap.models.model import Model
from goldgap.models.states import Knowledge, States, states_of
from goldgap.models.tag_states import tag_states_of
from goldgap.models.tagger import Tagger
from goldgap.train.recipe import Recipe, SelectOn

HELD_OUT = 10
"""One document in so many becomes the dev set when none is given."""


@dataclass(frozen=True, slots=True)
class Split:
    """The documents to train on and those to select on, and what the latter are."""

    train: Corpus
    dev: Corpus | None
    select_on: SelectOn


def split(recipe: Recipe, corpus: Corpus, dev: Corpus | None, notes: Notes) -> Split:
    """The dev set that was given, or a part of the training documents; labels that training cannot know are noted."""
    if corpus.entity_count == 0:
        raise InputError("no entity in the training files: nothing can be learned from unknown alone")
    select_on: SelectOn = recipe.select_on or ("distant dev" if dev is None else "clean dev")
    if dev is None and select_on == "clean dev":
        raise InputError("select_on = clean dev, but no dev set is given: name one with --dev")
    if dev is None and select_on == "distant dev":
        corpus, dev = hold_out(corpus, recipe.seed)
    labels = corpus.labels
    for label, count in sorted(Counter(e.label for document in dev or () for e in document.entities).items()):
        if label not in labels:
            notes.change(
                f"dev entity of the type {label}, which no training document has (can never be found)", count=count
            )
    return Split(corpus, dev, select_on)


def hold_out(corpus: Corpus, seed: int) -> tuple[Corpus, Corpus]:
    """A tenth of the documents as a dev set, at least one; some entity stays on either side."""
    order = list(range(len(corpus)))
    random.Random(f"held out/{seed}").shuffle(order)
    count = max(1, len(corpus) // HELD_OUT)
    with_entity = [index for index in order if corpus[index].entities]
    if len(with_entity) < 2:
        raise InputError(
            "only one training document has an entity, so none can be held out to select the best epoch on; "
            "give a dev set with --dev, or train a fixed number of epochs with --set select_on=none"
        )
    held = set(order[:count])
    if not held & set(with_entity):
        held = {with_entity[0], *order[: count - 1]}
    elif held >= set(with_entity):
        held.remove(with_entity[-1])
    sides = [[d for i, d in enumerate(corpus) if (i in held) is side] for side in (False, True)]
    return Corpus(sides[0], notes=corpus.notes), Corpus(sides[1])


def is_flat(corpus: Corpus) -> bool:
    """Whether no two entities of any document overlap."""
    for document in corpus:
        keys = sorted({entity.key for entity in document.entities})  # one that stands twice overlaps nothing
        if any(start < end for (_, end, _), (start, _, _) in pairwise(keys)):
            return False
    return True


def describe(parts: Split) -> dict[str, str]:
    """What a result must say of its data: how much there is of it, and its hash."""
    facts = {}
    for name, corpus in (("training", parts.train), ("dev", parts.dev)):
        if corpus is not None:
            facts[f"{name} documents"] = f"{len(corpus):,}"
            facts[f"{name} entities"] = f"{corpus.entity_count:,}"
            facts[f"sha256 of the {name} documents"] = fingerprint(corpus.documents)
    return facts


def fingerprint(documents: Sequence[Document]) -> str:
    """A hash of everything that the documents say."""
    digest = hashlib.sha256()
    for document in documents:
        digest.update(json.dumps(to_json(document), sort_keys=True).encode() + b"\n")
    return digest.hexdigest()


@dataclass(frozen=True, slots=True)
class TrainingSet:
    """The ids of the training documents, their windows and the states of these."""

    names: list[str]
    examples: list[Example]
    states: list[States]


LeftOut = Mapping[int, Sequence[int]]
"""Cells of examples that nothing is to be learned from."""
NOTHING: LeftOut = MappingProxyType({})


def prepare(model: Model, corpus: Corpus, recipe: Recipe, notes: Notes, left_out: LeftOut = NOTHING) -> TrainingSet:
    """The windows of a corpus and what is known of their cells."""
    examples = model.examples(corpus.documents, notes)
    states = _states(model, corpus, recipe, examples, notes)
    for index, cells in left_out.items():
        states[index] = states[index].without(cells)
    if recipe.model.kind == "bi-encoder" and recipe.bi_encoder.drop_empty:
        full = [index for index, item in enumerate(states) if (item.labels > 0).any()]
        examples, states = [examples[index] for index in full], [states[index] for index in full]
    if not any((item.labels > 0).any() for item in states):
        lost = "; ".join(notes.lines()) or "they cover no word"
        raise InputError(f"none of the {corpus.entity_count:,} entities in the training files can be learned: {lost}")
    return TrainingSet([document.id for document in corpus], examples, states)


def _states(model: Model, corpus: Corpus, recipe: Recipe, examples: Sequence[Example], notes: Notes) -> list[States]:
    settings, is_bi, flat = recipe.model, recipe.model.kind == "bi-encoder", is_flat(corpus)
    certain = recipe.train.certain_negatives
    if isinstance(model, Tagger):
        return [
            tag_states_of(one, corpus[one.document], model.tagset, notes, certain_negatives=certain and flat)
            for one in examples
        ]
    knowledge = Knowledge(
        model.labels,
        0 if is_bi and recipe.bi_encoder.train_all else settings.max_width,
        flat,
        certain,
        several=settings.several or is_bi,  # it compares with each type on its own
    )
    return [states_of(one, corpus[one.document], knowledge, notes) for one in examples]


class Plan:
    """Which batches each step takes, and what is due behind it: a function of the recipe, with nothing to save."""

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

    def epochs_behind(self, step: int) -> float:
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
