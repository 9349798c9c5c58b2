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
    from goldgap.core.writing import check_target, keep_apart
    from goldgap.distant.mask import mask as drop_entities

    check_annotated(output, corpus)
    holds_dropped = output.suffix.lower() == ".jsonl"
    beside = output.with_name(output.name + ".dropped.jsonl")
    if not holds_dropped:
        check_target(beside)
        keep_apart(beside, corpus)
    whole = reading.read(corpus)
    masked = drop_entities(whole, drop, by=by.value, mode=mode.value, seed=seed)
    dropped = whole.entity_count - masked.entity_count
    written = masked if holds_dropped else masked.map(lambda document: document.replace(dropped=()))
    if not holds_dropped:
        masked.write(beside)  # first: without it, what was dropped would be lost
    try:
        show_notes(written.write(output, strict=reading.strict), f"while writing {output}")
    except BaseException:
        if not holds_dropped:
            beside.unlink()
        raise
    if not holds_dropped:
        out.print(f"what was dropped: {beside}", soft_wrap=True)
    share = 100 * dropped / max(whole.entity_count, 1)
    out.print(f"{dropped:,} of {whole.entity_count:,} entities dropped ({share:.1f} %): {output}", soft_wrap=True)
