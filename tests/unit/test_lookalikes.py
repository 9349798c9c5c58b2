"""Entries that a text has in other characters that look alike."""

from __future__ import annotations

import unicodedata

import pytest

from goldgap import Corpus, Dictionary, Document
from goldgap.core.findings import Finding
from goldgap.distant.annotate import annotate
from goldgap.distant.audit import audit
from goldgap.distant.dictionary import Entry
from goldgap.distant.rules import MatchRules


def found(document: Document, *surfaces: str) -> Finding | None:
    dictionary = Dictionary(Entry("X", surface) for surface in surfaces)
    check = audit(annotate(Corpus([document]), dictionary, MatchRules()), dictionary)
    return next((item for item in check.findings if "other characters" in item.what), None)


@pytest.mark.parametrize(
    ("entry", "text"),
    [
        ("São Paulo", unicodedata.normalize("NFD", "in São Paulo now")),
        ("IL-2", "the IL\u20112 gene"),
        ("non-small cell", "a non\u2010small cell"),
        ("Alzheimer's", "has Alzheimer’s now"),
        ("Alzheimer’s", "has Alzheimer's now"),
        ("IL-2", "an ＩＬ－２ gene"),
        ("Straßburg", "in Straß\u00adburg now"),
    ],
)
def test_an_entry_in_other_characters_is_named_with_its_place(entry: str, text: str) -> None:
    finding = found(Document(text, id="7"), entry, "nowhere")
    assert finding is not None
    assert finding.count == 1
    assert finding.examples[0].startswith(f"{entry} (X); 7: ")


def test_what_matches_or_stands_nowhere_is_not_named() -> None:
    assert found(Document("Alzheimer’s and Alzheimer's"), "Alzheimer's", "Parkinson's") is None
    assert found(Document("no IL\u20112R here"), "IL-2") is None
    assert found(Document("il\u20112"), "IL-2") is None
    assert found(Document("a b"), "\u00ad") is None


def test_words_of_the_corpus_keep_their_edges() -> None:
    text = "’IL\u20112R"
    assert found(Document(text, tokens=((0, 1), (1, 5), (5, 6))), "IL-2") is not None
    assert found(Document(text, tokens=((0, 1), (1, 6))), "IL-2") is None
