"""Kinds of errors, and the confusion table with missed and spurious entities.

Every gold and every predicted entity that is not correct is explained once, by its best partner on the other side that
no correct pair uses up: same range and other type; same type and other range; other type and other range; none.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from goldgap.evaluate.counts import Key, Pair, touching

MISSED = "(missed)"
SPURIOUS = "(spurious)"


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
            "type": self.type,
            "boundary": self.boundary,
            "type_and_boundary": self.type_and_boundary,
            "missed": self.missed,
            "spurious": self.spurious,
            "confusion": [{"gold": gold, "predicted": predicted, "count": n} for (gold, predicted), n in rows],
        }


def find_errors(pairs: Iterable[Pair]) -> Errors:
    """The errors of all documents together."""
    errors = Errors()
    for gold, predicted in pairs:
        for entity in gold & predicted:
            errors.confusion[entity[2], entity[2]] += 1
        if gold != predicted:
            _explain(gold - predicted, predicted - gold, errors)
    return errors


def _explain(missing: frozenset[Key], wrong: frozenset[Key], errors: Errors) -> None:
    """Pair what is missing with what is wrong, most alike first; what finds no partner is missed or spurious."""
    candidates = sorted(
        (_rank(g, p), -_common(g, p), g, p)
        for golds, predictions in touching(missing, wrong)
        for g in golds
        for p in predictions
        if _common(g, p) > 0
    )
    used: set[tuple[str, Key]] = set()
    for rank, _, gold, predicted in candidates:
        if ("gold", gold) in used or ("predicted", predicted) in used:
            continue
        used |= {("gold", gold), ("predicted", predicted)}
        errors.confusion[gold[2], predicted[2]] += 1
        if rank == 0:
            errors.type += 1
        elif rank == 1:
            errors.boundary += 1
        else:
            errors.type_and_boundary += 1
    for gold in missing:
        if ("gold", gold) not in used:
            errors.missed += 1
            errors.confusion[gold[2], MISSED] += 1
    for predicted in wrong:
        if ("predicted", predicted) not in used:
            errors.spurious += 1
            errors.confusion[SPURIOUS, predicted[2]] += 1


def _rank(gold: Key, predicted: Key) -> int:
    """0: same range; 1: same type; 2: neither."""
    return 0 if gold[:2] == predicted[:2] else 1 if gold[2] == predicted[2] else 2


def _common(gold: Key, predicted: Key) -> int:
    """Characters that both cover."""
    return min(gold[1], predicted[1]) - max(gold[0], predicted[0])
