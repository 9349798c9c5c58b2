"""goldgap reproduce: a table of a paper with our numbers beside."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from goldgap.cli.compare import EncoderOfAll, Jobs

if TYPE_CHECKING:
    from goldgap.compare.reproduce import Experiment
    from goldgap.compare.runs import Data, Runs

DATA = "GOLDGAP_DATA"
DataFolder = Annotated[
    Path | None, typer.Option("--data", help=f"Folder of the corpora; else the one that {DATA} names.")
]


def reproduce(
    name: Annotated[str | None, typer.Argument(help="The experiment; left out, all are listed.")] = None,
    data: DataFolder = None,
    experiments: Annotated[Path, typer.Option(help="Folder of the experiments.")] = Path("experiments"),
    runs: Annotated[Path | None, typer.Option(help="Folder that keeps the runs; else results in that folder.")] = None,
    seeds: Annotated[int | None, typer.Option(min=1, help="How many; else as the experiment says.")] = None,
    full: Annotated[bool, typer.Option("--full", help="The paper's corpora, settings and encoder.")] = False,
    encoder: EncoderOfAll = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="A setting of all rows. Repeatable.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Folder for the table and, in one each, the reports of parts.")
    ] = None,
    jobs: Jobs = 1,
) -> None:
    """Run a table of a paper, and show our numbers beside the paper's.

    Without --full most tables are run in small: on the first sentences of each corpus, and with a small encoder.
    Runs are kept; stopped at any point, the same command goes on where it was.

    Example: goldgap reproduce 001-table-1 --data corpora
    """
    from goldgap.cli.compare import caution_encoder, comparing, exit_if_failed, watch_run
    from goldgap.compare.reproduce import find_experiment, judged_parts, run_parts
    from goldgap.compare.runs import Runs
    from goldgap.train.compose import parse_settings

    if name is None:
        _list(experiments)
        return
    experiment = find_experiment(name, experiments)
    caution_encoder(encoder, [row.full or row.contender if full else row.contender for row in experiment.rows])
    chosen = encoder or (experiment.encoder if full else None)
    shared = [{} if chosen is None else {"encoder": {"name": chosen}}, parse_settings(settings or [])]
    folder, store = data_folder(data), Runs(experiments / "results" if runs is None else runs)
    with comparing(store, *([] if output is None else [output]), jobs=jobs) as stopped:
        done = run_parts(
            experiment,
            folder,
            store,
            shared=shared,
            full=full,
            seeds=seeds,
            watch=watch_run,
            stopped=stopped,
        )
    parts = judged_parts(experiment, done)
    results = [result for _, result in parts]
    _show(experiment, results)
    if output is not None:
        _write(experiment, parts, store, output)
    exit_if_failed(results)


def _show(experiment: Experiment, results: list[dict[str, Any]]) -> None:
    """Our numbers beside the paper's, and what the paper claims."""
    from goldgap.cli.show import out, table
    from goldgap.report.experiment import experiment_rows

    out.print(f"\n{experiment.paper} {experiment.table}: {_what(experiment)}", style="bold")
    for result in results:
        for condition in result["conditions"]:  # a table each: together they are wider than a terminal
            out.print(table(*experiment_rows([{**result, "conditions": [condition]}], experiment.score)))
            out.print()
    if experiment.mean:
        columns, rows = experiment_rows(results, experiment.score, mean=True)
        out.print(table(["", columns[-1]], [[row[0], row[-1]] for row in rows]))
    if experiment.claim:
        out.print(f"claim: {experiment.claim}")


def _write(experiment: Experiment, parts: list[tuple[Data, dict[str, Any]]], store: Runs, output: Path) -> None:
    """The table, and the reports of each part in a folder of their own."""
    from goldgap.cli.compare import write_reports
    from goldgap.core.writing import write_atomic
    from goldgap.report.experiment import experiment_markdown

    names = _folders([(given.name, result) for given, result in parts])
    for (given, result), name in zip(parts, names, strict=True):
        write_reports(result, given, store, output / name)
    with write_atomic(output / "table.md") as handle:
        handle.write(experiment_markdown(experiment.model_dump(), [result for _, result in parts]))


def _folders(parts: list[tuple[str, dict[str, Any]]]) -> list[str]:
    """Of the reports of parts: the corpus, and what was masked of it; numbered where two would be called the same."""
    names: list[str] = []
    for name, result in parts:
        drops = [f"{part['drop']:g}" for part in result["conditions"] if part["drop"] is not None]
        own = "-".join([name, *(["masked", *drops] if drops else [])])
        again = sum(one == own or one.startswith(f"{own}.") for one in names)
        names.append(f"{own}.{again + 1}" if again else own)
    return names


def data_folder(given: Path | None) -> Path:
    """The folder of corpora that was named."""
    from goldgap.core.errors import ConfigError, InputError

    named = given or (Path(os.environ[DATA]) if os.environ.get(DATA) else None)
    if named is None:
        raise ConfigError(f"no folder of corpora: name it with --data, or in {DATA}")
    if not named.is_dir():
        raise InputError("no such folder, expected that of the corpora", path=named)
    return named


def _list(folder: Path) -> None:
    from goldgap.cli.show import out, words_table
    from goldgap.compare.reproduce import experiments_in

    found = experiments_in(folder)
    out.print(words_table(("name", "what"), [(name, _what(one)) for name, one in found]))


def _what(experiment: Experiment) -> str:
    return experiment.title + (f" (needs {experiment.needs})" if experiment.needs else "")
