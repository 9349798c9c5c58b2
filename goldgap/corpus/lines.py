"""Lines of a text file, by one rule for every reader."""

from __future__ import annotations

from pathlib import Path

from goldgap.core.errors import InputError
from goldgap.core.files import decode_utf8, read_bytes
from goldgap.core.notes import Notes

REPLACEMENT = "\ufffd"


class Ids:
    """The ids of a file's documents, each with its line, so that none is given twice."""

    def __init__(self) -> None:
        self._line_of: dict[str, int] = {}

    def claim(self, name: str, line: int) -> str:
        first = self._line_of.setdefault(name, line)
        if first != line:
            raise InputError(
                f"the id {name!r} was given on line {first} already; ids must be unique, or left out to be numbered"
            )
        return name


def read_lines(path: Path, notes: Notes, *, repair: bool = False) -> list[str]:
    """The lines without their ends, be those LF, CRLF or CR; an empty last line is left out.

    Only these end a line: U+2028, U+0085 and the like are characters of a token. With `repair`, bytes that are not
    UTF-8 become U+FFFD, counted.
    """
    data = read_bytes(path)
    try:
        text = decode_utf8(data, path)
    except InputError:
        if not repair or data.startswith((b"\xff\xfe", b"\xfe\xff")) or b"\0" in data:
            raise
        text = data.decode("utf-8-sig", errors="replace")
        lost = text.count(REPLACEMENT) - data.count(REPLACEMENT.encode())
        notes.change("character that is not UTF-8 (replaced by U+FFFD)", str(path), count=lost)
    if data.startswith(b"\xef\xbb\xbf"):
        notes.fact("byte order mark", "taken off")
    if "\r" in text:
        notes.fact("line ends", _line_ends(text))
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    return lines


def _line_ends(text: str) -> str:
    """What ends the lines of a text that has carriage returns."""
    both, returns, feeds = text.count("\r\n"), text.count("\r"), text.count("\n")
    if both == returns == feeds:
        return "CRLF"
    return "mixed" if feeds else "CR"
