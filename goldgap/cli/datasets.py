"""goldgap datasets: the corpora of the experiments, and whether they are there."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from goldgap.cli.reproduce import DATA, DataFolder, data_folder


def datasets(
    name: Annotated[str | None, typer.Argument(help="Tell all of one corpus.")] = None, data: DataFolder = None
) -> None:
    """List the corpora that experiments use: what is there, whether it is what we know, and where the rest comes from.

    Example: goldgap datasets --data corpora
    """
    from goldgap.cli.show import out, show_facts, words_table
    from goldgap.compare.datasets import dataset, registry

    if name is None and data is None and not os.environ.get(DATA):
        out.print(words_table(("name", "what"), [(key, one.what) for key, one in registry().items()]))
        out.print(f"\nwhich of them are there: name their folder with --data, or in {DATA}")
        return
    folder = data_folder(data)
    if name is None:
        rows = []
        for key, one in registry().items():
            rows.append((key, ", ".join(sorted(set(one.states(folder).values()))), one.what))
        out.print(words_table(("name", "files", "what"), rows))
        return
    one = dataset(name)
    show_facts({"what": one.what, "source": one.source, "licence": one.licence})
    out.print()
    states = one.states(folder)
    out.print(
        words_table(
            ("part", "path", "state", "sha256"),
            [(part, file.path, states[part], file.sha256[:16]) for part, file in one.files.items()],
        )
    )
    for trap in one.traps:
        out.print(f"- {trap}")
