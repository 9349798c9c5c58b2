"""goldgap mask: take annotations away on purpose."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from goldgap.cli.options import Output, Reading, Seed, check_annotated, with_reading


class ByChoice(StrEnum):
    mention = "mention"
    surface = "surface"
    type = "type"


class ModeChoice(StrEnum):
    bernoulli = "bernoulli"
    exact = "exact"


@with_reading
def mask(
    corpus: Annotated[Path, typer.Argument(help="A completely annotated corpus.")],
    output: Output,
    drop: Annotated[float, typer.Option(help="Share of the entities to take away, 0 to 1.")],
    by: Annotated[ByChoice, typer.Option(help="What falls together: one mention, all of a surface, or a type.")] = (
        ByChoice.mention
    ),
    mode: Annotated[ModeChoice, typer.Option(help="Each with that probability, or exactly that share.")] = (
        ModeChoice.bernoulli
    ),
    seed: Seed = 0,
    *,
    reading: Reading,
) -> None:
    """Drop a share of the annotations, to measure methods on gaps of known size.

    What was dropped is kept beside the rest in .jsonl; for other formats it goes to OUT.dropped.jsonl.

    Example: goldgap mask train.conll -o masked.jsonl --drop 0.7
    """
    from goldgap.cli.show import out, show_notes
    from goldgap.core.writing import keep_apart, write_atomic
    from goldgap.corpus.jsonl import to_line
    from goldgap.distant.mask import mask as drop_entities

    check_annotated(output, corpus)
    holds_dropped = output.suffix.lower() == ".jsonl"
    beside = output.with_name(output.name + ".dropped.jsonl")
    if not holds_dropped:
        keep_apart(beside, corpus)
    whole = reading.read(corpus)
    masked = drop_entities(whole, drop, by=by.value, mode=mode.value, seed=seed)
    dropped = whole.entity_count - masked.entity_count
    if holds_dropped:
        notes = masked.write(output)
    else:
        bare = masked.map(lambda document: document.replace(dropped=()))
        with write_atomic(beside) as handle:  # both appear, or neither
            handle.writelines(map(to_line, masked))
            handle.flush()
            notes = bare.write(output, strict=reading.strict)
        out.print(f"what was dropped: {beside}", soft_wrap=True)
    show_notes(notes, f"while writing {output}")
    share = 100 * dropped / max(whole.entity_count, 1)
    out.print(f"{dropped:,} of {whole.entity_count:,} entities dropped ({share:.1f} %): {output}", soft_wrap=True)
