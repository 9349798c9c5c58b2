"""The corpora of the experiments, cut and damaged in named ways."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from goldgap import Corpus, Document
from goldgap.compare.runs import Data
from goldgap.core.files import sha256
from goldgap.distant.annotate import SOURCE
from goldgap.distant.mask import mask

DATA = Path(os.environ.get("GOLDGAP_DATA") or Path(__file__).parents[2] / "shared" / "data")
BENCH = (1500, 500, 1000)
"""Training, dev and test sentences of bench scale."""


def splits(name: str, seed: int) -> Data:
    """`wikigold`, `wikigold-masked-0.7`, `bc5cdr-distant`, `ncbi-bench`, ...: a corpus, its damage, its scale."""
    base, *how = name.split("-")
    files, distant = _FILES[base], "distant" in how
    paths = [DATA / files[1 if distant else 0], DATA / files[2], DATA / files[3]]
    train, dev, test = (Corpus.read(path) for path in paths)
    if distant:
        train = train.map(_from_dictionary)
    if "bench" in how:
        train, dev, test = (
            Corpus(corpus.documents[:size]) for corpus, size in zip((train, dev, test), BENCH, strict=True)
        )
    dev = Corpus(dev.documents[: BENCH[1]])  # select on at most 500 sentences
    if "masked" in how:
        train = mask(train, float(how[how.index("masked") + 1]), seed=seed)
    return Data(name, train, dev, test, {str(path.relative_to(DATA)): sha256(path) for path in paths})


_FILES: dict[str, tuple[str, str, str, str]] = {  # gold, distant, dev, test
    "wikigold": (
        "wikigold/train_gold.conll",
        "wikigold/train_distant.conll",
        "wikigold/dev.conll",
        "wikigold/test.conll",
    ),
    "bc5cdr": (
        "bc5cdr/train_gold.tsv",
        "bc5cdr/train_distant_from_dictionary_core.tsv",
        "bc5cdr/dev.tsv",
        "bc5cdr/test.tsv",
    ),
    "ncbi": ("ncbi_disease/train_gold.tsv", "", "ncbi_disease/dev.tsv", "ncbi_disease/test.tsv"),
}


def _from_dictionary(document: Document) -> Document:
    """Say who made the labels: what overlaps those of a dictionary is still unknown."""
    return document.replace(entities=tuple(replace(entity, source=SOURCE) for entity in document.entities))
