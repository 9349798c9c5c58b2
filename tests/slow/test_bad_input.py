"""Every kind of wrong input once, from the command line: status 2, one message that helps, nothing written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from goldgap import Corpus, Document, Entity
from tests.command import Run
from tests.slow.test_commands import FAST, WRONG, contents, files, model, stand_ins

__all__ = ["files", "model", "stand_ins"]
pytestmark = pytest.mark.slow

EXPERIMENTS = Path(__file__).parents[2] / "experiments"
TEXTS: dict[str, str | bytes] = {
    "latin.txt": "café".encode("latin-1"),
    "ragged.conll": "Ann\tB-PER\nmet\tO\nBob\n",
    "prefix.conll": "Ann\tQ-PER\nmet\tO\n",
    "outside.jsonl": '{"text": "Ann", "entities": [{"start": 0, "end": 9, "label": "PER"}]}\n',
    "reversed.jsonl": '{"text": "Ann", "entities": [{"start": 3, "end": 0, "label": "PER"}]}\n',
    "ids.jsonl": '{"id": "1", "text": "Ann"}\n{"id": "1", "text": "Bob"}\n',
    "empty.jsonl": "",
    "empty.tsv": "",
    "no-tab.tsv": "PER\tAnn\nBob\n",
    "terms.tsv": "PER\tAnn\n",
    "ragged.vec": "ann 1 2 3\nbob 1 2\n",
    "size.vec": "2 3\nann 1 2 3\nbob 1 2 3 4\n",
    "latin.vec": "café 1 2 3\n".encode("latin-1"),
    "nothing.txt": "\n",
    "no-text.toml": 'PER = ""\n',
    "twice.toml": 'PER = "people"\nPER = "persons"\n',
    "other.toml": 'PER = "people"\nSHIP = "ships"\n',
    "gadgets.jsonl": '{"id": "g", "text": "a fob", "entities": [{"start": 2, "end": 5, "label": "GADGET"}]}\n',
    "none.conll": "Ann\tB-NONE\nmet\tO\n\nBob\tB-NONE\nmet\tO\n",
}
ANNOTATE = ("annotate", "text.txt", "-o", "out.jsonl", "--dictionary")
TRAIN = ("train", "--train", "train.jsonl", "--dev", "dev.jsonl", "-o", "out", "--encoder", "TINY", *FAST)
BINDER = (*TRAIN[:9], "--method", "binder")
COMPARE = ("compare", "--train", "train.jsonl", "--dev", "dev.jsonl", "-o", "out", "--encoder", "TINY", *FAST)
OVER = "it is read by this command, which would write over it; choose another name"
LINES: dict[str, tuple[tuple[str, ...], str]] = {
    # files
    "missing file": (("check", "trian.jsonl"), "trian.jsonl: no such file; did you mean train.jsonl?"),
    "folder instead of a file": (
        ("check", "EMPTY"),
        "EMPTY: no .ann file in this folder; brat keeps NAME.ann beside NAME.txt",
    ),
    "wrong encoding": (
        ("check", "latin.txt"),
        "latin.txt:1: byte 3 (0xe9) is not UTF-8; if the file is in another encoding, convert it",
    ),
    "ragged columns": (("check", "ragged.conll"), "ragged.conll:3: 1 column, expected 2 as on line 1"),
    "unknown tag prefix": (
        ("check", "prefix.conll"),
        "prefix.conll:1: the tag 'Q-PER' is neither O nor UNK nor one of",
    ),
    "offsets outside": (
        ("check", "outside.jsonl"),
        "outside.jsonl:1: entity Entity(0, 9, 'PER'): it lies outside the text of 3 characters",
    ),
    "offsets reversed": (
        ("check", "reversed.jsonl"),
        "reversed.jsonl:1: entity Entity(3, 0, 'PER'): start 3 lies behind end 0",
    ),
    "duplicate ids": (
        ("check", "ids.jsonl"),
        "ids.jsonl:2: the id '1' was given on line 1 already; ids must be unique",
    ),
    "empty corpus": (("check", "empty.jsonl"), "empty.jsonl: no document in it: expected at least one"),
    "empty dictionary": ((*ANNOTATE, "empty.tsv"), "empty.tsv: no entry in it: expected lines of LABEL<TAB>surface"),
    "dictionary line without a tab": (
        (*ANNOTATE, "no-tab.tsv"),
        "no-tab.tsv:2: no tab in 'Bob', expected LABEL<TAB>surface",
    ),
    # training
    "no entity": WRONG["no entity"],
    "unknown method": WRONG["method"],
    "unknown encoder": WRONG["encoder"],
    "pickled weights": WRONG["pickled encoder"],
    "model with a missing file": WRONG["model with a missing file"],
    "model with a foreign file": WRONG["model with a further file"],
    "model with an altered file": WRONG["model with an altered file"],
    # comparing
    "different label sets": (
        (*COMPARE, "--test", "animals.jsonl", "--strict"),
        "1 x entity of the type ANIMAL in the test file, never trained on",
    ),
    "test file that overlaps the training file": (
        (*COMPARE, "--test", "dev.jsonl", "--strict"),
        "8 x document of the test file that is also trained on",
    ),
    "experiment without its data": (
        ("reproduce", "masked", "--data", "EMPTY", "--experiments", "EXPERIMENTS"),
        "wikigold/train_gold.conll: the train file of wikigold is not there (sha256 ",
    ),
    # the bi-encoder
    "type without description, and no fallback": (
        (*BINDER, "--train", "gadgets.jsonl", "--set", "bi_encoder.fallback=refuse"),
        "GADGET",
    ),
    "two types with one name": (
        (*BINDER, "--types", "twice.toml"),
        "twice.toml: not TOML: Cannot overwrite a value (at line 2",
    ),
    "empty description": (
        (*BINDER, "--types", "no-text.toml"),
        "types.PER.description is empty: say in a sentence what PER is",
    ),
    "description of a type that is not in the data": (
        (*BINDER, "--types", "other.toml"),
        "types.SHIP: there is no type in the training files 'SHIP'. Known: LOC, ORG, PER",
    ),
    "--type on a model without a type encoder": (
        ("predict", "MODEL", "text.txt", "-o", "out.jsonl", "--type", "SHIP=ships and boats"),
        "this model (method span) does not read what a type is",
    ),
    # taggers
    "vectors with ragged lines": (
        (*TRAIN, "--method", "uniform", "--encoder", "bilstm", "--set", "encoder.vectors=ragged.vec"),
        "ragged.vec:2: a word with 2 numbers, expected 3",
    ),
    "vectors of another size": (
        (*TRAIN, "--method", "uniform", "--encoder", "bilstm", "--set", "encoder.vectors=size.vec"),
        "size.vec:3: a word with 4 numbers, expected 3",
    ),
    "vectors of another encoding": (
        (*TRAIN, "--method", "uniform", "--encoder", "bilstm", "--set", "encoder.vectors=latin.vec"),
        "latin.vec:1: byte 3 (0xe9) is not UTF-8",
    ),
    "empty lexicon": (
        (*TRAIN[:9], "--method", "lebert", "--set", "lexicon.file=nothing.txt"),
        "nothing.txt: no word in this lexicon, expected one a line",
    ),
    "lambda outside of 0 to 1": (
        (*TRAIN, "--method", "two-step", "--set", "two_step.share=1.5"),
        "two_step.share = 1.5: input should be less than or equal to 1",
    ),
    "gamma outside of 0 to 1": (
        (*TRAIN, "--method", "two-step", "--set", "two_step.none=-0.1"),
        "two_step.none = -0.1: input should be greater than or equal to 0",
    ),
    "NONE as a type": (
        (
            "train",
            "--train",
            "none.conll",
            "--dev",
            "none.conll",
            "-o",
            "out",
            "--encoder",
            "TINY",
            "--method",
            "two-step",
            "--set",
            "two_step.none=0.1",
        ),
        "rename it, e.g. with sed, or use another method",
    ),
    # what is written
    "labels over the dictionary": (
        ("annotate", "text.txt", "-o", "terms.tsv", "--dictionary", "terms.tsv"),
        "terms.tsv: it is read by this command, which would write over it; choose another name",
    ),
    "report over the gold": (("evaluate", "dev.jsonl", "dev.jsonl", "--html", "dev.jsonl"), OVER),
    "corpus over itself": (("convert", "train.jsonl", "train.jsonl"), OVER),
    "masked over itself": (("mask", "train.jsonl", "-o", "train.jsonl", "--drop", "0.5"), OVER),
    "predictions over their text": (("predict", "MODEL", "text.txt", "-o", "text.txt"), OVER),
    "suspects over their corpus": (("suspects", "MODEL", "train.jsonl", "-o", "train.jsonl"), OVER),
    "record over the training file": ((*TRAIN, "--record", "train.jsonl"), OVER),
    "labels into raw text": (
        ("annotate", "text.txt", "-o", "out.txt", "--dictionary", "terms.tsv"),
        "out.txt: raw text holds no annotations; write .jsonl",
    ),
    "what was dropped over what is read": (
        ("mask", "n.conll.dropped.jsonl", "-o", "n.conll", "--drop", "0.5"),
        OVER,
    ),
    "what was dropped into a folder": (
        ("mask", "train.jsonl", "-o", "m.conll", "--drop", "0.5"),
        "m.conll.dropped.jsonl: a folder, expected the name of a file",
    ),
    # nothing to learn from
    "nothing to train on": (
        ("train", "-o", "out"),
        "nothing to train on: name a file with --train, or with --complete",
    ),
    "dev set without entity": (
        ("train", "--train", "train.jsonl", "--dev", "text.txt", "-o", "out", "--encoder", "TINY"),
        "no entity in the dev set",
    ),
    "comparison without entity": (
        ("compare", "--train", "text.txt", "--dev", "dev.jsonl", "--test", "dev.jsonl", "-o", "out"),
        "no entity in the training file",
    ),
    "share to mask given twice": (
        (*COMPARE, "--test", "dev.jsonl", "--drop", "0.5,0.5"),
        "--drop 0.5,0.5: a share stands there twice",
    ),
    "method on another encoder": (
        (*TRAIN, "--method", "flat"),
        "the method is its own encoder; use crf or two-step with another one",
    ),
    "no folder of corpora": (("datasets", "--data", "nowhere"), "nowhere: no such folder"),
}


@pytest.fixture
def odd_files(files: Path) -> Path:
    for name, text in TEXTS.items():
        (files / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    (files / "m.conll.dropped.jsonl").mkdir()
    (files / "n.conll.dropped.jsonl").write_bytes((files / "train.jsonl").read_bytes())
    Corpus([Document("Ann met a cat", (Entity(10, 13, "ANIMAL"),))]).write(files / "animals.jsonl")
    return files


@pytest.mark.parametrize(("call", "told"), LINES.values(), ids=LINES)
def test_wrong_input_is_one_message_and_nothing_is_written(
    call: tuple[str, ...], told: str, run: Run, odd_files: Path, stand_ins: dict[str, Any]
) -> None:
    before, places = contents(odd_files), {**stand_ins, "EXPERIMENTS": EXPERIMENTS}
    result = run(*(places.get(part, part) for part in call))
    assert result.status == 2, result.err
    assert told in result.err
    assert result.err.startswith("goldgap: ")
    assert contents(odd_files) == before
