"""What `check` and the audit of a dictionary find, one defect at a time."""

from __future__ import annotations

from goldgap import Corpus, Dictionary, Document, Entity
from goldgap.core.findings import Check, Finding
from goldgap.corpus.inspect import inspect
from goldgap.distant.annotate import annotate
from goldgap.distant.audit import audit
from goldgap.distant.bare import bare_surfaces
from goldgap.distant.dictionary import Entry
from goldgap.distant.rules import MatchRules


def corpus_of(*documents: tuple[str, tuple[Entity, ...]]) -> Corpus:
    return Corpus(Document(text, entities, id=str(number)) for number, (text, entities) in enumerate(documents))


def finding(check: Check, part: str) -> Finding | None:
    return next((item for item in check.findings if part in item.what), None)


def only(corpus: Corpus, part: str) -> Finding:
    """The finding, when it is the only one."""
    found = inspect(corpus).findings
    assert [part in item.what for item in found] == [True], found
    return found[0]


BASE = (("Ann met Bo", (Entity(0, 3, "PER"), Entity(8, 10, "PER"))),)


def test_a_sound_corpus_has_no_findings_but_counts() -> None:
    check = inspect(corpus_of(*BASE))
    assert check.findings == []
    assert check.rows == [("PER", "2", "2", "1.00", "1")]
    assert check.facts["words"] == "3 (3.0 a document)"


def test_entity_inside_a_word() -> None:
    assert only(corpus_of(*BASE, ("Annika", (Entity(0, 3, "PER"),))), "inside a word").examples == ("1: [Ann]ika",)


def test_entity_with_a_blank_at_its_edge() -> None:
    check = inspect(corpus_of(*BASE, ("Ann met", (Entity(0, 4, "PER"),))))
    assert finding(check, "white space at an edge")


def test_nested_entity() -> None:
    nested = corpus_of(*BASE, ("New York Times", (Entity(0, 14, "PER"), Entity(0, 8, "PER"))))
    assert only(nested, "overlap another").count == 1


def test_entity_that_stands_twice() -> None:
    assert finding(inspect(corpus_of(("Ann", (Entity(0, 3, "PER"),) * 2))), "stand twice")


def test_wide_entity() -> None:
    text = " ".join("abcdefghijk")
    assert only(corpus_of(*BASE, (text, (Entity(0, len(text), "PER"),))), "more than 10 words").count == 1


def test_type_that_occurs_once() -> None:
    assert only(corpus_of(*BASE, ("Oslo", (Entity(0, 4, "LOK"),))), "occur once").examples == ("LOK",)


def test_repeated_sentence_inside_and_across_splits() -> None:
    assert only(corpus_of(*BASE, *BASE), "same text as an earlier one").count == 1
    across = inspect(corpus_of(*BASE), [("dev", corpus_of(*BASE)), ("test", corpus_of(("other", ())))])
    assert [item.what for item in across.findings] == ["documents that also stand in dev"]


def test_surface_annotated_in_one_place_and_bare_in_another() -> None:
    corpus = corpus_of(*BASE, ("Ann and Ann and ann", ()), ("Ann Lee", (Entity(0, 7, "PER"),)))
    assert bare_surfaces(corpus).examples == ("Ann: annotated 1, bare 2",)
    assert bare_surfaces(corpus_of(("no entity", ()))).count == 0


def audited(text: str, *entries: Entry) -> Check:
    dictionary = Dictionary(entries)
    return audit(annotate(Corpus([Document(text, id="1")]), dictionary, MatchRules()), dictionary)


def test_entry_that_never_matches() -> None:
    check = audited("Ann", Entry("PER", "Ann"), Entry("PER", "Zoe"))
    found = finding(check, "never match")
    assert found is not None
    assert found.examples == ("Zoe (PER)",)
    assert check.facts["entries used"] == "1 of 2 (50.0 %)"
    assert check.rows == [("PER", "2", "1", "1")]


def test_entry_that_is_a_common_word_in_this_text() -> None:
    names = [Entry("PER", name) for name in ("Anna", "Bert", "Price")]
    found = finding(audited("Anna said the price and the price of Bert. Price fell.", *names), "lower-case word")
    assert found is not None
    assert found.examples[0].startswith("Price (PER): 2 in lower case; ")


def test_types_that_are_written_in_lower_case_anyway_are_not_suspicious() -> None:
    text = "cocaine and aspirin and codeine"
    assert not finding(audited(text, *(Entry("C", name) for name in ("Cocaine", "Aspirin", "Codeine"))), "lower-case")


def test_entry_with_too_many_matches() -> None:
    found = finding(audited("Anna " * 6, Entry("PER", "Anna"), Entry("PER", "Bert")), "of all matches")
    assert found is not None
    assert found.count == 1


def test_ambiguous_conflicting_and_short_entries() -> None:
    check = audited(
        "Leeds Utd won in Bo",
        Entry("LOC", "Leeds"),
        Entry("ORG", "Leeds"),
        Entry("X", "Leeds Utd"),
        Entry("Y", "Utd won"),
        Entry("PER", "Bo"),
    )
    parts = ("several types", "partly overlap", "at most 2 characters")
    found = [finding(check, part) for part in parts]
    assert [item.count if item else 0 for item in found] == [1, 1, 1]


def test_words_labelled_are_counted_once() -> None:
    assert audited("New York and York", Entry("LOC", "New York")).facts["words labelled"] == "2 of 4 (50.0 %)"
