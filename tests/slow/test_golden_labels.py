"""Labels that are known to the last sentence: BC5CDR and EC, matched over their own words."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from goldgap import Corpus, Dictionary

pytestmark = pytest.mark.slow


def equal_sentences(ours: Corpus, theirs: Corpus) -> int:
    return sum(
        {entity.key for entity in one.entities} == {entity.key for entity in other.entities}
        for one, other in zip(ours, theirs, strict=True)
    )


def test_bc5cdr_labels_are_reproduced_in_every_sentence(shared_data: Path) -> None:
    folder = shared_data / "bc5cdr"
    words = Corpus.read(folder / "train_gold.tsv")
    labels = Dictionary.read(folder / "dictionary_core.tsv").annotate(words, case="exact")
    assert len(words) == 4560
    assert equal_sentences(labels, Corpus.read(folder / "train_distant_from_dictionary_core.tsv")) == 4560


def test_bc5cdr_quality_as_the_command_prints_it(shared_data: Path, tmp_path: Path) -> None:
    folder = shared_data / "bc5cdr"
    command: list[str | Path] = [
        Path(sys.executable).with_name("goldgap"),
        "annotate",
        folder / "train_gold.tsv",
        "--case",
        "exact",
    ]
    command += ["--dictionary", folder / "dictionary_core.tsv", "--gold", folder / "train_gold.tsv"]
    printed = subprocess.run([*command, "-o", tmp_path / "o.tsv"], capture_output=True, text=True, check=True).stdout
    row = next(line for line in printed.split("\n") if line.startswith("all (micro)"))
    assert row.split()[2:5] == ["89.21", "67.10", "76.59"]


def test_ec_labels_are_reproduced_in_at_least_2504_sentences(shared_data: Path) -> None:
    distant = Corpus.read(shared_data / "ec" / "train_distant_partial.conll")
    labels = Dictionary.read(shared_data / "ec" / "dictionary").annotate(distant, case="exact")
    assert len(distant) == 2560
    assert equal_sentences(labels, distant) >= 2504


def test_entity_counts_of_every_corpus(shared_data: Path) -> None:
    counts = {
        "wikigold/train_gold.conll": (1142, 2295),
        "wikigold/train_distant.conll": (1142, 2282),
        "bc5cdr/dev.tsv": (4581, 9593),
        "bc5cdr/test.tsv": (4797, 9809),
        "ec/train_gold.conll": (1097, 1264),
        "ncbi_disease/train_gold.tsv": (5424, 5134),
        "wnut17/train_gold.conll": (3394, 1975),
        "genia_nested/train_gold.jsonl": (15023, 46142),
    }
    read = {name: Corpus.read(shared_data / name) for name in counts}
    assert {name: (len(corpus), corpus.entity_count) for name, corpus in read.items()} == counts
