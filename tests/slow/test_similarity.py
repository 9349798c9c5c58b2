"""Similarities with types, as the thresholds of a bi-encoder see them."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from goldgap import Recognizer
from goldgap.core.errors import InputError
from goldgap.diagnose.similarity import similarities, similarity_densities
from tests.slow.test_training import corpus, settings, settings_of

pytestmark = pytest.mark.slow


def test_entities_and_other_spans_are_told_apart_by_type(tiny_encoder: Path) -> None:
    model = Recognizer.train(corpus(), corpus(), method="binder", **settings_of("binder", tiny_encoder, head_rate=1e-2))
    found = similarities(model, corpus())
    counts = {label: sum(e.label == label for d in corpus() for e in d.entities) for label in ("LOC", "ORG", "PER")}
    assert {label: len(own.entities) for label, own in found.items()} == counts
    assert all(len(own.thresholds) == 8 for own in found.values())
    spans = {len(own.entities) + len(own.others) for own in found.values()}
    assert len(spans) == 1  # each span is one or the other for every type
    for own in found.values():
        assert own.entities.mean() > own.others.mean()
    shown = similarity_densities(found, "PER")
    assert [row[0] for row in shown.rows] == ["LOC", "ORG", "PER"]
    for series in shown.series:
        assert sum(value for _, value in series.points) == pytest.approx(100)
    with torch.no_grad():
        model.model.temperature.fill_(float("-inf"))  # type: ignore[operator]  # all similarities are 0
    assert float(similarities(model, corpus())["PER"].entities.abs().max()) == 0


def test_a_model_without_types_has_no_similarities(tiny_encoder: Path) -> None:
    model = Recognizer.train(corpus(), corpus(), method="span", **settings(tiny_encoder, epochs=1))
    with pytest.raises(InputError, match="train binder"):
        similarities(model, corpus())
