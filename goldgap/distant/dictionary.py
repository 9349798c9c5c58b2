"""Dictionary: what entities of each type are called."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Literal, NamedTuple

from goldgap.core.config import load
from goldgap.core.corpus import Corpus
from goldgap.core.document import label_problem
from goldgap.core.errors import DictionaryError, require
from goldgap.core.labels import Labels
from goldgap.core.notes import Notes
from goldgap.core.reading import files_in
from goldgap.corpus.lines import read_lines
from goldgap.distant.rules import MatchRules

_READ = "Entry('LOC', 'Elbe') is one, and Dictionary.read(path) reads them from a file"


class Entry(NamedTuple):
    """A surface and its type; `case` overrides the general rule."""

    label: str
    surface: str
    case: Literal["exact", "fold"] | None = None


class Dictionary:
    """Entries in order, without repeats."""

    def __init__(self, entries: Iterable[Entry], *, notes: Notes | None = None) -> None:
        require(entries, Iterable, "a dictionary is made of entries", _READ)
        self.entries = list(dict.fromkeys(_normal(_entry(entry)) for entry in entries))
        self.notes = notes or Notes()

    @classmethod
    def read(cls, path: str | Path) -> Dictionary:
        """From a TSV of LABEL<TAB>surface[<TAB>exact|fold], or a folder of LABEL.txt with one surface a line."""
        path = Path(path)
        notes = Notes()
        files = files_in(path, "*.[tT][xX][tT]") if path.is_dir() else [path]
        others = sorted(file.name for file in path.iterdir() if file not in files) if path.is_dir() else []
        if shown := [name for name in others if not name.startswith(".")]:
            notes.fact("in the folder, not read", ", ".join(shown))
        if not files:
            raise DictionaryError("no .txt file in this folder; expected LABEL.txt, one surface a line", path=path)
        entries = [
            entry
            for file in files
            for entry in (_read_list(file, notes) if path.is_dir() else _read_table(file, notes))
        ]
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
    return given if isinstance(given, Entry) else Entry(*given)  # type: ignore[misc]


def _normal(entry: Entry) -> Entry:
    surface = entry.surface
    regular = surface.isprintable() and "  " not in surface and surface == surface.strip(" ")
    return entry if regular else entry._replace(surface=normal_surface(surface))


def _read_table(path: Path, notes: Notes) -> Iterator[Entry]:
    for number, line in enumerate(read_lines(path, notes), 1):
        if not line.strip():
            continue
        cells = line.split("\t")
        if len(cells) not in (2, 3):
            found = "no tab" if len(cells) == 1 else f"{len(cells)} columns"
            raise DictionaryError(
                f"{found} in {line[:60]!r}, expected LABEL<TAB>surface, or LABEL<TAB>surface<TAB>exact|fold",
                path=path,
                line=number,
            )
        label, surface = cells[0].strip(), normal_surface(cells[1])
        case = cells[2].strip() if len(cells) == 3 else ""
        problem = label_problem(label) or (None if surface else "the surface is empty")
        if problem is None and case not in ("", "exact", "fold"):
            problem = f"the third column is {case!r}, expected exact or fold"
        if problem is not None:
            raise DictionaryError(problem, path=path, line=number)
        yield Entry(label, surface, "exact" if case == "exact" else "fold" if case == "fold" else None)


def _read_list(path: Path, notes: Notes) -> Iterator[Entry]:
    if problem := label_problem(path.stem):
        raise DictionaryError(f"the file's name is the type of its entries: {problem}", path=path)
    for line in read_lines(path, notes):
        if surface := normal_surface(line):
            yield Entry(path.stem, surface)
