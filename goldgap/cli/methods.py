"""goldgap methods: what there is for the unknown, and when to use which."""

from __future__ import annotations

from typing import Annotated

import typer


def methods(
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object, with the settings.")] = False,
) -> None:
    """Explain the methods: what each does with what nobody annotated, what it needs, when to use it.

    Example: goldgap methods
    """
    import json

    from goldgap.cli.show import out, words_table
    from goldgap.train.methods import METHODS

    if as_json:
        typer.echo(json.dumps({name: method._asdict() for name, method in METHODS.items()}, indent=2))
        return
    rows = [(name, method.what, method.needs, method.when) for name, method in METHODS.items()]
    out.print(words_table(("method", "what it does with the unknown", "needs", "use it when"), rows))
    out.print("\nAny setting of a method can be changed: goldgap train ... --method uniform --set policy.ratio=0.1")
