"""Kinds of errors, and the confusion table with missed and spurious entities.

Every gold and every predicted entity that is not correct is explained once, by its best partner on the other side that
no correct pair uses up: same range and other type; same type and other range; other type and other range; none.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from goldgap.evaluate.counts import Key, Pair, touching

MISSED = "(missed)"
SPURIOUS = "(spurious)"

Kind = Literal["type", "boundary", "type_and_boundary", "missed", "spurious"]
KINDS: dict[Kind, str] = {
    "type": "right range, wrong type",
    "boundary": "right type, wrong range",
    "type_and_boundary": "overlap, both wrong",
    "missed": "missed",
    "spurious": "spurious",
}
"""Each kind of error in words."""
_BY_RANK: tuple[Kind, ...] = ("type", "boundary", "type_and_boundary")


class Mistake(NamedTuple):
    """A wrong pair, or one entity without partner: a spurious one has no gold, a missed one no prediction."""

    kind: Kind
    gold: Key | None
    predicted: Key | None


@dataclass(slots=True)
class Errors:
    """Pairs of wrong entities by kind, entities without partner, and the confusion of types.

    confusion   (gold type or SPURIOUS, predicted type or MISSED) -> how often; correct entities on the diagonal
    """

    type: int = 0
    boundary: int = 0
    type_and_boundary: int = 0
    missed: int = 0
    spurious: int = 0
    confusion: Counter[tuple[str, str]] = field(default_factory=Counter)

    def to_json(self) -> dict[str, Any]:
        rows = sorted(self.confusion.items())
        return {
            **{kind: getattr(self, kind) for kind in KINDS},
            "confusion": [{"gold": gold, "predicted": predicted, "count": n} for (gold, predicted), n in rows],
        }


def find_errors(pairs: Iterable[Pair]) -> Errors:
    """The errors of all documents together."""
    errors = Errors()
    for pair in pairs:
        for entity in pair.gold & pair.predicted:
            errors.confusion[entity[2], entity[2]] += 1
        for kind, gold, predicted in mistakes(pair):
            setattr(errors, kind, getattr(errors, kind) + 1)
            errors.confusion[gold[2] if gold else SPURIOUS, predicted[2] if predicted else MISSED] += 1
    return errors


def mistakes(pair: Pair) -> list[Mistake]:
    """What is wrong in one document: the pairs, most alike first, then what is missed, then what is spurious."""
    if pair.gold == pair.predicted:
        return []
    missing, wrong = pair.gold - pair.predicted, pair.predicted - pair.gold
    candidates = sorted(
        (_rank(g, p), -_common(g, p), g, p)
        for golds, predictions in touching(missing, wrong)
        for g in golds
        for p in predictions
        if _common(g, p) > 0
    )
    found: list[Mistake] = []
    explained: set[Key] = set()
    used: set[Key] = set()
    for rank, _, gold, predicted in candidates:
        if gold not in explained and predicted not in used:
            explained.add(gold)
            used.add(predicted)
            found.append(Mistake(_BY_RANK[rank], gold, predicted))
    found += [Mistake("missed", gold, None) for gold in sorted(missing - explained)]
    return found + [Mistake("spurious", None, predicted) for predicted in sorted(wrong - used)]


def _rank(gold: Key, predicted: Key) -> int:
    """0: same range; 1: same type; 2: neither."""
    return 0 if gold[:2] == predicted[:2] else 1 if gold[2] == predicted[2] else 2


def _common(gold: Key, predicted: Key) -> int:
    """Characters that both cover."""
    return min(gold[1], predicted[1]) - max(gold[0], predicted[0])
