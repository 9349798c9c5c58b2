"""Options that several commands share."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

if TYPE_CHECKING:
    from goldgap import Corpus, Document, Recognizer
    from goldgap.core.notes import Notes


class OnErrorChoice(StrEnum):
    error = "error"
    repair = "repair"
    skip = "skip"


class RuleChoice(StrEnum):
    lenient = "lenient"
    strict = "strict"


class JoinChoice(StrEnum):
    auto = "auto"
    space = "space"
    none = "none"


PANEL = "How the input is read"
_READING: dict[str, tuple[Any, Any]] = {
    "format": (
        Annotated[
            str | None,
            typer.Option(
                help="conll, jsonl, text, brat or pubtator, for the first input even against its extension; "
                "else by extension."
            ),
        ],
        None,
    ),
    "on_error": (
        Annotated[
            OnErrorChoice, typer.Option(help="A malformed place: stop, mend it or else leave it out, leave it out.")
        ],
        OnErrorChoice.error,
    ),
    "rule": (
        Annotated[RuleChoice, typer.Option(help="Ill-formed tags: as conlleval, or only what the scheme allows.")],
        RuleChoice.lenient,
    ),
    "scheme": (Annotated[str | None, typer.Option(help="bio, iob1, bioes, bmes or bilou; else detected.")], None),
    "separator": (Annotated[str | None, typer.Option(help="Between columns: tab, space or any string.")], None),
    "token_column": (Annotated[int, typer.Option(help="Column of the token, from 0.")], 0),
    "label_column": (Annotated[int, typer.Option(help="Column of the tag; -1 is the last.")], -1),
    "join": (
        Annotated[JoinChoice, typer.Option(help="Words of a file: with blanks, without, by script.")],
        JoinChoice.auto,
    ),
    "strict": (Annotated[bool, typer.Option("--strict", help="Any repair or loss is an error.")], False),
}

Output = Annotated[
    Path, typer.Option("--output", "-o", help="The file to write; of .ann, a new folder.", show_default=False)
]
ModelOutput = Annotated[Path, typer.Option("--output", "-o", help="The folder to write.", show_default=False)]
Model = Annotated[Path, typer.Argument(help="The folder of a trained model.")]
TrainingFiles = Annotated[
    list[Path] | None,
    typer.Option("--train", help="Training file; what it does not annotate is unknown. Repeatable."),
]
CompleteFiles = Annotated[
    list[Path] | None, typer.Option(help="Training file that is completely annotated. Repeatable.")
]
EncoderName = Annotated[
    str | None, typer.Option(help="minilm, bilstm, flat, a directory, or a name on the hub.", metavar="NAME|DIR")
]
Html = Annotated[Path | None, typer.Option("--html", metavar="FILE", help="Also write a report for the browser.")]
Device = Annotated[str, typer.Option(help="Where the model works: cpu, cuda, cuda:1 or mps.")]
Seed = Annotated[int, typer.Option(min=0, help="Where chance starts.")]


class Reading:
    """How the inputs of one call are read."""

    def __init__(self, *, strict: bool, **options: Any) -> None:
        from goldgap.corpus.tags import letters_of

        if options.get("scheme") is not None:
            letters_of(options["scheme"])  # refuses an unknown name, whatever is read
        self.strict = strict
        self.options = {name: str(value) if isinstance(value, StrEnum) else value for name, value in options.items()}
        self._asked = False

    def read(self, path: Path, *, complete: bool | None = None) -> Corpus:
        """The corpus at `path`; what was assumed or repaired is told on the error channel.

        complete   it is completely annotated, whatever the file says
        """
        from goldgap import Corpus
        from goldgap.cli.show import show_notes

        corpus = Corpus.read(path, **self._options_for(path), complete=complete)
        if self.strict:
            corpus.notes.refuse_changes()
        show_notes(corpus.notes, f"while reading {path}")
        return corpus

    def read_training(self, files: list[Path], complete: list[Path]) -> Corpus:
        """The documents of all files as one corpus, their ids behind the names of their files where there are several.

        complete   those that are completely annotated
        """
        from goldgap import Corpus
        from goldgap.core.errors import ConfigError
        from goldgap.core.notes import Notes

        if not files and not complete:
            raise ConfigError("nothing to train on: name a file with --train, or with --complete one without gaps")
        parts = [self.read(path) for path in files] + [self.read(path, complete=True) for path in complete]
        if len(parts) == 1:
            return parts[0]
        notes = Notes()
        for part in parts:
            notes.merge(part.notes)
        names = [path.name for path in (*files, *complete)]
        if len(set(names)) < len(names):
            names = [str(number) for number, _ in enumerate(names, 1)]
        # Each file may have a document 1.
        named = (one.replace(id=f"{name}:{one.id}") for name, part in zip(names, parts, strict=True) for one in part)
        return Corpus(named, notes=notes)

    def stream(self, path: Path, notes: Notes) -> Iterator[Document]:
        """The documents at `path` one after the other; `notes` are whole when the last was read."""
        from goldgap.corpus import stream

        yield from stream(path, notes=notes, **self._options_for(path))
        if self.strict:
            notes.refuse_changes()

    def _options_for(self, path: Path) -> dict[str, Any]:
        """The format that is named holds for the first input, and for others whose extension does not say theirs."""
        from goldgap.core.corpus import formats

        said = {extension for name, one in formats.items() if name != "text" for extension in one.extensions}
        own = self._asked and (path.is_dir() or path.suffix.lower() in said)
        self._asked = True
        return {**self.options, "format": None} if own else self.options


def check_annotated(output: Path, *sources: Path | None) -> None:
    """Refuse to write annotations over what is read, or into a format that holds none."""
    from goldgap.core.corpus import format_of
    from goldgap.core.errors import InputError
    from goldgap.core.writing import keep_apart

    if not output.name:
        raise InputError("expected the name of a file to write", path=output)
    keep_apart(output, *sources)
    formats = ".jsonl, .conll, .ann or .pubtator"
    if ".txt" in format_of(output, hint=f"name it {formats}").extensions:
        raise InputError(f"raw text holds no annotations; write {formats}", path=output)


@contextmanager
def of_files(*paths: Path) -> Iterator[None]:
    """What is wrong with several files together is told with their names."""
    from goldgap.core.errors import InputError

    try:
        yield
    except InputError as error:
        if error.path is not None:
            raise
        raise InputError(error.message, path=", ".join(map(str, paths))) from None


def shares(text: str, option: str) -> list[float]:
    """`0.5,0.7` as numbers."""
    from goldgap.core.errors import ConfigError

    try:
        values = [float(part) for part in text.split(",")]
    except ValueError:
        values = []
    if not values or not all(0 <= value < 1 for value in values):
        raise ConfigError(f"{option} {text}: expected shares from 0 to below 1, as in 0.5,0.7")
    if len(set(values)) < len(values):
        raise ConfigError(f"{option} {text}: a share stands there twice; leave one out")
    return values


class Predictions(NamedTuple):
    """Predicted documents; of a model, its recipe and what it could not read."""

    corpus: Corpus
    model: dict[str, Any]


def first_model(folder: Path, device: str) -> Recognizer:
    """The model of a command that names it before its input."""
    from goldgap import Recognizer
    from goldgap.core.errors import IntegrityError
    from goldgap.core.manifest import MANIFEST

    try:
        return Recognizer.load(folder, device=device)
    except IntegrityError as error:
        if os.path.exists(folder / MANIFEST):
            raise
        raise IntegrityError(f"{error.message}; the model comes first", path=folder) from None


def predictions_of(path: Path, truth: Corpus, reading: Reading, device: str = "cpu") -> Predictions:
    """The predictions in a file, or those of a model for the documents in question."""
    is_model = not any(path.glob("*.ann")) if path.is_dir() else not path.exists() and not path.suffix
    if not is_model:
        return Predictions(reading.read(path), {})
    from goldgap import Corpus, Recognizer
    from goldgap.cli.show import show_notes
    from goldgap.core.errors import InputError
    from goldgap.core.manifest import MANIFEST
    from goldgap.core.notes import Notes

    if not os.path.exists(path / MANIFEST):
        what = "it has neither .ann files nor a manifest.json" if path.is_dir() else "no such file or folder"
        raise InputError(f"{what}, expected predictions, or the folder that goldgap train wrote", path=path)
    lost = Notes()
    model = Recognizer.load(path, device=device)
    found = Corpus(model.predict(truth, lost))
    if reading.strict:
        lost.refuse_changes()
    show_notes(lost, f"while predicting with {path}")
    return Predictions(found, {"recipe": model.recipe.model_dump(mode="json"), "lost": lost.lines()})


def with_reading(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command that takes `reading` the options that describe how its inputs are read."""
    own = [
        parameter
        for name, parameter in inspect.signature(command, eval_str=True).parameters.items()
        if name != "reading"
    ]
    shared = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=_in_panel(kind), default=default)
        for name, (kind, default) in _READING.items()
    ]

    @wraps(command)
    def wrapper(**given: Any) -> None:
        command(reading=Reading(**{name: given.pop(name) for name in _READING}), **given)

    parameters = [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in own] + shared
    wrapper.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    wrapper.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return wrapper


def _in_panel(kind: Any) -> Any:
    kind.__metadata__[0].rich_help_panel = PANEL
    return kind
