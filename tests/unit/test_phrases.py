"""Phrases without types: what they leave unknown, and what they make known."""

from __future__ import annotations

from pathlib import Path

import pytest

from goldgap import Corpus, Document, Entity, Recognizer
from goldgap.core.errors import DictionaryError, InputError
from goldgap.core.labels import Labels
from goldgap.distant.phrases import leave_open, read_phrases
from goldgap.models.states import Knowledge, open_types
from tests.command import Run

TEXT = "Chest pain and severe chest pain syndromes after lead acetate."


def opened(*phrases: str, entities: tuple[Entity, ...] = ()) -> Document:
    (document,) = leave_open(Corpus([Document(TEXT, entities)]), phrases)
    return document


def surfaces(document: Document) -> list[str]:
    return [document.text[start:end] for start, end in document.unknown]


def test_places_of_a_phrase_are_unknown_in_any_case_and_in_the_plural() -> None:
    document = opened("CHEST PAIN", "chest pain syndrome")
    assert document.complete is True
    assert surfaces(document) == ["Chest pain", "chest pain syndromes"]


def test_places_that_overlap_are_one() -> None:
    assert surfaces(opened("severe chest", "chest pain")) == ["Chest pain", "severe chest pain"]


def test_what_is_annotated_exactly_is_not_unknown() -> None:
    entity = Entity(49, 61, "Chemical", source="dictionary")
    assert TEXT[entity.start : entity.end] == "lead acetate"
    assert surfaces(opened("lead acetate", entities=(entity,))) == []
    assert surfaces(opened("after lead acetate", entities=(entity,))) == ["after lead acetate"]


def test_only_spans_inside_a_place_stay_open() -> None:
    document = opened("severe chest pain", "after")
    open_ = open_types(document, Knowledge(Labels(("Disease",)), 3, flat=True))[..., 0]
    words = TEXT.removesuffix(".").split()
    found = {" ".join(words[start : start + width + 1]) for start, width in zip(*open_.nonzero(), strict=True)}
    assert found == {"severe", "severe chest", "severe chest pain", "chest", "chest pain", "pain", "after"}


def test_blank_lines_of_a_list_are_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "phrases.txt"
    path.write_text("chest  pain\n\n lead acetate \n", encoding="utf-8")
    assert read_phrases(path) == ["chest pain", "lead acetate"]


def test_an_empty_list_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "phrases.txt"
    path.write_text("\n", encoding="utf-8")
    with pytest.raises(DictionaryError, match="one a line"):
        read_phrases(path)


def test_annotate_writes_what_is_known(run: Run, tmp_path: Path) -> None:
    files = {"raw.txt": TEXT, "terms.tsv": "Chemical\tlead acetate", "phrases.txt": "chest pain\nlead acetate"}
    for name, text in files.items():
        (tmp_path / name).write_text(text + "\n", encoding="utf-8")
    told = run("annotate", "raw.txt", "-d", "terms.tsv", "--phrases", "phrases.txt", "-o", "labels.jsonl")
    assert "2 places that could be an entity are unknown" in told.out
    (document,) = Corpus.read(tmp_path / "labels.jsonl")
    assert (document.complete, surfaces(document)) == (True, ["Chest pain", "chest pain"])
    assert [document.surface(entity) for entity in document.entities] == ["lead acetate"]


@pytest.mark.parametrize(
    ("terms", "options", "places"),
    [
        ("A\tlead acetate\nB\tlead acetate", ("--ambiguous", "drop"), ["lead acetate"]),
        ("A\tlead acetate\nB\tlead acetate", (), []),
        ("A\tafter lead\nA\tlead acetate", (), ["lead acetate"]),
        ("A\tafter lead\nA\tlead acetate", ("--overlapping",), []),
        ("A\tlead acetate\nB\tacetate", (), ["acetate"]),
    ],
)
def test_places_that_the_dictionary_matches_and_does_not_label_are_unknown(
    terms: str, options: tuple[str, ...], places: list[str], run: Run, tmp_path: Path
) -> None:
    for name, text in {"raw.txt": TEXT, "terms.tsv": terms, "phrases.txt": "no such phrase"}.items():
        (tmp_path / name).write_text(text + "\n", encoding="utf-8")
    run("annotate", "raw.txt", "-d", "terms.tsv", "--phrases", "phrases.txt", "-o", "labels.jsonl", *options)
    (document,) = Corpus.read(tmp_path / "labels.jsonl")
    assert surfaces(document) == places


def test_leaving_the_unknown_alone_needs_something_known() -> None:
    entity = Entity(0, 10, "Disease", source="dictionary")
    with pytest.raises(InputError, match="--phrases"):
        Recognizer.train(Corpus([Document(TEXT, (entity,)), Document(TEXT, (entity,))]), method="ignore")
