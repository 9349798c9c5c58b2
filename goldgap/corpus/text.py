"""Raw text: one document a line."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from goldgap.core.corpus import Format, ReadOptions, WriteOptions, formats
from goldgap.core.document import Document
from goldgap.core.notes import Notes
from goldgap.core.writing import write_atomic
from goldgap.corpus.lines import iterate_lines, keep_mark
from goldgap.corpus.lost import count_lost

_ROW = re.compile(r"[ \t](O|[BIESLMU]-\S+)\Z")
"""How a line of a token file ends."""


def read(path: Path, options: ReadOptions, notes: Notes) -> Iterator[Document]:
    """Documents named by their line number; blank lines are passed over."""
    blank = rows = texts = 0
    for number, line in enumerate(iterate_lines(path, notes, repair=options.on_error == "repair"), 1):
        if line.strip():
            texts += 1
            rows += _ROW.search(line) is not None
            yield Document(line, id=str(number))
        else:
            blank += 1
    if 2 * rows > texts:
        notes.change("line that looks like a row of a token file: read it with --format conll", str(path), count=rows)
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
                notes.change("document without text (left out)", document.id)
                continue
            number += 1
            if document.id != str(number):
                notes.change("document id, which raw text does not hold (numbered anew)", document.id)
            handle.write((keep_mark(line) if number == 1 else line) + "\n")
        if options.strict:
            notes.refuse_changes()


formats.add("text", Format((".txt",), read, write))
