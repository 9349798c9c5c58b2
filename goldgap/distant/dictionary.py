"""Dictionary: what entities of each type are called."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Literal, NamedTuple, cast

from goldgap.core.config import load
from goldgap.core.corpus import Corpus
from goldgap.core.document import label_problem
from goldgap.core.errors import DictionaryError, InputError, require
from goldgap.core.labels import Labels
from goldgap.core.notes import Notes
from goldgap.core.reading import files_in
from goldgap.corpus.lines import read_lines
from goldgap.distant.rules import MatchRules

Case = Literal["exact", "fold"]
_OF_LABELS = ("label", "type", "tag", "class", "category")
_OF_SURFACES = ("surface", "term", "name", "text", "phrase", "mention", "entity")
_OF_HEADERS = frozenset((*_OF_LABELS, *_OF_SURFACES, "case"))
"""What the columns of a table are called on a first line that is no entry."""
_READ = "Entry('LOC', 'Elbe') is one, and Dictionary.read(path) reads them from a file"


class Entry(NamedTuple):
    """A surface and its type; `case` overrides the general rule."""

    label: str
    surface: str
    case: Case | None = None


class Dictionary:
    """Entries in order, without repeats."""

    def __init__(self, entries: Iterable[Entry], *, notes: Notes | None = None) -> None:
        require(entries, Iterable, "a dictionary is made of entries", _READ)
        self.entries = list(dict.fromkeys(_normal(_entry(entry)) for entry in entries))
        self.notes = notes or Notes()

    @classmethod
    def read(cls, path: str | Path) -> Dictionary:
        """From a TSV of LABEL<TAB>surface[<TAB>exact|fold], or a folder of LABEL.txt with surface[<TAB>exact|fold]."""
        path = Path(path)
        notes = Notes()
        files = files_in(path, "*.[tT][xX][tT]") if path.is_dir() else [path]
        others = sorted(file.name for file in path.iterdir() if file not in files) if path.is_dir() else []
        if shown := [name for name in others if not name.startswith(".")]:
            notes.fact("in the folder, not read", ", ".join(shown))
        if not files:
            raise DictionaryError("no .txt file in this folder; expected LABEL.txt, one surface a line", path=path)
        entries = [entry for file in files for entry in _read(file, notes, file.stem if path.is_dir() else None)]
        if not entries:
            expected = "LABEL.txt files with one surface a line" if path.is_dir() else "lines of LABEL<TAB>surface"
            raise DictionaryError(f"no entry in it: expected {expected}", path=path)
        dictionary = cls(entries, notes=notes)
        if repeats := len(entries) - len(dictionary):
            notes.fact("repeated entries", f"{repeats:,} read once")
        return dictionary

    def annotate(self, corpus: Corpus, **rules: Any) -> Corpus:
        """The corpus with the entities that the dictionary finds, in place of those it had."""
        from goldgap.distant.annotate import annotate

        return annotate(corpus, self, load(MatchRules, rules)).corpus

    @property
    def labels(self) -> Labels:
        return Labels.of(entry.label for entry in self.entries)

    def __iter__(self) -> Iterator[Entry]:
        return iter(self.entries)

    def __len__(self) -> int:
        return len(self.entries)

    def __repr__(self) -> str:
        return f"<Dictionary: {len(self):,} entries, types {', '.join(self.labels)}>"


def normal_surface(surface: str) -> str:
    """A surface with single blanks."""
    return " ".join(surface.split())


def _entry(given: object) -> Entry:
    """An entry, also of a plain tuple."""
    require(given, tuple, "a dictionary is made of entries", _READ)
    assert isinstance(given, tuple)
    if not isinstance(given, Entry):
        if len(given) not in (2, 3):
            raise InputError(f"{given!r:.60} has {len(given)} parts, expected type, surface and perhaps case: {_READ}")
        given = Entry(*given)
    if problem := _problem(given):
        raise InputError(f"{given!r:.120}: {problem}")
    return given


def _problem(entry: Entry) -> str | None:
    """What is wrong with an entry, or None."""
    if not isinstance(entry.surface, str):
        return f"the surface {entry.surface!r} is not a string"
    if not entry.surface or entry.surface.isspace():
        return "the surface is empty"
    if entry.case not in ("exact", "fold", None):
        return f"the case is {entry.case!r}, expected exact or fold"
    return label_problem(entry.label)


def _normal(entry: Entry) -> Entry:
    surface = entry.surface
    regular = surface.isprintable() and "  " not in surface and surface == surface.strip(" ")
    return entry if regular else entry._replace(surface=normal_surface(surface))


def _read(path: Path, notes: Notes, label: str | None) -> Iterator[Entry]:
    """The entries of a table, or of a list whose entries are all of one type."""
    if label is None:
        shape, hint = "LABEL<TAB>surface, or LABEL<TAB>surface<TAB>exact|fold", ""
    else:
        shape, hint = (
            "a surface, or surface<TAB>exact|fold",
            "; is this a table? Name the file itself, not its folder",
        )
        if problem := label_problem(label):
            raise DictionaryError(f"the file's name is the type of its entries: {problem}", path=path)
    for number, line in enumerate(read_lines(path, notes), 1):
        if not line.strip():
            continue
        columns = line.split("\t")
        cells = columns if label is None else [label, *columns]
        if len(cells) not in (2, 3):
            found = "no tab" if len(columns) == 1 else f"{len(columns)} columns"
            raise DictionaryError(f"{found} in {line[:60]!r}, expected {shape}{hint}", path=path, line=number)
        if number == 1 and label is None and _OF_HEADERS.issuperset(cell.strip().lower() for cell in cells):
            raise DictionaryError(f"{line[:60]!r} looks like a header; remove it", path=path, line=number)
        case = cells[2].strip() if len(cells) == 3 else ""
        if case not in ("", "exact", "fold"):
            where = "third" if label is None else "second"
            raise DictionaryError(
                f"the {where} column is {case!r}, expected exact or fold{hint}", path=path, line=number
            )
        entry = Entry(cells[0].strip(), normal_surface(cells[1]), cast(Case, case) if case else None)
        if problem := _problem(entry):
            raise DictionaryError(problem, path=path, line=number)
        yield entry
