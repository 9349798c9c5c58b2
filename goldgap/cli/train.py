"""goldgap train: a recogniser from annotations that have gaps."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from goldgap.cli.options import CompleteFiles, EncoderName, Html, ModelOutput, Reading, TrainingFiles, with_reading
from goldgap.train.methods import DEFAULT

if TYPE_CHECKING:
    from goldgap import Corpus, Recognizer
    from goldgap.train.loop import Observer, Seen
    from goldgap.train.recipe import Recipe


@with_reading
def train(
    output: ModelOutput,
    files: TrainingFiles = None,
    complete: CompleteFiles = None,
    dev: Annotated[
        Path | None, typer.Option(help="Choose the best epoch on this; else a tenth of the training files is held out.")
    ] = None,
    method: Annotated[
        str | None, typer.Option(help=f"What to do with the unknown, see: goldgap methods; else {DEFAULT}.")
    ] = None,
    encoder: EncoderName = None,
    epochs: Annotated[
        int | None, typer.Option(help="How often to go through the training files; else 6, or as the method says.")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Where chance starts; else 0.")] = None,
    device: Annotated[str | None, typer.Option(help="Where to train: cpu, cuda, cuda:1 or mps.")] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="KEY=VALUE", help="Any setting (docs/settings.md), as in train.batch_size=16. Repeatable."
        ),
    ] = None,
    recipe: Annotated[Path | None, typer.Option(help="A TOML file of settings, as the recipe.toml of a model.")] = None,
    types: Annotated[
        Path | None, typer.Option(help="A TOML file that says what the types are (binder): PER = 'names of people'.")
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with a run that was stopped.")] = False,
    html: Html = None,
    record: Annotated[
        Path | None, typer.Option(help="Write scores on the training documents at each evaluation, for diagnose fit.")
    ] = None,
    follow: Annotated[
        Path | None, typer.Option(help="Documents whose entities the record follows, for diagnose traces.")
    ] = None,
    *,
    reading: Reading,
) -> None:
    """Train a recogniser that is not taught that "unannotated" means "not an entity".

    Example: goldgap train --train labels.jsonl --dev dev.conll -o model
    """
    from goldgap.core.errors import ConfigError

    read = [*(files or []), *(complete or []), *([] if dev is None else [dev])]
    own = Path(encoder) if encoder is not None else None
    _check_written([html, record], [*read, follow, recipe, types, own], output)
    if follow is not None and record is None:
        raise ConfigError("--follow is for the record: name its file with --record")
    called = _recipe(
        recipe, types, method, _options(encoder, epochs, seed, device), settings or [], has_dev=dev is not None
    )
    corpus = reading.read_training(files or [], complete or [])
    judge = reading.read(dev) if dev is not None else None
    followed = reading.read(follow) if follow is not None else None
    _tell_beginning(output, resume=resume)
    model = _trained(called, corpus, judge, output, record, followed, resume=resume, strict=reading.strict)
    if html is not None:
        _write_page(model, corpus, output, read, html)
    _tell_end(model, output)


def _trained(
    recipe: Recipe,
    corpus: Corpus,
    dev: Corpus | None,
    output: Path,
    record: Path | None,
    followed: Corpus | None,
    *,
    resume: bool,
    strict: bool,
) -> Recognizer:
    """The model, trained and saved; a run that is stopped says how to go on."""
    from goldgap.cli.show import out
    from goldgap.cli.signals import asked_to_stop
    from goldgap.train.place import claim

    with claim(output, resume=resume) as work, asked_to_stop() as asked:
        from goldgap import Recognizer
        from goldgap.cli.watch import watching
        from goldgap.core.notes import Notes
        from goldgap.train.loop import Stopped
        from goldgap.train.split import split

        parts = split(recipe, corpus, dev, notes := Notes())
        if strict:  # before anything is trained
            notes.refuse_changes()
        recorders = [] if record is None else [_recorder(parts.train, followed, record, resume=resume)]
        try:
            with watching(recipe, corpus, dev) as show:
                observe = _telling([*recorders, show], strict=strict)
                model = Recognizer.train(
                    corpus, dev, recipe=recipe, work=work, observe=observe, stopped=lambda: asked() > 0
                )
        except Stopped as stop:
            out.print(f"{stop}; the same command with --resume goes on from there: {work}", soft_wrap=True)
            raise typer.Exit(128 + asked()) from None
        model.save(output)
    return model


def _check_written(files: list[Path | None], read: list[Path | None], output: Path) -> None:
    """Refuse names that cannot be written to, are read, or stand twice."""
    from goldgap.core.errors import ConfigError
    from goldgap.core.writing import check_target, keep_apart

    model = output.resolve()
    taken = {model, model.parent / f"{model.name}.unfinished"}
    for file in files:
        if file is not None:
            check_target(file)
            keep_apart(file, *read)
            if {file.resolve(), *file.resolve().parents} & taken:
                raise ConfigError(f"{file} is written twice by this call: give each output a name of its own")
            taken.add(file.resolve())


def _tell_beginning(output: Path, *, resume: bool) -> None:
    """Where there is nothing to resume, which may be a slip in the name."""
    from goldgap.cli.show import err
    from goldgap.train.place import begun, unfinished

    if resume and output.name and not output.exists() and not begun(unfinished(output)):
        err.print(f"caution: nothing to go on from in {unfinished(output)}; the run begins anew", soft_wrap=True)


def _recorder(corpus: Corpus, followed: Corpus | None, path: Path, *, resume: bool) -> Observer:
    from goldgap.train.record import Recorder

    recorder = Recorder(corpus, followed, path)
    if resume:
        recorder.go_on()
    return recorder


def _tell_end(model: Recognizer, output: Path) -> None:
    from goldgap.cli.show import out
    from goldgap.recognizer import LEFT_OUT_LIST

    if model.left_out:
        what = f"{len(model.left_out):,} places that may lack an annotation were left out"
        out.print(f"{what}, see {output / LEFT_OUT_LIST}", soft_wrap=True)
    out.print(f"model written to {output}", soft_wrap=True)


def _telling(observers: list[Observer], *, strict: bool) -> Observer:
    """An observer that calls the others, and tells what could not be used."""
    from goldgap.cli.show import show_notes

    def observe(seen: Seen) -> None:
        if seen.passed_over is not None:
            show_notes(seen.passed_over, "while resuming")
        if seen.notes is not None:
            if strict:
                seen.notes.refuse_changes()
            show_notes(seen.notes, "left out")
        for other in observers:
            other(seen)

    return observe


def _write_page(model: Recognizer, corpus: Corpus, output: Path, read: list[Path], html: Path) -> None:
    """The report of a training."""
    from goldgap.cli.show import out
    from goldgap.core.manifest import hashes_of
    from goldgap.core.writing import write_atomic
    from goldgap.distant.check import check
    from goldgap.report.html import training_page

    page = training_page(
        {
            "model": output.name,
            "recipe": model.recipe.model_dump(mode="json"),
            "labels": list(model.labels),
            "facts": model.facts,
            "metrics": model.metrics,
            "best_step": model.best_step,
            "lost": model.notes.lines(),
            "cautions": model.recipe.cautions(),
            "check": check(corpus).to_json(),
            "files": hashes_of([*read, output]),
        }
    )
    with write_atomic(html) as handle:
        handle.write(page)
    out.print(f"report written to {html}", soft_wrap=True)


def _options(encoder: str | None, epochs: int | None, seed: int | None, device: str | None) -> dict[str, Any]:
    """The settings that have an option of their own, where it was given."""
    loop = {"epochs": epochs, "device": device}
    return {
        **({"encoder": {"name": encoder}} if encoder is not None else {}),
        **({"seed": seed} if seed is not None else {}),
        "train": {name: value for name, value in loop.items() if value is not None},
    }


def _recipe(
    path: Path | None,
    types: Path | None,
    method: str | None,
    options: dict[str, Any],
    pairs: list[str],
    *,
    has_dev: bool,
) -> Recipe:
    """The recipe of the call: the method's, then the file's, then the options', then --set."""
    from goldgap.core.config import toml_values
    from goldgap.core.errors import ConfigError
    from goldgap.train.compose import parse_settings, read_descriptions, recipe_for

    from_file = toml_values(path) if path is not None else {}
    if has_dev and from_file.get("select_on") == "distant dev":  # of a model that was made without one
        del from_file["select_on"]
    named = from_file.get("method")
    if method is not None and named is not None and named != method:
        raise ConfigError(f"method = {named!r}, but --method {method}: leave one of them out", path=path)
    described = read_descriptions(types) if types is not None else {}
    return recipe_for(method or named or DEFAULT, from_file, described, options, parse_settings(pairs), where=path)
