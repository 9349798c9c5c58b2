"""Reader fuzzing: any bytes give sound documents or an InputError, never another exception."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path
from random import Random

import pytest

from goldgap.core.corpus import Corpus
from goldgap.core.document import Document, Entity, Rejected, label_problem
from goldgap.core.errors import InputError
from goldgap.corpus.jsonl import to_json
from goldgap.distant.dictionary import Dictionary

EXAMPLES = {"conll": 400, "jsonl": 800, "text": 100, "brat": 300, "pubtator": 300, "dictionary": 100}
"""2,000 in all, most where most can go wrong."""
SECONDS = 1.0
"""What one small file may cost, in time of the processor."""

SAMPLES: dict[str, list[str]] = {
    "conll": [
        "-DOCSTART- -X- O\n\nEU NNP B-ORG\nrejects VBZ O\nGerman JJ I-MISC\n\n# id = s2\nAda NNP B-PER\nB. NNP I-PER\n",
        "雯\tB-PER\n在\tO\n上\tB-LOC\n海\tI-LOC\n\nNew York\tS-LOC\n#\tUNK\nx\tB-location,B-group\n",
        "Ada\tS-PER\r\nmet\tO\r\nBob\tB-PER\r\nSmith\tE-PER\r\n",
    ],
    "jsonl": [
        '{"id": "1", "text": "Ada met Bob", "entities": [{"start": 0, "end": 3, "label": "PER", "score": 0.5}]}\n',
        '{"tokens": ["New", "York", "中", "国"], "entities": [[0, 1, "LOC"]], "complete": ["LOC", "PER"]}\n',
        '{"text": "a b \\ud83d\\ude00", "tokens": [[0, 1], [2, 3]], "unknown": [[0, 1]], "complete": true, '
        '"rejected": [{"start": 2, "end": 3}], "dropped": [{"start": 0, "end": 1, "label": "X", "source": "me"}]}\n',
    ],
    "text": ["Ada met Bob.\n\nשלום עולם\n中国 😀\n"],
    "brat": ["T1\tPER 0 3\tAda\nT2\tLOC 8 16\tNew York\nR1\tin Arg1:T1 Arg2:T2\nT3\tX 0 3;8 11\tAda New\n"],
    "pubtator": [
        "12|t|Ada met\n12|a|New York\n12\t0\t3\tAda\tPER\n12\t8\t16\tNew York\tLOC\tD1\n12\tCID\tD1\tD2\n\n13|t|x\n"
    ],
    "dictionary": ["PER\tAda Lovelace\nLOC\tNew  York\texact\nLOC\trome\tfold\n"],
}
BRAT_TEXT = "Ada met New York\r\n中国 😀"

SNIPPETS = [
    *(
        b"\r",
        b"\n",
        b"\n\n",
        b"\r\n",
        b"\t",
        b" ",
        b"\0",
        b"\xef\xbb\xbf",
        b"\xff\xfe",
        b"\xed\xa0\xbd",
        b"\xc3",
        b"\xf0\x9f",
    ),
    *(
        text.encode()
        for text in ("\u2028", "\u0085", "\u00a0", "\u3000", "\u200b", "\u202e", "e\u0301", "👨\u200d👩", "\ufffd")
    ),
    *(
        b"NaN",
        b"1e999",
        b"-1",
        b"9" * 400,
        b"9" * 5000,
        b"[" * 3000,
        b"{}",
        b"null",
        b"true",
        b'"\\ud83d"',
        b'"\\u0000"',
    ),
    *(b'"', b"\\", b",", b":", b"{", b"}", b"[", b"]", b"0", b"|t|", b"|a|", b";", b"#", b"# id = 1\n", b"-DOCSTART-"),
    *(b"B-", b"I-PER", b"E-PER", b"U-X", b"UNK", b"O", b"B-a,B-b", b"-", "٣".encode(), "²".encode(), b"x" * 10_000),
]

VALUE = re.compile(rb'[0-9.]+|"[^"]*"|[^\s":,{}\[\]]+')
"""What can be exchanged with the rest of the file left as it is: numbers, strings, words."""

OPTIONS: dict[str, list[object]] = {
    "on_error": ["error", "repair", "skip"],
    "rule": ["lenient", "strict"],
    "scheme": [None, None, None, "bio", "iob1", "bioes"],
    "separator": [None, None, "tab", "space", "|"],
    "token_column": [0, 0, 0, 1, -2],
    "join": ["auto", "space", "none"],
}


def mutated(sample: bytes, random: Random) -> bytes:
    """A sample with up to six changes; one in ten times bytes that have nothing to do with it."""
    if random.random() < 0.1:
        return random.randbytes(random.randrange(60))
    data = bytearray(sample)
    for _ in range(random.randrange(7)):
        at, end = sorted(random.randrange(len(data) + 1) for _ in range(2))
        kind = random.choice(["flip", "cut", "remove", "insert", "insert", "repeat", "swap", *["value"] * 4])
        if kind == "flip" and at < len(data):
            data[at] ^= 1 << random.randrange(8)
        elif kind == "cut":
            del data[max(at, len(data) // 2) :]
        elif kind == "remove":
            del data[at : min(end, at + 8)]
        elif kind == "insert":
            data[at:at] = random.choice(SNIPPETS)
        elif kind == "repeat":
            data[at:at] = data[at:end]
        elif kind == "value" and (values := list(VALUE.finditer(data))):
            start, end = random.choice(values).span()
            data[start:end] = random.choice(SNIPPETS)
        elif kind == "swap":
            data[at : at + 2] = reversed(data[at : at + 2])
    return bytes(data)


def assert_sound(document: Document) -> None:
    items: list[Entity | Rejected] = [*document.entities, *document.dropped, *document.rejected]
    for item in items:
        surface = document.text[item.start : item.end]
        assert document.surface(item) == surface
        assert len(surface) == item.end - item.start > 0
    for ranges in (document.tokens or (), document.unknown):
        flat = [offset for pair in ranges for offset in pair]
        assert flat == sorted(flat)
        assert all(0 <= start < end <= len(document.text) for start, end in ranges)
    assert json.loads(json.dumps(to_json(document), ensure_ascii=False).encode())["text"] == document.text


def read_corpus(path: Path, format: str, random: Random) -> None:
    options = {name: random.choice(values) for name, values in OPTIONS.items()}
    corpus = Corpus.read(path, format=format, **options)
    assert len(corpus) > 0
    assert len({document.id for document in corpus}) == len(corpus)
    for document in corpus:
        assert_sound(document)
        if format == "conll":
            assert document.tokens, "a sentence has words"


def read_dictionary(path: Path) -> None:
    dictionary = Dictionary.read(path)
    assert len(dictionary) > 0
    for entry in dictionary:
        assert label_problem(entry.label) is None
        assert entry.surface == " ".join(entry.surface.split()) != ""


def write_example(format: str, random: Random, folder: Path) -> Path:
    data = mutated(random.choice(SAMPLES[format]).encode(), random)
    path = folder / ("1.ann" if format == "brat" else "corpus")
    path.write_bytes(data)
    if format == "brat":
        text = BRAT_TEXT.encode()
        path.with_suffix(".txt").write_bytes(mutated(text, random) if random.random() < 0.3 else text)
    return path


def outcome(path: Path, format: str, random: Random) -> str:
    """ "read", or the message of the InputError; any other exception passes through."""
    try:
        read_dictionary(path) if format == "dictionary" else read_corpus(path, format, random)
    except InputError as error:
        return str(error)
    return "read"


@pytest.mark.parametrize(("format", "examples"), EXAMPLES.items())
def test_any_bytes_give_sound_documents_or_an_input_error(format: str, examples: int, tmp_path: Path) -> None:
    read = 0
    for number in range(examples):
        random = Random(f"{format} {number}")
        path = write_example(format, random, tmp_path)
        started = time.process_time()
        try:
            result = outcome(path, format, random)
        except Exception as error:
            error.add_note(f"{format}, example {number}: {path.read_bytes()[:2000]!r}")
            raise
        assert time.process_time() - started < SECONDS, f"example {number} is slow"
        assert result == "read" or result.startswith(str(tmp_path)), f"example {number} names no file: {result}"
        read += result == "read"
    assert 0.05 < read / examples < 0.95, "nearly all examples end the same way"
