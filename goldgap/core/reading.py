"""Files that are read: regular ones, of bounded size, in UTF-8; what is wrong with others is said."""

from __future__ import annotations

import stat
import sys
from collections.abc import Iterator
from difflib import get_close_matches
from pathlib import Path

from goldgap.core.errors import InputError

SIZE_LIMIT = 4 << 30
"""Bytes that a file may have which is read whole, against a wrong one given by accident."""
BLOCK = 1 << 16
"""Bytes of a file of lines that are held at once."""
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
COMPRESSED = {
    b"\x1f\x8b": "gzip",
    b"PK\x03\x04": "zip",
    b"\xfd7zXZ\0": "xz",
    b"\x28\xb5\x2f\xfd": "zstd",
    **{b"BZh%d1AY&SY" % level: "bzip2" for level in range(1, 10)},
}
"""How compressed files begin."""


def files_in(folder: Path, pattern: str) -> list[Path]:
    """Those of a folder in order of name, but for hidden ones, which systems and editors leave behind."""
    return sorted(file for file in folder.glob(pattern) if not file.name.startswith("."))


def read_bytes(path: Path, *, limit: int = SIZE_LIMIT) -> bytes:
    """The content of a regular file of at most `limit` bytes."""
    check_source(path, limit)
    try:
        return path.read_bytes()
    except OSError as error:
        raise _read_failed(path, error) from None


def read_line_blocks(path: Path) -> Iterator[bytes]:
    """The content of a regular file in blocks that end where a line ends, be that at LF, CRLF or CR."""
    check_source(path)
    unfinished: list[bytes] = []
    try:
        with path.open("rb") as handle:
            while block := handle.read(BLOCK):
                # A CR at the very end is kept for the next block: its LF may still come.
                end = max(block.rfind(b"\n"), block.rfind(b"\r", 0, len(block) - 1)) + 1
                if end:
                    yield b"".join([*unfinished, block[:end]])
                    unfinished.clear()
                unfinished.append(block[end:])
    except OSError as error:
        raise _read_failed(path, error) from None
    if rest := b"".join(unfinished):
        yield rest


def check_source(path: Path, limit: int = sys.maxsize) -> None:
    """Raise for a path that holds no regular file of at most `limit` bytes."""
    try:
        status = path.stat()
    except FileNotFoundError:
        raise InputError(f"no such file{_nearest(path)}", path=path) from None
    except (OSError, ValueError) as error:
        raise InputError(f"cannot be opened: {reason(error)}", path=path) from None
    if stat.S_ISDIR(status.st_mode):
        raise InputError("a folder, expected a file", path=path)
    if not stat.S_ISREG(status.st_mode):
        raise InputError("not a regular file (a device, pipe or socket)", path=path)
    if status.st_size > limit:
        raise InputError(f"{status.st_size:,} bytes, more than the limit of {limit:,}; split the file", path=path)


def read_text(path: Path, *, limit: int = SIZE_LIMIT) -> str:
    """The content of a UTF-8 file, with a byte order mark at its beginning taken off."""
    data = read_bytes(path, limit=limit)
    refuse_other_kinds(data, path)
    if problem := utf8_problem(data, path) or nul_problem(data, path):
        raise problem
    return data.removeprefix(BYTE_ORDER_MARK).decode()


def refuse_other_kinds(data: bytes, path: Path) -> None:
    """Raise for the beginning of a file that is compressed or UTF-16."""
    for beginning, name in COMPRESSED.items():
        if data.startswith(beginning):
            raise InputError(f"compressed ({name}), expected plain text; unpack it first", path=path)
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise InputError("UTF-16, expected UTF-8; convert it: iconv -f UTF-16 -t UTF-8", path=path, line=1)


def utf8_problem(data: bytes, path: Path, *, offset: int = 0, line: int = 1) -> InputError | None:
    """The first byte that is not UTF-8; the data begin at this offset and line of the file."""
    try:
        data.decode()
    except UnicodeDecodeError as error:
        at = error.start
        return InputError(
            f"byte {offset + at} (0x{data[at]:02x}) is not UTF-8; if the file is in another encoding, convert it: "
            "iconv -f LATIN1 -t UTF-8 (with its encoding for LATIN1; Chinese files are often in GBK)",
            path=path,
            line=line + _line_ends(data[:at]),
        )
    return None


def nul_problem(data: bytes, path: Path, *, line: int = 1) -> InputError | None:
    """The first NUL; the data begin at this line of the file."""
    at = data.find(b"\0")
    if at < 0:
        return None
    return InputError("a NUL character: is this a text file?", path=path, line=line + _line_ends(data[:at]))


def _line_ends(data: bytes) -> int:
    """How many lines end here, in LF, CRLF or CR."""
    return data.count(b"\n") + data.count(b"\r") - data.count(b"\r\n")


def _read_failed(path: Path, error: OSError) -> InputError:
    return InputError(f"cannot be read: {reason(error)}", path=path)


def _nearest(path: Path) -> str:
    """', did you mean ...?' when the folder holds a file of nearly that name."""
    try:
        names = [entry.name for entry in path.parent.iterdir()]
    except OSError:
        return f": the folder {path.parent} does not exist"
    near = get_close_matches(path.name, names, n=1)
    return f"; did you mean {near[0]}?" if near else ""


def reason(error: OSError | ValueError) -> str:
    return error.strerror or str(error) if isinstance(error, OSError) else str(error)
