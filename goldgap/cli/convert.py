"""goldgap convert: from one corpus format to another."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from goldgap.cli.options import Reading, with_reading


@with_reading
def convert(
    source: Annotated[Path, typer.Argument(metavar="IN", help="The corpus to read.")],
    target: Annotated[Path, typer.Argument(metavar="OUT", help="The file or folder to write.")],
    to: Annotated[str | None, typer.Option(help="Format to write; else by extension.")] = None,
    to_scheme: Annotated[str, typer.Option(help="Tag scheme to write into a token file.")] = "bio",
    *,
    reading: Reading,
) -> None:
    """Convert a corpus, and say what the new format could not hold.

    Example: goldgap convert train.conll train.jsonl
    """
    from goldgap.cli.show import out, show_notes
    from goldgap.core.writing import keep_apart
    from goldgap.corpus.lost import EMPTY
    from goldgap.corpus.tags import letters_of

    keep_apart(target, source)
    letters_of(to_scheme)  # refuses an unknown name, whatever is written
    corpus = reading.read(source)
    notes = corpus.write(target, format=to, scheme=to_scheme, strict=reading.strict)
    show_notes(notes, f"while writing {target}")
    written = len(corpus) - notes.count(EMPTY)
    out.print(f"{written:,} documents written to {target}", soft_wrap=True)
