"""PubTator: ID|t|title, ID|a|abstract, then ID<TAB>start<TAB>end<TAB>surface<TAB>label[<TAB>concept] lines."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path

from goldgap.core.corpus import Format, ReadOptions, WriteOptions, formats
from goldgap.core.document import Document, Entity
from goldgap.core.errors import CorpusError, InputError
from goldgap.core.notes import Notes
from goldgap.core.writing import write_atomic
from goldgap.corpus.lines import Ids, iterate_lines
from goldgap.corpus.lost import HOLDS_ALL, count_lost, count_unsaid
from goldgap.corpus.standoff import entity_at

_PASSAGE = re.compile(r"([^|\t]+)\|([ta])\|(.*)")


def read(path: Path, options: ReadOptions, notes: Notes) -> Iterator[Document]:
    """One document a block; its text is the title, a line end, and the abstract if there is one."""
    passages: dict[str, str] = {}
    entities: list[Entity] = []
    identity = text = ""
    ids = Ids()
    lines = iterate_lines(path, notes, repair=options.on_error == "repair")
    for number, line in enumerate(chain(lines, [""]), 1):
        where = f"{path}:{number}"
        try:
            if not line.strip():
                if passages:
                    yield Document(text, tuple(entities), id=identity)
                passages, entities = {}, []
            elif passage := _PASSAGE.fullmatch(line):
                if not passages:
                    ids.claim(passage[1], number)
                identity = _passage(passage, passages, identity)
                text = passages.get("t", "") + ("\n" + passages["a"] if passages.get("a") else "")
            elif not passages:
                raise InputError(f"{line[:60]!r} before any ID|t|title line")
            else:
                entity = _entity(line, identity, text, notes, where)
                entities += [entity] if entity is not None else []
        except InputError as error:
            if options.on_error == "error":
                raise CorpusError(error.message, path=path, line=number) from None
            notes.change("malformed line (left out)", f"{where}: {error.message}")


def write(documents: Iterable[Document], path: Path, options: WriteOptions, notes: Notes) -> None:
    """The first line of a text is its title; further line ends become blanks, so offsets stay."""
    ids, line = Ids(), 1
    with write_atomic(path) as handle:
        for document in documents:
            ids.claim(document.id, line)
            line += 3 + len(document.entities)
            if re.search(r"[|\s\0\ufeff]", document.id) or not document.id:
                raise InputError(
                    f"PubTator takes no blank or bar in an id, found {document.id!r}; write .jsonl instead", path=path
                )
            title, line_end, abstract = document.text.partition("\n")
            plain_title, plain_abstract = re.sub(r"[\r\n\0]", " ", title), re.sub(r"[\r\n\0]", " ", abstract)
            if line_end and not abstract:
                plain_title += " "
            if (plain_title, plain_abstract) != (title, abstract) or document.text.endswith("\n"):
                notes.change("line end or NUL inside a text (written as a blank)", document.id)
            handle.write(f"{document.id}|t|{plain_title}\n{document.id}|a|{plain_abstract}\n")
            for entity in document.entities:
                surface = re.sub(r"[\r\n\t\0]", " ", document.surface(entity))
                handle.write(f"{document.id}\t{entity.start}\t{entity.end}\t{surface}\t{entity.label}\n")
            handle.write("\n")
            count_lost(document, "PubTator", notes)
            count_unsaid(document, "PubTator", notes)
        if options.strict:
            notes.refuse_changes(HOLDS_ALL)


formats.add("pubtator", Format((".pubtator",), read, write))


def _passage(passage: re.Match[str], passages: dict[str, str], identity: str) -> str:
    name, kind, content = passage.groups()
    if passages and name != identity:
        raise InputError(f"the id {name!r} inside the block of {identity!r}; expected a blank line between documents")
    if kind in passages:
        raise InputError(f"a second |{kind}| line for {name!r}; expected a blank line between documents")
    if kind == "t" and passages:
        raise InputError(f"a |t| line behind the |a| line of {name!r}; expected the title first, offsets count from it")
    passages[kind] = content
    return name


def _entity(line: str, identity: str, text: str, notes: Notes, where: str) -> Entity | None:
    cells = line.split("\t")
    if cells[0] != identity:
        raise InputError(
            f"an annotation of {cells[0]!r} in the block of {identity!r}; expected a blank line between documents"
        )
    if len(cells) >= 4 and cells[1][:1].isalpha():  # the kind of a relation, in the place of an offset
        notes.change("relation (PubTator; not kept)", where)
        return None
    if len(cells) < 5 or not (
        cells[1].isascii() and cells[1].isdecimal() and cells[2].isascii() and cells[2].isdecimal()
    ):
        raise InputError(f"{line[:60]!r}, expected ID, start, end, surface and label between tabs")
    if max(len(cells[1]), len(cells[2])) > 12:
        raise InputError(f"offsets {cells[1][:20]}, {cells[2][:20]} lie outside the text")
    entity = entity_at(text, int(cells[1]), int(cells[2]), cells[4], cells[3])
    if len(cells) > 5 and cells[5]:
        notes.fact("concept ids", "not kept")
    return entity
