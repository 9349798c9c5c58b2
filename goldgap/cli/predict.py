"""goldgap predict: entities in new text."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from goldgap.cli.options import Device, Model, Output, Reading, check_annotated, first_model, with_reading

if TYPE_CHECKING:
    from goldgap import Document, Entity

SHOWN = 5


@with_reading
def predict(
    model: Model,
    source: Annotated[Path, typer.Argument(metavar="INPUT", help="Raw text or a corpus; annotations are replaced.")],
    output: Output,
    min_prob: Annotated[
        float | None, typer.Option(min=0, max=1, help="Least probability of an entity; else as the model was made.")
    ] = None,
    types: Annotated[
        list[str] | None,
        typer.Option(
            "--type",
            metavar="NAME=TEXT",
            help="Also look for this type, by what it is (binder). Repeatable.",
        ),
    ] = None,
    device: Device = "cpu",
    *,
    reading: Reading,
) -> None:
    """Find the entities of a text, in input order and with their probabilities.

    Files can have any size, but for token files, which are read whole.

    Example: goldgap predict model news.txt -o found.jsonl
    """
    from goldgap.cli.show import out, show_entities, show_notes
    from goldgap.core.corpus import write_stream
    from goldgap.core.notes import Notes

    check_annotated(output, source, model)
    recognizer = first_model(model, device)
    if min_prob is not None:
        recognizer = recognizer.with_decoding(min_prob=min_prob)
    if types:
        recognizer = recognizer.with_types(**_types(types))
    read, lost = Notes(), Notes()
    counts = {"documents": 0, "entities": 0}
    first: list[tuple[Document, Entity]] = []

    def counted() -> Iterator[Document]:
        for document in recognizer.predict(reading.stream(source, read), lost):
            counts["documents"] += 1
            counts["entities"] += len(document.entities)
            first.extend((document, entity) for entity in document.entities[: SHOWN - len(first)])
            yield document
        if reading.strict:
            lost.refuse_changes()

    written = write_stream(counted(), output, strict=reading.strict)
    show_notes(read, f"while reading {source}")
    show_notes(lost, "while predicting")
    show_notes(written, f"while writing {output}")
    show_entities(first)
    out.print(f"{counts['entities']:,} entities in {counts['documents']:,} documents: {output}", soft_wrap=True)


def _types(pairs: list[str]) -> dict[str, str]:
    """NAME=TEXT words as descriptions by name."""
    from goldgap.core.errors import ConfigError

    found: dict[str, str] = {}
    for pair in pairs:
        name, sign, text = pair.partition("=")
        name = name.strip()
        if not sign or not name:
            raise ConfigError(f"--type {pair!r}: expected NAME=TEXT, as in Vessel='ships, boats and other craft'")
        if name in found:
            raise ConfigError(f"--type {name} was given twice; put both descriptions into one")
        found[name] = text
    return found
