"""Files of word vectors: what is read from them, and what is said of those that are wrong."""

from __future__ import annotations

import struct
import time
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st

from goldgap.core.errors import InputError
from goldgap.encode.vectors import read_vectors

FINITE = st.floats(width=32, allow_nan=False, allow_infinity=False)
WORD = st.text(st.characters(exclude_characters=" \n\0", exclude_categories=["Cs"]), min_size=1, max_size=8)


def vectors_file(folder: Path, content: str | bytes) -> Path:
    path = folder / "vectors.txt"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


# Text


@pytest.mark.parametrize(
    "content",
    [
        "the 0.5 -1\n. . . 2 3e-1\n\xa0 0 1\n",
        "3 2\nthe 0.5 -1\n. . . 2 3e-1\n\xa0 0 1\n",
        "\ufeffthe 0.5 -1 \r\n. . . 2 3e-1 \r\n\xa0 0 1 \r\n\r\n",
        "the 0.5 -1\n. . . 2 3e-1\nthe 7 7\n\xa0 0 1",
    ],
    ids=["glove", "word2vec", "windows", "duplicate"],
)
def test_vectors_are_read(tmp_path: Path, content: str) -> None:
    words, table = read_vectors(vectors_file(tmp_path, content))
    assert words == ["the", ". . .", "\xa0"]
    assert torch.equal(table, torch.tensor([[0.5, -1], [2, 0.3], [0, 1]]))


def test_the_first_word_may_have_blanks_too(tmp_path: Path) -> None:
    words, table = read_vectors(vectors_file(tmp_path, ". . 1 2\n10 3 4\n"))
    assert (words, table.tolist()) == ([". .", "10"], [[1, 2], [3, 4]])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("a 1 2\nb 1\n", ":2: a word with 1 numbers, expected 2"),
        ("a 1 2\nb 1 2 3\n", ":2: a word with 3 numbers, expected 2"),
        ("a 1 2\n\nb\n", ":3: a word with 0 numbers, expected 2"),
        ("2 3\na 1 2\n", ":2: a word with 2 numbers, expected 3"),
        ("a 1 2\nb c 2\n", ":2: 'c' is not a number, expected 2"),
        ("a 1 x 2\nb 1 2 3\n", ":2: a word with 3 numbers, expected 1"),
        ("a 1 2\nb 1  2\n", ":2: a word with 1 numbers, expected 2, all apart by one blank"),
        ("a 1 2\nb  1 2\n", ":2: a word with 2 numbers, expected 2, all apart by one blank"),
        ("a 1 2\n 1 2\n", ":2: a word with 2 numbers, expected 2, all apart by one blank"),
        ("a\t1\t2\n", ":1: a word with 0 numbers, expected some"),
        ("a 1 2\na 1 nan\n", ":2: a number that is not finite"),
        ("a 1 2\n\nb inf 2\nc inf 2\n", ":3: a number that is not finite"),
        ("a 1 2\nb 1e39 2\n", ":2: a number that is not finite"),
        ("3 2\na 1 2\nb 1 2\n", ": 2 vectors, expected 3 as line 1 says"),
        ("", ": 0 vectors, expected some"),
        (b"a 1 2\n\xff 1 2\n", ":2: byte 6 (0xff) is not UTF-8"),
        ("2 2\ncafé 1 2\nb 3 4\n".encode("latin-1"), ":2: byte 7 (0xe9) is not UTF-8; if the file is in another enc"),
        ("2 2\na 1 2\ncafé 3 4\n".encode("latin-1"), ":3: byte 13 (0xe9) is not UTF-8; if the file is in another en"),
        ("2 2\na 1 2\nb 3 4\n".encode("utf-16"), ":1: UTF-16, expected UTF-8; convert it: iconv"),
        ("2 2\na 1 2\nb 3 4\n".encode("utf-16-le"), ":1: a NUL character: is this a text file?"),
        ("3 2\n", ": 0 vectors, expected 3 as line 1 says"),
        ("2 3\na 1 2\nb 1 2\n", ":2: a word with 2 numbers, expected 3"),
        ("2 2\na\t1\t2\nb\t3\t4\n", ":2: a word with 0 numbers, expected 2"),
        ("9" * 5000 + " 2\na 1 2\n", ":2: a word with 2 numbers, expected 1"),
    ],
)
def test_what_is_wrong_in_a_file_of_vectors_is_said_with_its_line(
    tmp_path: Path, content: str | bytes, message: str
) -> None:
    path = vectors_file(tmp_path, content)
    with pytest.raises(InputError) as caught:
        read_vectors(path)
    assert str(caught.value).startswith(f"{path}{message}")


def test_a_file_that_is_not_there_is_an_input_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        read_vectors(tmp_path / "none.txt")


# Binary


def binary(vectors: dict[bytes, list[float]], *, size: int = 2, end: bytes = b"\n", count: int | None = None) -> bytes:
    """A file as word2vec writes it, with that many words announced."""
    entries = (word + b" " + struct.pack(f"<{len(own)}f", *own) + end for word, own in vectors.items())
    return f"{len(vectors) if count is None else count} {size}\n".encode() + b"".join(entries)


TWO = {b"the": [0.5, -1.0], "纽约".encode(): [2.0, 0.25]}
THREE = {b"the": [0.1, -1.0, 2.0], b"of": [0.1, 2.0, 0.25]}


@pytest.mark.parametrize("end", [b"\n", b""])
@pytest.mark.parametrize("name", ["vectors.bin", "vectors.vec", "vectors"])
def test_binary_vectors_are_known_by_their_content(tmp_path: Path, name: str, end: bytes) -> None:
    path = tmp_path / name
    path.write_bytes(binary(TWO, end=end))
    words, table = read_vectors(path)
    assert (words, table.dtype, table.tolist()) == (["the", "纽约"], torch.float32, [[0.5, -1.0], [2.0, 0.25]])


def test_numbers_without_control_characters_are_binary_too(tmp_path: Path) -> None:
    words, table = read_vectors(vectors_file(tmp_path, binary({b"a": [0.1, 0.7], b"b": [0.7, 0.1]})))
    assert (words, table.tolist()) == (["a", "b"], torch.tensor([[0.1, 0.7], [0.7, 0.1]]).tolist())


@settings(derandomize=True, deadline=None, max_examples=100)
@given(st.dictionaries(WORD, st.tuples(FINITE, FINITE, FINITE), min_size=1, max_size=5), st.sampled_from([b"", b"\n"]))
@example({"a": (struct.unpack("<f", b"\n1 2")[0], 0.0, 0.0), "b": (1.0, 1.0, 1.0)}, b"\n")
@example({"a": (struct.unpack("<f", b"  \n ")[0], 0.1, 0.1), "1": (0.7, 0.7, 0.7)}, b"")
def test_what_is_written_binary_is_read(
    tmp_path_factory: pytest.TempPathFactory, vectors: dict[str, tuple[float, float, float]], end: bytes
) -> None:
    # The zeros are control characters: of numbers that look like text alone, nothing tells that they are none.
    content = binary({word.encode(): [*own, 0.0] for word, own in vectors.items()}, size=4, end=end)
    words, table = read_vectors(vectors_file(tmp_path_factory.mktemp("binary"), content))
    assert words == list(vectors)
    assert torch.equal(table, torch.tensor([[*own, 0.0] for own in vectors.values()]))


def test_of_equal_words_of_a_binary_file_the_first_counts(tmp_path: Path) -> None:
    content = b"3 1\n" + b"".join(word + b" " + struct.pack("<f", n) for word, n in [(b"a", 1), (b"b", 2), (b"a", 3)])
    words, table = read_vectors(vectors_file(tmp_path, content))
    assert (words, table.tolist()) == (["a", "b"], [[1], [2]])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (binary(TWO)[:-3], ": ends in the middle of vector 2, which begins at byte 17; expected 2 of 2 numbers"),
        (binary(TWO)[:20], ": ends in the middle of vector 2, which begins at byte 17; expected 2 of 2 numbers"),
        (binary(TWO, count=3), ": ends in the middle of vector 3, which begins at byte 33; expected 3 of 2 numbers"),
        (binary(TWO, count=10**17), ": ends in the middle of vector 3, which begins at byte 50; expected 100,000,000"),
        (binary(TWO, size=10**8), ": ends in the middle of vector 1, which begins at byte 12; expected 2 of 100,000"),
        (binary(TWO, count=1), ": 17 more bytes behind 1 vectors, from byte 16, expected none as line 1 says"),
        (binary(THREE, size=2), ": byte 16: a word with a NUL or a line end; is the file in the binary format"),
        (binary(THREE, size=4), ": ends in the middle of vector 2, which begins at byte 24; expected 2 of 4 numbers"),
        (binary({b"a": [1, 2], b"x\xff": [1, 2]}), ": byte 16 (0xff), in a word, is not UTF-8; is the file"),
        (binary({b"a": [1, 2], b"": [1, 2]}), ": byte 15: a word without characters"),
        (binary({b"a": [1, 2], b"b": [1, float("nan")]}), ": byte 15: a word with a number that is not finite"),
        (binary({b"a": [-float("inf"), 2], b"b": [1, 2]}), ": byte 4: a word with a number that is not finite"),
        (struct.pack("<ii", 793712314, 12) + bytes(90), ": a model of fastText, expected its vectors; export a .vec"),
        (b"\x1f\x8b\x08\x00", ": compressed with gzip; unpack it first"),
        (b"PK\x03\x04\x14\x00", ": a zip archive; unpack it"),
    ],
    ids=lambda value: value if isinstance(value, str) else "file",
)
def test_what_is_wrong_in_a_binary_file_is_said_with_its_place(tmp_path: Path, content: bytes, message: str) -> None:
    path = vectors_file(tmp_path, content)
    with pytest.raises(InputError) as caught:
        read_vectors(path)
    assert str(caught.value).startswith(f"{path}{message}")
    assert caught.value.exit_status == 2


@pytest.mark.slow
def test_many_binary_vectors_are_read_in_seconds(tmp_path: Path) -> None:
    count = 400_000
    numbers = np.random.default_rng(0).standard_normal((count, 50), dtype=np.float32).astype("<f4")
    content = b"".join(b"w%d " % row + own.tobytes() + b"\n" for row, own in enumerate(numbers))
    path = vectors_file(tmp_path, b"%d 50\n" % count + content)
    start = time.process_time()
    words, table = read_vectors(path)
    assert time.process_time() - start < 5
    assert (len(words), words[-1]) == (count, "w399999")
    assert np.array_equal(table.numpy(), numbers)
