"""Document and Entity: what is annotated, what is known, what is not."""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from goldgap.core.errors import DocumentError

_OFFSETS = "expected offsets of the type int; int() makes one of a number of another library"
_SURROGATE = re.compile("[\ud800-\udfff]")

Range = tuple[int, int]
"""A half-open range of code points, or of words."""
DICTIONARY, MODEL, EXPLORATORY = "dictionary", "model", "exploratory model"
"""Sources of entities that no person has looked at."""


@dataclass(frozen=True, slots=True)
class Entity:
    """A labelled range of a document's text; `source` says who made it (DICTIONARY, a reviewer, None: a person)."""

    start: int
    end: int
    label: str
    score: float | None = None
    source: str | None = None

    @property
    def key(self) -> tuple[int, int, str]:
        return self.start, self.end, self.label

    @property
    def by_people(self) -> bool:
        """Whether a person made it, who saw where it ends."""
        return self.source not in (DICTIONARY, MODEL, EXPLORATORY)

    def __repr__(self) -> str:
        extra = "" if self.score is None else f", score={self.score:.4g}"
        extra += "" if self.source is None else f", source={self.source!r}"
        return f"Entity({self.start}, {self.end}, {self.label!r}{extra})"


@dataclass(frozen=True, slots=True)
class Rejected:
    """A range that a reviewer said is not an entity: of this label, or of any label when it is None."""

    start: int
    end: int
    label: str | None = None


@dataclass(frozen=True, slots=True)
class Document:
    """A text with its annotations and with what is known about the rest of it.

    complete   every entity of these types (True: of all types) is annotated; what is left is not an entity
    unknown    ranges excepted from `complete`: a span made only of unknown and annotated words is still unknown
    rejected   spans known not to be entities although the document is not complete
    tokens     the words, where the corpus has them; None for raw text
    dropped    true entities taken out by `mask`; experiments count them, training never sees them
    """

    text: str
    entities: tuple[Entity, ...] = ()
    id: str = ""
    tokens: tuple[Range, ...] | None = None
    complete: bool | frozenset[str] = False
    rejected: tuple[Rejected, ...] = ()
    unknown: tuple[Range, ...] = ()
    dropped: tuple[Entity, ...] = ()

    def __post_init__(self) -> None:
        for name in ("entities", "tokens", "rejected", "unknown", "dropped"):
            value = getattr(self, name)
            if type(value) is not tuple and (value is not None or name != "tokens"):
                object.__setattr__(self, name, _as_tuple(name, value))
        for problem in _problems(self):
            raise DocumentError(problem)

    def surface(self, entity: Entity | Rejected) -> str:
        """The text of an entity."""
        return self.text[entity.start : entity.end]

    @property
    def words(self) -> list[str]:
        """The surface of every token; empty for raw text."""
        return [self.text[start:end] for start, end in self.tokens or ()]

    def is_complete(self, label: str) -> bool:
        return self.complete if isinstance(self.complete, bool) else label in self.complete

    def replace(self, **changes: object) -> Document:
        """The same document with other values of some fields; with `id=""` its next corpus numbers it."""
        return dataclasses.replace(self, **changes)  # type: ignore[arg-type]


def label_problem(label: object) -> str | None:
    """What is wrong with a type name, or None."""
    return _label_problem(label) if isinstance(label, str) else f"label {label!r} is not a string"


@lru_cache(maxsize=4096)
def _label_problem(label: str) -> str | None:
    if not label or label != label.strip():
        return f"label {label!r} is empty or has white space around it"
    if not label.isprintable():
        return f"label {label!r} has a control character"
    return None


def _as_tuple(name: str, value: object) -> tuple[object, ...]:
    """A list, also of lists, as what can be hashed and is equal to what others made as tuples."""
    if not isinstance(value, Iterable):
        raise DocumentError(f"{name} is {value!r:.60}, expected a tuple or list")
    return tuple(tuple(item) if isinstance(item, list) else item for item in value)


def _problems(document: Document) -> Iterator[str]:
    """What contradicts the invariants, in words; the first is enough to refuse the document."""
    for name, text in (("text", document.text), ("id", document.id)):
        if not isinstance(text, str):
            yield f"the {name} is {text!r:.60}, expected a string"
        if not text.isascii() and (surrogate := _SURROGATE.search(text)):
            yield f"the {name} has a lone surrogate at character {surrogate.start()}: not valid Unicode"
    length = len(document.text)
    for kind, items in (("entity", document.entities), ("dropped entity", document.dropped)):
        for entity in items:
            if not isinstance(entity, Entity):
                yield f"{kind} {entity!r:.60} is not an Entity"
            elif type(entity.start) is not int or type(entity.end) is not int:
                yield f"{kind} {entity!r}: {_OFFSETS}"
            elif entity.score is not None and not isinstance(entity.score, float | int):
                yield f"{kind} {entity.key}: the score is {entity.score!r:.60}, expected a float"
            elif problem := _range_problem(entity.start, entity.end, length) or label_problem(entity.label):
                yield f"{kind} {entity!r}: {problem}"
            elif entity.score is not None and not math.isfinite(entity.score):
                yield f"{kind} {entity!r}: the score is not a finite number"
    if not isinstance(document.complete, bool | frozenset):
        yield f"complete is {document.complete!r}, expected True, False or a frozenset of types"
    for label in () if isinstance(document.complete, bool) else document.complete:
        if problem := label_problem(label):
            yield f"complete: {problem}"
    for rejected in document.rejected:
        if not isinstance(rejected, Rejected):
            yield f"rejected span {rejected!r:.60} is not a Rejected"
        if type(rejected.start) is not int or type(rejected.end) is not int:
            yield f"{rejected!r}: {_OFFSETS}"
        problem = _range_problem(rejected.start, rejected.end, length)
        if problem or (rejected.label is not None and (problem := label_problem(rejected.label))):
            yield f"{rejected!r}: {problem}"
    for name, ranges in (("token", document.tokens or ()), ("unknown range", document.unknown)):
        last = 0
        for item in ranges:
            if type(item) is not tuple or len(item) != 2:
                yield f"{name} {item!r:.60} is not a pair of offsets (start, end)"
            start, end = item
            if type(start) is not int or type(end) is not int:
                yield f"{name} {item!r}: {_OFFSETS}"
            if not last <= start < end <= length:
                problem = _range_problem(start, end, length)
                told = f": {problem}" if problem else f" begins before the end of the one before it, {last}"
                yield f"{name} {item}{told}"
            last = end


def _range_problem(start: int, end: int, length: int) -> str | None:
    if 0 <= start < end <= length:
        return None
    if start == end:
        return "it is empty: start equals end, expected a range of at least one character"
    if start > end:
        return f"start {start} lies behind end {end}; offsets are half-open ranges of characters"
    return f"it lies outside the text of {length} characters"
