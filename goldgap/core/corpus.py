"""Corpus: documents in order, with notes on how they were read."""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Literal, get_args

from goldgap.core.document import Document
from goldgap.core.errors import ConfigError, CorpusError, InputError, require
from goldgap.core.labels import Labels
from goldgap.core.notes import Notes
from goldgap.core.registry import Registry, unknown_name

LIKE_A_NUMBER = re.compile(r"(unnamed-)*[0-9]+")
"""Ids that a document without one could be given."""
OnError = Literal["error", "repair", "skip"]
TagRule = Literal["lenient", "strict"]
Join = Literal["auto", "space", "none"]


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """How to read a corpus; the defaults detect what can be detected and report it.

    on_error      a malformed place: stop, make the smallest repair, or leave that sentence out (both counted)
    rule          ill-formed tag sequences: lenient as conlleval, strict as IOB2 is defined
    scheme        tag scheme, detected when None
    separator     between the columns of a token file: "tab", "space" (runs of blanks) or any string, detected when None
    token_column, label_column    counted from 0, or from the end when negative
    join          how the words of a token file become a text: "auto", "space" or "none"
    complete      the file is completely annotated; None: as the file says
    """

    on_error: OnError = "error"
    rule: TagRule = "lenient"
    scheme: str | None = None
    separator: str | None = None
    token_column: int = 0
    label_column: int = -1
    join: Join = "auto"
    complete: bool | None = None


@dataclass(frozen=True, slots=True)
class WriteOptions:
    """How to write a corpus.

    scheme   the tag scheme of token files
    strict   what the format cannot hold is an error, and nothing is written
    """

    scheme: str = "bio"
    strict: bool = False


Reader = Callable[[Path, ReadOptions, Notes], Iterable[Document]]
Writer = Callable[[Iterable[Document], Path, WriteOptions, Notes], None]


@dataclass(frozen=True, slots=True)
class Format:
    """A corpus format: the file extensions it owns, how to read it and how to write it."""

    extensions: tuple[str, ...]
    read: Reader
    write: Writer


formats: Registry[Format] = Registry("format")


class Corpus:
    """Documents in order; those without an id are numbered, around the ids of the others."""

    def __init__(self, documents: Iterable[Document], *, notes: Notes | None = None) -> None:
        self.documents = _named(documents)
        self.notes = notes or Notes()

    @classmethod
    def read(cls, path: str | Path, *, format: str | None = None, **options: object) -> Corpus:
        """The corpus in a file; the format follows from the extension unless given."""
        notes = Notes()
        return cls(stream(path, format=format, notes=notes, **options), notes=notes)

    def write(self, path: str | Path, *, format: str | None = None, scheme: str = "bio", strict: bool = False) -> Notes:
        """Write to a file, whole or not at all; the notes say what the format could not hold."""
        return write_stream(self.documents, path, format=format, scheme=scheme, strict=strict)

    @property
    def labels(self) -> Labels:
        """The types of the entities, and those that a document says it is complete for, in order of name."""
        return Labels.seen_in(self.documents)

    @property
    def entity_count(self) -> int:
        """Entities of all documents."""
        return sum(len(document.entities) for document in self.documents)

    def require_own_ids(self, what: str) -> None:
        """Raise where two documents share an id: nothing that is said of the one could be told from the other's."""
        seen: set[str] = set()
        for document in self.documents:
            if document.id in seen:
                raise InputError(
                    f"the id {document.id!r} belongs to several {what}; give each document its own, or none: "
                    'documents with id="" are numbered'
                )
            seen.add(document.id)

    def map(self, change: Callable[[Document], Document]) -> Corpus:
        """The corpus with each document changed: `corpus.map(lambda one: one.replace(complete=True))`."""
        return Corpus(map(change, self.documents), notes=self.notes)

    def __iter__(self) -> Iterator[Document]:
        return iter(self.documents)

    def __len__(self) -> int:
        return len(self.documents)

    def __getitem__(self, index: int) -> Document:
        return self.documents[index]

    def __repr__(self) -> str:
        return f"<Corpus: {len(self):,} documents, {self.entity_count:,} entities, types {', '.join(self.labels)}>"


def stream(path: str | Path, *, format: str | None = None, notes: Notes, **options: object) -> Iterator[Document]:
    """The documents of `Corpus.read` one after the other; `notes` is complete behind the last.

    Memory does not grow with the file but for the ids of .jsonl and .pubtator, which must differ. Token files are read
    whole: what their tags mean is detected from all of them.
    """
    path = Path(path)
    return _checked(format_of(path, format).read, path, _options(options), notes)


def write_stream(
    documents: Iterable[Document],
    path: str | Path,
    *,
    format: str | None = None,
    scheme: str = "bio",
    strict: bool = False,
) -> Notes:
    """Write documents as they come, whole or not at all; the notes say what the format could not hold."""
    notes = Notes()
    path = Path(path)
    format_of(path, format, hint="write one of these, or `convert --to` another").write(
        _named(documents) if isinstance(documents, Sequence) else _numbered(documents),
        path,
        WriteOptions(scheme, strict),
        notes,
    )
    return notes


def format_of(path: Path, name: str | None = None, *, hint: str = "name one with --format") -> Format:
    """The format of a file by name, or by its extension; `hint` says what to do where that tells nothing."""
    if name is not None:
        return formats.get(name)
    if path.is_dir():
        return formats.get("brat")
    for _, candidate in formats.items():
        if path.suffix.lower() in candidate.extensions:
            return candidate
    known = ", ".join(suffix for _, candidate in formats.items() for suffix in candidate.extensions)
    raise InputError(f"the extension {path.suffix!r} belongs to no format ({known}); {hint}", path=path)


def _checked(read: Reader, path: Path, options: ReadOptions, notes: Notes) -> Iterator[Document]:
    """The documents of a reader, at least one, as complete as the options say."""
    document = None
    for document in read(path, options, notes):
        if options.complete is True and isinstance(document.complete, frozenset):
            own = ", ".join(sorted(document.complete))
            notes.change(f"document that says it is complete for {own} (taken as complete for all types)", document.id)
        yield document if options.complete is None else document.replace(complete=options.complete)
    if document is None:
        raise CorpusError("no document in it: expected at least one sentence or text", path=path)


def free_id(number: int, *taken: Container[str]) -> str:
    """An id for a document that has none: its number, unless another document is called so.

    >>> free_id(1, ["2"]), free_id(2, ["2"])
    ('1', 'unnamed-2')
    """
    name = str(number)
    while any(name in ids for ids in taken):
        name = f"unnamed-{name}"
    return name


def _named(documents: Iterable[Document]) -> list[Document]:
    """The documents, each with its id, or a free one where it has none."""
    documents = list(documents)
    for document in documents:
        require(document, Document, "a corpus is made of documents", "Document('a text') makes one")
    if all(document.id for document in documents):
        return documents
    stated = {document.id for document in documents}
    return [
        document if document.id else document.replace(id=free_id(number, stated))
        for number, document in enumerate(documents, 1)
    ]


def _numbered(documents: Iterable[Document]) -> Iterator[Document]:
    """The documents as they come, each with its id, or a number that none had before; later ids are not known yet."""
    taken: set[str] = set()  # of those that could be another's number: their own is none
    for number, document in enumerate(documents, 1):
        if not document.id:
            document = document.replace(id=free_id(number, taken))
        elif document.id != str(number) and LIKE_A_NUMBER.fullmatch(document.id):
            taken.add(document.id)
        yield document


def _options(given: dict[str, object]) -> ReadOptions:
    known = [field.name for field in fields(ReadOptions)]
    for name in given:
        if name not in known:
            raise ConfigError(unknown_name("read option", name, known))
    for name, kind in (("on_error", OnError), ("rule", TagRule), ("join", Join)):
        if name in given and given[name] not in get_args(kind):
            raise ConfigError(f"{name} is {given[name]!r}, expected one of {', '.join(get_args(kind))}")
    for name in ("token_column", "label_column"):
        if type(given.get(name, 0)) is not int:
            raise ConfigError(f"{name} is {given[name]!r}, expected the number of a column, 0 for the first")
    if not isinstance(given.get("complete"), bool | frozenset | None):
        raise ConfigError(f"complete is {given['complete']!r}, expected True, False or a frozenset of types")
    if given.get("separator") == "":
        raise ConfigError("separator is '', expected tab, space or the string between two columns")
    return ReadOptions(**given)  # type: ignore[arg-type]
