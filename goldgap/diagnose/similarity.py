"""Similarities of spans with the types of a bi-encoder, and what they have to pass (003 Figs. 2, 3)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from goldgap.core.corpus import Corpus
from goldgap.core.errors import InputError
from goldgap.corpus.words import words_of
from goldgap.diagnose.need import need
from goldgap.models.bi_encoder import BiEncoder
from goldgap.models.predict import scored
from goldgap.models.thresholds import gold_cells
from goldgap.recognizer import Recognizer
from goldgap.report.diagnosis import Diagnosis
from goldgap.report.svg import Series

BINS = 40


class Similarities(NamedTuple):
    """What was measured for one type.  (n,) each"""

    entities: Tensor
    others: Tensor
    thresholds: Tensor


def similarities(recognizer: Recognizer, corpus: Corpus) -> dict[str, Similarities]:
    """Similarities of all spans of a corpus with each type, and the thresholds of its texts."""
    need(any(map(words_of, corpus)), "documents with words")
    model = recognizer.model
    if not isinstance(model, BiEncoder):
        raise InputError(f"the method {recognizer.recipe.method} has no similarities with types; train binder")
    parts: list[list[Similarities]] = [[] for _ in model.labels]
    for batch, found in scored(model, corpus.documents):
        assert found.similarity is not None
        limits = found.similarity.span - found.logits[..., 1:]  # (batch, cell, type): the same for all cells of a text
        for row, example in enumerate(batch.examples):
            document = corpus[example.document]
            cells, gold = gold_cells(
                example, document, model.labels, found.valid.shape[1] // max(batch.first.shape[1], 1)
            )
            scores = found.similarity.span[row, : len(cells)][cells]  # (span, type)
            for kind, own in enumerate(parts):
                hit = gold[cells][:, kind]
                own.append(Similarities(scores[hit, kind], scores[~hit, kind], limits[row, :1, kind]))
    return {
        label: Similarities(*(torch.cat(column) for column in zip(*own, strict=True)))
        for label, own in zip(model.labels, parts, strict=True)
        if own
    }


def similarity_densities(found: dict[str, Similarities], label: str) -> Diagnosis:
    """All types as a table, and one as a picture."""
    rows, above = [], {}
    for name, own in found.items():
        middle = own.thresholds.mean()
        above[name] = float((own.entities > middle).float().mean()) if len(own.entities) else 0.0
        rows.append((name, *map(_spread, own), f"{100 * above[name]:.1f} %"))
    chosen = found[label]
    together = torch.cat(list(chosen))
    low, high = float(together.min()), float(together.max())
    series = [Series(name, _density(values, low, high)) for name, values in chosen._asdict().items() if len(values)]
    worst = min(above, key=lambda name: above[name])
    least = f"; of {worst} it is {100 * above[worst]:.1f} %" if worst != label else ", the least of all types"
    return Diagnosis(
        f"Similarities with the type {label}",
        f"{100 * above[label]:.1f} % of the entities of the type {label} are above its mean threshold{least}.",
        ("type", "entities", "other spans", "thresholds", "entities above"),
        rows,
        series,
        x="similarity, scaled",
        y="% of each kind",
    )


def _spread(values: Tensor) -> str:
    """The mean, and between what nine of ten lie."""
    if not len(values):
        return "none"
    ordered = values.sort().values
    low, high = (float(ordered[round(share * (len(ordered) - 1))]) for share in (0.05, 0.95))
    return f"{float(values.mean()):.1f} ({low:.1f} to {high:.1f})"


def _density(values: Tensor, low: float, high: float) -> Sequence[tuple[float, float]]:
    """The share of the values in each of some equal parts, by the middle of the part."""
    width = max(high - low, 1e-6) / BINS
    counts = torch.histc(values, BINS, low, low + width * BINS)
    return [(low + (at + 0.5) * width, 100 * float(count) / len(values)) for at, count in enumerate(counts)]
