"""The command line: one thin file a command. Only here does goldgap print."""

from __future__ import annotations

import gc
import io
import os
import sys
from contextlib import suppress
from typing import Annotated

import typer

from goldgap.cli.annotate import annotate
from goldgap.cli.check import check
from goldgap.cli.compare import compare
from goldgap.cli.convert import convert
from goldgap.cli.datasets import datasets
from goldgap.cli.demo import demo
from goldgap.cli.diagnose import app as diagnose
from goldgap.cli.evaluate import evaluate
from goldgap.cli.mask import mask
from goldgap.cli.methods import methods
from goldgap.cli.predict import predict
from goldgap.cli.reproduce import reproduce
from goldgap.cli.suspects import suspects
from goldgap.cli.train import train
from goldgap.core.errors import GoldgapError

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)
for command in (annotate, check, convert, mask, train, predict, suspects, evaluate, compare, methods, demo):
    app.command()(command)
app.add_typer(diagnose, name="diagnose")
for command in (reproduce, datasets):
    app.command()(command)


def _version(asked: bool) -> None:
    if asked:
        from goldgap import __version__

        typer.echo(f"goldgap {__version__}")
        raise typer.Exit


@app.callback()
def goldgap(
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")] = (
        False
    ),
) -> None:
    """Named-entity recognition from annotations that have gaps."""


def main() -> None:
    """Run the command line. Exit status: 0 done, 1 the run failed, 2 the input or the call is wrong."""
    # Threads that spin while they wait cost a factor of 3 to 5 on a busy machine; torch reads this when it is imported.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    # Corpora are millions of small objects without cycles: looking for cycles in them takes half of the time.
    gc.set_threshold(100_000, 50, 1000)
    for channel in (sys.stdout, sys.stderr):  # a terminal that lacks a letter is no reason to fail
        if isinstance(channel, io.TextIOWrapper):
            with suppress(OSError):  # it became another channel than it was opened as
                channel.reconfigure(errors="backslashreplace")
    try:
        app()
    except GoldgapError as error:
        typer.echo(f"goldgap: {error}", err=True)
        sys.exit(error.exit_status)
    except ModuleNotFoundError as error:
        if error.name not in ("torch", "transformers", "safetensors", "tokenizers"):
            raise
        typer.echo(f"goldgap: this command needs {error.name}: pip install 'goldgap[train]'", err=True)
        sys.exit(1)
    except (MemoryError, RuntimeError) as error:
        if not isinstance(error, MemoryError) and "allocate memory" not in str(error):
            raise
        typer.echo(
            "goldgap: out of memory; train with a smaller train.token_budget, train.batch_size or encoder.window, "
            "evaluate with fewer --samples, or give this machine fewer documents at a time",
            err=True,
        )
        sys.exit(1)
    except OSError as error:
        if error.filename is not None:  # a name too long, a folder that may not be entered
            typer.echo(f"goldgap: {error.filename}: cannot be opened: {error.strerror}", err=True)
            sys.exit(2)
        _drop_what_is_left()
        typer.echo(f"goldgap: what was to be shown could not be written: {error.strerror}", err=True)
        sys.exit(1)


def _drop_what_is_left() -> None:
    """Else Python tries to write it once more at the end, and complains."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
