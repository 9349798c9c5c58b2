"""Raw text: one document a line."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from goldgap.core.corpus import Format, ReadOptions, WriteOptions, formats
from goldgap.core.document import Document
from goldgap.core.notes import Notes
from goldgap.core.writing import write_atomic
from goldgap.corpus.lines import iterate_lines, keep_mark
from goldgap.corpus.lost import EMPTY, HOLDS_ALL, count_lost

_OTHERS = {
    "a row of a token file: read it with --format conll": re.compile(r".*[ \t](O|[BIESLMU]-\S+)"),
    "a line of PubTator: read it with --format pubtator": re.compile(r"[^|\s]+(\|[ta]\|.*|\t[0-9]+\t[0-9]+\t.*)"),
    "a document of JSONL: read it with --format jsonl": re.compile(r'\s*\{\s*".*\}\s*'),
}
"""What lines of other formats are, which are read as text only by accident."""


def read(path: Path, options: ReadOptions, notes: Notes) -> Iterator[Document]:
    """Documents named by their line number; blank lines are passed over."""
    blank = texts = 0
    alike = Counter[str]()
    for number, line in enumerate(iterate_lines(path, notes, repair=options.on_error == "repair"), 1):
        if line.strip():
            texts += 1
            alike.update(what for what, pattern in _OTHERS.items() if pattern.fullmatch(line))
            yield Document(line, id=str(number))
        else:
            blank += 1
    for what, count in alike.items():
        if 2 * count > texts:
            notes.change(f"line that looks like {what}", str(path), count=count)
    if path.with_suffix(".ann").is_file():
        notes.change("text with annotations beside it (not read; read both with --format brat)", str(path))
    if blank:
        notes.fact("blank lines", f"{blank:,} passed over")


def write(documents: Iterable[Document], path: Path, options: WriteOptions, notes: Notes) -> None:
    """Only the text; line ends and NUL inside it become blanks."""
    number = 0
    with write_atomic(path) as handle:
        for document in documents:
            line = re.sub(r"[\r\n\0]", " ", document.text)
            if line != document.text:
                notes.change("line end or NUL inside a text (written as a blank)", document.id)
            if document.entities:
                notes.change("entity, which raw text cannot hold", document.id, count=len(document.entities))
            count_lost(document, "raw text", notes)
            if not line.strip():
                notes.change(EMPTY, document.id)
                continue
            number += 1
            if document.id != str(number):
                notes.change("document id, which raw text does not hold (numbered anew)", document.id)
            handle.write((keep_mark(line) if number == 1 else line) + "\n")
        if options.strict:
            notes.refuse_changes(HOLDS_ALL)


formats.add("text", Format((".txt",), read, write))
