"""goldgap demo: the whole story on the bundled corpus."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from goldgap import Corpus, Dictionary, Recognizer
    from goldgap.core.findings import Check
    from goldgap.evaluate.scores import Evaluation
    from goldgap.models.suspects import Suspect

METHODS = ("span", "default")
SHOWN = 10
"""Suspects, the first ones."""


def demo(
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for what the demo writes.")] = Path(
        "demo-output"
    ),
    epochs: Annotated[int, typer.Option(min=1, help="Of each training.")] = 8,
) -> None:
    """Label the bundled corpus with its dictionary, train with and without a policy, and find what was missed.

    Example: goldgap demo -o demo-output
    """
    from goldgap import Corpus
    from goldgap.cli.show import out, show_comparison
    from goldgap.core.writing import make_folder, write_atomic
    from goldgap.demo import DEV, DICTIONARY, TEST, TRAIN
    from goldgap.distant.annotate import annotate
    from goldgap.distant.dictionary import Dictionary
    from goldgap.distant.rules import MatchRules
    from goldgap.evaluate.scores import evaluate
    from goldgap.report.demo import TITLE, demo_report

    make_folder(output)
    _refuse_others(output)
    with write_atomic(output / "report.md") as handle:
        handle.write(f"{TITLE}\nThe demo that writes this report has not come to its end.\n")
    gold, dev, test, terms = Corpus.read(TRAIN), Corpus.read(DEV), Corpus.read(TEST), Dictionary.read(DICTIONARY)
    out.print(f"1. Raw text and a term list: {len(gold):,} sentences, {len(terms):,} terms", style="bold")
    labels, checked, quality = _labelled(gold, terms)
    labels.write(output / "labels.jsonl")
    scores = {"dictionary alone": evaluate(test, annotate(test, terms, MatchRules()).corpus)}
    for number, method in enumerate(METHODS, 4):
        out.print(f"\n{number}. Training on these labels with the method {method}", style="bold")
        model = _trained(method, labels, dev, output / f"model-{method}", epochs)
        scores[method] = evaluate(test, Corpus(model.predict(test)))
    out.print(f"\n6. On {len(test):,} sentences that neither the dictionary nor a model has seen", style="bold")
    show_comparison(scores)
    out.print("\n7. Missing annotations that the last model found in the training text", style="bold")
    found = model.suspects(labels)
    _show_missing(found[:SHOWN], gold)
    _write_found(found, checked, quality, scores, output)
    with write_atomic(output / "report.md") as handle:
        handle.write(demo_report(checked, quality, scores, found[:SHOWN]))
    _tell_files(output)


def _labelled(gold: Corpus, terms: Dictionary) -> tuple[Corpus, Check, Evaluation]:
    """The dictionary's labels, the audit of the dictionary, and how good the labels are."""
    from goldgap.cli.show import out, show_check, show_quality
    from goldgap.distant.annotate import annotate
    from goldgap.distant.audit import audit
    from goldgap.distant.rules import MatchRules
    from goldgap.evaluate.scores import evaluate

    labelled = annotate(gold, terms, MatchRules())
    checked = audit(labelled, terms)
    out.print("\n2. Labels from the dictionary, and what is suspicious about it", style="bold")
    show_check(checked)
    out.print("\n3. How good the labels are, against the gold", style="bold")
    quality = evaluate(gold, labelled.corpus)
    show_quality(quality)
    return labelled.corpus, checked, quality


def _show_missing(found: Sequence[Suspect], gold: Corpus) -> None:
    """Suspects, and how many of them are entities of the gold."""
    from goldgap.cli.show import out, show_suspects

    show_suspects(found)
    true = {(document.id, *entity.key) for document in gold for entity in document.entities}
    hits = sum((p.document, p.start, p.end, s.label) in true for s in found for p in s.places[:1])
    out.print(f"of these {len(found)}, {hits} are entities of the gold")


def _write_found(
    found: Sequence[Suspect], checked: Check, quality: Evaluation, scores: Mapping[str, Evaluation], output: Path
) -> None:
    """Suspects and scores as JSON."""
    import json

    from goldgap.core.writing import write_atomic

    with write_atomic(output / "suspects.jsonl") as handle:
        handle.writelines(json.dumps(suspect.to_json(), ensure_ascii=False) + "\n" for suspect in found)
    with write_atomic(output / "quality.json") as handle:
        tested = {name: score.to_json() for name, score in scores.items()}
        json.dump({"labels": quality.to_json(), "dictionary": checked.to_json(), "test": tested}, handle, indent=1)


def _tell_files(output: Path) -> None:
    """Where everything is."""
    from goldgap.cli.show import out

    out.print()
    for what, name in (
        ("labels", "labels.jsonl"),
        ("models", "model-*"),
        ("missing annotations", "suspects.jsonl"),
        ("scores", "quality.json"),
    ):
        out.print(f"{what}: {output / name}", soft_wrap=True)
    out.print(f"report: {output / 'report.md'}", style="bold", soft_wrap=True)


def _refuse_others(output: Path) -> None:
    """Raise where something would be written over that no demo wrote, which begins with its report."""
    from goldgap.core.errors import InputError
    from goldgap.core.reading import read_bytes
    from goldgap.report.demo import TITLE

    names = ("labels.jsonl", "quality.json", "suspects.jsonl", *(f"model-{method}" for method in METHODS), "report.md")
    there = [name for name in names if (output / name).exists()]
    report = output / "report.md"
    if there and not (report.is_file() and read_bytes(report).startswith(TITLE.encode())):
        raise InputError(f"it holds {there[0]}, which no demo wrote; name another folder", path=output)


def _trained(method: str, corpus: Corpus, dev: Corpus, folder: Path, epochs: int) -> Recognizer:
    """A model trained with a method, in the place of one from an earlier demo."""
    import shutil

    from goldgap import Recognizer
    from goldgap.cli.watch import watching
    from goldgap.train.compose import recipe_for

    recipe = recipe_for(method, {"train": {"epochs": epochs}})
    with watching(recipe, corpus, dev) as observe:
        model = Recognizer.train(corpus, dev, recipe=recipe, observe=observe)
    if (folder / "manifest.json").is_file():
        shutil.rmtree(folder)
    model.save(folder)
    return model
