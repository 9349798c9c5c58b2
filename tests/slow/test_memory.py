"""Streams of a corpus need memory for a block and a line, not for the file."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from goldgap.core.document import Document, Entity
from goldgap.core.notes import Notes
from goldgap.corpus import stream, write_stream

pytestmark = pytest.mark.slow

SIZE = 20 << 20
MEGABYTES = 3
"""What a stream may hold at once, ids aside."""
TEXT = "Ada met Bob in Zürich and 中国. " * 30
SHORT = "ab"


def peak_of(action: Callable[[], object]) -> float:
    """The most memory that was held while the action ran, in megabytes."""
    tracemalloc.start()
    try:
        action()
        return tracemalloc.get_traced_memory()[1] / (1 << 20)
    finally:
        tracemalloc.stop()


def documents(size: int) -> Iterator[Document]:
    """So many bytes of text."""
    for number in range(1, size // len(TEXT.encode())):
        yield Document(f"{number} {TEXT}", (Entity(0, 1, "X"),), id=str(number))


@pytest.mark.parametrize(
    ("name", "line", "size"),
    [("a.txt", TEXT, SIZE), ("a.txt", SHORT, SIZE // 40), ("a.jsonl", json.dumps({"text": TEXT * 10}), SIZE)],
    ids=["text", "short lines", "jsonl"],
)
def test_reading_holds_a_part_of_the_file(name: str, line: str, size: int, tmp_path: Path) -> None:
    data = (line + "\r\n").encode()
    (tmp_path / name).write_bytes(data * (size // len(data)))
    assert peak_of(lambda: sum(1 for _ in stream(tmp_path / name, notes=Notes()))) < MEGABYTES


@pytest.mark.parametrize(
    ("name", "size"), [("out.txt", SIZE), ("out.jsonl", SIZE), ("out.pubtator", SIZE), ("out.conll", SIZE // 16)]
)
def test_writing_holds_a_part_of_the_file(name: str, size: int, tmp_path: Path) -> None:
    assert peak_of(lambda: write_stream(documents(size), tmp_path / name)) < MEGABYTES
