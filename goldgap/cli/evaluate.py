"""goldgap evaluate: scores with intervals."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from goldgap.cli.options import Device, Html, Predictions, Reading, Seed, of_files, predictions_of, with_reading

if TYPE_CHECKING:
    from goldgap import Corpus
    from goldgap.evaluate.scores import Evaluation


@with_reading
def evaluate(
    gold: Annotated[Path, typer.Argument(help="The true annotations.")],
    predictions: Annotated[
        Path,
        typer.Argument(metavar="PREDICTIONS|MODEL", help="The documents with predicted entities, or a model."),
    ],
    against: Annotated[
        Path | None, typer.Option(help="Other predictions or model: is the first better? (paired bootstrap)")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead.")] = False,
    html: Html = None,
    train: Annotated[
        list[Path] | None,
        typer.Option(help="Training file: the report tells how often it has what went wrong. Repeatable."),
    ] = None,
    samples: Annotated[int, typer.Option(min=0, help="Resamples for the intervals; 0 leaves them out.")] = 1000,
    seed: Seed = 0,
    device: Device = "cpu",
    *,
    reading: Reading,
) -> None:
    """Score predictions or a model: by type, by word, with intervals and kinds of errors.

    Example: goldgap evaluate test.conll predictions.jsonl --html report.html
    """
    import json

    from goldgap.cli.show import err, out, show_against, show_evaluation
    from goldgap.core.errors import ConfigError
    from goldgap.core.writing import check_target, keep_apart
    from goldgap.evaluate.bootstrap import compare

    if html is not None:
        check_target(html)
        keep_apart(html, gold, predictions, against, *(train or []))
    elif train:
        raise ConfigError("--train is for the report: name its file with --html")
    truth = reading.read(gold)
    found = predictions_of(predictions, truth, reading, device)
    _caution(gold, truth, predictions, found.corpus)
    result = _scored(gold, truth, predictions, found, samples=samples, seed=seed)
    other = _scored(gold, truth, against, predictions_of(against, truth, reading, device)) if against else None
    contest = compare(other.strict_counts, result.strict_counts, samples=samples, seed=seed) if other else None
    values = result.to_json()
    if contest is not None:
        values["against"] = {**contest._asdict(), "verdict": contest.verdict}
    if html is not None:
        read = [gold, predictions, *([] if against is None else [against]), *(train or [])]
        _write_page(html, values, truth, found, read, against, reading.read_training(train, []) if train else None)
    if as_json:
        typer.echo(json.dumps(values))
    else:
        show_evaluation(result)
        if contest is not None:
            show_against(contest, str(against))
    if html is not None:
        (err if as_json else out).print(f"\nreport written to {html}", soft_wrap=True)


def _scored(
    gold: Path, truth: Corpus, predictions: Path, found: Predictions, *, samples: int = 0, seed: int = 0
) -> Evaluation:
    """The scores of predictions; what the two files disagree about names them."""
    from goldgap.evaluate.scores import evaluate

    with of_files(gold, predictions):
        return evaluate(truth, found.corpus, samples=samples, seed=seed)


def _caution(gold: Path, truth: Corpus, predictions: Path, found: Corpus) -> None:
    """Say what makes every score meaningless."""
    from goldgap.cli.show import err

    if truth.entity_count and not any(entity.by_people for document in truth for entity in document.entities):
        err.print(f"caution: no person made any annotation of {gold}; the gold comes first", soft_wrap=True)
    if gaps := sum(bool(document.unknown or isinstance(document.complete, frozenset)) for document in truth):
        err.print(
            f"caution: by their own account {gaps:,} documents of {gold} are not completely annotated; right entities "
            "that are missing there count as spurious",
            soft_wrap=True,
        )
    for path, corpus in ((gold, truth), (predictions, found)):
        if not corpus.entity_count:
            err.print(f"caution: {path} has no entity at all", soft_wrap=True)


def _write_page(
    path: Path,
    values: dict[str, Any],
    truth: Corpus,
    found: Predictions,
    read: list[Path],
    against: Path | None,
    trained: Corpus | None,
) -> None:
    """Write the report of an evaluation."""
    from goldgap.core.manifest import hashes_of
    from goldgap.core.writing import write_atomic
    from goldgap.report.examples import examples_of
    from goldgap.report.html import evaluation_page

    more = {"against": values["against"] | {"name": str(against)}} if against is not None else {}
    page = evaluation_page(
        {
            **values,
            **found.model,
            **more,
            "gold": read[0].name,
            "predicted": read[1].name,
            "files": hashes_of(read),
            "examples": examples_of(truth, found.corpus, trained),
        }
    )
    with write_atomic(path) as handle:
        handle.write(page)
