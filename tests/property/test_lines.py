"""Lines read a few bytes at a time are the lines of the file as a whole: the same notes, the same errors."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from goldgap.core.corpus import Corpus
from goldgap.core.document import Document
from goldgap.core.errors import InputError
from goldgap.core.notes import Notes
from goldgap.corpus.lines import iterate_lines

PROFILE = settings(derandomize=True, deadline=None, max_examples=150, database=None)
FEWER = settings(PROFILE, max_examples=60)
ODD = [b"\xff\xfe", b"\xfe\xff", b"\xc3", b"\xf0\x9f", b"\xed\xa0\xbd", b"\xe2\x80\xa8", b"\xff", b"\xc0\x80"]
PIECES = [
    b"\r",
    b"\n",
    b"\r\n",
    b"\r\r\n",
    b"\n\r",
    b"\xef\xbb\xbf",
    b"\0",
    b"",
    b" ",
    b"ab",
    "é中😀\ufffd\u0085".encode(),
]
TEXT = st.lists(st.sampled_from([*PIECES, b"ab", b"\n"]), max_size=8).map(b"".join)
BYTES = TEXT | st.lists(st.sampled_from([*PIECES, *ODD]) | st.binary(max_size=3), max_size=8).map(b"".join)
BLOCKS = st.integers(1, 7)


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("lines") / "file"


@contextmanager
def blocks_of(size: int) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("goldgap.core.reading.BLOCK", size)
        yield


def whole_text(data: bytes, path: Path) -> str:
    """The text of a whole file, decoded at once."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise InputError("UTF-16, expected UTF-8; convert it: iconv -f UTF-16 -t UTF-8", path=path, line=1)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        at = error.start + (3 if data.startswith(b"\xef\xbb\xbf") else 0)
        raise InputError(
            f"byte {at} (0x{data[at]:02x}) is not UTF-8; if the file is in another encoding, convert it: "
            "iconv -f LATIN1 -t UTF-8 (with its encoding for LATIN1; Chinese files are often in GBK)",
            path=path,
            line=whole_line_number(data[:at].decode("utf-8", errors="replace")),
        ) from None
    if "\0" in text:
        line = whole_line_number(text[: text.index("\0")])
        raise InputError("a NUL character: is this a text file?", path=path, line=line)
    return text


def whole_line_number(before: str) -> int:
    return before.replace("\r\n", "\n").replace("\r", "\n").count("\n") + 1


def whole_lines(path: Path, notes: Notes, *, repair: bool) -> list[str]:
    """The lines of a whole file, split at once."""
    data = path.read_bytes()
    try:
        text = whole_text(data, path)
    except InputError:
        if not repair or data.startswith((b"\xff\xfe", b"\xfe\xff")) or b"\0" in data:
            raise
        text = data.decode("utf-8-sig", errors="replace")
        lost = text.count("\ufffd") - data.count("\ufffd".encode())
        notes.change("character that is not UTF-8 (replaced by U+FFFD)", str(path), count=lost)
    if data.startswith(b"\xef\xbb\xbf"):
        notes.fact("byte order mark", "taken off")
    if "\r" in text:
        both, returns, feeds = text.count("\r\n"), text.count("\r"), text.count("\n")
        notes.fact("line ends", "CRLF" if both == returns == feeds else "mixed" if feeds else "CR")
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    lines = text.split("\n")
    return lines[:-1] if lines[-1] == "" else lines


def outcome(read: Callable[..., Iterable[str]], path: Path, **options: bool) -> tuple[object, Notes]:
    """The lines, or the error, and the notes."""
    notes = Notes()
    try:
        return list(read(path, notes, **options)), notes
    except InputError as error:
        return (type(error), str(error)), notes


@settings(PROFILE)
@given(BYTES, BLOCKS, st.booleans())
@example(b"a\r\nb\r\n", 2, False)
@example(b"\r\r\r\n\r", 1, False)
@example(b"\0\n\xff", 1, False)
@example(b"\0\n\xff", 1, True)
@example(b"\xef\xbb\xbf\n\xef\xbb\xbf", 1, False)
def test_any_bytes_in_tiny_blocks_give_what_the_whole_file_gives(
    file: Path, data: bytes, block: int, repair: bool
) -> None:
    file.write_bytes(data)
    expected = outcome(whole_lines, file, repair=repair)
    with blocks_of(block):
        assert outcome(iterate_lines, file, repair=repair) == expected


@settings(FEWER)
@given(TEXT.filter(lambda data: b"\0" not in data and data.removeprefix(b"\xef\xbb\xbf").strip()), BLOCKS)
def test_raw_text_in_tiny_blocks_is_one_document_a_line_of_the_whole_file(file: Path, data: bytes, block: int) -> None:
    file.write_bytes(data)
    lines = whole_lines(file, Notes(), repair=False)
    with blocks_of(block):
        corpus = Corpus.read(file, format="text")
    assert corpus.documents == [Document(line, id=str(n)) for n, line in enumerate(lines, 1) if line.strip()]
    blank = sum(not line.strip() for line in lines)
    assert corpus.notes.facts.get("blank lines") == (f"{blank:,} passed over" if blank else None)


JSON_LINES = st.sampled_from(
    [
        *('{"text": "a"}', '{"text": "é中", "id": 7}', '{"id": "", "text": "b", "key": 1}', '{"id": "2", "text": "c"}'),
        *("", " ", "[]", '{"text": 1}', '{"tokens": ["New", "York"], "entities": [[0, 1, "LOC"]]}', "\ufeff"),
    ]
)


@settings(FEWER)
@given(
    st.lists(st.tuples(JSON_LINES, st.sampled_from(["\n", "\r\n", "\r"])), max_size=6),
    BLOCKS,
    st.sampled_from(["error", "repair", "skip"]),
)
def test_jsonl_in_tiny_blocks_gives_what_one_block_gives(
    file: Path, lines: list[tuple[str, str]], block: int, on_error: str
) -> None:
    file.write_bytes("".join(line + end for line, end in lines).encode())
    outcomes: list[tuple[object, object]] = []
    for size in (block, 1 << 20):
        with blocks_of(size):
            try:
                corpus = Corpus.read(file, format="jsonl", on_error=on_error)
                outcomes.append((corpus.documents, corpus.notes))
            except InputError as error:
                outcomes.append((type(error), str(error)))
    assert outcomes[0] == outcomes[1]
