"""goldgap suspects: the annotations that seem to be missing."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from goldgap.cli.options import Device, Model, Reading, first_model, with_reading

SHOWN = 10


@with_reading
def suspects(
    model: Model,
    corpus: Annotated[Path, typer.Argument(help="The corpus to look through, as it was trained on or another.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="The file to write, JSONL.", show_default=False)],
    min_prob: Annotated[
        float | None, typer.Option(min=0, max=1, help="Least probability of one; else as the model was made.")
    ] = None,
    device: Device = "cpu",
    *,
    reading: Reading,
) -> None:
    """List unknown spans that look like missing annotations, best first, by surface and with context.

    Writes one JSON object a line: surface, label, score, and every place with its context.

    Example: goldgap suspects model train.jsonl -o suspects.jsonl
    """
    import json

    from goldgap.cli.show import out, show_notes, show_suspects
    from goldgap.core.notes import Notes
    from goldgap.core.writing import check_target, keep_apart, write_atomic

    check_target(output)
    keep_apart(output, corpus, model)
    recognizer = first_model(model, device)
    lost = Notes()
    found = recognizer.suspects(reading.read(corpus), min_prob=min_prob, notes=lost)
    if reading.strict:
        lost.refuse_changes()
    show_notes(lost, f"while predicting with {model}")
    with write_atomic(output) as handle:
        for suspect in found:
            handle.write(json.dumps(suspect.to_json(), ensure_ascii=False) + "\n")
    show_suspects(found[:SHOWN])
    places = sum(len(suspect.places) for suspect in found)
    out.print(f"{len(found):,} surfaces in {places:,} places: {output}", soft_wrap=True)
