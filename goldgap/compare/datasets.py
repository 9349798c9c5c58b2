"""Corpora by name: where they come from, which files they have, and whether those are what we know."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Literal

from pydantic import Field

from goldgap.compare.runs import Data
from goldgap.core.config import Settings, load
from goldgap.core.corpus import Corpus
from goldgap.core.document import DICTIONARY, Document
from goldgap.core.errors import ConfigError, InputError, IntegrityError
from goldgap.core.manifest import sha256
from goldgap.core.registry import unknown_name
from goldgap.distant.dictionary import Dictionary
from goldgap.distant.phrases import leave_open, read_phrases

BENCH = (1500, 500, 1000)
"""Training, dev and test sentences of bench scale."""
MOST_DEV = 500
"""Dev sentences that epochs are chosen on."""
WhoseLabels = Literal["gold", "distant", "both"]
State = Literal["there", "absent", "altered", "not checked"]


class File(Settings):
    """A file of a corpus, by its path in the folder of data."""

    path: str
    sha256: str = ""


class Dataset(Settings):
    """A corpus: where it comes from, what to know of it, its files by part.

    types   those that are read of it; left out: all
    """

    what: str
    source: str
    licence: str
    types: list[str] = Field(default_factory=list)
    traps: list[str] = Field(default_factory=list)
    files: dict[str, File]

    def states(self, folder: Path) -> dict[str, State]:
        """What is there of each file."""
        return {part: _state(folder / file.path, file) for part, file in self.files.items()}


def _state(path: Path, file: File) -> State:
    if not path.is_file():
        return "absent"
    if not file.sha256:
        return "not checked"
    return "there" if sha256(path) == file.sha256 else "altered"


@cache
def registry() -> dict[str, Dataset]:
    """All corpora that we know."""
    values = tomllib.loads(Path(__file__).with_name("datasets.toml").read_text(encoding="utf-8"))
    return {name: load(Dataset, entry) for name, entry in values.items()}


def dataset(name: str) -> Dataset:
    if name not in registry():
        raise ConfigError(unknown_name("corpus", name, registry()))
    return registry()[name]


def read_dataset(
    name: str,
    folder: Path,
    *,
    labels: WhoseLabels = "gold",
    phrases: bool = False,
    bench: bool = True,
    first: int = 0,
    distant_dev: bool = False,
) -> Data:
    """The corpus for runs; at bench scale, its first sentences.

    labels    of people, of a dictionary (which carry their source), or complete ones of people and further sentences
              with those of a dictionary
    phrases   the corpus has a list of all that could be an entity: elsewhere there is none
    first     training sentences, where it is not at bench scale; 0: all
    distant_dev   score the dev set with the dictionary's labels as well, at every evaluation
    """
    corpus = dataset(name)
    trained = {"gold": ["train"], "distant": ["distant"], "both": ["train", "distant"]}[labels]
    paths = {part: _checked(name, corpus, part, folder) for part in (*trained, "dev", "test")}
    read = {part: Corpus.read(path).map(_only(corpus.types)) for part, path in paths.items()}
    if phrases:
        paths["phrases"] = _checked(name, corpus, "phrases", folder)
    if "distant" in read:
        read["distant"] = read["distant"].map(_from_dictionary)
    train, dev, test = read[trained[0]], read["dev"], read["test"]
    if labels == "both":
        people = (document.replace(complete=True, id="") for document in train)
        train = Corpus([*people, *(document.replace(id="") for document in read["distant"])])
    if phrases:
        train = leave_open(train, read_phrases(paths["phrases"]))
    cut = bench and any(len(one) > most for one, most in zip((train, dev, test), BENCH, strict=True))
    if cut:
        train, dev, test = (Corpus(one.documents[:most]) for one, most in zip((train, dev, test), BENCH, strict=True))
    elif first:
        train = Corpus(train.documents[:first])
    dev = Corpus(dev.documents[:MOST_DEV])
    others = {}
    if distant_dev:
        paths["dictionary"] = _checked(name, corpus, "dictionary", folder)
        others["distant dev"] = Dictionary.read(paths["dictionary"]).annotate(dev, case="exact")
    files = {str(path.relative_to(folder)): sha256(path) for path in paths.values()}
    called = [name, *([] if labels == "gold" else [labels]), *(["phrases"] if phrases else [])]
    scale = ["bench"] if cut else [f"first-{first}"] if first else []
    return Data("-".join([*called, *scale]), train, dev, test, files, others)


def _only(types: list[str]) -> Callable[[Document], Document]:
    """Documents with the entities of these types alone; all, if there is none."""

    def keep(document: Document) -> Document:
        return document.replace(entities=tuple(entity for entity in document.entities if entity.label in types))

    return keep if types else lambda document: document


def _checked(name: str, corpus: Dataset, part: str, folder: Path) -> Path:
    """The path of a file that is what we know."""
    if part not in corpus.files:
        raise ConfigError(f"the corpus {name} has no {part} file")
    file = corpus.files[part]
    path = folder / file.path
    known = f" (sha256 {file.sha256})" if file.sha256 else ""
    match _state(path, file):
        case "absent":
            raise InputError(
                f"the {part} file of {name} is not there{known}; it comes from {corpus.source}, {corpus.licence}",
                path=path,
            )
        case "altered":
            raise IntegrityError(
                f"not the {part} file of {name} that we know{known}: its sha256 is {sha256(path)}; get it from "
                f"{corpus.source} again",
                path=path,
            )
    return path


def _from_dictionary(document: Document) -> Document:
    """Say who made the labels: what overlaps those of a dictionary is still unknown."""
    return document.replace(entities=tuple(replace(entity, source=DICTIONARY) for entity in document.entities))
