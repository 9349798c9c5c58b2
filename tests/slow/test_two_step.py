"""The two-step method, from the exploratory training to the list of what was left out."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
import torch

from goldgap import Corpus, Document, Entity, Recognizer, Rejected
from goldgap.core.errors import ConfigError, InputError
from goldgap.core.labels import Labels
from goldgap.core.notes import Notes
from goldgap.decode import Candidate
from goldgap.diagnose.detection import (
    SHARES,
    Value,
    detection,
    explored,
    picked,
    scores_of_outside,
    with_and_without_angle,
)
from goldgap.distant.mask import mask
from goldgap.evaluate.scores import evaluate
from goldgap.models.model import Model
from goldgap.train import two_step
from goldgap.train.build import build
from goldgap.train.compose import recipe_for
from goldgap.train.data import NO_HINTS, Hints, prepare
from goldgap.train.doubts import doubtful, doubts, least
from goldgap.train.left_out import Suspicious
from goldgap.train.loop import train
from goldgap.train.recipe import Recipe, TwoStepSettings
from goldgap.train.two_step import exploratory
from tests.command import Run
from tests.slow.test_training import corpus, settings

pytestmark = pytest.mark.slow


def many() -> Corpus:
    """Every sentence several times; of one of them an annotation is missing."""
    documents = [document.replace(id=f"{part}-{document.id}") for part in range(4) for document in corpus(False)]
    first = documents[0]
    return Corpus([first.replace(entities=first.entities[1:], dropped=first.entities[:1]), *documents[1:]])


def recipe(encoder: Path, method: str = "two-step", **changes: Any) -> Recipe:
    return recipe_for(method, settings(encoder, epochs=12), changes)


@pytest.mark.parametrize("method", ["two-step", "span"])
def test_what_is_missing_is_left_out_and_listed(method: str, tiny_encoder: Path, tmp_path: Path) -> None:
    steps = {"explore": 12, "share": 0.03 if method == "two-step" else 0.01}
    model = Recognizer.train(many(), corpus(), recipe=recipe(tiny_encoder, method, two_step=steps))
    places = [(one["kind"], one["surface"], one["document"]) for one in model.left_out]
    assert ("annotated elsewhere", "Ann", "0-1") in places
    assert len(places) < 12
    found = evaluate(corpus(), Corpus(model.predict(corpus())), samples=0).strict.micro
    assert found.f1 > 0.9
    model.save(tmp_path / "model")
    lines = (tmp_path / "model" / "left_out.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line) for line in lines] == model.left_out
    assert set(model.left_out[0]) == set(Suspicious._fields)


def test_nothing_is_learned_from_what_is_left_out(tiny_encoder: Path) -> None:
    one = recipe(tiny_encoder)
    model, data = build(one, many()), many()
    whole, without = (prepare(model, data, one, Notes(), Hints(aside)) for aside in ({}, {0: [1, 2], 3: [0]}))
    assert whole.states[0].open_cells().tolist() == [0, 1, 2, 4]
    assert without.states[0].open_cells().tolist() == [0, 4]
    assert torch.equal(whole.states[0].labels, without.states[0].labels)
    assert whole.states[3].open_cells().tolist() == [1, 2]


def test_every_unknown_word_has_a_value(tiny_encoder: Path) -> None:
    one = recipe(tiny_encoder)
    model = build(one, many())
    data = prepare(model, many(), one, Notes())
    values = doubts(model, data, "o-value")
    assert [(one.example, one.cell) for one in values] == [
        (index, cell) for index, states in enumerate(data.states) for cell in states.open_cells().tolist()
    ]
    example = data.examples[5]
    with torch.no_grad():
        alone = model.eval()(model.batch([example])).logits[0, :, 0]
    own = {one.cell: one.value for one in values if one.example == 5}
    assert own == pytest.approx({cell: float(alone[cell]) for cell in own}, abs=1e-5)


def test_with_auto_those_below_the_margin_are_doubtful(tiny_encoder: Path) -> None:
    one = recipe(tiny_encoder, "span")
    model = build(one, many())
    data = prepare(model, many(), one, Notes())
    values = doubts(model, data, "o-margin")
    middle = sorted(value.value for value in values if value.value > 0)[1]
    assert doubts(model, data, "o-margin", middle) == [one for one in values if one.value < middle]
    for margin in (middle, 1e9):
        found = doubtful(model, data, TwoStepSettings(explore=1, share="auto", margin=margin))
        assert found == (least([one for one in values if one.value < margin], None), len(values))
    few, cells = doubtful(model, data, TwoStepSettings(explore=1, share=0.1, statistic="o-margin"))
    assert (few, cells) == (least(values, 0.1), len(values))


def test_values_of_spans_are_those_of_their_cells_whatever_the_padding(tiny_encoder: Path) -> None:
    one = recipe(tiny_encoder, "span")
    model = build(one, many())
    data = prepare(model, many(), one, Notes())
    values = {(one.example, one.cell): one.value for one in doubts(model, data, "o-margin")}
    for index in (0, 1):
        with torch.no_grad():
            alone = model.eval()(model.batch([data.examples[index]])).logits[0]
        for cell in data.states[index].open_cells().tolist():
            expected = float(alone[cell, 0] - alone[cell, 1:].max())
            assert values[index, cell] == pytest.approx(expected, abs=1e-5)


def test_masked_annotations_are_found_by_an_exploratory_training(tiny_encoder: Path) -> None:
    masked = mask(Corpus([d.replace(id=f"{part}-{d.id}") for part in range(8) for d in corpus(False)]), 0.3, seed=0)
    runs = with_and_without_angle(recipe(tiny_encoder), masked, 6)
    assert set(runs) == {"by angle", "plain"}
    last = picked(runs["by angle"][-1])
    chance = sum(one.masked for one in runs["by angle"][-1]) / len(runs["by angle"][-1])
    assert last[0][1] > 2 * chance
    assert len(runs["plain"]) == 6
    curves = scores_of_outside(runs)
    assert len(curves.rows) == 12
    assert len(curves.series) == 4
    shown = detection(runs)
    assert len(shown.rows) == 2 * len(SHARES)
    with pytest.raises(InputError, match="goldgap mask"):
        explored(recipe(tiny_encoder), corpus(), 1)


def test_precision_and_recall_of_what_is_picked() -> None:
    values = [Value(float(number), number in (0, 1, 3, 60)) for number in range(100)]
    rows = {share: (precision, recall) for share, precision, recall in picked(values)}
    assert rows[0.01] == (1.0, 0.25)
    assert rows[0.05] == (3 / 5, 0.75)
    assert rows[0.2] == (3 / 20, 0.75)


def test_both_are_drawn_by_a_command(run: Run, tiny_encoder: Path) -> None:
    mask(many(), 0.3, seed=0).write("masked.jsonl")
    small = ("--set", f"encoder.name={tiny_encoder}", "--set", "train.head_rate=0.005")
    for what in ("doubts", "detection"):
        done = run("diagnose", what, "masked.jsonl", *small, "--epochs", "2", "-o", f"{what}.svg")
        assert (done.status, done.err) == (0, "")
        assert Path(f"{what}.svg").read_text(encoding="utf-8").startswith("<svg")
    refused = run("diagnose", "doubts", "masked.jsonl", "--method", "span")
    assert (refused.status, "expected a tagger" in refused.err) == (2, True)


def test_a_first_step_of_another_run_is_not_gone_on_from(tiny_encoder: Path, tmp_path: Path) -> None:
    class Enough(Exception):  # noqa: N818
        """The second training has begun."""

    def stop(seen: Any) -> None:
        if seen.metrics is not None:
            raise Enough

    work = tmp_path / "work"
    work.mkdir()
    with pytest.raises(Enough):
        Recognizer.train(many(), corpus(), recipe=recipe(tiny_encoder), work=work, observe=stop)
    assert (work / "left_out").is_dir()
    assert not (work / "explore").exists()
    with pytest.raises(ConfigError, match=r"two_step\.share"):
        Recognizer.train(many(), corpus(), recipe=recipe(tiny_encoder, two_step={"share": 0.2}), work=work)


@pytest.mark.parametrize("more", [False, True])
def test_what_cannot_be_trained_on_is_told_once_and_nothing_is_swallowed(more: bool, tiny_encoder: Path) -> None:
    inside = Document("Annapolis", (Entity(0, 4, "PER"),), id="cut")
    dev = Corpus([*corpus(), Document("Ann", (Entity(0, 3, "NEVER"),), id="new")]) if more else corpus()
    told: list[list[str]] = []

    def observe(seen: Any) -> None:
        if seen.notes is not None:
            told.append(seen.notes.lines())

    one = recipe(tiny_encoder, train={"epochs": 1})
    Recognizer.train(Corpus([*many(), inside]), dev, recipe=one, observe=observe)
    assert len(told) == 1 + more
    assert all(any("inside a word" in line for line in lines) for lines in told)
    assert any("NEVER" in line for lines in told for line in lines) is more


@pytest.mark.parametrize("method", ["span", "two-step"])
def test_where_nothing_is_unknown_there_is_one_step(method: str, tiny_encoder: Path, given: list[Hints]) -> None:
    known = many().map(lambda document: document.replace(complete=True))
    model = Recognizer.train(known, corpus(), recipe=recipe(tiny_encoder, method, two_step={"explore": 2}))
    assert (given, model.left_out) == ([NO_HINTS], [])
    one = known[0].replace(complete=frozenset({"LOC"}))
    Recognizer.train(
        Corpus([one, *known.documents[1:]]), corpus(), recipe=recipe(tiny_encoder, two_step={"explore": 2})
    )
    assert len(given) == 3


def test_a_first_step_of_another_method_finds_what_it_calls_entities(tiny_encoder: Path) -> None:
    steps = {"explore": 12, "share": "auto", "method": "uniform"}
    given = recipe(tiny_encoder, "span", two_step=steps)
    first = exploratory(given)
    assert (first.policy.name, first.loss.name, first.train.known_weight) == ("uniform", "cross-entropy", 0.2)
    assert (first.train.epochs, first.two_step.explore, first.encoder) == (12, 0, given.encoder)
    assert (given.policy.name, given.train.known_weight) == ("all", 1.0)
    model = Recognizer.train(many(), corpus(), recipe=given)
    assert ("annotated elsewhere", "Ann", "0-1") in [(o["kind"], o["surface"], o["document"]) for o in model.left_out]
    assert all(one["value"] < 0 for one in model.left_out)
    wide = Recognizer.train(many(), corpus(), recipe=recipe(tiny_encoder, "span", two_step=steps | {"margin": 9.0}))
    assert len(wide.left_out) > len(model.left_out)
    assert all(one["value"] < 9 for one in wide.left_out)
    assert all(one["added"] is None for one in model.left_out)


def test_a_first_step_has_the_rates_of_its_method_the_cells_of_this_one_and_no_more_epochs() -> None:
    first = exploratory(recipe_for("uniform", {"two_step": {"explore": 1, "method": "span"}}))
    assert (first.policy.name, first.train.known_weight) == ("all", 1.0)
    short = exploratory(recipe_for("uniform", {"two_step": {"explore": 3}, "train": {"epochs": 2}}))
    assert short.train.epochs == 2
    own = {"train": {"overlap": 12, "certain_negatives": True}}
    steps = {"two_step": {"explore": 1, "method": "binder-paper"}}
    paper = exploratory(recipe_for("binder", steps, own))
    assert (paper.train.overlap, paper.train.certain_negatives, paper.train.encoder_rate) == (12, True, 3e-5)
    asked = exploratory(recipe_for("binder", steps, {"train": {"encoder_rate": 7e-5}}))
    assert (asked.train.encoder_rate, asked.train.head_rate) == (7e-5, 3e-5)


def test_a_type_that_the_dev_set_alone_has_can_be_described(tiny_encoder: Path) -> None:
    dev = Corpus([Document("Bob met Acme", (Entity(0, 3, "SHIP"),), id="ship")])
    types = {"SHIP": {"description": "ships"}}
    given = recipe(tiny_encoder, "binder", train={"epochs": 1}, two_step={"explore": 1}, types=types)
    assert "SHIP" not in Recognizer.train(many(), dev, recipe=given).labels
    wrong = recipe(tiny_encoder, "binder", two_step={"explore": 1}, types={"BOAT": {"description": "boats"}})
    with pytest.raises(ConfigError, match="BOAT"):
        Recognizer.train(many(), dev, recipe=wrong, observe=lambda _: pytest.fail("it was trained"))


def test_in_nested_corpora_one_mention_of_a_type_is_added_once_and_inner_ones_are(
    monkeypatch: pytest.MonkeyPatch, tiny_encoder: Path
) -> None:
    text = "Ann of Paris met Oslo Inc"
    nested = Document(text, (Entity(17, 25, "ORG"),), id="0")
    other = Document("a b", (Entity(0, 1, "ORG"), Entity(0, 3, "LOC")), id="1")
    labels = Labels(("LOC", "ORG"))
    items = [
        Candidate(0, 6, 2, 0.8, 0.0), Candidate(0, 12, 2, 0.9, 0.0), Candidate(7, 12, 1, 0.95, 0.0),
        Candidate(17, 21, 1, 0.99, 0.0), Candidate(22, 25, 2, 0.9, 0.0), Candidate(13, 16, 1, 0.6, 0.0),
    ]  # fmt: skip
    monkeypatch.setattr(two_step, "candidates", lambda *_, **__: [(nested, items), (other, [])])
    model = cast(Model, SimpleNamespace(labels=labels))
    found = two_step._sure(model, recipe(tiny_encoder, "span"), Corpus([nested, other]), 0.5)
    assert {(one.start, one.end, one.label) for one in found} == {
        (0, 12, "ORG"), (7, 12, "LOC"), (17, 21, "LOC"), (13, 16, "LOC"),
    }  # fmt: skip
    strict = recipe(tiny_encoder, "span", decode={"min_prob": 0.92})
    found = two_step._sure(model, strict, Corpus([nested, other]), 0.5)
    assert {(one.start, one.end) for one in found} == {(7, 12), (17, 21)}
    tagger = recipe(tiny_encoder, "crf")  # which can be taught one entity a word
    found = two_step._sure(model, tagger, Corpus([nested, other]), 0.5)
    assert {(one.start, one.end) for one in found} == {(0, 6), (7, 12), (13, 16)}


@pytest.fixture
def given(monkeypatch: pytest.MonkeyPatch) -> list[Hints]:
    """The hints of every training, in order."""
    seen: list[Hints] = []

    def spy(*arguments: Any, hints: Hints = NO_HINTS, **options: Any) -> Any:
        seen.append(hints)
        return train(*arguments, hints=hints, **options)

    monkeypatch.setattr(two_step, "train", spy)
    return seen


def sure(encoder: Path, method: str) -> Recipe:
    steps = {"explore": 12, "share": "auto", "method": "uniform" if method == "span" else "", "sure": 0.5}
    return recipe(encoder, method, two_step=steps)


@pytest.mark.parametrize("method", ["span", "two-step"])
def test_what_the_first_step_is_sure_of_is_trained_on_as_an_entity(
    method: str, tiny_encoder: Path, given: list[Hints]
) -> None:
    model = Recognizer.train(many(), corpus(), recipe=sure(tiny_encoder, method))
    exploring, learning = given
    assert exploring is NO_HINTS
    (ann,) = learning.added[0]
    assert (ann.start, ann.end, ann.label, ann.source) == (0, 3, "PER", "exploratory model")
    assert [one["added"] for one in model.left_out if one["surface"] == "Ann"][:1] == ["PER"]
    for number, entities in learning.added.items():
        for one in entities:
            assert not any(e.start < one.end and one.start < e.end for e in many()[number].entities)


@pytest.mark.parametrize("method", ["span", "two-step"])
@pytest.mark.parametrize("known", [{"complete": True}, {"rejected": (Rejected(0, 3),)}])
def test_what_is_known_not_to_be_an_entity_is_never_added(
    known: dict[str, Any], method: str, tiny_encoder: Path, given: list[Hints]
) -> None:
    first, *others = many()
    Recognizer.train(Corpus([first.replace(**known), *others]), corpus(), recipe=sure(tiny_encoder, method))
    assert not any(one.start == 0 for one in given[1].added.get(0, ()))


@pytest.mark.parametrize(
    ("method", "settings", "problem"),
    [
        ("binder", {}, "loss = contrastive: only a bi-encoder"),
        ("crf", {}, "loss = crf: only a tagger"),
        ("nrces", {"model": {"head": "pair", "max_width": 0}}, "the policy fraction numbers the spans"),
    ],
)
def test_a_first_step_that_cannot_be_is_refused_before_it_begins(
    method: str, settings: dict[str, Any], problem: str, tiny_encoder: Path
) -> None:
    wrong = recipe(tiny_encoder, "span", two_step={"explore": 1, "method": method}, **settings)
    with pytest.raises(ConfigError, match=problem) as caught:
        Recognizer.train(many(), corpus(), recipe=wrong, observe=lambda _: pytest.fail("it was trained"))
    assert f"two_step.method = {method}: " in str(caught.value)


def test_added_entities_are_learned_from_beside_the_annotated_ones(tiny_encoder: Path) -> None:
    plain = recipe(tiny_encoder, "span")
    added = {0: [Entity(0, 3, "PER", source="exploratory model")]}
    whole = train(plain, Corpus([d.replace(entities=d.entities + d.dropped, dropped=()) for d in many()]), corpus())
    with_added = train(plain, many(), corpus(), hints=Hints(added=added))
    without = train(plain, many(), corpus())
    assert with_added.facts == without.facts  # of what people annotated
    assert with_added.metrics[0]["loss"] != without.metrics[0]["loss"]
    assert with_added.metrics[0]["loss"] == pytest.approx(whole.metrics[0]["loss"], rel=1e-5)
