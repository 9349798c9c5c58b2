"""Tag schemes: every scheme, every sentence of up to six words, both rules."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import pytest

from goldgap.core.errors import InputError
from goldgap.corpus.tags import SCHEMES, Span, detect, spans_to_tags, split_tag, tags_to_spans


def flat_span_sets(length: int, labels: str = "XY", first: int = 0) -> Iterator[list[Span]]:
    """Every set of non-overlapping labelled spans over `length` words."""
    yield []
    for start in range(first, length):
        for end in range(start + 1, length + 1):
            for label in labels:
                for rest in flat_span_sets(length, labels, end):
                    yield [Span(start, end, label), *rest]


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("rule", ["lenient", "strict"])
def test_spans_to_tags_and_back_is_the_identity_up_to_length_six(scheme: str, rule: str) -> None:
    seen = 0
    for length in range(7):
        for spans in flat_span_sets(length):
            tags = spans_to_tags(length, spans, scheme=scheme)
            parsed = tags_to_spans(tags, scheme=scheme, rule=rule)  # type: ignore[arg-type]
            assert parsed.spans == spans, tags
            assert parsed.ill_formed == [], tags
            seen += 1
    assert seen == 2911  # f(n) = f(n-1) + 2 (f(n-1) + ... + f(0)), summed over n = 0..6


def test_detection_names_the_scheme_of_what_was_written() -> None:
    spans = [Span(0, 3, "X"), Span(3, 4, "X"), Span(5, 6, "Y")]
    for scheme in SCHEMES:
        assert detect([spans_to_tags(7, spans, scheme=scheme)]) == scheme


def test_iob1_is_not_taken_for_a_bio_file_with_slips() -> None:
    assert detect([["I-X", "I-X", "B-X", "O"]]) == "iob1"
    assert detect([["B-X", "I-X", "O", "I-X"]]) == "bio"
    assert detect([["O", "O"]]) == "bio"


def test_mixed_letters_of_two_schemes_are_refused() -> None:
    with pytest.raises(InputError, match="which is no scheme"):
        detect([["B-X", "M-X", "L-X"]])


# conlleval's rules, written from their definition: where does a chunk end, where does one start.


def chunk_ends(before: str, now: str, before_type: str, now_type: str) -> bool:
    pairs = {("B", "B"), ("B", "S"), ("B", "O"), ("I", "B"), ("I", "S"), ("I", "O")}
    if before in "ES" or (before, now) in pairs:
        return before != "O"
    return before != "O" and before_type != now_type


def chunk_starts(before: str, now: str, before_type: str, now_type: str) -> bool:
    if now in "BS" or (before in "ESO" and now in "EI"):
        return True
    return now != "O" and before_type != now_type


def conlleval_spans(tags: list[str]) -> list[Span]:
    spans, start, before, before_type = [], None, "O", ""
    for index, tag in enumerate([*tags, "O"]):
        now, _, now_type = tag.partition("-")
        if start is not None and chunk_ends(before, now, before_type, now_type):
            spans.append(Span(start, index, before_type))
            start = None
        if chunk_starts(before, now, before_type, now_type):
            start = index
        before, before_type = now, now_type
    return spans


@pytest.mark.parametrize(("scheme", "letters"), [("bio", "BI"), ("iob1", "BI"), ("bioes", "BIES")])
def test_lenient_rule_is_conlleval_on_every_sequence_of_four_tags(scheme: str, letters: str) -> None:
    alphabet = ["O", *(f"{letter}-{label}" for letter in letters for label in "XY")]
    for tags in product(alphabet, repeat=4):
        assert tags_to_spans(tags, scheme=scheme).spans == conlleval_spans(list(tags)), tags


@pytest.mark.parametrize(
    ("tags", "lenient", "strict", "what"),
    [
        (["O", "I-X"], [(1, 2, "X")], [], "inside tag with no entity open"),
        (["B-X", "I-Y"], [(0, 1, "X"), (1, 2, "Y")], [(0, 1, "X")], "inside tag of another type"),
        (["I-X", "I-X", "B-X"], [(0, 2, "X"), (2, 3, "X")], [(2, 3, "X")], "inside tag with no entity open"),
    ],
)
def test_ill_formed_bio_is_repaired_or_left_out_and_named(
    tags: list[str], lenient: list[Span], strict: list[Span], what: str
) -> None:
    assert tags_to_spans(tags).spans == lenient
    parsed = tags_to_spans(tags, rule="strict")
    assert parsed.spans == strict
    assert parsed.ill_formed[0][1].startswith(what)


@pytest.mark.parametrize(
    ("tags", "strict"),
    [
        (["B-X", "I-X"], []),
        (["B-X", "O"], []),
        (["E-X"], []),
        (["I-X", "E-X"], []),
        (["S-X", "E-X"], [(0, 1, "X")]),
        (["B-X", "B-X", "E-X"], [(1, 3, "X")]),
        (["B-X", "E-Y"], []),
    ],
)
def test_strict_bioes_takes_only_closed_entities(tags: list[str], strict: list[Span]) -> None:
    parsed = tags_to_spans(tags, scheme="bioes", rule="strict")
    assert parsed.spans == strict
    assert parsed.ill_formed


@pytest.mark.parametrize("tag", ["X", "B", "B-", "b-PER", "B_PER", "Z-PER", "", "B- PER", "I-PER "])
def test_what_is_no_tag_is_refused(tag: str) -> None:
    with pytest.raises(InputError):
        split_tag(tag)


def test_labels_may_hold_hyphens() -> None:
    assert split_tag("B-creative-work") == ("B", "creative-work")


def test_tags_cannot_hold_overlapping_spans() -> None:
    with pytest.raises(InputError, match="share a word"):
        spans_to_tags(3, [(0, 2, "X"), (1, 3, "Y")])


def test_a_scheme_that_does_not_exist_is_answered_with_the_nearest() -> None:
    with pytest.raises(InputError, match="did you mean 'bioes'"):
        tags_to_spans(["O"], scheme="bioe")


@pytest.mark.parametrize("tag", ["O", "UNK"])
def test_what_is_outside_or_unknown_has_no_label(tag: str) -> None:
    assert split_tag(tag) == ("O", "")


@pytest.mark.parametrize("span", [(-1, 1, "X"), (1, 4, "X"), (2, 2, "X"), (2, 1, "X")])
def test_a_span_that_is_no_range_of_the_sentence_is_refused(span: tuple[int, int, str]) -> None:
    with pytest.raises(
        InputError, match=rf"the span {span[0]}\.\.{span[1]} is empty or lies outside a sentence of 3 words"
    ):
        spans_to_tags(3, [span])


@pytest.mark.parametrize(
    ("scheme", "tags", "ill_formed"),
    [
        ("bio", ["B-X", "I-Y", "O", "I-X"], [(1, "inside tag of another type"), (3, "inside tag with no entity")]),
        ("bioes", ["B-X", "O", "I-X", "E-X"], [(0, "entity without an end"), (2, "inside tag with no entity")]),
        ("bioes", ["S-X", "I-X"], [(1, "inside tag with no entity"), (1, "entity without an end")]),
        ("bioes", ["B-X", "E-Y"], [(0, "entity without an end"), (1, "inside tag of another type")]),
        ("bilou", ["O", "L-X", "U-X"], [(1, "inside tag with no entity")]),
        ("iob1", ["I-X", "B-X", "B-Y", "O", "B-X"], [(2, "B- tag where no"), (4, "B- tag where no")]),
    ],
)
def test_every_ill_formed_place_is_named(scheme: str, tags: list[str], ill_formed: list[tuple[int, str]]) -> None:
    found = tags_to_spans(tags, scheme=scheme).ill_formed
    assert [index for index, _ in found] == [index for index, _ in ill_formed]
    assert all(what.startswith(part) for (_, what), (_, part) in zip(found, ill_formed, strict=True))


def test_strict_iob1_opens_with_inside_and_with_begin_only_behind_its_type() -> None:
    tags = ["I-X", "B-X", "B-Y", "O", "B-X", "I-X"]
    assert tags_to_spans(tags, scheme="iob1", rule="strict").spans == [(0, 1, "X"), (1, 2, "X")]


def test_a_tag_of_another_scheme_is_refused_by_name() -> None:
    with pytest.raises(InputError, match="the tag 'S-X' is not of the scheme bio;"):
        tags_to_spans(["O", "S-X"], scheme="bio")


def test_a_span_that_shares_a_word_is_named() -> None:
    with pytest.raises(InputError, match=r"two spans share a word at 1\.\.3; "):
        spans_to_tags(3, [(0, 2, "X"), (1, 3, "Y")])
