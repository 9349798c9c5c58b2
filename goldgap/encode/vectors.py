"""Word vectors from a file: the text of GloVe, word2vec and fastText, and the binary format of word2vec."""

from __future__ import annotations

import re
from array import array
from itertools import takewhile
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from goldgap.core.errors import InputError
from goldgap.core.notes import Notes
from goldgap.core.reading import BLOCK, read_bytes, read_line_blocks
from goldgap.corpus.lines import iterate_lines

_BINARY_HEADER = re.compile(rb"(\d{1,18}) (\d{1,9}) ?\r?\n")
_CONTROL = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f]")
_REFUSED = {
    (793712314).to_bytes(4, "little"): "a model of fastText, expected its vectors; export a .vec: "
    "fasttext print-word-vectors MODEL.bin < WORDS.txt > VECTORS.vec",
    b"\x1f\x8b": "compressed with gzip; unpack it first",
    b"PK\x03\x04": "a zip archive; unpack it, and name the file of vectors in it",
}
"""What files begin with that hold vectors and cannot be read, and what to do about them."""


def read_vectors(path: Path) -> tuple[list[str], Tensor]:
    """Words and their vectors (word, size); of equal words the first counts.

    Text has a line for each word: the word, then its numbers, all apart by one blank. Words may contain blanks: a line
    ends in as many numbers as the first one. word2vec and fastText write the number of words and of numbers on a line
    before. Binary is that line, then for each word its bytes, a blank, its numbers as little-endian float32, and a
    line end or none.
    """
    beginning = _beginning(path)
    for magic, problem in _REFUSED.items():
        if beginning.startswith(magic):
            raise InputError(problem, path=path)
    return _read_binary(path) if _is_binary(beginning) else _read_text(path)


def _beginning(path: Path) -> bytes:
    """The first bytes of a file, a block or a little more."""
    beginning = b""
    for block in read_line_blocks(path):
        beginning += block
        if len(beginning) >= BLOCK:
            break
    return beginning


def _is_binary(beginning: bytes) -> bool:
    """Whether a file that begins like this is in the binary format, whatever its name.

    It has a header, the line behind that is no entry of as many numbers as the header says, and what follows is not
    UTF-8 or has control characters, as numbers of four bytes are hardly ever without. A text whose first entry is wrong
    has neither, and is told what is wrong with it.
    """
    header = _BINARY_HEADER.match(beginning)
    if header is None or int(header[2]) == 0:
        return False
    behind = beginning[header.end() :]
    line = behind.partition(b"\n")[0].rstrip(b" \r").decode("latin-1")  # any bytes: the reader of text says what is odd
    return _numbers_behind(line) != int(header[2]) and not _is_text(behind)


def _is_text(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return _CONTROL.search(data) is None


def _read_binary(path: Path) -> tuple[list[str], Tensor]:
    data = read_bytes(path)
    header = _BINARY_HEADER.match(data)
    if header is None:
        raise InputError("was altered while it was read; start again when it is complete", path=path)
    announced, width, at = int(header[1]), 4 * int(header[2]), header.end()
    row_of: dict[str, int] = {}
    values, starts = bytearray(), array("Q")
    with memoryview(data) as view:
        for row in range(announced):
            at += data.startswith(b"\n", at) if row else 0
            blank = data.find(b" ", at)
            if blank < 0 or blank + 1 + width > len(data):
                whole = f"expected {announced:,} of {width // 4:,} numbers as line 1 says; is the file whole?"
                raise InputError(
                    f"ends in the middle of vector {row + 1:,}, which begins at byte {at}; {whole}", path=path
                )
            row_of.setdefault(_binary_word(data[at:blank], at, path), row)
            starts.append(at)
            at = blank + 1 + width
            values += view[blank + 1 : at]
    if data[at:] not in (b"", b"\n", b"\r\n"):
        found = f"{len(data) - at:,} more bytes behind {announced:,} vectors, from byte {at}"
        raise InputError(f"{found}, expected none as line 1 says; is that line right?", path=path)
    table = torch.from_numpy(np.frombuffer(values, "<f4").astype(np.float32, copy=False)).view(-1, width // 4)
    infinite = _first_infinite(table)
    if infinite is not None:
        raise InputError(f"byte {starts[infinite]}: a word with a number that is not finite", path=path)
    return _first_of_each(row_of, table)


def _binary_word(data: bytes, at: int, path: Path) -> str:
    """The word in these bytes, which stand at this offset of the file."""
    hint = "is the file in the binary format of word2vec, and line 1 right about the numbers of a word?"
    try:
        word = data.decode()
    except UnicodeDecodeError as error:
        where = at + error.start
        raise InputError(
            f"byte {where} (0x{data[error.start]:02x}), in a word, is not UTF-8; {hint}", path=path
        ) from None
    if not word or "\0" in word or "\n" in word:
        what = "a word with a NUL or a line end" if word else "a word without characters"
        raise InputError(f"byte {at}: {what}; {hint}", path=path)
    return word


def _read_text(path: Path) -> tuple[list[str], Tensor]:
    row_of: dict[str, int] = {}
    values, lines = array("f"), array("L")
    announced = size = 0
    for line, text in enumerate(iterate_lines(path, Notes()), start=1):
        text = text.rstrip(" ")  # word2vec ends lines in a blank
        if line == 1:
            announced, size = _header(text)
        if not text or (line == 1 and announced):
            continue
        try:
            word, vector = _entry(text, size)
        except ValueError as error:
            raise InputError(str(error), path=path, line=line) from None
        row_of.setdefault(word, len(lines))
        values.extend(vector)
        lines.append(line)
    if not lines or announced not in (0, len(lines)):
        expected = f"{announced:,} as line 1 says" if announced else "some"
        raise InputError(f"{len(lines):,} vectors, expected {expected}; is the file whole?", path=path)
    table = torch.frombuffer(values, dtype=torch.float32).view(-1, size)
    infinite = _first_infinite(table)
    if infinite is not None:
        raise InputError("a number that is not finite", path=path, line=lines[infinite])
    return _first_of_each(row_of, table)


def _first_infinite(table: Tensor) -> int | None:
    """The first row with a number that is not finite."""
    rows = (~table.isfinite()).any(1).nonzero()
    return int(rows[0]) if len(rows) else None


def _first_of_each(row_of: dict[str, int], table: Tensor) -> tuple[list[str], Tensor]:
    """The words, and the rows of the table that they name."""
    return list(row_of), table if len(row_of) == len(table) else table[list(row_of.values())]


def _header(text: str) -> tuple[int, int]:
    """Words and numbers of each that the first line announces; (0, numbers of this line) where it is an entry."""
    fields = text.split(" ")
    if len(fields) == 2 and all(field.isascii() and field.isdecimal() and len(field) <= 18 for field in fields):
        return int(fields[0]), int(fields[1])
    return 0, _numbers_behind(text)


def _entry(text: str, size: int) -> tuple[str, array[float]]:
    """A word and its vector; ValueError where a line has not that many numbers, or more."""
    word, *numbers = text.rsplit(" ", size) if size else [text]
    tail = word.rpartition(" ")[2]
    if not numbers or len(numbers) < size or not tail or (tail != word and _is_number(tail)):
        raise ValueError(
            f"a word with {_numbers_behind(text)} numbers, expected {size or 'some'}, all apart by one blank. "
            "Does the word end in a number of its own? Join its parts with _"
        )
    try:
        return word, array("f", list(map(float, numbers)))
    except ValueError:
        wrong = next(field for field in numbers if not _is_number(field))
        raise ValueError(f"{wrong!r} is not a number, expected {size} behind the word") from None


def _numbers_behind(text: str) -> int:
    """Fields at the end of a line that are numbers; the first is a word whatever it looks like."""
    fields = text.split(" ")[1:]
    return sum(1 for _ in takewhile(_is_number, reversed(fields)))


def _is_number(field: str) -> bool:
    try:
        float(field)
    except ValueError:
        return False
    return True
