"""Corpora as streams: documents one after the other, read and written without holding them all."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from goldgap.core.document import Document, Entity
from goldgap.core.errors import ConfigError, CorpusError, InputError, RunError
from goldgap.core.notes import Notes
from goldgap.corpus import Corpus, stream, write_stream

FILES = {
    "a.txt": "Ada met Bob\r\n\r\nin Rome\n",
    "a.jsonl": '{"text": "Ada met Bob", "key": 1}\n\n{"text": "x", "id": ""}\n{"tokens": ["New", "York"], "id": 7}\n',
    "a.conll": "# id = s1\nAda\tB-PER\nmet\tI-X\n\nBob\tUNK\n",
    "a.pubtator": "1|t|Ada\n1|a|met Bob\n1\t0\t3\tAda\tPER\tD1\n\n2|t|x\n",
    "a.ann": "T1\tPER 0 3\tAda\nR1\tin Arg1:T1 Arg2:T2\n",
}
EACH_FILE = pytest.mark.parametrize("name", FILES)
OUTPUTS = {"out.jsonl": None, "out.txt": None, "out.conll": None, "out.pubtator": None, "folder": "brat"}
EACH_OUTPUT = pytest.mark.parametrize(("name", "format"), OUTPUTS.items())

ADA = Document("Ada met Bob", (Entity(0, 3, "PER"),), id="1")
DOCUMENTS = [
    ADA,
    Document("in Rome", (Entity(3, 7, "LOC"),), id="2", complete=True),
    Document("or not", id="x", complete=True, unknown=((3, 6),)),
]


def place(name: str, folder: Path) -> Path:
    (folder / name).write_text(FILES[name], newline="")
    return folder / name


def failing(error: BaseException) -> Iterator[Document]:
    yield ADA
    raise error


# Reading


@EACH_FILE
def test_a_stream_gives_the_documents_and_the_notes_of_the_corpus(name: str, tmp_path: Path) -> None:
    if name == "a.ann":
        place("a.txt", tmp_path)
    path, notes = place(name, tmp_path), Notes()
    assert list(stream(path, notes=notes)) == Corpus.read(path).documents
    assert notes == Corpus.read(path).notes


def test_documents_without_an_id_are_numbered_by_their_line(tmp_path: Path) -> None:
    path = place("a.jsonl", tmp_path)
    assert [document.id for document in stream(path, notes=Notes())] == ["1", "3", "7"]


def test_read_options_hold_for_a_stream(tmp_path: Path) -> None:
    path = place("a.txt", tmp_path)
    assert all(document.complete is True for document in stream(path, notes=Notes(), complete=True))


def test_a_type_is_no_set_of_types(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="complete is 'PER', expected True, False or a frozenset of types"):
        Corpus.read(place("a.conll", tmp_path), complete="PER")


def test_an_unknown_read_option_is_refused_before_anything_is_read(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="read option"):
        stream(tmp_path / "missing.txt", notes=Notes(), schema="bio")


@pytest.mark.parametrize("name", ["a.txt", "a.jsonl", "a.conll", "a.pubtator"])
@pytest.mark.parametrize("data", [b"", b"\n \r\n", b"\xef\xbb\xbf"], ids=["empty", "blank", "byte order mark"])
def test_a_stream_without_a_document_is_an_error(name: str, data: bytes, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(data)
    with pytest.raises(CorpusError, match="no document in it: expected at least one sentence or text"):
        next(stream(tmp_path / name, notes=Notes()))


def test_documents_before_a_malformed_line_are_given_before_it_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"text": "a"}\n{"text": "b"}\n[]\n')
    documents = stream(tmp_path / "a.jsonl", notes=Notes())
    assert [next(documents).text, next(documents).text] == ["a", "b"]
    with pytest.raises(CorpusError, match=r"a\.jsonl:3: a JSON list, expected one object a line"):
        next(documents)


@pytest.mark.parametrize("bad", [b"\xff", b"\0"], ids=["not UTF-8", "NUL"])
@pytest.mark.parametrize("name", ["a.txt", "a.jsonl"])
def test_a_byte_that_is_no_text_is_refused_before_the_first_document(
    name: str, bad: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("goldgap.core.reading.BLOCK", 16)
    (tmp_path / name).write_bytes(b'{"text": "a"}\n' * 20 + bad)
    with pytest.raises(InputError, match=rf"{name}:21: "):
        next(stream(tmp_path / name, notes=Notes()))


def test_a_file_that_stops_being_text_while_it_is_read_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("goldgap.core.reading.BLOCK", 16)
    (tmp_path / "a.txt").write_bytes(b"0123456789abcde\n" * 40_000)
    documents = stream(tmp_path / "a.txt", notes=Notes())
    next(documents)
    (tmp_path / "a.txt").write_bytes(b"\xff23456789abcde\n" * 40_000)
    with pytest.raises(InputError, match=r"a\.txt: .*was altered while it was read"):
        list(documents)


def test_a_stream_that_is_left_early_closes_its_file(tmp_path: Path) -> None:
    documents = stream(place("a.txt", tmp_path), notes=Notes())
    next(documents)
    del documents  # warnings are errors here: a file left open would raise one


# Writing


@EACH_OUTPUT
def test_every_document_of_a_stream_is_written(name: str, format: str | None, tmp_path: Path) -> None:
    write_stream(iter(DOCUMENTS), tmp_path / name, format=format)
    assert [document.text for document in Corpus.read(tmp_path / name, format=format)] == [d.text for d in DOCUMENTS]


def test_documents_of_a_stream_without_an_id_are_numbered(tmp_path: Path) -> None:
    write_stream((ADA.replace(id="") for _ in range(2)), tmp_path / "a.jsonl")
    assert [document.id for document in Corpus.read(tmp_path / "a.jsonl")] == ["1", "2"]


@pytest.mark.parametrize("whole", [True, False])
def test_a_number_is_no_id_that_another_document_has(whole: bool, tmp_path: Path) -> None:
    documents = [ADA.replace(id="2"), ADA.replace(id="")]
    write_stream(documents if whole else iter(documents), tmp_path / "a.jsonl")
    assert [document.id for document in Corpus.read(tmp_path / "a.jsonl")] == ["2", "unnamed-2"]


def test_ids_that_come_later_are_known_of_a_list(tmp_path: Path) -> None:
    write_stream([ADA.replace(id=""), ADA.replace(id="1")], tmp_path / "a.jsonl")
    assert [document.id for document in Corpus.read(tmp_path / "a.jsonl")] == ["unnamed-1", "1"]


def test_a_token_file_marks_unknown_words_from_its_beginning_when_only_the_last_document_has_some(
    tmp_path: Path,
) -> None:
    notes = write_stream(iter(DOCUMENTS), tmp_path / "a.conll")
    rows = (tmp_path / "a.conll").read_text().splitlines()
    assert rows[:6] == ["Ada\tB-PER", "met\tUNK", "Bob\tUNK", "", "in\tO", "Rome\tB-LOC"]
    assert not any("complete document" in what for what in notes.changes)


def test_a_token_file_without_unknown_words_has_no_mark_of_them(tmp_path: Path) -> None:
    notes = write_stream(iter(DOCUMENTS[:2]), tmp_path / "a.conll")
    assert (tmp_path / "a.conll").read_text() == "Ada\tB-PER\nmet\tO\nBob\tO\n\nin\tO\nRome\tB-LOC\n\n"
    assert [tally.count for what, tally in notes.changes.items() if "complete document" in what] == [1]


@pytest.mark.parametrize("name", ["out.txt", "out.conll", "out.pubtator", "folder"])
def test_a_strict_refusal_of_a_stream_leaves_nothing_behind(name: str, tmp_path: Path) -> None:
    lossy = ADA.replace(text="Ada\0met Bob", id="2", rejected=(), unknown=((4, 7),))
    with pytest.raises(InputError, match="leave out --strict"):
        write_stream(iter([ADA, lossy]), tmp_path / name, format=OUTPUTS[name], strict=True)
    assert list(tmp_path.iterdir()) == []


@EACH_OUTPUT
@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, InputError])
def test_a_stream_that_fails_half_way_leaves_nothing_behind(
    name: str, format: str | None, error: type[BaseException], tmp_path: Path
) -> None:
    with pytest.raises(error, match="half way"):
        write_stream(failing(error("half way")), tmp_path / name, format=format)
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_beside_a_token_file_is_an_error_of_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*arguments: object, **options: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("goldgap.corpus.conll.TemporaryFile", full)
    with pytest.raises(RunError, match=r"a\.conll: could not be written: No space left on device"):
        write_stream(iter([ADA]), tmp_path / "a.conll")
    assert list(tmp_path.iterdir()) == []


def test_a_corpus_can_be_written_over_the_file_that_it_streams_from(tmp_path: Path) -> None:
    path = place("a.jsonl", tmp_path)
    write_stream(stream(path, notes=Notes()), path)
    assert [document.text for document in Corpus.read(path)] == ["Ada met Bob", "x", "New York"]
