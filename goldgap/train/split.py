"""Which documents a run trains on and which it selects on, and what a result says of them."""

from __future__ import annotations

import hashlib
import json
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from goldgap.core.corpus import Corpus
from goldgap.core.document import Document
from goldgap.core.errors import InputError
from goldgap.core.notes import Notes
from goldgap.corpus.jsonl import to_json
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
    if dev is not None and dev.entity_count == 0 and select_on != "none":
        raise InputError(
            "no entity in the dev set: nothing can be chosen by it; give annotated documents with --dev, or keep the "
            "last epoch with --set select_on=none"
        )
    if dev is None and select_on == "distant dev":
        corpus, dev = hold_out(corpus, recipe.seed)
    labels = corpus.labels
    of_dev = Counter(e.label for document in dev or () for e in document.entities)
    if select_on != "none" and of_dev and not recipe.types and not of_dev.keys() & set(labels):
        raise InputError(
            f"the dev set has none of the training types {', '.join(labels)}, but {', '.join(sorted(of_dev))}: "
            "nothing can be chosen by it; are types written alike in both?"
        )
    for label, count in sorted(of_dev.items()):
        if label not in labels:
            notes.change(
                f"dev entity of the type {label}, which no training document has (can never be found)", count=count
            )
    return Split(corpus, dev, select_on)


def held_out(documents: int) -> int:
    """How many documents are held out of so many."""
    return max(1, documents // HELD_OUT)


def hold_out(corpus: Corpus, seed: int) -> tuple[Corpus, Corpus]:
    """A tenth of the documents as a dev set, at least one; some entity stays on either side."""
    order = list(range(len(corpus)))
    random.Random(f"held out/{seed}").shuffle(order)
    count = held_out(len(corpus))
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


def facts_of(parts: Split) -> dict[str, str]:
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
