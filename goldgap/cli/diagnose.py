"""goldgap diagnose: why a method does what it does. Each answer is a finding, a table and a picture."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from goldgap.cli.options import Reading, of_files, predictions_of, shares, with_reading

if TYPE_CHECKING:
    from goldgap import Corpus
    from goldgap.compare.runs import Run
    from goldgap.diagnose.detection import Explored
    from goldgap.report.diagnosis import Diagnosis

app = typer.Typer(no_args_is_help=True, rich_markup_mode="rich")

Input = Annotated[Path, typer.Argument(metavar="CORPUS", help="Documents with entities.")]
Masked = Annotated[Path, typer.Argument(metavar="CORPUS", help="Documents that goldgap mask took annotations from.")]
Kept = Annotated[list[Path], typer.Argument(metavar="RUN...", help="Runs that compare kept: DIR/runs/*.json.")]


def _svg(path: Path | None) -> Path | None:
    """The name of a picture, refused before any work where it promises another kind of it."""
    from goldgap.core.errors import ConfigError

    if path is not None and path.suffix.lower() not in (".svg", ""):
        raise ConfigError(f"--output {path}: pictures are SVG; name it {path.with_suffix('.svg').name}")
    return path


Picture = Annotated[Path | None, typer.Option("--output", "-o", callback=_svg, help="Write the picture here, as SVG.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object instead.")]
Ratio = Annotated[float, typer.Option(min=0, help="Spans drawn for each word of a sentence.")]
Width = Annotated[int, typer.Option(min=0, help="Words of the widest span that is drawn; 0: any.")]
Epochs = Annotated[int, typer.Option(min=1, help="How often each sentence is drawn from.")]
Method = Annotated[str, typer.Option(help="A method that is a tagger.")]
Explore = Annotated[int, typer.Option(min=1, help="Epochs of the exploratory training.")]
Choices = Annotated[
    list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="A setting of the method. Repeatable.")
]


@app.callback()
def diagnose() -> None:
    """See why: how sparse entities are, which negatives are drawn, how models learn, what a threshold does."""


@app.command()
@with_reading
def sparsity(corpus: Input, output: Picture = None, as_json: AsJson = False, *, reading: Reading) -> None:
    """Entities of a sentence against the root of its words: what the promises of uniform sampling rest on.

    Example: goldgap diagnose sparsity train.conll -o sparsity.svg
    """
    from goldgap.diagnose.corpora import sparsity as look

    _apart(output, corpus)
    _tell(look(reading.read(corpus)), output, as_json)


@app.command()
@with_reading
def guarantee(
    corpus: Masked,
    ratio: Ratio = 0.35,
    width: Width = 0,
    epochs: Epochs = 100,
    output: Picture = None,
    as_json: AsJson = False,
    *,
    reading: Reading,
) -> None:
    """How often no missing entity is among the negatives of a sentence: expected, its bound, and drawn.

    Example: goldgap diagnose guarantee masked.jsonl --ratio 0.35 -o guarantee.svg
    """
    from goldgap.diagnose.corpora import promises

    _apart(output, corpus)
    _tell(promises(reading.read(corpus), ratio=ratio, max_width=width, epochs=epochs), output, as_json)


@app.command()
@with_reading
def missampling(
    corpus: Input,
    drop: Annotated[str, typer.Option(help="Shares of the annotations to mask.")] = "0.1,0.3,0.5,0.7,0.9",
    seeds: Annotated[int, typer.Option(min=1, help="Masks of each share.")] = 10,
    ratio: Ratio = 0.35,
    width: Width = 10,
    epochs: Epochs = 10,
    output: Picture = None,
    as_json: AsJson = False,
    *,
    reading: Reading,
) -> None:
    """How many masked entities uniform sampling takes for negatives, without a model, and how many are expected.

    Example: goldgap diagnose missampling train.conll --drop 0.5,0.7 -o m.svg
    """
    from goldgap.diagnose.corpora import missampling as look

    _apart(output, corpus)
    found = look(reading.read(corpus), shares(drop, "--drop"), seeds=seeds, ratio=ratio, max_width=width, epochs=epochs)
    _tell(found, output, as_json)


@app.command()
def negatives(runs: Kept, output: Picture = None, as_json: AsJson = False) -> None:
    """How many masked entities the negatives of each epoch held, as recorded in training.

    Example: goldgap diagnose negatives out/runs/*masked-0.7*.json -o n.svg
    """
    from goldgap.diagnose.runs import recorded_missampling

    _apart(output, *runs)
    _tell(recorded_missampling(_runs(runs)), output, as_json)


@app.command()
def epochs(runs: Kept, output: Picture = None, as_json: AsJson = False) -> None:
    """Dev F1 over the epochs, a line for each method.

    Example: goldgap diagnose epochs out/runs/*masked-0.7*.json -o epochs.svg
    """
    from goldgap.diagnose.runs import over_epochs

    _apart(output, *runs)
    _tell(over_epochs(_runs(runs)), output, as_json)


@app.command()
def selection(runs: Kept, output: Picture = None, as_json: AsJson = False) -> None:
    """What it costs to choose the epoch on labels that have gaps themselves.

    Example: goldgap diagnose selection experiments/results/*distant-bench_span*
    """
    from goldgap.diagnose.runs import selection as look

    _apart(output, *runs)
    _tell(look(_runs(runs)), output, as_json)


@app.command()
def fit(
    record: Annotated[Path, typer.Argument(help="What train --record wrote.")],
    output: Picture = None,
    as_json: AsJson = False,
) -> None:
    """Precision and recall on training and dev documents over the epochs: when does it learn the gaps by heart?

    Example: goldgap diagnose fit record.jsonl -o fit.svg
    """
    from goldgap.diagnose.records import fit as look
    from goldgap.train.record import read_record

    _apart(output, record)
    _tell(look(read_record(record)), output, as_json)


@app.command()
@with_reading
def traces(
    spans: Annotated[Path, typer.Argument(help="The documents given to train --follow: their entities are the spans.")],
    records: Annotated[list[Path], typer.Argument(metavar="RECORD...", help="What train --record wrote.")],
    output: Picture = None,
    as_json: AsJson = False,
    *,
    reading: Reading,
) -> None:
    """How likely chosen spans are to be an entity over the epochs, under each of several runs.

    Example: goldgap diagnose traces spans.jsonl nrces.jsonl span.jsonl -o t.svg
    """
    from goldgap.diagnose.records import traces as look
    from goldgap.train.record import read_record

    _apart(output, spans, *records)
    names = [document.surface(entity) for document in reading.read(spans) for entity in document.entities]
    alike = len({path.stem for path in records}) < len(records)
    runs = {str(path) if alike else path.stem: read_record(path) for path in records}
    _tell(look(names, runs), output, as_json)


@app.command()
@with_reading
def threshold(
    gold: Annotated[Path, typer.Argument(help="The true annotations.")],
    predictions: Annotated[
        Path, typer.Argument(metavar="PREDICTIONS|MODEL", help="Predicted entities with probabilities, or a model.")
    ],
    output: Picture = None,
    as_json: AsJson = False,
    *,
    reading: Reading,
) -> None:
    """Precision, recall and F1 when only entities of at least a probability are kept.

    Example: goldgap diagnose threshold test.conll found.jsonl -o threshold.svg
    """
    from goldgap.diagnose.predictions import thresholds

    _apart(output, gold, predictions)
    truth = reading.read(gold)
    with of_files(gold, predictions):
        found = thresholds(truth, predictions_of(predictions, truth, reading).corpus)
    _tell(found, output, as_json)


@app.command()
@with_reading
def similarity(
    gold: Annotated[Path, typer.Argument(help="The true annotations.")],
    model: Annotated[Path, typer.Argument(help="A model of the method binder.")],
    label: Annotated[str | None, typer.Option("--type", help="Draw this type; else the most frequent one.")] = None,
    output: Picture = None,
    as_json: AsJson = False,
    *,
    reading: Reading,
) -> None:
    """How similar entities, other spans and whole texts are to each type: what the thresholds of binder do.

    Example: goldgap diagnose similarity test.conll model --type PER -o per.svg
    """
    from collections import Counter

    from goldgap import Recognizer
    from goldgap.diagnose.similarity import similarities, similarity_densities

    _apart(output, gold, model)
    truth, recognizer = reading.read(gold), Recognizer.load(model)
    counts = Counter(entity.label for document in truth for entity in document.entities)
    chosen = label if label is not None else max(recognizer.labels, key=lambda name: counts[name])
    recognizer.labels.index(chosen)
    _tell(similarity_densities(similarities(recognizer, truth), chosen), output, as_json)


@app.command()
@with_reading
def doubts(
    masked: Masked,
    method: Method = "two-step",
    epochs: Explore = 3,
    settings: Choices = None,
    output: Picture = None,
    as_json: AsJson = False,
    *,
    reading: Reading,
) -> None:
    """How much smaller the score of O is for masked annotations, epoch by epoch.

    With scores that are angles (tagger.angle), and with plain ones.

    Example: goldgap diagnose doubts masked.jsonl -o doubts.svg
    """
    from goldgap.diagnose.detection import scores_of_outside

    _apart(output, masked)
    _tell(scores_of_outside(_explored(reading.read(masked), method, epochs, settings)), output, as_json)


@app.command()
@with_reading
def detection(
    masked: Masked,
    method: Method = "two-step",
    epochs: Explore = 1,
    settings: Choices = None,
    output: Picture = None,
    as_json: AsJson = False,
    *,
    reading: Reading,
) -> None:
    """How many of the words that an exploratory training doubts are masked annotations.

    With scores that are angles (tagger.angle), and with plain ones.

    Example: goldgap diagnose detection masked.jsonl -o detection.svg
    """
    from goldgap.diagnose.detection import detection as detected

    _apart(output, masked)
    _tell(detected(_explored(reading.read(masked), method, epochs, settings)), output, as_json)


def _explored(corpus: Corpus, method: str, epochs: int, settings: list[str] | None) -> dict[str, Explored]:
    from goldgap.core.errors import ConfigError
    from goldgap.diagnose.detection import with_and_without_angle
    from goldgap.train.compose import parse_settings, recipe_for

    recipe = recipe_for(method, parse_settings(settings or []))
    if recipe.model.kind != "tagger":
        raise ConfigError(f"--method {method}: expected a tagger, as two-step, crf or bilstm-crf")
    return with_and_without_angle(recipe, corpus, epochs)


def _apart(output: Path | None, *read: Path) -> None:
    """Refuse a picture that cannot be written, or would stand among what is read."""
    from goldgap.core.writing import check_target, keep_apart

    if output is not None:
        check_target(output)
        keep_apart(output, *read)


def _runs(paths: list[Path]) -> list[Run]:
    from goldgap.compare.runs import Run

    return [Run.read(path) for path in paths]


def _tell(found: Diagnosis, output: Path | None, as_json: bool) -> None:
    """Show a diagnosis, and write its picture."""
    from goldgap.cli.show import out, table
    from goldgap.core.writing import write_atomic

    if output is not None:
        with write_atomic(output) as handle:
            handle.write(found.to_svg())
    if as_json:
        typer.echo(json.dumps(found.to_json()))
        return
    out.print(table(found.columns, found.rows, title=found.title))
    out.print(f"\n{found.finding}")
    if output is not None:
        out.print(f"picture written to {output}", soft_wrap=True)
