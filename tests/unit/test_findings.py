"""What `check` and the audit of a dictionary find, one defect at a time."""

from __future__ import annotations

from goldgap import Corpus, Dictionary, Document, Entity, Rejected
from goldgap.core.findings import Check, Finding
from goldgap.corpus.inspect import inspect, place
from goldgap.distant.annotate import annotate
from goldgap.distant.audit import audit
from goldgap.distant.bare import bare_surfaces
from goldgap.distant.check import check as look_over
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


def test_surface_of_several_types() -> None:
    other = ("Ann met Bo", (Entity(0, 3, "PER"), Entity(8, 10, "PER")))
    corpus = corpus_of(*BASE, other, ("by Ann Ltd", (Entity(3, 6, "ORG"),)), ("in Ann", (Entity(3, 6, "ORG"),)))
    found = finding(inspect(corpus), "several types")
    assert found is not None
    assert (found.count, found.examples) == (1, ("Ann: PER 2, ORG 2",))
    assert finding(inspect(corpus_of(*BASE)), "several types") is None


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


def test_bare_surfaces_are_the_last_finding_of_a_check() -> None:
    splits = [("dev", corpus_of(*BASE))]
    corpus = corpus_of(*BASE, ("Ann and Ann", ()))
    assert look_over(corpus, splits).findings == [*inspect(corpus, splits).findings, bare_surfaces(corpus)]
    assert look_over(corpus_of(*BASE), splits) == inspect(corpus_of(*BASE), splits)


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


def test_entry_that_is_a_common_word_in_some_places() -> None:
    names = [Entry("PER", name) for name in ("Anna", "Bert", "Price")]
    check = audited("Price told Price the price of Bert.", *names)
    assert finding(check, "mostly a lower-case word") is None
    assert examples(check, "in some places a lower-case word")[0].startswith("Price (PER): 1 in lower case; ")


def test_a_text_that_is_taken_for_a_dictionary_is_called_one() -> None:
    found = finding(
        audited("Anna met Bert", *(Entry("text", word) for word in ("Anna met Bert", "met"))), "most of this"
    )
    assert found is not None
    assert (found.count, "is this a dictionary" in found.advice) == (3, True)
    assert finding(audited("Anna met Bert", Entry("PER", "Anna")), "most of this") is None


def test_types_that_differ_in_case_alone_are_called_out() -> None:
    check = audited("Anna", Entry("PER", "Anna"), Entry("Per", "Bert"), Entry("LOC", "Oslo"))
    assert examples(check, "differ in case") == ("PER, Per",)


def test_that_nothing_matches_comes_first() -> None:
    check = audited("Anna", Entry("Oslo", "LOC"), Entry("Rome", "LOC"))
    assert check.findings[0].what == "entries that never match"
    assert "exchanged" in check.findings[0].advice


def test_types_that_are_written_in_lower_case_anyway_are_not_suspicious() -> None:
    text = "cocaine and aspirin and codeine"
    assert not finding(audited(text, *(Entry("C", name) for name in ("Cocaine", "Aspirin", "Codeine"))), "lower-case")


def test_entry_with_too_many_matches() -> None:
    found = finding(audited("Anna " * 6, Entry("PER", "Anna"), Entry("PER", "Bert")), "of the 6 matches")
    assert found is not None
    assert found.count == 1


def test_ambiguous_conflicting_and_short_entries() -> None:
    check = audited(
        "Leeds Utd won in Bo and Leeds",
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


def examples(check: Check, part: str) -> tuple[str, ...]:
    found = finding(check, part)
    return () if found is None else found.examples


def test_audit_counts_the_words_of_a_text_of_one_word() -> None:
    check = audited("Anna", Entry("PER", "Anna"), Entry("LOC", "Oslo"))
    assert check.facts["words labelled"] == "1 of 1 (100.0 %)"
    assert check.to_json()["table"] == [
        {"type": "LOC", "entries": "1", "used": "0", "matches": "0"},
        {"type": "PER", "entries": "1", "used": "1", "matches": "1"},
    ]


def test_five_matches_are_too_many_only_where_they_are_a_hundredth_of_all() -> None:
    names = [Entry("PER", "Anna"), Entry("PER", "Bert"), Entry("PER", "Carl")]
    few = audited("Anna " * 5 + "Bert " * 4, *names)
    assert [example[:22] for example in examples(few, "with at least 5 of the 9 matches")] == ["Anna (PER): 5 matches;"]
    many = audited("Anna " * 5 + "Bert " * 6 + "Carl " * 560, *names)
    assert [example[:10] for example in examples(many, "with at least 6 of the 571 matches")] == [
        "Carl (PER)",
        "Bert (PER)",
    ]


def test_ambiguous_matches_are_listed_by_the_first_surface_and_all_types_most_frequent_first() -> None:
    terms = [("LOC", "Cork"), ("X", "Cork"), ("LOC", "Leeds"), ("ORG", "leeds"), ("LOC", "leeds")]
    check = audited("leeds Leeds Cork", *(Entry(label, surface) for label, surface in terms))
    assert examples(check, "several types") == ("Leeds: LOC, ORG (2)", "Cork: LOC, X (1)")


def test_equally_frequent_ambiguous_matches_come_in_the_order_of_the_dictionary() -> None:
    terms = [("LOC", "Cork"), ("X", "Cork"), ("LOC", "Leeds"), ("ORG", "Leeds")]
    check = audited("Leeds Cork", *(Entry(label, surface) for label, surface in terms))
    assert examples(check, "several types") == ("Cork: LOC, X (1)", "Leeds: LOC, ORG (1)")


def test_entries_whose_matches_were_all_dropped_as_ambiguous_did_match() -> None:
    dictionary = Dictionary([Entry("LOC", "Leeds"), Entry("ORG", "Leeds")])
    labelled = annotate(Corpus([Document("Leeds")]), dictionary, MatchRules(ambiguous="drop"))
    assert finding(audit(labelled, dictionary), "never match") is None


def test_entries_whose_matches_were_all_covered_or_lost_did_match() -> None:
    check = audited("acute back pain relief", *(Entry("X", s) for s in ("acute back pain", "back", "pain relief")))
    assert finding(check, "never match") is None
    assert examples(check, "partly overlap") == ("pain relief (X): 1 lost",)


def test_bare_surfaces_come_most_frequent_first_then_by_name() -> None:
    marked = ("Cy Bo Di", (Entity(0, 2, "PER"), Entity(3, 5, "PER"), Entity(6, 8, "PER")))
    corpus = corpus_of(marked, ("Cy and Bo and Di and Di", ()))
    assert [example[:2] for example in bare_surfaces(corpus).examples] == ["Di", "Bo", "Cy"]


def test_a_place_is_shown_with_twenty_characters_on_each_side() -> None:
    document = Document("0123456789 123456789 12 Ann\n  23456789 123456789 x", id="d")
    assert place(document, 24, 27) == "d: 456789 123456789 12 [Ann] 23456789 12345678"
    assert place(document, 3, 5) == "d: 012[34]56789 123456789 12 A"


def test_types_are_listed_most_frequent_first_with_surfaces_and_widths() -> None:
    marked = (Entity(0, 3, "PER"), Entity(4, 12, "LOC"), Entity(13, 16, "PER"), Entity(17, 19, "ORG"))
    check = inspect(corpus_of(("Ann New York Ann Bob", marked), ("Rome", (Entity(0, 4, "LOC"),)), ("none", ())))
    assert check.rows == [
        ("LOC", "2", "2", "1.50", "2"),
        ("PER", "2", "1", "1.00", "1"),
        ("ORG", "1", "1", "-", "0"),
    ]
    assert check.to_json()["table"][0] == {
        "type": "LOC",
        "entities": "2",
        "surfaces": "2",
        "words": "1.50",
        "widest": "2",
    }
    assert check.facts["entities"] == "5 (1.67 a document)"
    assert check.facts["documents without entity"] == "1 (33.3 %)"


def test_complete_and_masked_documents_are_counted() -> None:
    corpus = Corpus(
        [
            Document("Ann", complete=True),
            Document("Ann met Bo", complete=True, unknown=((0, 3),)),
            Document("Bo", complete=frozenset({"PER"}), dropped=(Entity(0, 2, "PER"),)),
        ]
    )
    facts = inspect(corpus).facts
    assert facts["completely annotated"] == (
        "1 documents, 1 for some types (PER), 1 but for places marked as unknown; elsewhere the rest is unknown"
    )
    assert facts["dropped by mask"] == "1"
    assert "dropped by mask" not in inspect(corpus_of(*BASE)).facts


def test_entity_of_ten_words_is_not_wide() -> None:
    text = " ".join("abcdefghij")
    assert inspect(corpus_of(*BASE, (text, (Entity(0, len(text), "PER"),)))).findings == []


def test_entities_that_touch_do_not_overlap() -> None:
    touching = corpus_of(*BASE, ("Ann,Bo", (Entity(0, 3, "PER"), Entity(3, 4, "PER"), Entity(4, 6, "PER"))))
    assert inspect(touching).findings == []


def test_every_entity_inside_a_wide_one_overlaps_it() -> None:
    inside = (Entity(0, 14, "PER"), Entity(0, 3, "PER"), Entity(9, 14, "PER"))
    assert only(corpus_of(*BASE, ("New York Times", inside)), "overlap another").count == 2


def test_a_repeated_document_names_the_first_one() -> None:
    corpus = corpus_of(*BASE, ("other", ()), *BASE, *BASE)
    assert only(corpus, "same text").examples == ("2 = 0: Ann met Bo", "3 = 0: Ann met Bo")


def test_what_was_repaired_while_reading_is_a_finding() -> None:
    corpus = corpus_of(*BASE)
    corpus.notes.change("broken tag", "x.conll:3", count=2)
    assert inspect(corpus).findings[0].examples == ("x.conll:3",)
    assert inspect(corpus).findings[0].count == 2


def test_of_two_entities_with_one_begin_the_shorter_is_nested() -> None:
    nested = corpus_of(*BASE, ("New York Times", (Entity(0, 8, "PER"), Entity(0, 14, "PER"))))
    assert only(nested, "overlap another").examples == ("1: [New York] Times",)


def test_a_repeated_document_is_shown_by_its_first_fifty_characters() -> None:
    long = (f"{'a' * 49}bc", ())
    assert only(corpus_of(*BASE, long, long), "same text").examples == (f"2 = 1: {'a' * 49}b",)


def test_an_entry_that_another_one_stands_in_for_did_match() -> None:
    check = audited("cocaine", Entry("C", "Cocaine"), Entry("C", "cocaine"))
    assert not finding(check, "never match")


def test_empty_corpora_and_dictionaries_can_be_looked_at() -> None:
    assert inspect(Corpus([])).facts["documents"] == "0"
    dictionary = Dictionary([])
    assert audit(annotate(Corpus([]), dictionary, MatchRules()), dictionary).findings == []


def test_more_types_than_surfaces_come_first_as_exchanged_columns() -> None:
    pairs = (("aspirin", "Chemical"), ("asthma", "Disease"), ("Lead", "Chemical"), ("flu", "Disease"))
    check = audited("Disease control by Chemical plants.", *(Entry(*pair) for pair in pairs))
    assert check.findings[0].what == "types, of only 2 surfaces"
    assert check.findings[0].count == 4
    assert check.findings[0].examples[0] == "type aspirin, surface Chemical"
    assert "are the columns exchanged?" in check.findings[0].advice
    right = audited("Disease control", *(Entry(label, surface) for surface, label in pairs))
    assert finding(right, "of only") is None
    jaguars = audited("a Jaguar", *(Entry(label, "Jaguar") for label in ("ANIMAL", "CAR", "ORG")))
    assert finding(jaguars, "of only") is None


def test_advice_names_the_command_whose_options_it_means() -> None:
    pairs = (("LOC", "Cork"), ("ORG", "Cork"), ("X", "Leeds Utd"), ("Y", "Utd won"))
    check = audited("Leeds Utd won, Cork", *(Entry(*pair) for pair in pairs))
    for part in ("several types", "partly overlap"):
        assert "`goldgap annotate`" in getattr(finding(check, part), "advice", "")


def test_spans_that_are_annotated_and_rejected_are_found_and_rejected_ones_counted() -> None:
    text, entities = "Ann met Bo", (Entity(0, 3, "PER"), Entity(8, 10, "PER"))
    rejected = (Rejected(0, 3, "PER"), Rejected(8, 10), Rejected(4, 7))
    check = inspect(Corpus([Document(text, entities, id="1", rejected=rejected)]))
    found = finding(check, "both annotated and rejected")
    assert found is not None
    assert (found.count, found.examples) == (2, ("1: [Ann] met Bo: PER", "1: Ann met [Bo]: PER"))
    assert check.facts["rejected spans"] == "3"
    sound = inspect(Corpus([Document(text, entities, id="1", rejected=(Rejected(0, 3, "ORG"), Rejected(0, 7)))]))
    assert finding(sound, "rejected") is None
    assert "rejected spans" not in inspect(corpus_of(*BASE)).facts


def test_a_type_that_documents_are_complete_for_and_none_has_is_found() -> None:
    documents = [Document("Ann", (Entity(0, 3, "PER"),), complete=frozenset({"PER", "PERS"})) for _ in range(2)]
    assert finding(inspect(Corpus(documents[:1])), "complete for") is not None
    found = finding(inspect(Corpus(documents)), "complete for and no entity has")
    assert found is not None
    assert (found.count, found.examples) == (1, ("PERS: 2 documents",))
