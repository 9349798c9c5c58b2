"""brat standoff: a text file NAME.txt and beside it NAME.ann; one document a pair, a folder for a corpus."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from goldgap.core.corpus import Format, ReadOptions, WriteOptions, formats
from goldgap.core.document import Document, Entity
from goldgap.core.errors import CorpusError, DocumentError, InputError
from goldgap.core.manifest import MANIFEST, commit_directory, safe_join
from goldgap.core.notes import Notes
from goldgap.core.reading import check_source, files_in
from goldgap.corpus.lines import keep_mark, read_lines, read_whole
from goldgap.corpus.lost import HOLDS_ALL, count_lost, count_unsaid
from goldgap.corpus.standoff import entity_at

_ENTITY = re.compile(r"(T\S*)\t(\S+) ([0-9]{1,12} [0-9]{1,12}(?:;[0-9]{1,12} [0-9]{1,12})*)(?:\t(.*))?")
_OTHER_KIND = re.compile(r"(?:[REAMN][0-9]\S*|#\S*|\*)\t")
_LONGEST_NAME = 200
"""Bytes of a name that every file system takes, with an extension and more before it."""
_OTHER_KINDS = {
    "R": "relation",
    "E": "event",
    "A": "attribute",
    "M": "attribute",
    "N": "normalisation",
    "#": "note",
    "*": "equivalence",
}


def read(path: Path, options: ReadOptions, notes: Notes) -> Iterator[Document]:
    """The pairs of a folder in order of name, or the one pair that a .ann or .txt file belongs to.

    A text alone is a document without entities, as brat shows it; so is each of a folder that has no .ann file.
    """
    if not path.is_dir():
        check_source(path)
        yield _document(path.with_suffix(".ann"), options, notes)
        return
    annotations = set(files_in(path, "*.ann"))
    inner = sorted(folder for folder in path.iterdir() if folder.is_dir() and files_in(folder, "*.ann"))
    texts = {text.with_suffix(".ann"): text for text in files_in(path, "*.txt")}
    if not annotations and (inner or not texts or (path / MANIFEST).exists()):
        hint = f"; there are some in {inner[0].name}: name that folder" if inner else ""
        if (path / MANIFEST).exists():
            hint = "; it looks like a model, which no corpus is read from: are the arguments exchanged?"
        raise CorpusError(f"no .ann file in this folder; brat keeps NAME.ann beside NAME.txt{hint}", path=path)
    for folder in inner:
        notes.change("folder of .ann files inside the folder (not read; name it on its own)", str(folder))
    for annotation in sorted({*annotations, *texts}):
        if annotation not in annotations:
            notes.change("text without a .ann file (read as a document without entities)", str(texts[annotation]))
        yield _document(annotation, options, notes, alone=annotation not in annotations)


def write(documents: Iterable[Document], path: Path, options: WriteOptions, notes: Notes) -> None:
    """A new folder with a pair of files a document."""
    with commit_directory(path) as folder:
        for document in documents:
            if not _names_a_file(document.id):
                raise InputError(
                    f"the document id {document.id!r} cannot be the name of a file; write .jsonl instead", path=path
                )
            if (folder / f"{document.id}.txt").exists():
                raise InputError(f"two documents have the id {document.id!r}, which names their files", path=path)
            with safe_join(folder, f"{document.id}.txt").open("w", encoding="utf-8", newline="") as handle:
                handle.write(keep_mark(document.text.replace("\0", " ")))
            if "\0" in document.text:
                notes.change("NUL inside a text (written as a blank)", document.id)
            with safe_join(folder, f"{document.id}.ann").open("w", encoding="utf-8", newline="\n") as handle:
                for number, entity in enumerate(document.entities, 1):
                    if re.search(r"\s", entity.label):
                        raise InputError(f"brat takes no white space in a label, found {entity.label!r}", path=path)
                    surface = re.sub(r"[\r\n\t\0]", " ", document.surface(entity))
                    handle.write(f"T{number}\t{entity.label} {entity.start} {entity.end}\t{surface}\n")
            count_lost(document, "brat", notes)
            count_unsaid(document, "brat", notes)
        if options.strict:
            notes.refuse_changes(HOLDS_ALL)


formats.add("brat", Format((".ann",), read, write))


def _document(annotation: Path, options: ReadOptions, notes: Notes, *, alone: bool = False) -> Document:
    """The document of a pair, or of a text alone."""
    repair = options.on_error == "repair"
    source = annotation.with_suffix(".txt")
    for file, other, what in ((source, annotation, "text"), (annotation, source, "annotations")):
        if not alone and not os.path.exists(file):
            raise CorpusError(f"no such file: brat keeps the {what} of {other.name} there", path=file)
    text = read_whole(source, notes, repair=repair)
    entities: list[Entity] = []
    for number, line in enumerate([] if alone else read_lines(annotation, notes, repair=repair), 1):
        where = f"{annotation}:{number}"
        if not line.strip():
            continue
        if other_kind := _OTHER_KIND.match(line):
            notes.change(f"{_OTHER_KINDS[other_kind[0][0]]} (brat; not kept)", where)
            continue
        try:
            entities.append(_entity(line, text, options, notes, where))
        except InputError as error:
            if options.on_error == "error":
                raise CorpusError(error.message, path=annotation, line=number) from None
            notes.change("malformed annotation (left out)", f"{where}: {error.message}")
    try:
        return Document(text, tuple(entities), id=annotation.stem)
    except DocumentError as error:  # of its name
        raise CorpusError(error.message, path=annotation) from None


def _names_a_file(identity: str) -> bool:
    odd = re.search(r"[/\\\0-\x1f]", identity) is not None or identity.startswith(".")
    return bool(identity) and not odd and len(identity.encode()) <= _LONGEST_NAME


def _entity(line: str, text: str, options: ReadOptions, notes: Notes, where: str) -> Entity:
    found = _ENTITY.fullmatch(line)
    if found is None:
        raise InputError(f"{line[:60]!r}, expected T1<TAB>LABEL START END<TAB>surface")
    parts = [tuple(map(int, part.split())) for part in found[3].split(";")]
    start, end = min(start for start, _ in parts), max(end for _, end in parts)
    if len(parts) > 1:
        if options.on_error != "repair":
            raise InputError(
                "a discontinuous annotation, which goldgap does not hold; take the whole stretch with "
                "--on-error repair, or leave it out with --on-error skip"
            )
        notes.change("discontinuous annotation (taken as the whole stretch)", where)
    return entity_at(text, start, end, found[2], found[4] if len(parts) == 1 else None)
