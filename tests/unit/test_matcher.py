"""The dictionary matcher: boundaries, case, offsets, choice among matches; a loop-written oracle."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from goldgap import Corpus, Dictionary, Document, Entity, Rejected
from goldgap.core.errors import ConfigError, DictionaryError, InputError
from goldgap.corpus.words import split_words, words_of
from goldgap.distant.annotate import annotate
from goldgap.distant.dictionary import Entry
from goldgap.distant.matcher import Matcher, is_exact
from goldgap.distant.rules import MatchRules


def found(text: str | Document, entries: Sequence[tuple[str, ...]], **rules: Any) -> list[tuple[str, str]]:
    """(surface, label) of the entities that a dictionary gives to one text."""
    document = text if isinstance(text, Document) else Document(text, id="1")
    dictionary = Dictionary(Entry(*entry) for entry in entries)  # type: ignore[arg-type]
    labelled = dictionary.annotate(Corpus([document]), **rules)[0]
    return [(labelled.surface(entity), entity.label) for entity in labelled.entities]


def test_leftmost_longest_wins() -> None:
    terms = [("LOC", "New York"), ("ORG", "New York Times"), ("LOC", "York"), ("ORG", "Times Square")]
    assert found("the New York Times Square", terms) == [("New York Times", "ORG")]
    assert found("York and New York", terms) == [("York", "LOC"), ("New York", "LOC")]


def test_a_longer_match_that_is_not_on_word_boundaries_does_not_hide_a_shorter_one() -> None:
    assert found("in Parisian bars", [("LOC", "Paris"), ("X", "Parisian bar")]) == []
    assert found("art of bars", [("X", "art of bar"), ("Y", "art of"), ("Z", "art")]) == [("art of", "Y")]


def test_overlapping_keeps_every_match() -> None:
    terms = [("A", "lung cancer"), ("B", "cancer"), ("C", "cancer cell")]
    assert found("lung cancer cell", terms, overlapping=True) == [
        ("lung cancer", "A"),
        ("cancer cell", "C"),
        ("cancer", "B"),
    ]


@pytest.mark.parametrize(
    ("text", "surface", "matches"),
    [
        ("IL-2 receptor", "IL-2", True),
        ("IL-2R", "IL-2", False),
        ("IL-2 receptor", "IL", False),  # IL-2 is one word
        ("Obama's car", "Obama", True),
        ("Selegiline-induced", "Selegiline", True),
        ("the U.S. army", "U.S.", True),
        ("vitamin C.", "vitamin C", True),
        ("cafe\u0301", "cafe", False),  # the accent belongs to the last letter
        ("#Paris", "Paris", False),
        ("(Paris)", "Paris", True),
        ("我爱北京大学", "北京", True),
        ("ソニーの電話", "ソニー", True),
        ("Paris2", "Paris", False),
        ("पेरिस में", "पेरिस", True),
        ("पेरिसा", "पेरिस", False),
    ],
)
def test_boundaries_are_those_of_words_and_none_inside_cjk(text: str, surface: str, matches: bool) -> None:
    assert (found(text, [("X", surface)], case="exact") == [(surface, "X")]) is matches


def test_with_tokens_boundaries_are_those_of_the_tokens() -> None:
    text = "IL-2R x"
    tokens = ((0, 2), (2, 4), (4, 5), (6, 7))
    assert found(Document(text, id="1", tokens=tokens), [("X", "IL-2")]) == [("IL-2", "X")]
    assert found(Document(text, id="1", tokens=((0, 5), (6, 7))), [("X", "IL-2")]) == []


@pytest.mark.parametrize(
    ("text", "surface", "expected"),
    [
        ("İstanbul ve İzmir", "izmir", []),  # İ folds to i and a combining dot, which is not i
        ("İstanbul ve İzmir", "İzmir", ["İzmir"]),
        ("die Straße ist", "strasse", ["Straße"]),
        ("die STRASSE ist", "Straße", ["STRASSE"]),
        ("Maß Straße maß", "maß", ["Maß", "maß"]),
        ("ß s ss", "s", ["s"]),
        ("ﬁne FINE", "fine", ["ﬁne", "FINE"]),
        ("İİİ Paris", "paris", ["Paris"]),
    ],
)
def test_offsets_are_right_after_case_folding(text: str, surface: str, expected: list[str]) -> None:
    assert [s for s, _ in found(text, [("X", surface)], case="fold")] == expected


@pytest.mark.parametrize("blank", ["\n", "  ", "\u00a0", "\r\n", " \t "])
def test_any_white_space_in_the_text_stands_for_a_blank_of_the_entry(blank: str) -> None:
    assert found(f"in  New{blank}York now", [("LOC", "New York")], case="exact") == [(f"New{blank}York", "LOC")]


@pytest.mark.parametrize(
    ("entry", "case", "exact"),
    [
        (Entry("X", "WHO"), "smart", True),
        (Entry("X", "USSR"), "smart", True),
        (Entry("X", "Ray"), "smart", True),
        (Entry("X", "Apple"), "smart", False),
        (Entry("X", "Apple", "exact"), "fold", True),
        (Entry("X", "WHO", "fold"), "exact", False),
        (Entry("X", "apple"), "exact", True),
        (Entry("X", "WHO"), "fold", False),
    ],
)
def test_case_rule_and_its_override_by_the_third_column(entry: Entry, case: Any, exact: bool) -> None:
    assert is_exact(entry, case) is exact
    dictionary = Dictionary([entry])
    other_case = entry.surface.swapcase()
    matches = Matcher(dictionary, MatchRules(case=case)).find([Document(f"x {other_case} y")])
    assert any(matches) is not exact


@pytest.mark.parametrize(
    ("ambiguous", "expected"),
    [
        ("first", [("Leeds United", "ORG"), ("Leeds", "LOC")]),
        ("drop", [("Leeds United", "ORG")]),
        ("all", [("Leeds United", "ORG"), ("Leeds", "LOC"), ("Leeds", "ORG")]),
    ],
)
def test_surfaces_of_several_types_are_settled_as_asked(ambiguous: str, expected: list[tuple[str, str]]) -> None:
    terms = [("LOC", "Leeds"), ("ORG", "Leeds"), ("ORG", "Leeds United")]
    assert found("Leeds United of Leeds", terms, ambiguous=ambiguous) == expected


@pytest.mark.parametrize("overlapping", [False, True])
def test_a_dropped_ambiguous_match_wins_its_place_as_any_other(overlapping: bool) -> None:
    terms = [("LOC", "New York"), ("ORG", "New York"), ("PER", "York"), ("LOC", "York Minster")]
    kept = [("York Minster", "LOC"), ("York", "PER")] if overlapping else []
    assert found("New York Minster", terms, ambiguous="drop", overlapping=overlapping) == kept


def test_what_a_dropped_match_covers_is_passed_over_or_a_conflict() -> None:
    terms = [("LOC", "New York"), ("ORG", "New York"), ("PER", "York"), ("LOC", "York Minster")]
    dictionary = Dictionary(Entry(*term) for term in terms)
    usage = annotate(Corpus([Document("New York Minster", id="1")]), dictionary, MatchRules(ambiguous="drop")).usage
    assert usage.passed_over == {"1": [(0, 8), (4, 16), (4, 8)]}
    assert (dict(usage.used), dict(usage.conflicts), dict(usage.ambiguous)) == ({}, {3: 1}, {(0, 1): 1})


@pytest.mark.parametrize(
    ("surface", "text"),
    [
        ("tumor", "tumors"),
        ("Biopsy", "biopsies"),
        ("virus box", "virus boxes"),
        ("monkey", "monkeys"),
        ("rash", "rashes"),
    ],
)
def test_regular_plurals_match_only_when_asked_for(surface: str, text: str) -> None:
    assert found(text, [("X", surface)]) == []
    assert found(text, [("X", surface)], plurals=True) == [(text, "X")]


def test_what_a_reviewer_rejected_stays_unlabelled() -> None:
    document = Document("May met May", id="1", rejected=(Rejected(0, 3), Rejected(8, 11, "ORG")))
    assert found(document, [("PER", "May")]) == [("May", "PER")]


def test_labels_carry_their_source_and_replace_what_was_there() -> None:
    document = Document("Paris", (Entity(0, 5, "PER"),), id="1", complete=True)
    labelled = Dictionary([Entry("LOC", "Paris")]).annotate(Corpus([document]))[0]
    assert labelled.entities == (Entity(0, 5, "LOC", source="dictionary"),)
    assert labelled.complete is False


def test_an_unknown_rule_names_the_nearest() -> None:
    with pytest.raises(ConfigError, match="did you mean 'plurals'"):
        Dictionary([Entry("X", "y")]).annotate(Corpus([Document("y")]), plural=True)


def test_a_match_inside_the_winner_is_no_conflict() -> None:
    dictionary = Dictionary([Entry("A", "a b c"), Entry("B", "b"), Entry("C", "c d"), Entry("D", "zz")])
    usage = annotate(Corpus([Document("a b c d")]), dictionary, MatchRules(case="exact")).usage
    assert (dict(usage.used), dict(usage.conflicts)) == ({0: 1}, {2: 1})


# The oracle: every entry at every position, by loops.

alphabet = st.sampled_from("ab Aİß京-.\u0301\n")
surfaces = st.text(alphabet, min_size=1, max_size=4).map(lambda text: " ".join(text.split())).filter(bool)


def oracle(document: Document, entries: list[Entry], exact: bool) -> set[tuple[int, int, int]]:
    text = document.text
    starts = {start for start, _ in words_of(document)}
    ends = {end for _, end in words_of(document)}
    matches = set()
    for start in starts:
        for end in ends:
            if start < end:
                here = " ".join(text[start:end].split())
                for number, entry in enumerate(entries):
                    same = here == entry.surface if exact else here.casefold() == entry.surface.casefold()
                    if same:
                        matches.add((start, end, number))
    return matches


@settings(derandomize=True, deadline=None, max_examples=400)
@given(
    st.text(alphabet, max_size=14),
    st.lists(surfaces, min_size=1, max_size=5, unique=True),
    st.booleans(),
    st.booleans(),
)
def test_matches_equal_those_of_loops_over_all_positions(
    text: str, terms: list[str], exact: bool, with_tokens: bool
) -> None:
    tokens = tuple(split_words(text)) if with_tokens else None
    document = Document(text, tokens=tokens)
    entries = [Entry("X", term) for term in terms]
    matcher = Matcher(Dictionary(entries), MatchRules(case="exact" if exact else "fold"))
    assert set(next(matcher.find([document]))) == oracle(document, entries, exact)


def test_dictionary_reads_tables_and_folders_alike(tmp_path: Path) -> None:
    (tmp_path / "d.tsv").write_text("LOC\tParis\nLOC\tParis\n\nORG\tNew   York  Times\texact\n", encoding="utf-8")
    table = Dictionary.read(tmp_path / "d.tsv")
    assert table.entries == [Entry("LOC", "Paris"), Entry("ORG", "New York Times", "exact")]
    assert table.notes.facts == {"repeated entries": "1 read once"}
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "LOC.txt").write_text("Paris\n", encoding="utf-8")
    (folder / "ORG.txt").write_text("New York Times\n\n", encoding="utf-8")
    assert [entry[:2] for entry in Dictionary.read(folder)] == [entry[:2] for entry in table]
    (folder / "._LOC.txt").write_bytes(b"\0\xff")  # what an archive of another system leaves behind
    (folder / "PER.TXT").write_text("Ann\n", encoding="utf-8")
    assert [entry.label for entry in Dictionary.read(folder)] == ["LOC", "ORG", "PER"]


def test_entries_may_be_plain_tuples() -> None:
    assert Dictionary([("LOC", "Elbe"), ("ORG", "NeXT", "exact")]).entries == [  # type: ignore[list-item]
        Entry("LOC", "Elbe"),
        Entry("ORG", "NeXT", "exact"),
    ]


@pytest.mark.parametrize(
    ("text", "surface"),
    [("İ i", "i"), ("ŉ n", "n")],  # they fold to "i" and a dot, and to an apostrophe and "n"
)
def test_a_part_of_what_one_character_folds_to_is_no_match(text: str, surface: str) -> None:
    labelled = Dictionary([Entry("X", surface)]).annotate(Corpus([Document(text)]), case="fold")[0]
    assert [(entity.start, entity.end) for entity in labelled.entities] == [(2, 3)]


def test_short_entries_get_no_plural() -> None:
    assert found("gels and genes", [("X", "gel"), ("X", "gene")], plurals=True) == [("genes", "X")]


def test_a_rejection_holds_for_its_own_span_and_type_only() -> None:
    rejected = (Rejected(0, 3), Rejected(8, 11, "ORG"), Rejected(16, 19, "PER"))
    document = Document("May met May and May", rejected=rejected)
    labelled = Dictionary([Entry("PER", "May")]).annotate(Corpus([document]))[0]
    assert [entity.start for entity in labelled.entities] == [8]


def test_a_span_gets_each_of_its_types_once() -> None:
    terms = [("LOC", "Leeds"), ("LOC", "leeds"), ("ORG", "Leeds")]
    assert found("Leeds", terms, ambiguous="all") == [("Leeds", "LOC"), ("Leeds", "ORG")]


def test_a_match_that_ends_with_the_winner_is_covered_and_no_conflict() -> None:
    dictionary = Dictionary([Entry("A", "acute pain"), Entry("B", "pain")])
    usage = annotate(Corpus([Document("acute pain")]), dictionary, MatchRules()).usage
    assert (dict(usage.used), dict(usage.conflicts)) == ({0: 1}, {})


def test_the_example_of_an_entry_is_its_first_match_with_thirty_characters_on_each_side() -> None:
    text = f"{'a' * 40}\n {'b' * 9} {'c' * 18} Paris  {'d' * 27}.{'e' * 40} Paris"
    usage = annotate(Corpus([Document(text)]), Dictionary([Entry("LOC", "Paris")]), MatchRules()).usage
    assert usage.example == {0: f"{'b' * 9} {'c' * 18} [Paris] {'d' * 27}."}


def test_third_column_of_a_table_is_exact_or_fold_or_empty(tmp_path: Path) -> None:
    (tmp_path / "d.tsv").write_text("A\tWHO\tfold\nA\tApple\texact\nA\tAnn\t\n", encoding="utf-8")
    assert [entry.case for entry in Dictionary.read(tmp_path / "d.tsv")] == ["fold", "exact", None]


def test_a_table_with_too_many_columns_is_refused_with_their_number(tmp_path: Path) -> None:
    (tmp_path / "d.tsv").write_text("A\tb\nA\tb\texact\tc\n", encoding="utf-8")
    with pytest.raises(DictionaryError, match=r"d\.tsv:2: 4 columns in 'A"):
        Dictionary.read(tmp_path / "d.tsv")


@pytest.mark.parametrize("header", ["label\tsurface", "Type\tTerm\tCase", "name\tclass"])
def test_a_header_is_no_entry(header: str, tmp_path: Path) -> None:
    (tmp_path / "d.tsv").write_text(f"{header}\nLOC\tElbe\n", encoding="utf-8")
    with pytest.raises(DictionaryError, match=r"d\.tsv:1: .* looks like a header; remove it"):
        Dictionary.read(tmp_path / "d.tsv")


def test_a_dictionary_says_what_is_in_it() -> None:
    assert repr(Dictionary([Entry("B", "x"), Entry("A", "y")])) == "<Dictionary: 2 entries, types A, B>"


def test_every_match_in_a_long_text_without_blanks_is_found() -> None:
    text = "我爱北京大学" * 20_000
    (matches,) = Matcher(Dictionary([Entry("LOC", "北京")]), MatchRules()).find([Document(text)])
    assert len(matches) == 20_000


def test_a_dictionary_without_entries_finds_nothing() -> None:
    assert found("Paris", []) == []


def test_surfaces_are_normalised_however_the_dictionary_was_made() -> None:
    assert found("in New York now", [("LOC", " New \n York ")]) == [("New York", "LOC")]


def test_a_rejected_match_leaves_room_for_another_type_and_for_what_it_covers() -> None:
    terms = [("LOC", "Leeds"), ("ORG", "Leeds"), ("X", "Leeds United")]
    document = Document("Leeds United", id="1", rejected=(Rejected(0, 12), Rejected(0, 5, "LOC")))
    assert found(document, terms) == [("Leeds", "ORG")]


@pytest.mark.parametrize(("surface", "text"), [("BIOPSY", "BIOPSIES"), ("VIRUS", "VIRUSES")])
def test_plurals_of_capitals_are_capitals(surface: str, text: str) -> None:
    assert found(text, [("X", surface)], plurals=True) == [(text, "X")]


def test_a_single_letter_at_the_end_has_no_plural() -> None:
    assert found("vitamin ys", [("X", "vitamin y")], plurals=True) == []


def test_plurals_of_acronyms_are_found_in_both_spellings(tmp_path: Path) -> None:
    (path := tmp_path / "d.tsv").write_text("DRUG\tNSAID\n", encoding="utf-8")
    text = Corpus([Document("NSAIDs help. NSAIDS too. An NSAID. Nsaids not.")])
    (found,) = annotate(text, Dictionary.read(path), MatchRules(plurals=True)).corpus
    assert [found.surface(entity) for entity in found.entities] == ["NSAIDs", "NSAIDS", "NSAID"]


def test_a_list_says_how_the_case_of_an_entry_is_treated(tmp_path: Path) -> None:
    (tmp_path / "PER.txt").write_text("Price\texact\nWHO \t fold\nAnn\t\nNew  York\n", encoding="utf-8")
    assert Dictionary.read(tmp_path).entries == [
        Entry("PER", "Price", "exact"),
        Entry("PER", "WHO", "fold"),
        Entry("PER", "Ann"),
        Entry("PER", "New York"),
    ]


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("LOC\tHamburg", "the second column is 'Hamburg', expected exact or fold; is this a table"),
        ("LOC\tHamburg\texact", "3 columns in 'LOC"),
        ("\texact", "the surface is empty"),
    ],
)
def test_a_list_with_other_columns_is_refused_with_its_line(line: str, found: str, tmp_path: Path) -> None:
    (tmp_path / "PER.txt").write_text(f"Ann\n{line}\n", encoding="utf-8")
    with pytest.raises(DictionaryError, match=rf"PER\.txt:2: {found}"):
        Dictionary.read(tmp_path)


@pytest.mark.parametrize(
    ("entry", "found"),
    [
        (("LOC", "Price", "EXACT"), "the case is 'EXACT', expected exact or fold"),
        (("LOC", 5), "the surface 5 is not a string"),
        (("LOC", " \n"), "the surface is empty"),
        ((7, "Elbe"), "label 7 is not a string"),
        (("", "Elbe"), "label '' is empty"),
        (("LOC",), "has 1 parts, expected type, surface and perhaps case"),
    ],
)
def test_an_entry_that_means_nothing_is_refused_however_it_was_made(entry: Any, found: str) -> None:
    with pytest.raises(InputError, match=found):
        Dictionary([entry])
    if len(entry) > 1:
        with pytest.raises(InputError, match=found):
            Dictionary([Entry(*entry)])
