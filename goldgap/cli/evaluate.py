"""goldgap evaluate: scores with intervals."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from goldgap.cli.options import Reading, Seed, with_reading

if TYPE_CHECKING:
    from goldgap import Corpus


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
    samples: Annotated[int, typer.Option(min=0, help="Resamples for the intervals; 0 leaves them out.")] = 1000,
    seed: Seed = 0,
    *,
    reading: Reading,
) -> None:
    """Score predictions or a model: by type, by word, with intervals and kinds of errors.

    Example: goldgap evaluate test.conll predictions.jsonl
    """
    import json

    from goldgap.cli.show import out, percent, show_evaluation
    from goldgap.evaluate.bootstrap import compare
    from goldgap.evaluate.scores import evaluate as score

    truth = reading.read(gold)
    result = score(truth, _predicted(predictions, truth, reading), samples=samples, seed=seed)
    other = score(truth, _predicted(against, truth, reading), samples=0) if against is not None else None
    contest = compare(other.strict_counts, result.strict_counts, samples=samples, seed=seed) if other else None
    if as_json:
        values = result.to_json()
        if contest is not None:
            values["against"] = {**contest._asdict(), "verdict": contest.verdict}
        typer.echo(json.dumps(values))
        return
    show_evaluation(result)
    if contest is not None:
        low, high = contest.interval
        out.print(
            f"\nagainst {against}: F1 {contest.difference * 100:+.2f} "
            f"(95 % interval {percent(low)} to {percent(high)}, p = {contest.p_value:.3f}): {contest.verdict}",
            soft_wrap=True,
        )


def _predicted(path: Path, truth: Corpus, reading: Reading) -> Corpus:
    """The predictions in a file, or those of a model for the documents in question."""
    is_model = not any(path.glob("*.ann")) if path.is_dir() else not path.exists() and not path.suffix
    if not is_model:
        return reading.read(path)
    from goldgap import Corpus, Recognizer
    from goldgap.cli.show import show_notes
    from goldgap.core.notes import Notes

    lost = Notes()
    found = Corpus(Recognizer.load(path).predict(truth, lost))
    if reading.strict:
        lost.refuse_changes()
    show_notes(lost, f"while predicting with {path}")
    return found
