"""By how much the best type of a span must be ahead of O for it to be an entity, chosen on the dev set.

Training meets entities and negatives in other shares than a text has them: annotations are missing, and few negatives
are drawn. A model is too shy or too bold then, and a number added to the score of O mends it.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from goldgap.core.document import Document
from goldgap.decode import decode
from goldgap.models.model import Model
from goldgap.models.predict import candidates

FURTHEST = 5.0
"""The largest lead that is chosen, of O or of a type."""
SLACK = 0.005
"""Of F1, by which the lead that is chosen may be below the best: it is the one nearest to none, since the best of a
small dev set is found by chance as well."""


def best_lead(model: Model, documents: Sequence[Document], how: str, **reading: Any) -> float:
    """The lead for these documents.

    how       the decoder; what `dp` chooses is taken to be what `greedy` does
    reading   what `candidates` is told
    """
    taken: list[tuple[float, bool]] = []
    for document, found in candidates(model, documents, lead=-FURTHEST, **reading):
        gold = {(entity.start, entity.end, entity.label) for entity in document.entities}
        for one in decode(found, "none" if how == "none" else "greedy"):
            label = model.labels.types[one.label - 1]
            taken.append((one.gain - FURTHEST, (one.start, one.end, label) in gold))
    return nearest_lead(taken, sum(len(document.entities) for document in documents))


def nearest_lead(taken: Sequence[tuple[float, bool]], wanted: int) -> float:
    """Of the leads with all but the best F1 the nearest to 0.

    taken    for each span how far its type is ahead of O, and whether it is right
    wanted   entities that there are
    """
    ranked = sorted(taken, key=lambda one: -one[0])
    options: list[tuple[float, float]] = []  # F1 and lead
    right = 0
    for count, ((gain, is_right), (lower, _)) in enumerate(pairwise([*ranked, (-FURTHEST, False)]), 1):
        right += is_right
        if lower < gain:  # of equal ones all are taken, or none
            options.append((2 * right / (count + wanted), 0.0 if lower <= 0 < gain else (gain + lower) / 2))
    best = max((f1 for f1, _ in options), default=0.0)
    good = [lead for f1, lead in options if f1 >= best - SLACK]
    return min(good, key=abs, default=0.0) if best else 0.0
