"""Malformed corpora, one defect each: every one parses to a stated result or is refused with its place."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from goldgap.core import document as document_module
from goldgap.core.corpus import Corpus
from goldgap.core.document import Document
from goldgap.core.errors import ConfigError, InputError
from goldgap.corpus.inspect import inspect
from goldgap.distant.dictionary import Dictionary, Entry

COMMAND = Path(sys.executable).with_name("goldgap")
FAMILY = "\U0001f468\u200d\U0001f469\u200d\U0001f467"

Files = Mapping[str, bytes]
Offsets = tuple[int, int, str]


@dataclass(frozen=True)
class Parses:
    """What a reader makes of files; `changes` are all the changes it reports: what, how often, where (file:line)."""

    files: Files
    texts: list[str]
    entities: list[list[Offsets]]
    words: list[list[str]] | None = None
    facts: Mapping[str, str] = field(default_factory=dict)
    changes: Mapping[str, tuple[int, list[str]]] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)
    target: str = ""


@dataclass(frozen=True)
class Refused:
    """How a reader refuses files: the line, what it found there, what it expected or advises."""

    files: Files
    line: int | None
    found: str
    expected: str
    options: Mapping[str, Any] = field(default_factory=dict)
    target: str = ""
    blamed: str = ""


def conll(text: str | bytes) -> Files:
    return {"corpus.conll": text if isinstance(text, bytes) else text.encode()}


def jsonl(*lines: str | Mapping[str, Any]) -> Files:
    return {"corpus.jsonl": "".join((x if isinstance(x, str) else json.dumps(x)) + "\n" for x in lines).encode()}


def entity_in_ada(**entity: Any) -> Files:
    """One document, the text "Ada met Bob", with one entity."""
    return jsonl({"text": "Ada met Bob", "entities": [{"label": "PER"} | entity]})


def brat(text: str | None, annotation: str) -> Files:
    files = {"folder/1.ann": annotation.encode()}
    return files if text is None else files | {"folder/1.txt": text.encode()}


def pubtator(text: str) -> Files:
    return {"corpus.pubtator": text.encode()}


def place(files: Files, root: Path) -> Path:
    """Write the files; the path to read is the first file, or the folder that it lies in."""
    for name, data in files.items():
        path = root / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(data)
    return root / next(iter(files), "missing.conll").partition("/")[0]


SOUND = "Ada\tB-PER\nmet\tO\n"
SOUND_TEXTS, SOUND_ENTITIES = ["Ada met"], [[(0, 3, "PER")]]
NOTHING = "no document in it"
NO_END = "entity without an end tag (kept as an entity of its own)"
NOT_OPEN = "inside tag with no entity open (kept as an entity of its own)"
NOT_UTF8 = "character that is not UTF-8 (replaced by U+FFFD)"

PARSES = {
    # Bytes and line ends
    "no final newline": Parses(conll("Ada\tB-PER\nmet\tO"), SOUND_TEXTS, SOUND_ENTITIES),
    "CR": Parses(conll("Ada\tB-PER\rmet\tO\r"), SOUND_TEXTS, SOUND_ENTITIES, facts={"line ends": "CR"}),
    "CRLF": Parses(conll("Ada\tB-PER\r\nmet\tO\r\n"), SOUND_TEXTS, SOUND_ENTITIES, facts={"line ends": "CRLF"}),
    "CRLF and LF mixed": Parses(
        conll("Ada\tB-PER\r\nmet\tO\n"), SOUND_TEXTS, SOUND_ENTITIES, facts={"line ends": "mixed"}
    ),
    "CRLF and CR mixed": Parses(
        conll("Ada\tB-PER\r\nmet\tO\r"), SOUND_TEXTS, SOUND_ENTITIES, facts={"line ends": "mixed"}
    ),
    "CR before CRLF between sentences": Parses(
        conll("Ada\tO\r\r\nBob\tO\r\n"), ["Ada", "Bob"], [[], []], facts={"line ends": "mixed"}
    ),
    "byte order mark": Parses(
        conll(b"\xef\xbb\xbf" + SOUND.encode()), SOUND_TEXTS, SOUND_ENTITIES, facts={"byte order mark": "taken off"}
    ),
    "byte order mark inside the file stays a character": Parses(
        conll("Ada\tO\n\ufeffBob\tB-PER\n"), ["Ada \ufeffBob"], [[(4, 8, "PER")]]
    ),
    "Latin-1 repaired": Parses(
        conll(b"Jos\xe9\tB-PER\n"),
        ["Jos\ufffd"],
        [[(0, 4, "PER")]],
        changes={NOT_UTF8: (1, ["corpus.conll"])},
        options={"on_error": "repair"},
    ),
    "truncated UTF-8 repaired": Parses(
        {"corpus.txt": "naïve caf".encode() + b"\xc3"},
        ["naïve caf\ufffd"],
        [[]],
        changes={NOT_UTF8: (1, ["corpus.txt"])},
        options={"on_error": "repair"},
    ),
    "CESU surrogate halves repaired": Parses(
        conll(b"\xed\xa0\xbd\tO\n\xed\xb2\x86\tO\n"),
        ["\ufffd\ufffd\ufffd \ufffd\ufffd\ufffd"],
        [[]],
        changes={NOT_UTF8: (6, ["corpus.conll"])},
        options={"on_error": "repair"},
    ),
    "brat text that is not UTF-8 repaired": Parses(
        {"folder/1.ann": b"T1\tPER 0 4\tJos\xe9\n", "folder/1.txt": b"Jos\xe9\r\nmet\n"},
        ["Jos\ufffd\r\nmet\n"],
        [[(0, 4, "PER")]],
        facts={"line ends": "mixed"},
        changes={NOT_UTF8: (2, ["folder/1.txt", "folder/1.ann"])},
        options={"on_error": "repair"},
    ),
    "U+FFFD that was there before is no repair": Parses(conll("a\ufffd\tO\n"), ["a\ufffd"], [[]]),
    # Characters of a token
    "line separator U+2028 in a token": Parses(
        conll("a\u2028b\tB-X\n"), ["a\u2028b"], [[(0, 3, "X")]], words=[["a\u2028b"]]
    ),
    "next line U+0085 in a token": Parses(
        conll("a\u0085b\tB-X\n"), ["a\u0085b"], [[(0, 3, "X")]], words=[["a\u0085b"]]
    ),
    "NBSP in a token between blanks": Parses(
        conll("a\u00a0b B-X\n"), ["a\u00a0b"], [[(0, 3, "X")]], words=[["a\u00a0b"]]
    ),
    "ideographic space U+3000 in a token": Parses(
        conll("中\u3000国 B-X\n"), ["中\u3000国"], [[(0, 3, "X")]], words=[["中\u3000国"]]
    ),
    "token of zero-width characters only": Parses(
        conll("a\tO\n\u200b\u200d\tB-X\n"), ["a \u200b\u200d"], [[(2, 4, "X")]], words=[["a", "\u200b\u200d"]]
    ),
    "right-to-left marks": Parses(
        conll("\u200fשלום\u200e\tB-X\n"), ["\u200fשלום\u200e"], [[(0, 6, "X")]], words=[["\u200fשלום\u200e"]]
    ),
    "combining marks are not composed": Parses(conll("Jose\u0301\tB-PER\n"), ["Jose\u0301"], [[(0, 5, "PER")]]),
    "ZWJ emoji count in code points": Parses(
        conll(f"{FAMILY} O\nParis B-LOC\n"), [f"{FAMILY} Paris"], [[(6, 11, "LOC")]]
    ),
    "token of 10,000 characters": Parses(conll("x" * 10_000 + "\tB-X\n"), ["x" * 10_000], [[(0, 10_000, "X")]]),
    # Columns
    "token with a space before a tab": Parses(
        conll("New York\tB-LOC\nwins\tO\n"), ["New York wins"], [[(0, 8, "LOC")]], words=[["New York", "wins"]]
    ),
    "numbers that are the words": Parses(conll("1\tO\n2\tO\n"), ["1 2"], [[]]),
    "numbers before the words": Parses(
        conll("1\tAda\tB-PER\n2\tmet\tO\n"), SOUND_TEXTS, SOUND_ENTITIES, options={"token_column": 1}
    ),
    "characters one a line, and one name": Parses(
        conll("".join(f"{one}\tO\n" for one in [*"2019年，他买了APP。我有一个", "iPhone", "。"])),
        ["2019年，他买了APP。我有一个 iPhone 。"],
        [[]],
    ),
    "Chinese words": Parses(conll("在\tO\n北京\tB-LOC\n有\tO\nA\tO\nB\tO\n"), ["在北京有 A B"], [[(1, 3, "LOC")]]),
    "words of JSONL joined as asked": Parses(
        jsonl({"tokens": ["2", "0", "年"]}), ["20年"], [[]], options={"join": "none"}
    ),
    **{
        f"an id that was given before is left out with {choice}": Parses(
            conll("# id = a\nx\tO\n\n# id = a\ny\tO\n"),
            ["x"],
            [[]],
            changes={
                "sentence of an id that was given before (left out)": (
                    1,
                    [
                        "corpus.conll:4: the id 'a' was given on line 1 already; ids must be unique, or left out to "
                        "be numbered"
                    ],
                )
            },
            options={"on_error": choice},
        )
        for choice in ("repair", "skip")
    },
    "ragged row with skip loses its sentence only": Parses(
        conll("Ada\tB-PER\nmet\n\nBob\tB-PER\n"),
        ["Bob"],
        [[(0, 3, "PER")]],
        changes={
            "sentence with a malformed row (left out)": (
                1,
                [
                    "corpus.conll:2: 1 column, expected 2 as on line 1. "
                    "Columns are separated by tabs there, and not here"
                ],
            )
        },
        options={"on_error": "skip"},
    ),
    "tabs and blanks mixed, read as blanks": Parses(
        conll("Ada\tB-PER\nmet O\n"), SOUND_TEXTS, SOUND_ENTITIES, options={"separator": "space"}
    ),
    "blank lines made of blanks and tabs": Parses(conll("Ada\tO\n \t \nBob\tO\n"), ["Ada", "Bob"], [[], []]),
    "token # at the beginning of a sentence": Parses(conll("#\tO\n1\tO\n"), ["# 1"], [[]], words=[["#", "1"]]),
    # Tags
    "I- with no entity open": Parses(
        conll("Bob\tB-PER\n.\tO\nAda\tI-PER\n"),
        ["Bob . Ada"],
        [[(0, 3, "PER"), (6, 9, "PER")]],
        facts={"tag scheme": "bio, detected, lenient rule"},
        changes={NOT_OPEN: (1, ["corpus.conll:3"])},
    ),
    "I- with no entity open, strict rule": Parses(
        conll("Bob\tB-PER\n.\tO\nAda\tI-PER\n"),
        ["Bob . Ada"],
        [[(0, 3, "PER")]],
        changes={"inside tag with no entity open (left out by the strict rule)": (1, ["corpus.conll:3"])},
        options={"rule": "strict"},
    ),
    "I- with no entity open behind a comment": Parses(
        conll("# id = s1\nBob\tB-PER\n.\tO\nAda\tI-PER\n"),
        ["Bob . Ada"],
        [[(0, 3, "PER"), (6, 9, "PER")]],
        changes={NOT_OPEN: (1, ["corpus.conll:4"])},
    ),
    "I- of another type than the entity before it": Parses(
        conll("Ada\tB-PER\nBob\tI-LOC\n"),
        ["Ada Bob"],
        [[(0, 3, "PER"), (4, 7, "LOC")]],
        changes={
            "inside tag of another type than the entity before it (kept as an entity of its own)": (
                1,
                ["corpus.conll:2"],
            )
        },
    ),
    "sentence break inside an entity": Parses(
        conll("NF-kappa\tB-DNA\n\nB\tI-DNA\nsite\tO\n"),
        ["NF-kappa", "B site"],
        [[(0, 8, "DNA")], [(0, 1, "DNA")]],
        changes={"entity that goes on over a sentence break (kept as an entity of its own)": (1, ["corpus.conll:3"])},
    ),
    "entity without an end tag": Parses(
        conll("Ada\tB-PER\nmet\tO\nBob\tS-PER\n"),
        ["Ada met Bob"],
        [[(0, 3, "PER"), (8, 11, "PER")]],
        facts={"tag scheme": "bioes, detected, lenient rule"},
        changes={NO_END: (1, ["corpus.conll:1"])},
    ),
    "inside tag behind an end tag": Parses(
        conll("a\tB-X\nb\tE-X\nc\tI-X\nd\tE-X\n"),
        ["a b c d"],
        [[(0, 3, "X"), (4, 7, "X")]],
        changes={NOT_OPEN: (1, ["corpus.conll:3"])},
    ),
    "several labels in one cell repaired": Parses(
        conll("New\tB-location,B-group\nYork\tI-location\n"),
        ["New York"],
        [[(0, 3, "group"), (0, 8, "location")]],
        changes={"several labels in one cell (all kept)": (1, ["corpus.conll:1"])},
        options={"on_error": "repair"},
    ),
    "IOB1": Parses(
        conll("Ada\tI-PER\nBob\tB-PER\nmet\tO\nRome\tI-LOC\n"),
        ["Ada Bob met Rome"],
        [[(0, 3, "PER"), (4, 7, "PER"), (12, 16, "LOC")]],
        facts={"tag scheme": "iob1, detected, lenient rule"},
    ),
    "label with a space in a tab file": Parses(
        conll("Ada\tB-first name\nB.\tI-first name\n"), ["Ada B."], [[(0, 6, "first name")]]
    ),
    "label with a comma and hyphens": Parses(
        conll("Ann\tB-drug-name,brand-name\n"), ["Ann"], [[(0, 3, "drug-name,brand-name")]]
    ),
    "label with hyphens": Parses(conll("IL-2\tB-cell-type\n"), ["IL-2"], [[(0, 4, "cell-type")]]),
    # JSONL
    "overlapping entities are kept": Parses(
        jsonl(
            {"text": "a b c", "entities": [{"start": 0, "end": 3, "label": "X"}, {"start": 2, "end": 5, "label": "X"}]}
        ),
        ["a b c"],
        [[(0, 3, "X"), (2, 5, "X")]],
    ),
    "entity that stands twice is kept for inspect to report": Parses(
        jsonl({"text": "a", "entities": [{"start": 0, "end": 1, "label": "X"}] * 2}),
        ["a"],
        [[(0, 1, "X"), (0, 1, "X")]],
    ),
    "unknown key": Parses(
        jsonl({"text": "a", "meta": 1}),
        ["a"],
        [[]],
        changes={"key 'meta' is not one of goldgap's (not kept)": (1, ["corpus.jsonl:1"])},
    ),
    "unknown keys of what was rejected and dropped": Parses(
        jsonl(
            {
                "text": "a",
                "rejected": [{"start": 0, "end": 1, "by": "Ida"}],
                "dropped": [{"start": 0, "end": 1, "label": "X", "note": "?"}],
            }
        ),
        ["a"],
        [[]],
        changes={
            "key 'by' of a rejected span is not one of goldgap's (not kept)": (1, ["corpus.jsonl:1"]),
            "key 'note' of a dropped span is not one of goldgap's (not kept)": (1, ["corpus.jsonl:1"]),
        },
    ),
    "escaped surrogate pair is one character": Parses(
        jsonl('{"text": "\\ud83d\\ude00 x", "entities": [{"start": 2, "end": 3, "label": "X"}]}'),
        ["\U0001f600 x"],
        [[(2, 3, "X")]],
    ),
    "entity behind the end with skip": Parses(
        jsonl({"text": "a", "entities": [{"start": 0, "end": 2, "label": "X"}]}, {"text": "b"}),
        ["b"],
        [[]],
        changes={
            "malformed document (left out)": (
                1,
                ["corpus.jsonl:1: entity Entity(0, 2, 'X'): it lies outside the text of 1 characters"],
            )
        },
        options={"on_error": "skip"},
    ),
    # Raw text
    "blank lines between texts": Parses(
        {"corpus.txt": b"a\n\n \nb\n"}, ["a", "b"], [[], []], facts={"blank lines": "2 passed over"}
    ),
    # brat
    "brat relation": Parses(
        brat("Ada met Bob", "T1\tPER 0 3\tAda\nR1\tknows Arg1:T1 Arg2:T1\n"),
        ["Ada met Bob"],
        [[(0, 3, "PER")]],
        changes={"relation (brat; not kept)": (1, ["folder/1.ann:2"])},
    ),
    "brat discontinuous annotation repaired": Parses(
        brat("left and right arm", "T1\tPART 0 4;15 18\tleft arm\n"),
        ["left and right arm"],
        [[(0, 18, "PART")]],
        changes={"discontinuous annotation (taken as the whole stretch)": (1, ["folder/1.ann:1"])},
        options={"on_error": "repair"},
    ),
    "brat surface mismatch with skip": Parses(
        brat("Ada met Bob", "T1\tPER 0 3\tBob\nT2\tPER 8 11\tBob\n"),
        ["Ada met Bob"],
        [[(8, 11, "PER")]],
        changes={
            "malformed annotation (left out)": (
                1,
                ["folder/1.ann:1: the surface is 'Bob', but the text at 0..3 is 'Ada'; are the offsets in characters?"],
            )
        },
        options={"on_error": "skip"},
    ),
    "brat line end inside an entity": Parses(
        brat("New\r\nYork", "T1\tLOC 0 9\tNew  York\n"), ["New\r\nYork"], [[(0, 9, "LOC")]]
    ),
    "brat empty annotation file": Parses(brat("Ada", ""), ["Ada"], [[]]),
    "brat text without annotations": Parses(
        {
            **brat("Ada", "T1\tPER 0 3\tAda\n"),
            "folder/0.txt": b"Bob",
            "folder/._1.txt": b"\0\xff",  # an archive of another system leaves these behind
            "folder/._1.ann": b"\0\xff",
            "folder/.2.ann": b"\0\xff",
        },
        ["Bob", "Ada"],
        [[], [(0, 3, "PER")]],
        changes={"text without a .ann file (read as a document without entities)": (1, ["folder/0.txt"])},
    ),
    "brat folder in a folder": Parses(
        {**brat("Ada", ""), "folder/sub/2.ann": b"", "folder/sub/2.txt": b"Bob", "folder/empty/notes": b""},
        ["Ada"],
        [[]],
        changes={"folder of .ann files inside the folder (not read; name it on its own)": (1, ["folder/sub"])},
    ),
    "brat lines of every other kind": Parses(
        brat(
            "Ada",
            "R1\tin Arg1:T1 Arg2:T2\nE1\tBirth:T1\nA1\tNegation E1\nM2\tNegation E1\n"
            "N1\tReference T1 Wikidata:7259\tAda\n#1\tAnnotatorNotes T1\tsure?\n*\tEquiv T1 T2\n",
        ),
        ["Ada"],
        [[]],
        changes={
            "relation (brat; not kept)": (1, ["folder/1.ann:1"]),
            "event (brat; not kept)": (1, ["folder/1.ann:2"]),
            "attribute (brat; not kept)": (2, ["folder/1.ann:3", "folder/1.ann:4"]),
            "normalisation (brat; not kept)": (1, ["folder/1.ann:5"]),
            "note (brat; not kept)": (1, ["folder/1.ann:6"]),
            "equivalence (brat; not kept)": (1, ["folder/1.ann:7"]),
        },
    ),
    # PubTator
    "PubTator relation": Parses(
        pubtator("1|t|Ada\n1|a|met Bob\n1\t0\t3\tAda\tPER\n1\tknows\tD1\tD2\n"),
        ["Ada\nmet Bob"],
        [[(0, 3, "PER")]],
        changes={"relation (PubTator; not kept)": (1, ["corpus.pubtator:4"])},
    ),
    "PubTator relation with its novelty": Parses(
        pubtator("1|t|Ada\n1\tAssociation\tD003\t7157\tNovel\n1\tPositive_Correlation\t7157\t672\tNo\tx\n"),
        ["Ada"],
        [[]],
        changes={"relation (PubTator; not kept)": (2, ["corpus.pubtator:2", "corpus.pubtator:3"])},
    ),
    "PubTator concept ids": Parses(
        pubtator("1|t|Ada\n1\t0\t3\tAda\tPER\tQ7259\n"), ["Ada"], [[(0, 3, "PER")]], facts={"concept ids": "not kept"}
    ),
    "PubTator surface mismatch with skip": Parses(
        pubtator("1|t|Ada\n1\t0\t2\tAda\tPER\n"),
        ["Ada"],
        [[]],
        changes={
            "malformed line (left out)": (
                1,
                [
                    "corpus.pubtator:2: the surface is 'Ada', but the text at 0..2 is 'Ad'; are the offsets in "
                    "characters?"
                ],
            )
        },
        options={"on_error": "skip"},
    ),
    "PubTator tab inside an entity": Parses(pubtator("1|t|a\tb\n1\t0\t3\ta b\tX\n"), ["a\tb"], [[(0, 3, "X")]]),
}

REFUSED = {
    # Bytes
    "missing file": Refused({}, None, "no such file", ""),
    "nearly the right name": Refused(
        {"corpus.conll": b""}, None, "no such file", "did you mean corpus.conll?", target="corpsu.conll"
    ),
    "folder instead of a file": Refused(
        {"corpus.conll/x": b""}, None, "a folder", "expected a file", options={"format": "conll"}
    ),
    "unknown extension": Refused({"corpus.doc": b"a"}, None, "the extension '.doc'", "name one with --format"),
    "empty token file": Refused(conll(""), None, NOTHING, "at least one sentence"),
    "annotations where another tool keeps them": Refused(
        jsonl({"text": "Ada", "spans": []}, {"text": "Ada", "spans": [{"start": 0, "end": 3, "label": "PER"}]}),
        2,
        '"spans", which goldgap does not read',
        'expected "entities": [{"start": 0',
    ),
    "empty JSONL file": Refused({"corpus.jsonl": b""}, None, NOTHING, "at least one sentence"),
    "empty text file": Refused({"corpus.txt": b""}, None, NOTHING, "at least one sentence"),
    "only blank lines": Refused(conll("\n\n \t\n\r\n"), None, NOTHING, "at least one sentence"),
    "only a byte order mark": Refused(conll(b"\xef\xbb\xbf"), None, NOTHING, "at least one sentence"),
    "UTF-16": Refused(conll(SOUND.encode("utf-16")), 1, "UTF-16", "expected UTF-8; convert it: iconv"),
    "UTF-16 is beyond repair": Refused(
        conll(SOUND.encode("utf-16")), 1, "UTF-16", "expected UTF-8", options={"on_error": "repair"}
    ),
    "UTF-16 without a byte order mark": Refused(conll(SOUND.encode("utf-16-le")), 1, "a NUL character", "a text file?"),
    "Latin-1": Refused(conll(b"Ada\tO\nJos\xe9\tO\n"), 2, "byte 9 (0xe9) is not UTF-8", "convert it: iconv"),
    "truncated UTF-8": Refused(conll("Ada\tO\ncafé".encode()[:-1]), 2, "byte 9 (0xc3) is not UTF-8", "convert it"),
    "CESU surrogate halves": Refused(conll(b"\xed\xa0\xbd\tO\n\xed\xb2\x86\tO\n"), 1, "byte 0 (0xed)", "convert it"),
    "bad byte behind a byte order mark": Refused(conll(b"\xef\xbb\xbfa\xff\tO\n"), 1, "byte 4 (0xff)", "convert it"),
    "NUL": Refused(conll("Ada\tO\nB\0b\tO\n"), 2, "a NUL character", "is this a text file?"),
    "NUL is beyond repair": Refused(
        conll("Ada\tO\nB\0b\tO\n"), 2, "a NUL character", "is this a text file?", options={"on_error": "repair"}
    ),
    **{
        f"compressed by {name}": Refused(
            {"corpus.gz": data}, None, f"compressed ({name})", "unpack it first", options={"format": "jsonl"}
        )
        for name, data in {
            "gzip": gzip.compress(b"{}"),
            "bzip2": bz2.compress(b"{}"),
            "xz": lzma.compress(b"{}"),
            "zip": b"PK\x03\x04\x14\0\0\0",
            "zstd": b"\x28\xb5\x2f\xfd\x24\x02",
        }.items()
    },
    "compressed is beyond repair": Refused(
        {"corpus.gz": gzip.compress(b"")},
        None,
        "compressed (gzip)",
        "unpack it first",
        options={"format": "conll", "on_error": "repair"},
    ),
    # Columns
    "ragged columns": Refused(
        conll("Ada\tNNP\tB-PER\nmet\tO\n"), 2, "2 columns", "expected 3 as on line 1. Is a cell missing"
    ),
    "token with a space between blanks": Refused(
        conll("wins O\nNew York B-LOC\n"), 2, "3 columns, expected 2 as on line 1", "Separate the columns by tabs"
    ),
    "token with a space before a tab, behind blanks": Refused(
        conll("wins O\nNew York\tB-LOC\n"), 2, "3 columns, expected 2 as on line 1", "Use --separator tab"
    ),
    "tabs and blanks mixed": Refused(conll("Ada\tB-PER\nmet O\n"), 2, "1 column", "separated by tabs there"),
    "one column": Refused(conll("Ada\nmet\n"), 1, "one column", "expected a token and a tag"),
    "empty token": Refused(conll("Ada\tO\n\tO\n"), 2, "an empty token", "expected one before the separator"),
    "words in another column than their numbers": Refused(
        conll("1\tAda\tB-PER\n2\tmet\tO\n\n1\tBob\tB-PER\n"),
        1,
        "the first column counts the words",
        "--token-column 1",
    ),
    "column that does not exist": Refused(
        conll(SOUND), 1, "2 columns", "wanted from column 5", options={"token_column": 5}
    ),
    "every sentence skipped": Refused(
        conll("Ada\tPER\n"), None, NOTHING, "at least one sentence", options={"on_error": "skip"}
    ),
    # Tags
    "unknown prefix": Refused(conll("Ada\tO\nBob\tX-PER\n"), 2, "the tag 'X-PER'", "neither O nor UNK nor one of B-"),
    "type without a prefix": Refused(conll("Ada\tPER\n"), 1, "the tag 'PER'", "is the label column right?"),
    "B- with no type": Refused(conll("Ada\tO\nBob\tB-\n"), 2, "the tag 'B-' has no valid type", "is empty"),
    "label with a space between blanks": Refused(
        conll("met O\nAda B-first name\n"), 2, "3 columns", "expected 2 as on line 1"
    ),
    "label with a space at its end": Refused(conll("Ada\tB-PER \n"), 1, "the tag 'B-PER '", "white space around it"),
    "several labels in one cell": Refused(
        conll("Ada\tO\nNew\tB-location,B-group\n"),
        2,
        "several labels in one cell",
        "keep them all with --on-error repair",
    ),
    "letters of no scheme": Refused(conll("a\tM-X\nb\tU-X\n"), None, "the tags begin with M, U", "which is no scheme"),
    "tag of another scheme than the given one": Refused(
        conll("Ada\tO\nBob\tS-PER\n"),
        2,
        "the tag 'S-PER' is not of the scheme bio",
        "--scheme",
        options={"scheme": "bio"},
    ),
    "unknown scheme": Refused(
        conll(SOUND), None, "there is no tag scheme 'biose'", "did you mean 'bioes'?", options={"scheme": "biose"}
    ),
    # JSONL
    "not JSON": Refused(jsonl({"text": "a"}, '{"text": "b"'), 2, "not JSON", "expected one object a line"),
    "JSON line that is no object": Refused(jsonl("[1, 2]"), 1, "a JSON list", "expected one object a line"),
    "neither text nor tokens": Refused(jsonl({"id": "1"}), 1, "", 'expected a string "text"'),
    "text of the wrong type": Refused(jsonl({"text": 3}), 1, "", 'expected a string "text"'),
    "tokens of the wrong type": Refused(jsonl({"tokens": "a b"}), 1, '"tokens" is a str', "expected a list"),
    "entities of the wrong type": Refused(
        jsonl({"text": "a", "entities": {"start": 0}}), 1, '"entities" is a dict', "expected a list"
    ),
    "entities of a wrong type that is empty": Refused(
        jsonl({"text": "a", "entities": ""}), 1, '"entities" is a str', "expected a list"
    ),
    "entity of the wrong type": Refused(jsonl({"text": "a", "entities": [7]}), 1, "entity 7", "expected {"),
    "offset that is a string": Refused(
        entity_in_ada(start="0", end=3), 1, "['0', 3]", "expected a pair of whole numbers"
    ),
    "offset that is a truth value": Refused(
        entity_in_ada(start=False, end=3), 1, "[False, 3]", "a pair of whole numbers"
    ),
    "label that is no string": Refused(entity_in_ada(start=0, end=3, label=5), 1, "the label is not a string", ""),
    "id of the wrong type": Refused(
        jsonl({"id": [1], "text": "a"}), 1, "id [1]", "neither a string nor a whole number"
    ),
    "complete of the wrong type": Refused(
        jsonl({"text": "a", "complete": "yes"}), 1, "\"complete\" is 'yes'", "expected true, false or a list of types"
    ),
    "complete with an empty type": Refused(jsonl({"text": "a", "complete": [""]}), 1, "label ''", "is empty"),
    "NaN score": Refused(
        jsonl('{"text": "a", "entities": [{"start": 0, "end": 1, "label": "X", "score": NaN}]}'),
        1,
        "NaN is not a JSON number",
        "",
    ),
    "score beyond every float": Refused(
        jsonl('{"text": "a", "entities": [{"start": 0, "end": 1, "label": "X", "score": 1e999}]}'),
        1,
        "score=inf",
        "not a finite number",
    ),
    "whole-number score beyond every float": Refused(
        entity_in_ada(start=0, end=3, score=10**400), 1, "score", "not a finite number"
    ),
    "score that is a string": Refused(entity_in_ada(start=0, end=3, score="1"), 1, "the score is not a number", ""),
    "duplicate keys": Refused(jsonl('{"text": "a", "text": "b"}'), 1, "a key stands twice in one object", ""),
    "deep nesting": Refused(jsonl("[" * 100_000), 1, "JSON nested too deeply", ""),
    "integer of 5000 digits": Refused(
        jsonl('{"text": "a", "id": ' + "9" * 5000 + "}"), 1, "not JSON", "expected one object a line"
    ),
    "duplicate ids in PubTator": Refused(
        {"corpus.pubtator": b"1|t|x\n1|a|y\n\n1|t|z\n"}, 4, "the id '1' was given on line 1 already", "must be unique"
    ),
    "duplicate ids in comments": Refused(
        {"corpus.conll": b"# id = a\nx\tO\n\n# id = a\ny\tO\n"}, 4, "the id 'a' was given on line 1", "must be unique"
    ),
    "duplicate ids": Refused(
        jsonl({"id": "x", "text": "a"}, {"id": "x", "text": "b"}),
        2,
        "the id 'x' was given on line 1 already",
        "must be unique",
    ),
    "offsets reversed": Refused(entity_in_ada(start=3, end=0), 1, "start 3 lies behind end 0", "half-open ranges"),
    "offsets outside": Refused(entity_in_ada(start=8, end=12), 1, "Entity(8, 12, 'PER')", "outside the text of 11"),
    "offsets below zero": Refused(entity_in_ada(start=-1, end=3), 1, "Entity(-1, 3, 'PER')", "outside the text of 11"),
    "offsets of zero length": Refused(entity_in_ada(start=3, end=3), 1, "start equals end", "at least one character"),
    "half of a surrogate pair in a text": Refused(
        jsonl('{"text": "a \\ud83d"}'), 1, "a lone surrogate at character 2", "not valid Unicode"
    ),
    "half of a surrogate pair in a label": Refused(
        jsonl('{"text": "a", "entities": [{"start": 0, "end": 1, "label": "\\udc00"}]}'),
        1,
        "a lone surrogate",
        "Unicode",
    ),
    "tokens that overlap": Refused(
        jsonl({"text": "abc", "tokens": [[0, 2], [1, 3]]}), 1, "token (1, 3) begins before the end", "one before it, 2"
    ),
    "word index behind the last word": Refused(
        jsonl({"tokens": ["a", "b"], "entities": [[1, 2, "X"]]}), 1, "[1, 2, 'X'] lies outside the 2 words", ""
    ),
    "empty word": Refused(jsonl({"tokens": ["a", ""]}), 1, '"tokens" must be', "a list of non-empty strings"),
    # brat
    "brat surface mismatch": Refused(
        brat("Ada met Bob", "T1\tPER 0 3\tAda\nT2\tPER 8 11\tAda\n"),
        2,
        "the surface is 'Ada', but the text at 8..11 is 'Bob'",
        "are the offsets in characters?",
        blamed="folder/1.ann",
    ),
    "brat discontinuous annotation": Refused(
        brat("left and right arm", "T1\tPART 0 4;15 18\tleft arm\n"),
        1,
        "a discontinuous annotation",
        "--on-error repair",
        blamed="folder/1.ann",
    ),
    "brat without its text": Refused(brat(None, "T1\tPER 0 3\tAda\n"), None, "no such file", "", blamed="folder/1.txt"),
    "brat annotations without their text": Refused(
        brat(None, ""), None, "no such file", "brat keeps the text of 1.ann there", blamed="folder/1.txt"
    ),
    "brat annotations that are not there": Refused(
        {"a.txt": b"Ada"},
        None,
        "no such file",
        "brat keeps the annotations of a.txt there",
        options={"format": "brat"},
        blamed="a.ann",
    ),
    "nearly the right name of brat's": Refused(
        {"corpus.ann": b"", "corpus.txt": b""}, None, "no such file", "did you mean corpus.ann?", target="corpsu.ann"
    ),
    "brat folder of folders": Refused(
        {"folder/x.txt": b"", "folder/sub/1.ann": b"", "folder/sub/1.txt": b"Ada"},
        None,
        "no .ann file in this folder",
        "there are some in sub: name that folder",
    ),
    "brat folder without a text": Refused(
        {"folder/1.tx": b"Ada"}, None, "no .ann file in this folder", "brat keeps NAME.ann beside NAME.txt"
    ),
    "brat offsets that count CRLF as one": Refused(
        brat("Ada\r\nmet Bob", "T1\tPER 8 11\tBob\n"),
        1,
        "the surface is 'Bob', but the text at 8..11 is ' Bo'",
        "dos2unix",
        blamed="folder/1.ann",
    ),
    "brat line of no known kind": Refused(
        brat("Ada", "PER 0 3 Ada\n"), 1, "'PER 0 3 Ada'", "expected T1<TAB>LABEL START END", blamed="folder/1.ann"
    ),
    "brat line that begins like one of another kind": Refused(
        brat("Ada", "Name 0 3 Ann\n"), 1, "'Name 0 3 Ann'", "expected T1<TAB>LABEL START END", blamed="folder/1.ann"
    ),
    "brat label in the place of an id": Refused(
        brat("Ada", "Name\t0 3\tAnn\n"), 1, "'Name", "expected T1<TAB>LABEL START END", blamed="folder/1.ann"
    ),
    "brat relation between blanks": Refused(
        brat("Ada", "R1 in Arg1:T1 Arg2:T2\n"), 1, "'R1 in", "expected T1<TAB>LABEL START END", blamed="folder/1.ann"
    ),
    "brat offsets outside": Refused(
        brat("Ada", "T1\tPER 0 4\tAda\n"), 1, "Entity(0, 4, 'PER')", "outside the text of 3", blamed="folder/1.ann"
    ),
    "brat offset of 5000 digits": Refused(
        brat("Ada", f"T1\tPER 0 {'9' * 5000}\tAda\n"), 1, "99999", "START END", blamed="folder/1.ann"
    ),
    # PubTator
    "PubTator surface mismatch": Refused(
        pubtator("1|t|Ada\n1|a|met Bob\n1\t8\t11\tAda\tPER\n"),
        3,
        "the surface is 'Ada', but the text at 8..11 is 'Bob'",
        "are the offsets in characters?",
    ),
    "PubTator annotation before its title": Refused(
        pubtator("1\t0\t3\tAda\tPER\n1|t|Ada\n"), 1, "'1\\t0\\t3", "before any ID|t|title"
    ),
    "PubTator abstract before its title": Refused(
        pubtator("1|a|Ada\n1|t|Bob\n"), 2, "a |t| line behind the |a| line of '1'", "expected the title first"
    ),
    "PubTator second title": Refused(
        pubtator("1|t|Ada\n1|t|Bob\n"), 2, "a second |t| line for '1'", "expected a blank line between documents"
    ),
    "PubTator annotation of another document": Refused(
        pubtator("1|t|Ada\n2\t0\t3\tAda\tPER\n"), 2, "an annotation of '2'", "expected a blank line between documents"
    ),
    "PubTator offsets that are no numbers": Refused(
        pubtator("1|t|Ada\n1\t0\tx\tAda\tPER\n"), 2, "'1\\t0\\tx", "expected ID, start, end, surface and label"
    ),
    "PubTator offset below zero": Refused(
        pubtator("1|t|Ada\n1\t-1\t3\tAda\tPER\n"), 2, "'1\\t-1\\t3", "expected ID, start, end, surface and label"
    ),
    "PubTator offset of 5000 digits": Refused(
        pubtator(f"1|t|Ada\n1\t0\t{'9' * 5000}\tAda\tPER\n"), 2, "offsets 0, 99999", "outside the text"
    ),
}

BAD_DICTIONARIES = {
    "no tab": Refused({"d.tsv": b"PER\tAda\nLOC Rome\n"}, 2, "no tab in 'LOC Rome'", "expected LABEL<TAB>surface"),
    "four columns": Refused({"d.tsv": b"PER\tAda\tfold\tx\n"}, 1, "4 columns", "expected LABEL<TAB>surface"),
    "empty file": Refused({"d.tsv": b""}, None, "no entry in it", "expected lines of LABEL<TAB>surface"),
    "bad third column": Refused({"d.tsv": b"PER\tAda\tlower\n"}, 1, "'lower'", "expected exact or fold"),
    "empty surface": Refused({"d.tsv": b"PER\t \n"}, 1, "the surface is empty", ""),
    "empty label": Refused({"d.tsv": b"\tAda\n"}, 1, "label ''", "is empty"),
    "folder without lists": Refused({"d/PER.lst": b"Ada\n"}, None, "no .txt file in this folder", "expected LABEL.txt"),
    "Latin-1": Refused({"d.tsv": b"PER\tJos\xe9\n"}, 1, "byte 7 (0xe9) is not UTF-8", "convert it: iconv"),
    "missing file": Refused({}, None, "no such file", ""),
}

ON_THE_COMMAND_LINE = [
    "missing file",
    "folder instead of a file",
    "empty token file",
    "UTF-16",
    "Latin-1",
    "NUL",
    "ragged columns",
    "B- with no type",
    "several labels in one cell",
    "not JSON",
    "deep nesting",
    "half of a surrogate pair in a text",
    "offsets reversed",
    "duplicate ids",
    "brat surface mismatch",
    "PubTator annotation before its title",
]


def assert_refused(error: InputError, case: Refused, path: Path, root: Path) -> None:
    blamed = root / case.blamed if case.blamed else path
    where = f"{blamed}: " if case.line is None else f"{blamed}:{case.line}: "
    message = str(error)
    assert message.startswith(where)
    assert case.found in message
    assert case.expected in message


@pytest.mark.parametrize("case", PARSES.values(), ids=PARSES)
def test_defect_that_parses_gives_the_stated_result(case: Parses, tmp_path: Path) -> None:
    corpus = Corpus.read(place(case.files, tmp_path), **case.options)
    assert [document.text for document in corpus] == case.texts
    assert [[entity.key for entity in document.entities] for document in corpus] == case.entities
    if case.words is not None:
        assert [document.words for document in corpus] == case.words


@pytest.mark.parametrize("case", PARSES.values(), ids=PARSES)
def test_defect_that_parses_is_reported_with_its_place(case: Parses, tmp_path: Path) -> None:
    notes = Corpus.read(place(case.files, tmp_path), **case.options).notes
    changes = {
        what: (tally.count, [example.removeprefix(f"{tmp_path}/") for example in tally.examples])
        for what, tally in notes.changes.items()
    }
    assert changes == case.changes
    assert {name: notes.facts.get(name) for name in case.facts} == case.facts


@pytest.mark.parametrize("case", REFUSED.values(), ids=REFUSED)
def test_defect_is_refused_with_place_finding_and_expectation(case: Refused, tmp_path: Path) -> None:
    path = place(case.files, tmp_path)
    path = tmp_path / case.target if case.target else path
    with pytest.raises(InputError) as caught:
        Corpus.read(path, **case.options)
    assert_refused(caught.value, case, path, tmp_path)


@pytest.mark.parametrize("case", BAD_DICTIONARIES.values(), ids=BAD_DICTIONARIES)
def test_dictionary_defect_is_refused_with_place_finding_and_expectation(case: Refused, tmp_path: Path) -> None:
    path = place(case.files, tmp_path)
    with pytest.raises(InputError) as caught:
        Dictionary.read(path)
    assert_refused(caught.value, case, path, tmp_path)


def test_dictionary_surface_with_odd_blanks_is_read_with_single_ones(tmp_path: Path) -> None:
    path = place({"d.tsv": "LOC\t New\u00a0 York \texact\r\n\r\nLOC\tNew York\texact".encode()}, tmp_path)
    dictionary = Dictionary.read(path)
    assert dictionary.entries == [Entry("LOC", "New York", "exact")]
    assert dictionary.notes.facts["repeated entries"] == "1 read once"


def test_a_sentence_without_an_id_takes_no_number_that_another_is_called_by(tmp_path: Path) -> None:
    path = tmp_path / "corpus.conll"
    path.write_text("# id = 2\nx\tO\n\ny\tO\n\nz\tO\n", encoding="utf-8")
    assert [document.id for document in Corpus.read(path)] == ["2", "unnamed-2", "3"]


@pytest.mark.parametrize("on_error", ["repair", "skip"])
@pytest.mark.parametrize(
    "files",
    [
        pytest.param(conll("Ada\tX-PER\n\nBob\tB-PER\n"), id="conll"),
        pytest.param(jsonl("{", {"text": "Bob", "entities": [{"start": 0, "end": 3, "label": "PER"}]}), id="jsonl"),
        pytest.param(pubtator("2\t0\t1\tA\tPER\n\n1|t|Bob\n1\t0\t3\tBob\tPER\n"), id="pubtator"),
        pytest.param(brat("Bob", "T1\tPER 0 9\tAda\nT2\tPER 0 3\tBob\n"), id="brat"),
    ],
)
def test_place_that_cannot_be_mended_is_left_out_and_counted(files: Files, on_error: str, tmp_path: Path) -> None:
    corpus = Corpus.read(place(files, tmp_path), on_error=on_error)
    assert [[document.surface(entity) for entity in document.entities] for document in corpus] == [["Bob"]]
    assert [tally.count for tally in corpus.notes.changes.values()] == [1]


@pytest.mark.parametrize(
    ("files", "count"),
    [
        pytest.param(conll("".join(f"a{n}\tX-{n}\n\n" for n in range(50)) + SOUND), 50, id="conll"),
        pytest.param(conll("".join(f"# id = {n % 9}\na\tO\n\n" for n in range(50))), 41, id="conll ids"),
        pytest.param(jsonl(*({"id": n % 9, "text": "a"} for n in range(50))), 41, id="jsonl"),
        pytest.param(pubtator("1|t|Ada\n" + "".join(f"1\t0\t{n}\tx\tPER\n" for n in range(50))), 50, id="pubtator"),
        pytest.param(brat("Ada", "".join(f"T{n}\tPER 0 {n}\tx\n" for n in range(50))), 50, id="brat"),
    ],
)
def test_places_of_one_kind_that_are_left_out_are_one_line(files: Files, count: int, tmp_path: Path) -> None:
    (line,) = Corpus.read(place(files, tmp_path), on_error="skip").notes.lines()
    assert line.startswith(f"{count} x ")
    assert line.endswith(", ...)")


@pytest.mark.parametrize(
    "files",
    [
        pytest.param(brat("Ada é " * 20, "".join(f"T{n}\tPER {n} {n + 1}\n" for n in range(99))), id="brat"),
        pytest.param(
            pubtator("1|t|" + "é" * 99 + "\n" + "".join(f"1\t{n}\t{n + 1}\té\tPER\n" for n in range(99))),
            id="pubtator",
        ),
    ],
)
def test_a_text_is_looked_through_once_and_not_for_each_entity(
    files: Files, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checked: list[Document] = []
    problems = document_module._problems

    def counted(document: Document) -> Iterator[str]:
        checked.append(document)
        return problems(document)

    monkeypatch.setattr(document_module, "_problems", counted)
    (read,) = Corpus.read(place(files, tmp_path))
    assert (len(read.entities), len(checked)) == (99, 1)


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("on_error", "ignore", "error, repair, skip"),
        ("rule", "loose", "lenient, strict"),
        ("join", "comma", "auto, space, none"),
        ("separator", "", "tab, space"),
    ],
)
def test_value_that_a_read_option_cannot_have_is_refused(name: str, value: str, expected: str, tmp_path: Path) -> None:
    path = place(conll(SOUND), tmp_path)
    with pytest.raises(ConfigError, match=f"{name} is '{value}', expected.*{expected}"):
        Corpus.read(path, **{name: value})


def test_strict_turns_a_reported_change_into_an_error(tmp_path: Path) -> None:
    corpus = Corpus.read(place(conll("Bob\tB-PER\n.\tO\nAda\tI-PER\n"), tmp_path))
    with pytest.raises(InputError, match=re.escape(f"1 x {NOT_OPEN}")):
        corpus.notes.refuse_changes()


def test_sentence_that_stands_in_two_splits_is_a_finding(tmp_path: Path) -> None:
    train = Corpus.read(place({"train.txt": b"Ada met Bob\nRome\n"}, tmp_path))
    test = Corpus.read(place({"test.txt": b"Paris\nAda met Bob\n"}, tmp_path))
    findings = {finding.what: finding.examples for finding in inspect(train, [("test.txt", test)]).findings}
    assert findings["documents that also stand in test.txt"] == ("1 = 2: Ada met Bob",)


def test_sentence_that_stands_twice_in_one_split_is_a_finding(tmp_path: Path) -> None:
    corpus = Corpus.read(place({"train.txt": b"Rome\nAda met Bob\nRome\n"}, tmp_path))
    findings = {finding.what: finding.examples for finding in inspect(corpus).findings}
    assert findings["documents with the same text as an earlier one"] == ("3 = 1: Rome",)


def test_sentence_of_other_white_space_is_the_same_sentence(tmp_path: Path) -> None:
    train = Corpus.read(place({"train.txt": b"Ada met Bob.\nAda  met Bob .\nRome\n"}, tmp_path))
    test = Corpus.read(place(conll("Rome\tO\n\nAda\tO\nmet\tO\nBob\tO\n.\tO\n"), tmp_path))
    findings = {finding.what: finding.examples for finding in inspect(train, [("test", test)]).findings}
    assert findings["documents with the same text as an earlier one"] == ("2 = 1: Ada  met Bob .",)
    assert findings["documents that also stand in test"] == (
        "1 = 2: Ada met Bob.",
        "2 = 2: Ada  met Bob .",
        "3 = 1: Rome",
    )


def test_repeats_within_a_split_are_not_said_to_stand_in_an_empty_one(tmp_path: Path) -> None:
    corpus = Corpus.read(place({"train.txt": b"Rome\nRome\n"}, tmp_path))
    findings = [finding.what for finding in inspect(corpus, [("test.txt", Corpus([]))]).findings]
    assert "documents that also stand in test.txt" not in findings


@pytest.mark.parametrize(
    ("what", "entities"),
    [
        ("entities that overlap another one", [(0, 3), (2, 5)]),
        ("entities that stand twice in their document", [(0, 3), (0, 3)]),
        ("entities with white space at an edge", [(0, 4)]),
        ("entities that begin or end inside a word", [(1, 3)]),
    ],
)
def test_suspicious_offsets_are_a_finding(what: str, entities: list[tuple[int, int]], tmp_path: Path) -> None:
    values = [{"start": start, "end": end, "label": "X"} for start, end in entities]
    corpus = Corpus.read(place(jsonl({"text": "Ada met", "entities": values}), tmp_path))
    assert what in [finding.what for finding in inspect(corpus).findings]


def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([COMMAND, *arguments], capture_output=True, text=True, check=False, timeout=30)


def options_of(case: Refused) -> list[str]:
    return [part for name, value in case.options.items() for part in (f"--{name.replace('_', '-')}", str(value))]


def contents(root: Path) -> dict[str, bytes]:
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in root.rglob("*") if path.is_file()}


@pytest.mark.parametrize("name", ON_THE_COMMAND_LINE)
def test_command_refuses_with_status_2_and_one_message_and_touches_nothing(name: str, tmp_path: Path) -> None:
    case = REFUSED[name]
    source = place(case.files, tmp_path)
    output = tmp_path / "out.jsonl"
    output.write_bytes(b"what was there before\n")
    before = contents(tmp_path)

    done = run("convert", source, output, *options_of(case))

    assert done.returncode == 2
    assert done.stderr.startswith("goldgap: ")
    assert done.stderr.count("goldgap: ") == 1
    assert case.found in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""
    assert contents(tmp_path) == before


def test_command_refuses_a_bad_dictionary_and_touches_nothing(tmp_path: Path) -> None:
    place({"text.txt": b"Ada\n", "d.tsv": b"PER Ada\n", "out.jsonl": b"what was there before\n"}, tmp_path)
    before = contents(tmp_path)

    done = run("annotate", tmp_path / "text.txt", "--dictionary", tmp_path / "d.tsv", "-o", tmp_path / "out.jsonl")

    assert done.returncode == 2
    assert done.stderr.startswith(f"goldgap: {tmp_path / 'd.tsv'}:1: no tab")
    assert contents(tmp_path) == before


def test_command_with_strict_refuses_what_it_would_have_repaired(tmp_path: Path) -> None:
    source = place(conll("Bob\tB-PER\n.\tO\nAda\tI-PER\n"), tmp_path)

    done = run("convert", source, tmp_path / "out.jsonl", "--strict")

    assert done.returncode == 2
    assert done.stderr.startswith(f"goldgap: 1 x {NOT_OPEN}")
    assert contents(tmp_path).keys() == {"corpus.conll"}
