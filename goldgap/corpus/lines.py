"""Lines of a text file, by one rule for every reader."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator
from pathlib import Path

from goldgap.core.corpus import free_id
from goldgap.core.errors import InputError
from goldgap.core.notes import Notes
from goldgap.core.reading import (
    BYTE_ORDER_MARK,
    nul_problem,
    read_bytes,
    read_line_blocks,
    read_text,
    refuse_other_kinds,
    utf8_problem,
)

REPLACEMENT, MARK = "\ufffd", "\ufeff"


class Ids:
    """The ids of a file's documents, each with its line, so that none is given twice.

    stated   ids that the file gives and that could be taken for a number; asked for once, if a document has none
    """

    def __init__(self, stated: Callable[[], Container[str]] = frozenset) -> None:
        self._line_of: dict[str, int] = {}
        self._ask = stated
        self._stated: Container[str] | None = None

    def number(self, number: int) -> str:
        """An id for a document without one: its number, unless another document is called so."""
        if self._stated is None:
            self._stated = self._ask()
        return free_id(number, self._line_of, self._stated)

    def claim(self, name: str, line: int) -> str:
        first = self._line_of.setdefault(name, line)
        if first != line:
            raise InputError(
                f"the id {name!r} was given on line {first} already; ids must be unique, or left out to be numbered"
            )
        return name


def keep_mark(beginning: str) -> str:
    """What a file begins with: readers take one byte order mark off, so one of the text's own needs another before."""
    return MARK + beginning if beginning.startswith(MARK) else beginning


def read_whole(path: Path, notes: Notes, *, repair: bool = False) -> str:
    """The text of a file as it is, line ends and all; with `repair` as `iterate_lines` does."""
    if not repair:
        return read_text(path)
    _survey(path, notes, repair=True)
    return read_bytes(path).removeprefix(BYTE_ORDER_MARK).decode(errors="replace")


def read_lines(path: Path, notes: Notes, *, repair: bool = False) -> list[str]:
    """All that `iterate_lines` gives."""
    return list(iterate_lines(path, notes, repair=repair))


def iterate_lines(path: Path, notes: Notes, *, repair: bool = False) -> Iterator[str]:
    """The lines without their ends, be those LF, CRLF or CR; an empty last line is left out.

    Only these end a line: U+2028, U+0085 and the like are characters of a token. With `repair`, bytes that are not
    UTF-8 become U+FFFD, counted. The file is read twice, a block at a time: what is no text anywhere in it is refused
    before the first line is given.
    """
    _survey(path, notes, repair=repair)
    encoding = "utf-8-sig"
    for block in read_line_blocks(path):
        try:
            text = block.decode(encoding, errors="replace" if repair else "strict")
        except UnicodeDecodeError:
            raise InputError("was altered while it was read; start again when it is complete", path=path) from None
        encoding = "utf-8"
        if "\r" in text:
            text = text.replace("\r\n", "\n").replace("\r", "\n")
        lines = text.split("\n")
        if lines[-1] == "":
            lines.pop()
        yield from lines


def _survey(path: Path, notes: Notes, *, repair: bool) -> None:
    """Refuse a file that is not text, and note what only the whole of it says."""
    not_utf8: InputError | None = None
    nul: InputError | None = None
    marked = False
    offset = lost = feeds = returns = both = 0
    for block in read_line_blocks(path):
        if not offset:
            refuse_other_kinds(block, path)
            marked = block.startswith(BYTE_ORDER_MARK)
        line = 1 + feeds + returns - both
        if problem := utf8_problem(block, path, offset=offset, line=line):
            if not repair:
                raise problem
            not_utf8 = not_utf8 or problem
            lost += block.decode(errors="replace").count(REPLACEMENT) - block.count(REPLACEMENT.encode())
        nul = nul or nul_problem(block, path, line=line)
        offset += len(block)
        feeds += block.count(b"\n")
        if b"\r" in block:
            returns += block.count(b"\r")
            both += block.count(b"\r\n")
    if nul:
        raise not_utf8 or nul
    if lost:
        notes.change("character that is not UTF-8 (replaced by U+FFFD)", str(path), count=lost)
    if marked:
        notes.fact("byte order mark", "taken off")
    if returns:
        notes.fact("line ends", "CRLF" if both == returns == feeds else "mixed" if feeds else "CR")
