"""The lead of types over O: what it does to predictions, and how it is chosen on the dev set."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from goldgap import Corpus, Document, Entity, Recognizer
from goldgap.core.notes import Notes
from goldgap.models.lead import FURTHEST, SLACK, best_lead, nearest_lead
from goldgap.models.model import Model
from goldgap.models.predict import candidates, predict
from goldgap.models.span_model import SpanModel
from goldgap.train.build import build
from goldgap.train.compose import recipe_for
from goldgap.train.resolve import resolved
from goldgap.train.select import score
from goldgap.train.split import split

SENTENCES = ["Ann met Bob in Oslo", "Bob works at Acme", "Paris was at the Acme of Ann", "Ann and Bob and Oslo"]
TYPES = {"Ann": "PER", "Bob": "PER", "Oslo": "LOC", "Paris": "LOC", "Acme": "ORG"}
SMALL = {"model": {"hidden": 16, "width_size": 8}, "train": {"epochs": 2, "batch_size": 2, "head_rate": 0.02}}


def corpus() -> Corpus:
    documents = []
    for text in SENTENCES * 2:
        spans = ((text.index(word), word, label) for word, label in TYPES.items() if word in text)
        entities = (Entity(start, start + len(word), label) for start, word, label in spans)
        documents.append(Document(text, tuple(sorted(entities, key=lambda entity: entity.start))))
    return Corpus(documents)


def f1_at(lead: float, taken: list[tuple[float, bool]], wanted: int) -> float:
    passed = [right for gain, right in taken if gain > lead]
    return 2 * sum(passed) / max(len(passed) + wanted, 1)


@torch.no_grad()
def make_o_likelier(model: Model, by: float) -> None:
    assert isinstance(model, SpanModel)
    [*_, last] = (module for module in model.head.modules() if isinstance(module, torch.nn.Linear))
    last.bias[0] += by


gains = st.integers(-18, 24).map(lambda number: number / 4)


@hypothesis_settings(derandomize=True, deadline=None, max_examples=200)
@given(st.lists(st.tuples(gains, st.booleans()), max_size=12), st.integers(0, 3))
def test_the_lead_is_the_nearest_to_none_that_is_as_good_as_any(taken: list[tuple[float, bool]], missed: int) -> None:
    taken = [(gain, right) for gain, right in taken if gain > -FURTHEST]
    wanted = sum(right for _, right in taken) + missed
    lead = nearest_lead(taken, wanted)
    every = [number / 8 + 1 / 16 for number in range(-40, 60)]  # between all of the gains
    best = max(f1_at(each, taken, wanted) for each in every)
    assert f1_at(lead, taken, wanted) >= best - SLACK
    level = f1_at(lead, taken, wanted)
    nearer = [each for each in every if abs(each) < abs(lead) and f1_at(each, taken, wanted) != level]
    assert all(f1_at(each, taken, wanted) < best - SLACK for each in nearer)
    if f1_at(0.0, taken, wanted) >= best - SLACK:
        assert lead == 0


def test_a_lead_is_what_the_score_of_o_has_more(tiny_encoder: Path) -> None:
    recipe = recipe_for("span", SMALL, {"encoder": {"name": str(tiny_encoder)}})
    model = build(recipe, corpus()).eval()
    plain = list(predict(model, corpus(), how="none", lead=-2.0))
    fewer = list(predict(model, corpus(), how="none"))
    make_o_likelier(model, -2.0)
    shifted = list(predict(model, corpus(), how="none"))
    assert sum(len(document.entities) for document in plain) > sum(len(document.entities) for document in fewer)
    for one, other in zip(plain, shifted, strict=True):
        assert [(e.start, e.end, e.label) for e in one.entities] == [(e.start, e.end, e.label) for e in other.entities]
        assert [e.score for e in one.entities] == pytest.approx([e.score for e in other.entities], abs=1e-5)


@pytest.mark.parametrize("method", ["span", "binder"])
def test_the_chosen_lead_goes_with_the_model(method: str, tiny_encoder: Path, tmp_path: Path) -> None:
    recipe = recipe_for(method, SMALL, {"encoder": {"name": str(tiny_encoder)}, "decode": {"lead": "dev"}})
    recognizer = Recognizer.train(corpus(), corpus(), recipe=recipe)
    chosen = next(entry for entry in recognizer.metrics if entry["step"] == recognizer.best_step)
    assert recognizer.model.lead is not None
    assert float(recognizer.model.lead) == pytest.approx(chosen["lead"], abs=1e-4)
    recognizer.save(tmp_path / "model")
    again = Recognizer.load(tmp_path / "model")
    assert list(again.predict(corpus())) == list(recognizer.predict(corpus()))
    by_number = recognizer.with_decoding(lead=float(recognizer.model.lead))
    assert list(by_number.predict(corpus())) == list(recognizer.predict(corpus()))


def test_a_model_that_is_too_shy_is_led_to_what_it_knows(tiny_encoder: Path) -> None:
    """Of a trained model whose O is then made far too likely, nearly every entity is found again."""
    recipe = recipe_for(
        "span", SMALL, {"encoder": {"name": str(tiny_encoder)}, "train": {"epochs": 30, "encoder_rate": 5e-3}}
    )
    model = Recognizer.train(corpus(), corpus(), recipe=recipe).model
    decode = recipe.decode.model_copy(update={"how": "greedy", "lead": "dev"})
    decoding = recipe.model_copy(update={"decode": decode})
    model.lead = torch.zeros(())
    before = score(model, decoding, corpus())["f1"]
    assert before > 0.8
    gains = sorted(one.gain for _, found in candidates(model, corpus()) for one in found)
    make_o_likelier(model, gains[len(gains) // 2])
    assert score(model, decoding, corpus())["f1"] < before - 0.1
    model.lead.fill_(best_lead(model, corpus().documents, "greedy"))
    assert float(model.lead) < 0
    assert score(model, decoding, corpus())["f1"] > before - 0.05


@pytest.mark.parametrize(
    ("select_on", "has_dev", "expected"),
    [
        (None, True, "dev"),
        ("clean dev", True, "dev"),
        (None, False, 0.0),
        ("distant dev", True, 0.0),
        ("none", True, 0.0),
    ],
)
def test_it_is_chosen_on_a_clean_dev_set_alone(
    select_on: str | None, has_dev: bool, expected: object, tiny_encoder: Path
) -> None:
    layers = {"encoder": {"name": str(tiny_encoder)}, "decode": {"lead": "dev"}}
    recipe = recipe_for("span", layers, {} if select_on is None else {"select_on": select_on})
    parts = split(recipe, corpus(), corpus() if has_dev else None, Notes())
    assert resolved(recipe, parts).decode.lead == expected


def test_nothing_is_led_where_nothing_is_right() -> None:
    assert nearest_lead([], 3) == 0
    assert nearest_lead([(1.0, False), (-2.0, False)], 3) == 0
