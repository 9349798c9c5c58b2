"""Take annotations away on purpose, to measure methods on gaps of known size."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from typing import Literal

from goldgap.core.corpus import Corpus
from goldgap.core.document import Document, Entity
from goldgap.core.errors import InputError, require

By = Literal["mention", "surface", "type"]
Mode = Literal["bernoulli", "exact"]


def mask(corpus: Corpus, drop: float, *, by: By = "mention", mode: Mode = "bernoulli", seed: int = 0) -> Corpus:
    """The corpus with a share of its entities moved to `dropped`, no document complete any more.

    mode  bernoulli: each unit falls with probability `drop`; exact: the nearest whole number of units falls
    by    mention: each entity alone; surface: all mentions of a string and type together, as with a dictionary;
          type: all entities of a type together
    """
    require(corpus, Corpus, "a Corpus is masked", "Corpus.read(path) reads one from a file")
    if not 0 <= drop <= 1:
        raise InputError(f"--drop {drop} is not a share between 0 and 1; for 70 % write 0.7")
    corpus.require_own_ids("documents")
    unit = _UNITS[by]
    # Sorted, so that the draw depends on what is in the corpus and not on the order of documents.
    units = sorted({unit(document, entity) for document in corpus for entity in document.entities})
    generator = random.Random(f"mask/{seed}")
    if mode == "bernoulli":
        fallen = {name for name in units if generator.random() < drop}
    else:
        fallen = set(generator.sample(units, math.floor(drop * len(units) + 0.5)))
    return corpus.map(lambda document: _drop(document, lambda entity: unit(document, entity) in fallen))


def _drop(document: Document, falls: Callable[[Entity], bool]) -> Document:
    return document.replace(
        entities=tuple(entity for entity in document.entities if not falls(entity)),
        dropped=document.dropped + tuple(entity for entity in document.entities if falls(entity)),
        complete=False,
        unknown=(),
    )


def _mention(document: Document, entity: Entity) -> tuple[str | int, ...]:
    return document.id, *entity.key


def _surface(document: Document, entity: Entity) -> tuple[str | int, ...]:
    return entity.label, document.surface(entity)


def _type(document: Document, entity: Entity) -> tuple[str | int, ...]:
    return (entity.label,)


_UNITS: dict[By, Callable[[Document, Entity], tuple[str | int, ...]]] = {
    "mention": _mention,
    "surface": _surface,
    "type": _type,
}
