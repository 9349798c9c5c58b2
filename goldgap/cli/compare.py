"""goldgap compare: which method helps on this data, and how sure that is."""

from __future__ import annotations

import json
import os
import shlex
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from goldgap.cli.options import CompleteFiles, Reading, TrainingFiles, shares, with_reading

LONGEST_NAME = 150
USUAL = "span,default,uniform,weighted,top-neg,nrces"
MOST_SEEDS = 1000
HELPER = "GOLDGAP_HELPER"
"""Set in processes that were started to share the runs of another."""
EncoderOfAll = Annotated[
    str | None,
    typer.Option(
        help="minilm, a directory, or a name on the hub; bilstm-crf and flat keep theirs.", metavar="NAME|DIR"
    ),
]
Jobs = Annotated[int, typer.Option(min=1, help="Trainings at once, each with its share of the cores.")]

if TYPE_CHECKING:
    from goldgap.compare.contest import Contest, Step
    from goldgap.compare.runs import Data, Runs
    from goldgap.train.loop import Observer
    from goldgap.train.recipe import Recipe


@with_reading
def compare(
    dev: Annotated[Path, typer.Option(help="Choose epochs and settings on this.")],
    test: Annotated[Path, typer.Option(help="Compare on this.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for runs and reports; goes on with its runs.")],
    files: TrainingFiles = None,
    methods: Annotated[
        str,
        typer.Option(
            help="Names between commas, each with settings of its own if need be: nrces:loss.w=5. "
            f"Else {USUAL.replace(',', ', ')}.",
            show_default=False,
        ),
    ] = USUAL,
    seeds: Annotated[str, typer.Option(help="How many, or which ones between commas.")] = "3",
    baseline: Annotated[str | None, typer.Option(help="The method to test the others against; else the first.")] = None,
    drop: Annotated[
        str | None, typer.Option(help="Shares of the training annotations to mask, as in 0.5,0.7: a table each.")
    ] = None,
    grid: Annotated[
        list[str] | None,
        typer.Option(metavar="KEY=A,B,C", help="Try these values; each method's best on dev is compared. Repeatable."),
    ] = None,
    complete: CompleteFiles = None,
    encoder: EncoderOfAll = None,
    epochs: Annotated[int | None, typer.Option(help="Of each training; else as its method says.")] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="A setting of all methods. Repeatable.")
    ] = None,
    name: Annotated[str | None, typer.Option(help="What to call the data; else as the test file.")] = None,
    runs: Annotated[Path | None, typer.Option(help="Folder that keeps the runs; else in the output.")] = None,
    jobs: Jobs = 1,
    *,
    reading: Reading,
) -> None:
    """Train several methods with several seeds on the same data, test them, and say which one helps.

    Stopped at any point, the same command goes on where it was. Writes comparison.json, comparison.md, report.html.

    Example: goldgap compare --train a.jsonl --dev b.conll --test c.conll -o out
    """
    from goldgap.cli.show import out, show_contest
    from goldgap.compare.contest import judged, run_all
    from goldgap.compare.runs import Runs
    from goldgap.core.writing import keep_apart

    _check_name(name)
    caution_encoder(encoder, methods.split(","))
    keep_apart(output, *(files or []), *(complete or []), dev, test)
    contest = _contest(methods, seeds, baseline, drop, grid or [], _shared(encoder, epochs, settings or []))
    data = _data(name or test.stem, files or [], complete or [], dev, test, reading)
    _tell_cautions(data, contest, strict=reading.strict)
    store = Runs(output / "runs" if runs is None else runs)
    with comparing(store, output, jobs=jobs) as stopped:
        ended = run_all(contest, data, store, watch=watch_run, stopped=stopped)
    result = judged(contest, data, ended)
    write_reports(result, data, store, output)
    show_contest(result)
    out.print(f"\nreport written to {output / 'report.html'}", soft_wrap=True)
    exit_if_failed([result])


def caution_encoder(encoder: str | None, contenders: Sequence[str]) -> None:
    """Say which methods have no use for the encoder that was named."""
    from goldgap.cli.show import err
    from goldgap.compare.contender import keeps_encoder

    methods = dict.fromkeys(text.strip().split(":")[0] for text in contenders)
    for method in methods if encoder is not None else ():
        if keeps_encoder(method):
            err.print(f"caution: {method} keeps its own encoder, whatever --encoder names", soft_wrap=True)


def _check_name(name: str | None) -> None:
    from goldgap.core.errors import ConfigError

    if name and ("/" in name or len(name.encode(errors="replace")) > LONGEST_NAME):
        raise ConfigError(
            f"--name {name}: runs are kept in files of this name, so it can have no / and {LONGEST_NAME} bytes at most"
        )


def _data(name: str, files: list[Path], complete: list[Path], dev: Path, test: Path, reading: Reading) -> Data:
    """What the methods are trained, selected and compared on."""
    from goldgap.compare.contest import refuse_empty
    from goldgap.compare.runs import Data
    from goldgap.core.manifest import hashes_of
    from goldgap.core.writing import printable

    data = Data(
        printable(name),
        reading.read_training(files, complete),
        reading.read(dev),
        reading.read(test),
        hashes_of([*files, *complete, dev, test]),
    )
    refuse_empty(data)
    return data


def _tell_cautions(data: Data, contest: Contest, *, strict: bool) -> None:
    """What makes the scores say less than they seem to, refused if `strict`."""
    from goldgap.cli.show import err
    from goldgap.compare.contest import cautions_on

    found = cautions_on(data, contest.drops)
    if strict:
        found.refuse_changes()
    for line in found.lines():
        err.print(f"caution: {line}", soft_wrap=True)


def exit_if_failed(results: list[dict[str, Any]]) -> None:
    """End with the status of a run that failed, if one did."""
    if any(row["failed"] for one in results for part in one["conditions"] for row in part["contenders"]):
        raise typer.Exit(1)


def _shared(encoder: str | None, epochs: int | None, pairs: list[str]) -> list[dict[str, Any]]:
    """The settings of all contenders."""
    from goldgap.train.compose import parse_settings

    options: dict[str, Any] = {
        **({"encoder": {"name": encoder}} if encoder is not None else {}),
        **({"train": {"epochs": epochs}} if epochs is not None else {}),
    }
    return [options, parse_settings(pairs)]


def _contest(
    methods: str, seeds: str, baseline: str | None, drop: str | None, grid: list[str], shared: list[dict[str, Any]]
) -> Contest:
    from goldgap.compare.contender import contender
    from goldgap.compare.contest import Contest
    from goldgap.core.errors import ConfigError

    names = [name.strip() for name in methods.split(",") if name.strip()]
    if len(names) < 2:
        raise ConfigError(f"--methods {methods}: expected at least two names, as in span,uniform")
    tried: dict[str, list[str]] = {}
    for entry in grid:
        key, sign, values = entry.partition("=")
        if not sign or not key.strip() or not values.strip():
            raise ConfigError(f"--grid {entry}: expected key=value,value, as in policy.ratio=0.03,0.05")
        if key.strip() in tried:
            raise ConfigError(f"--grid {entry}: {key.strip()} stands there twice; name all its values in one")
        tried[key.strip()] = [value.strip() for value in values.split(",")]
    return Contest(
        [contender(name, *shared) for name in names],
        _seeds(seeds),
        baseline if baseline is not None else names[0],
        shares(drop, "--drop") if drop is not None else [],
        tried,
    )


def _seeds(text: str) -> list[int]:
    """`3` is 0, 1, 2; `3,` and `3,5` are those numbers."""
    from goldgap.core.errors import ConfigError

    parts = [part.strip() for part in text.split(",") if part.strip()]
    numbers = [int(part) for part in parts] if all(part.isdecimal() for part in parts) else []
    seeds = numbers if "," in text else list(range(min(numbers[0], MOST_SEEDS + 1))) if numbers else []
    if not 0 < len(seeds) <= MOST_SEEDS or len(set(seeds)) < len(seeds) or max(seeds) >= 1 << 32:
        raise ConfigError(f"--seeds {text}: expected how many, as in 3, or different whole numbers, as in 0,1,2")
    return seeds


@contextmanager
def watch_run(step: Step, recipe: Recipe, data: Data) -> Iterator[Observer]:
    """A line for each run, and its progress unless it is kept already."""
    from goldgap.cli.show import out
    from goldgap.cli.watch import watching

    line = f"{step.number}/{step.total}  {step.name}, seed {step.seed}, {step.data}"
    out.print(f"{line}: kept" if step.kept else line, style="bold", soft_wrap=True)
    if step.kept:
        yield lambda _: None
    else:
        with watching(recipe, data.train, data.dev) as observe:
            yield observe


def _examples(result: dict[str, Any], data: Data, store: Runs) -> list[dict[str, Any]]:
    """Errors of the method that is recommended in the first table, with its first seed."""
    from goldgap.compare.contest import masked
    from goldgap.compare.runs import Run
    from goldgap.report.examples import examples_of

    first = result["conditions"][0]
    for row in first["contenders"]:
        if first["recommended"] is not None and row["name"] == first["recommended"]["name"]:
            path = store.find(row["runs"][0]["key"])
            if path is not None:
                run = Run.read(path)
                trained_on = masked(data, first["drop"], run.seed).train
                return examples_of(data.test, run.predicted(data.test), trained_on)
    return []


@contextmanager
def comparing(store: Runs, *outputs: Path, jobs: int) -> Iterator[Callable[[], bool]]:
    """The folders to write into, other processes with the same call to share the runs with, and whether to stop.

    jobs   processes in all, each with its share of the cores
    """
    from goldgap.cli.show import out
    from goldgap.cli.signals import asked_to_stop
    from goldgap.core.writing import make_folder
    from goldgap.train.loop import Stopped

    for folder in (store.folder, *outputs):
        make_folder(folder)
    with asked_to_stop(patient=HELPER in os.environ) as asked, _helped(jobs):
        try:
            yield lambda: asked() > 0
        except Stopped:
            out.print("stopped; the same command goes on from there")
            raise typer.Exit(128 + asked()) from None
    if HELPER in os.environ:  # whoever asked for help judges the runs and writes the reports
        raise typer.Exit


@contextmanager
def _helped(jobs: int) -> Iterator[None]:
    """Further processes that make this very call; they end with this one."""
    if jobs == 1 or HELPER in os.environ:
        yield
        return
    import subprocess

    import torch

    threads = max(1, (os.cpu_count() or 1) // jobs)
    torch.set_num_threads(threads)
    environment = {**os.environ, HELPER: "1", "OMP_NUM_THREADS": str(threads)}
    call = [sys.executable, "-m", "goldgap", *sys.argv[1:]]
    quiet = subprocess.DEVNULL
    helpers = [subprocess.Popen(call, env=environment, stdout=quiet, stderr=quiet) for _ in range(jobs - 1)]
    try:
        yield
    except BaseException:
        for one in helpers:
            one.terminate()
        raise
    finally:
        for one in helpers:
            one.wait()


def write_reports(result: dict[str, Any], data: Data, store: Runs, output: Path) -> None:
    """What this command found, as JSON, Markdown and HTML in a folder."""
    from goldgap.core.writing import make_folder, printable, write_atomic
    from goldgap.report.comparison import comparison_markdown
    from goldgap.report.html import comparison_page

    make_folder(output)
    result = {**result, "command": printable(shlex.join(["goldgap", *sys.argv[1:]]))}
    texts = {
        "comparison.json": json.dumps(result, indent=1, ensure_ascii=False) + "\n",
        "comparison.md": comparison_markdown(result),
        "report.html": comparison_page({**result, "examples": _examples(result, data, store)}),
    }
    for name, text in texts.items():
        with write_atomic(output / name) as handle:
            handle.write(text)
