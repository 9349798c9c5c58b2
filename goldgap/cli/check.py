"""goldgap check: what is in a corpus, what is suspicious, what would be lost."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from goldgap.cli.options import Reading, with_reading


@with_reading
def check(
    corpus: Annotated[Path, typer.Argument(help="The corpus to look at.")],
    others: Annotated[list[Path] | None, typer.Argument(help="Other splits: find documents in both.")] = None,
    dictionary: Annotated[
        Path | None, typer.Option("--dictionary", "-d", help="Also audit this dictionary on the corpus.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead.")] = False,
    *,
    reading: Reading,
) -> None:
    """Look at a corpus before training on it: counts, slips, and what a model would lose.

    Example: goldgap check train.conll dev.conll test.conll
    """
    import json

    from goldgap.cli.show import out, show_check
    from goldgap.distant.annotate import annotate
    from goldgap.distant.audit import audit
    from goldgap.distant.check import check as look_over
    from goldgap.distant.dictionary import Dictionary
    from goldgap.distant.rules import MatchRules

    terms = Dictionary.read(dictionary) if dictionary is not None else None
    documents = reading.read(corpus)
    found = look_over(documents, [(str(path), reading.read(path)) for path in others or []])
    audited = audit(annotate(documents, terms, MatchRules()), terms) if terms is not None else None
    if as_json:
        values = {"corpus": found.to_json()} | ({} if audited is None else {"dictionary": audited.to_json()})
        typer.echo(json.dumps(values, indent=2))
        return
    show_check(found)
    if not found.findings:
        out.print("\nnothing suspicious found")
    if audited is not None:
        out.rule("the dictionary on this text")
        show_check(audited)
