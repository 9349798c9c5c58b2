"""goldgap datasets: the corpora of the experiments, and whether they are there."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from goldgap.cli.reproduce import DATA, DataFolder, data_folder

if TYPE_CHECKING:
    from goldgap.compare.datasets import Dataset


def datasets(
    name: Annotated[str | None, typer.Argument(help="Tell all of one corpus.")] = None, data: DataFolder = None
) -> None:
    """List the corpora that experiments use: what is there, whether it is what we know, and where the rest comes from.

    Example: goldgap datasets --data corpora
    """
    from goldgap.cli.show import out, words_table
    from goldgap.compare.datasets import dataset, registry

    known = data is not None or bool(os.environ.get(DATA))
    if name is not None:
        one = dataset(name)
        _tell(one, data_folder(data) if known else None)
    elif known:
        folder = data_folder(data)
        files = {key: ", ".join(sorted(set(one.states(folder).values()))) for key, one in registry().items()}
        out.print(words_table(("name", "files", "what"), [(key, files[key], registry()[key].what) for key in files]))
    else:
        out.print(words_table(("name", "what"), [(key, one.what) for key, one in registry().items()]))
        out.print(f"\nwhich of them are there: name their folder with --data, or in {DATA}")


def _tell(one: Dataset, folder: Path | None) -> None:
    from goldgap.cli.show import out, show_facts, words_table

    show_facts({"what": one.what, "source": one.source, "licence": one.licence})
    out.print()
    states = dict.fromkeys(one.files, "not looked for") if folder is None else one.states(folder)
    rows = [(part, file.path, states[part], file.sha256[:16]) for part, file in one.files.items()]
    out.print(words_table(("part", "path", "state", "sha256"), rows))
    for trap in one.traps:
        out.print(f"- {trap}")
