"""What files hold is read back as it was, or said to be lost; nothing that is read is written over."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from goldgap import Corpus, Document, Entity
from goldgap.core.errors import CorpusError, InputError
from tests.command import Run


def notes_of(documents: list[Document], path: Path) -> str:
    return "\n".join(Corpus(documents).write(path).lines())


def test_the_text_of_a_brat_document_is_not_written_over(run: Run, tmp_path: Path) -> None:
    (tmp_path / "n.txt").write_text("Ann lives\nin Oslo.\n", encoding="utf-8")
    (tmp_path / "n.ann").write_text("T1\tPER 0 3\tAnn\n", encoding="utf-8")
    done = run("convert", tmp_path / "n.ann", tmp_path / "n.txt")
    assert (done.status, "it is read by this command" in done.err) == (2, True)
    assert (tmp_path / "n.txt").read_text(encoding="utf-8") == "Ann lives\nin Oslo.\n"


WITHIN = {
    "predictions": ("predict", "model", "raw.txt", "-o", "model/found.jsonl"),
    "suspects": ("suspects", "model", "raw.txt", "-o", "model/deep/found.jsonl"),
    "a report": ("evaluate", "gold.jsonl", "model", "--html", "model/report.html"),
    "a report by way of a link": ("evaluate", "gold.jsonl", "model", "--html", "link/report.html"),
    "a report on two": ("evaluate", "gold.jsonl", "raw.txt", "--against", "model", "--html", "model/r.html"),
    "a report of a training": ("train", "--train", "brat", "-o", "new", "--html", "brat/report.html"),
    "a record": ("train", "--train", "gold.jsonl", "-o", "new", "--encoder", "model", "--record", "model/r.jsonl"),
    "a picture": ("diagnose", "threshold", "gold.jsonl", "model", "-o", "model/picture.svg"),
    "a picture of similarities": ("diagnose", "similarity", "gold.jsonl", "model", "-o", "model/picture.svg"),
    "a corpus": ("convert", "brat", "brat/out.jsonl"),
    "labels": ("annotate", "raw.txt", "-d", "terms", "-o", "terms/labels.jsonl"),
    "what was dropped": ("mask", "brat", "-o", "brat/out.conll", "--drop", "0.5"),
    "a comparison": (
        *("compare", "--train", "brat", "--dev", "gold.jsonl", "--test", "gold.jsonl", "-o", "brat/comparison"),
    ),
}


@pytest.mark.parametrize("call", WITHIN.values(), ids=WITHIN)
def test_nothing_is_written_into_a_folder_that_is_read(call: tuple[str, ...], run: Run, tmp_path: Path) -> None:
    (tmp_path / "model" / "deep").mkdir(parents=True)
    (tmp_path / "link").symlink_to("model")
    (tmp_path / "raw.txt").write_text("Ann met Bob\n", encoding="utf-8")
    (tmp_path / "terms").mkdir()
    (tmp_path / "terms" / "PER.txt").write_text("Ann\n", encoding="utf-8")
    corpus = Corpus([Document("Ann met Bob", (Entity(0, 3, "PER"),))])
    corpus.write(tmp_path / "gold.jsonl")
    corpus.write(tmp_path / "brat", format="brat")
    before = sorted(tmp_path.rglob("*"))
    result = run(*call)
    assert (result.status, result.err.count("\n")) == (2, 1), result.err
    assert "which this command reads and would alter; choose another place" in result.err
    assert sorted(tmp_path.rglob("*")) == before


def test_what_stands_beside_a_folder_that_is_read_is_written(run: Run, tmp_path: Path) -> None:
    Corpus([Document("Ann", (Entity(0, 3, "PER"),))]).write(tmp_path / "brat", format="brat")
    assert run("convert", "brat", "brat.jsonl").status == 0
    assert run("convert", "brat", "brat/../out.jsonl").status == 0


@pytest.mark.parametrize("name", ["out.conll", "out.txt", "out.ann", "out.jsonl"])
def test_a_text_that_begins_with_a_byte_order_mark_keeps_it(name: str, tmp_path: Path) -> None:
    document = Document("\ufeffAnn lives", (Entity(1, 4, "PER"),), id="1", tokens=((0, 1), (1, 4), (5, 10)))
    if name == "out.conll":
        document = document.replace(entities=(), tokens=((0, 4), (5, 10)))
    Corpus([document]).write(tmp_path / name)
    (read,) = Corpus.read(tmp_path / name)
    assert read.text == document.text
    if name in ("out.ann", "out.jsonl"):
        assert read.entities == document.entities


@pytest.mark.parametrize(
    ("rows", "words", "labels", "name"),
    [
        ("-DOCSTART-\tO\n\nAnn\tB-PER\n", ["Ann"], ["PER"], "1"),
        ("-DOCSTART- -X- -X- O\n\nAnn NN NP B-PER\n", ["Ann"], ["PER"], "1"),
        ("-DOCSTART-\tB-ORG\nCorp\tI-ORG\n", ["-DOCSTART-", "Corp"], ["ORG"], "1"),
        ("the\tO\n-DOCSTART-\tO\n", ["the", "-DOCSTART-"], [], "1"),
        ("#id=5\tB-PER\nleft\tO\n", ["#id=5", "left"], ["PER"], "1"),
        ("# id = 5\nAnn\tB-PER\n", ["Ann"], ["PER"], "5"),
        ("# newdoc\nAnn B-PER\n", ["Ann"], ["PER"], "1"),
        ("# O\nAnn B-PER\n", ["#", "Ann"], ["PER"], "1"),
    ],
)
def test_what_is_a_word_and_what_a_comment(
    rows: str, words: list[str], labels: list[str], name: str, tmp_path: Path
) -> None:
    (path := tmp_path / "a.conll").write_text(rows, encoding="utf-8")
    (read,) = Corpus.read(path)
    assert read.tokens is not None
    assert [read.text[start:end] for start, end in read.tokens] == words
    assert ([entity.label for entity in read.entities], read.id) == (labels, name)


def test_a_first_word_that_would_be_passed_over_is_told(tmp_path: Path) -> None:
    documents = [Document("-DOCSTART- is a word", tokens=((0, 10), (11, 13), (14, 15), (16, 20)))]
    assert "-DOCSTART-" in notes_of(documents, tmp_path / "a.conll")


def test_knowledge_that_a_token_file_cannot_hold_is_told_beside_unknown_words(tmp_path: Path) -> None:
    partly = Document("Ann lives", complete=frozenset({"PER"}))
    with_unknown = Document("Ann lives", complete=True, unknown=((4, 9),))
    assert "complete for some types" in notes_of([with_unknown, partly], tmp_path / "a.conll")
    assert "complete for some types" in notes_of([partly], tmp_path / "b.conll")
    assert "complete" not in notes_of([with_unknown], tmp_path / "c.conll")


def test_characters_that_are_in_no_word_are_not_lost_in_silence(tmp_path: Path) -> None:
    lossy = Document("Ann lives in Oslo (Norway)", tokens=((0, 3),), id="1")
    assert "23 x" not in notes_of([lossy], tmp_path / "a.conll")  # white space is no loss
    assert "19 x characters outside of words (left out) (1, ...)" in notes_of([lossy], tmp_path / "a.conll")
    with pytest.raises(InputError, match="characters outside of words"):
        Corpus([lossy]).write(tmp_path / "b.conll", strict=True)
    whole = [Document("Ann's (old) house,\n\tin Oslo.", id="1"), Document("a  b", tokens=((0, 1), (3, 4)), id="2")]
    assert notes_of(whole, tmp_path / "c.conll") == ""


def test_of_two_types_of_one_span_a_token_file_keeps_the_first(tmp_path: Path) -> None:
    twice = Document("Jaguar", (Entity(0, 6, "ORG"), Entity(0, 6, "CAR")), id="1")
    assert "which tags cannot hold (left out) (1: CAR)" in notes_of([twice], tmp_path / "a.conll")
    assert Corpus.read(tmp_path / "a.conll")[0].entities == (Entity(0, 6, "ORG"),)


def test_how_words_were_joined_is_told(tmp_path: Path) -> None:
    told = {"Ann B-PER\nmet O\n": "by blanks", "在 O\n2 O\n": "without blanks between single characters"}
    for rows, how in told.items():
        (path := tmp_path / "a.conll").write_text(rows, encoding="utf-8")
        assert Corpus.read(path).notes.facts["words joined"].startswith(how)


def test_a_token_with_a_tab_is_told_with_its_document(tmp_path: Path) -> None:
    odd = Document("a\tb", tokens=((0, 3),), id="1")
    assert "tab, line end or NUL inside a token (written as a blank) (1)" in notes_of([odd], tmp_path / "a.conll")


def test_completeness_is_told_where_no_word_is_written_as_unknown(tmp_path: Path) -> None:
    under_an_entity = Document("Ann lives", (Entity(0, 3, "PER"),), id="1", complete=True, unknown=((0, 3),))
    assert "complete document" in notes_of([under_an_entity], tmp_path / "a.conll")
    assert Corpus.read(tmp_path / "a.conll")[0].complete is False
    beside_it = under_an_entity.replace(id="2", unknown=((0, 9),))
    assert "complete document" not in notes_of([under_an_entity, beside_it], tmp_path / "b.conll")
    assert [document.complete for document in Corpus.read(tmp_path / "b.conll")] == [True, True]


@pytest.mark.parametrize("name", ["a.conll", "a.txt"])
def test_numbers_that_shift_behind_a_document_without_words_are_told(name: str, tmp_path: Path) -> None:
    documents = [Document("Ann", id="1"), Document(" ", id="2"), Document("Bob", id="3")]
    assert "document id" in notes_of(documents, tmp_path / name)
    assert "document id" not in notes_of([Document("Ann", id="1"), Document("Bob", id="2")], tmp_path / name)


def test_a_sentence_break_is_blamed_only_for_inside_tags(tmp_path: Path) -> None:
    (path := tmp_path / "a.conll").write_text("Ann\tB-PER\nLee\tE-PER\n\nBob\tB-PER\nwent\tO\n\nHe\tS-PER\n", "utf-8")
    (told,) = Corpus.read(path).notes.lines()[-1:]
    assert "entity without an end tag" in told


def test_raw_text_that_looks_like_a_token_file_is_told(tmp_path: Path) -> None:
    (rows := tmp_path / "rows.txt").write_text("Ann\tB-PER\nlives\tO\n\nBob\tB-PER\n", encoding="utf-8")
    assert any("--format conll" in line for line in Corpus.read(rows).notes.lines())
    (tables := tmp_path / "tables.txt").write_text("1|t|Ann: a life\n1|a|Ann lived.\n1\t0\t3\tAnn\tPER\n", "utf-8")
    assert any("--format pubtator" in line for line in Corpus.read(tables).notes.lines())
    Corpus([Document("Ann", (Entity(0, 3, "PER"),))]).write(objects := tmp_path / "objects.txt", format="jsonl")
    assert any("--format jsonl" in line for line in Corpus.read(objects).notes.lines())
    (text := tmp_path / "text.txt").write_text("Ann has blood of group O\nBob lives\nBob\n", encoding="utf-8")
    assert not Corpus.read(text).notes.changes


def test_raw_text_beside_its_annotations_is_told(tmp_path: Path) -> None:
    (text := tmp_path / "a.txt").write_text("Ann", encoding="utf-8")
    (tmp_path / "a.ann").write_text("T1\tPER 0 3\tAnn\n", encoding="utf-8")
    assert any("--format brat" in line for line in Corpus.read(text).notes.lines())
    assert Corpus.read(text, format="brat").entity_count == 1


def test_a_folder_of_texts_is_read(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / f"{name}.txt").write_text(f"{name}\nof two lines", encoding="utf-8")
    read = Corpus.read(tmp_path)
    assert [(one.id, one.text) for one in read] == [("a", "a\nof two lines"), ("b", "b\nof two lines")]
    assert "2 x text without a .ann file" in read.notes.lines()[0]


def test_documents_without_an_id_are_numbered_past_those_that_have_one(tmp_path: Path) -> None:
    lines = [{"id": "2", "text": "a"}, {"text": "b"}, {"id": None, "text": "c"}]
    (path := tmp_path / "a.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    assert [document.id for document in Corpus.read(path)] == ["2", "unnamed-2", "3"]


NUMBERED: dict[str, tuple[list[object], list[str]]] = {
    "empty, then its number": (["", "1"], ["unnamed-1", "1"]),
    "none, then its number": ([None, "1"], ["unnamed-1", "1"]),
    "none, then its number as a number": ([None, 1], ["unnamed-1", "1"]),
    "two that are empty": (["", ""], ["1", "2"]),
    "its number far behind": ([None, None, None, "2"], ["1", "unnamed-2", "3", "2"]),
    "the name in its place, too": ([None, "1", "unnamed-1"], ["unnamed-unnamed-1", "1", "unnamed-1"]),
    "no number": (["a", None, "b"], ["a", "2", "b"]),
    "no id at all": ([None, None], ["1", "2"]),
}


@pytest.mark.parametrize(("stated", "expected"), NUMBERED.values(), ids=NUMBERED)
def test_documents_without_an_id_are_numbered_around_those_that_have_one(
    stated: list[object], expected: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("goldgap.core.reading.BLOCK", 16)
    lines = [{"text": "a"} | ({} if name is None else {"id": name}) for name in stated]
    (path := tmp_path / "a.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    read = Corpus.read(path)
    assert [document.id for document in read] == expected
    read.write(tmp_path / "b.jsonl")
    made = Corpus(Document("a", id="" if name is None else str(name)) for name in stated)
    assert [document.id for document in made] == expected


def test_numbers_elsewhere_in_a_line_are_no_ids(tmp_path: Path) -> None:
    lines = [
        {"text": '"id": "3"', "entities": [{"id": 1, "start": 0, "end": 4, "label": "X"}]},
        {"text": "b", "meta": {"id": 2}},
        {"text": "c"},
    ]
    broken = '{"id": 4, "text": \n["id"]\n"id"\n'
    (path := tmp_path / "a.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines) + broken, "utf-8")
    assert [document.id for document in Corpus.read(path, on_error="skip")] == ["1", "2", "3"]


def test_a_sentence_without_an_id_is_numbered_around_the_ids_of_comments(tmp_path: Path) -> None:
    (path := tmp_path / "a.conll").write_text("x\tO\n\n# id = unnamed-1\ny\tO\n\n# id = 1\nz\tO\n", encoding="utf-8")
    assert [document.id for document in Corpus.read(path)] == ["unnamed-unnamed-1", "unnamed-1", "1"]


def test_a_format_that_is_named_holds_for_files_that_do_not_say_theirs(run: Run, tmp_path: Path) -> None:
    (gold := tmp_path / "gold.txt").write_text("Ann\tB-PER\nlives\tO\n", encoding="utf-8")
    for name in ("found.jsonl", "found.txt"):
        Corpus.read(gold, format="conll").write(tmp_path / name, format="jsonl" if name.endswith("jsonl") else "conll")
        done = run("evaluate", gold, tmp_path / name, "--format", "conll", "--json", "--samples", "0")
        assert json.loads(done.out)["strict"]["tp"] == 1


def test_fragments_in_any_order_are_taken_as_the_whole_stretch(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("Ann and Bob", encoding="utf-8")
    (path := tmp_path / "a.ann").write_text("T1\tPER 8 11;0 3\tBob Ann\n", encoding="utf-8")
    (read,) = Corpus.read(path, on_error="repair")
    assert read.entities == (Entity(0, 11, "PER"),)


@pytest.mark.parametrize("name", ["a/b", "a\\b", "a\nb", ".a", "x" * 260])
def test_ids_that_name_no_file_are_refused_by_brat(name: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be the name of a file"):
        Corpus([Document("Ann", id=name)]).write(tmp_path / "folder", format="brat")


def test_names_of_files_that_are_not_unicode_are_told_and_shown(run: Run, tmp_path: Path) -> None:
    gold = tmp_path / "g\udce9.jsonl"
    Corpus([Document("Ann", (Entity(0, 3, "PER"),))]).write(gold)
    assert run("evaluate", gold, gold, "--html", tmp_path / "r.html", "--samples", "0").status == 0
    assert "g\\udce9.jsonl" in (tmp_path / "r.html").read_text(encoding="utf-8")
    (tmp_path / "b\udce9.txt").write_text("Ann", encoding="utf-8")
    (tmp_path / "b\udce9.ann").write_text("", encoding="utf-8")
    with pytest.raises(CorpusError, match=r"b.*\.ann"):
        Corpus.read(tmp_path / "b\udce9.ann")


@pytest.mark.parametrize("name", ["out.pubtator", "out.jsonl"])
def test_two_documents_of_one_id_are_not_written(name: str, tmp_path: Path) -> None:
    twice = Corpus([Document("Ada met Bob", (Entity(0, 3, "PER"),), id="7"), Document("Bob", id="7")])
    with pytest.raises(InputError, match="the id '7' was given on line 1 already"):
        twice.write(tmp_path / name)
    assert not (tmp_path / name).exists()
