"""What a person sees of a training run, in a terminal and in a log file."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from goldgap import Corpus, Document, Entity
from goldgap.cli import watch
from goldgap.core.progress import Progress
from goldgap.train.checks import cautions_about
from goldgap.train.compose import recipe_for
from goldgap.train.loop import Seen
from goldgap.train.step import Taken

CORPUS = Corpus([Document("Ann met Bob .", (Entity(0, 3, "PER"),))])
METRICS = {"step": 2, "epoch": 1.0, "loss": 1.5, "precision": 0.5, "recall": 0.25, "f1": 1 / 3}


def shown(monkeypatch: pytest.MonkeyPatch, *, terminal: bool, metrics: dict[str, float]) -> str:
    """What two steps and an evaluation print, 80 columns wide."""
    out = Console(file=io.StringIO(), force_terminal=terminal, width=80, highlight=False, markup=False, no_color=True)
    monkeypatch.setattr(watch, "out", out)
    with watch.watching(recipe_for("uniform"), CORPUS, None) as observe:
        for step in range(2):
            observe(Seen(Progress(0, 1, step, 2), Taken(2.0 - step, 40, 5, 0, 0.0, 1)))
        observe(Seen(Progress(0, 1, 1, 2), None, metrics))
    assert isinstance(out.file, io.StringIO)
    return out.file.getvalue()


@pytest.mark.parametrize("terminal", [True, False])
def test_the_run_and_each_evaluation_are_shown(monkeypatch: pytest.MonkeyPatch, terminal: bool) -> None:
    printed = shown(monkeypatch, terminal=terminal, metrics=METRICS)
    assert "uniform on minilm\n1 document, 1 entity of 1 type; 1 document held out as a dev set" in printed
    assert "50.00      25.00      33.33" in printed


def test_a_terminal_gets_a_bar_with_loss_speed_and_score(monkeypatch: pytest.MonkeyPatch) -> None:
    printed = shown(monkeypatch, terminal=True, metrics=METRICS)
    for part in ("epoch 1/1", "2/2", "loss", "words/s", "dev F1 33.33"):
        assert part in printed


def test_a_log_file_gets_no_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "words/s" not in shown(monkeypatch, terminal=False, metrics=METRICS)


def test_without_a_dev_set_there_are_no_scores(monkeypatch: pytest.MonkeyPatch) -> None:
    printed = shown(monkeypatch, terminal=True, metrics={"step": 2, "epoch": 1.0, "loss": 1.5})
    assert "-          -          -" in printed


@pytest.mark.parametrize(
    ("method", "label", "source", "told"),
    [
        ("weighted", "PER", "dictionary", "caution: weighted never draws what looks like an entity"),
        ("weighted", "PER", None, None),
        ("top-neg", "PER", "dictionary", None),
        ("default", "CLUB", None, "caution: of CLUB nothing but the name is read"),
        ("default", "PER", None, None),
        ("uniform", "CLUB", None, None),
    ],
)
def test_what_goes_wrong_on_such_documents_is_told_before_the_training(
    method: str, label: str, source: str | None, told: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = Console(file=io.StringIO(), width=200)
    monkeypatch.setattr(watch, "err", out)
    monkeypatch.setattr(watch, "out", Console(file=io.StringIO()))
    with watch.watching(recipe_for(method), Corpus([Document("Ann", (Entity(0, 3, label, source=source),))]), None):
        pass
    assert isinstance(out.file, io.StringIO)
    printed = out.file.getvalue()
    assert printed == "" if told is None else printed.startswith(told)


@pytest.mark.parametrize(("nested", "told"), [(0, False), (1, True), (2, True), (3, False)])
def test_a_few_overlaps_in_a_corpus_that_may_be_flat_are_told(nested: int, told: bool) -> None:
    flat, inner = Document("Ann Lee", (Entity(0, 7, "PER"),)), (Entity(0, 7, "PER"), Entity(0, 3, "PER"))
    corpus = Corpus([flat.replace(entities=inner)] * nested + [flat] * (40 - nested))
    recipe = recipe_for("uniform")
    assert any("the corpus is taken as nested" in line for line in cautions_about(recipe, corpus)) is told
    ignored = recipe_for("uniform", {"train": {"certain_negatives": False}})
    assert cautions_about(ignored, corpus) == []
