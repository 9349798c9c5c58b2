"""The small values that everything speaks: registry, notes, labels, documents."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

from goldgap.core.document import Document, Entity, Rejected, label_problem
from goldgap.core.errors import DocumentError, GoldgapError, InputError, RunError, UnknownNameError
from goldgap.core.findings import Check, Finding
from goldgap.core.labels import Labels
from goldgap.core.notes import Notes
from goldgap.core.registry import Registry

TEXT = "Barack Obama was born in Hawaii."


# Errors


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ({}, "wrong"),
        ({"path": "a.conll"}, "a.conll: wrong"),
        ({"path": "a.conll", "line": 412}, "a.conll:412: wrong"),
    ],
)
def test_an_input_error_begins_with_its_place(where: dict[str, Any], message: str) -> None:
    assert str(InputError("wrong", **where)) == message


@pytest.mark.parametrize(("error", "status"), [(GoldgapError, 1), (RunError, 1), (InputError, 2), (DocumentError, 2)])
def test_wrong_input_and_failed_runs_have_different_exit_statuses(error: type[GoldgapError], status: int) -> None:
    assert error.exit_status == status


# Registry


@pytest.fixture
def policies() -> Registry[int]:
    registry = Registry[int]("policy")
    for number, name in enumerate(["uniform", "weighted", "top-neg"]):
        registry.add(name, number)
    return registry


def test_a_registered_item_is_found_by_its_name(policies: Registry[int]) -> None:
    assert policies.get("weighted") == 1


def test_registering_returns_the_item(policies: Registry[int]) -> None:
    assert policies.add("all", 9) == 9


def test_names_and_items_come_in_the_order_of_registration(policies: Registry[int]) -> None:
    assert list(policies) == ["uniform", "weighted", "top-neg"]
    assert list(policies.items()) == [("uniform", 0), ("weighted", 1), ("top-neg", 2)]
    assert len(policies) == 3


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("topneg", "there is no policy 'topneg'; did you mean 'top-neg'? Known: uniform, weighted, top-neg"),
        ("zzz", "there is no policy 'zzz'. Known: uniform, weighted, top-neg"),
    ],
)
def test_an_unknown_name_lists_the_nearest_and_the_known(policies: Registry[int], name: str, message: str) -> None:
    with pytest.raises(UnknownNameError) as caught:
        policies.get(name)
    assert str(caught.value) == message


def test_registering_a_name_twice_is_refused_and_changes_nothing(policies: Registry[int]) -> None:
    with pytest.raises(ValueError, match="policy 'uniform' is registered twice"):
        policies.add("uniform", 5)
    assert policies.get("uniform") == 0


# Notes


def test_changes_are_counted_by_kind() -> None:
    notes = Notes()
    notes.change("tag repaired", "a:1")
    notes.change("tag repaired", "a:2", count=4)
    notes.change("token dropped")
    assert {what: tally.count for what, tally in notes.changes.items()} == {"tag repaired": 5, "token dropped": 1}


def test_only_the_first_three_examples_are_kept() -> None:
    notes = Notes()
    for line in range(5):
        notes.change("tag repaired", f"a:{line}")
    assert notes.changes["tag repaired"].examples == ["a:0", "a:1", "a:2"]
    assert notes.changes["tag repaired"].count == 5


def test_lines_show_the_most_frequent_first_and_where() -> None:
    notes = Notes()
    notes.change("b", "x:1")
    notes.change("a", "x:2")
    notes.change("c", "x:3", count=1500)
    notes.change("d", count=2)
    assert notes.lines() == ["1,500 x c (x:3, ...)", "2 x d", "1 x a (x:2)", "1 x b (x:1)"]


def test_merging_adds_counts_and_limits_examples() -> None:
    mine, other = Notes(), Notes()
    for line in range(2):
        mine.change("both", f"mine:{line}")
        other.change("both", f"other:{line}")
    other.change("new", "other:9")
    mine.merge(other)
    assert mine.lines() == ["4 x both (mine:0, mine:1, other:0, ...)", "1 x new (other:9)"]


def test_merging_leaves_the_other_notes_alone() -> None:
    mine, other = Notes(), Notes()
    other.change("new", "other:1")
    mine.merge(other)
    mine.change("new", "mine:1")
    assert other.lines() == ["1 x new (other:1)"]


def test_merging_takes_the_later_fact() -> None:
    mine, other = Notes(), Notes()
    mine.fact("scheme", "bio")
    mine.fact("separator", "tab")
    other.fact("scheme", "iob1")
    mine.merge(other)
    assert mine.facts == {"scheme": "iob1", "separator": "tab"}


def test_changes_are_refused_with_what_they_are_and_what_to_do() -> None:
    notes = Notes()
    notes.change("tag repaired", "a.conll:3")
    with pytest.raises(InputError, match=r"^1 x tag repaired \(a\.conll:3\)\. Mend the input, or leave out --strict"):
        notes.refuse_changes()


def test_facts_alone_are_not_refused() -> None:
    notes = Notes()
    notes.fact("scheme", "bio")
    notes.refuse_changes()


# Findings


def test_a_finding_counts_all_examples_and_keeps_the_first_five() -> None:
    finding = Finding.of("odd spans", list("abcdefg"), "look")
    assert (finding.count, finding.examples) == (7, tuple("abcde"))


def test_a_check_becomes_plain_json() -> None:
    check = Check({"documents": "1"}, ("type", "count"), [("PER", "2")], [Finding.of("odd", ["a"], "look")])
    assert check.to_json() == {
        "facts": {"documents": "1"},
        "table": [{"type": "PER", "count": "2"}],
        "findings": [{"what": "odd", "count": 1, "examples": ("a",), "advice": "look"}],
    }


# Labels


def test_labels_are_sorted_and_without_repeats() -> None:
    assert Labels.of(["PER", "LOC", "PER"]).types == ("LOC", "PER")


def test_labels_know_their_index_length_and_members() -> None:
    labels = Labels.of(["PER", "LOC"])
    assert [labels.index(name) for name in labels] == [0, 1]
    assert len(labels) == 2
    assert "PER" in labels
    assert "ORG" not in labels


def test_an_unknown_label_names_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="there is no label 'PERS'; did you mean 'PER'\\? Known: LOC, PER"):
        Labels.of(["PER", "LOC"]).index("PERS")


def test_labels_are_seen_in_entities_and_statements_of_completeness_and_not_in_what_was_masked() -> None:
    documents = [
        Document(TEXT, (Entity(0, 12, "PER"),), dropped=(Entity(25, 31, "LOC"),)),
        Document(TEXT, complete=frozenset({"ORG"}), rejected=(Rejected(0, 6, "DATE"),)),
        Document(TEXT, complete=True),
    ]
    assert Labels.seen_in(documents) == Labels.of(["ORG", "PER"])
    assert Labels.seen_in(reversed(documents)) == Labels.seen_in(documents)


@pytest.mark.parametrize("name", ["", " PER", "PER\n", "P\0R", "P\tR"])
def test_a_label_that_cannot_be_written_to_a_file_is_refused(name: str) -> None:
    with pytest.raises(DocumentError, match="label"):
        Labels.of([name])


@pytest.mark.parametrize("name", ["PER", "work of art", "人", "B-PER", "a,b"])
def test_a_label_of_printable_characters_is_accepted(name: str) -> None:
    assert label_problem(name) is None


# Documents

REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "entity before the text": (
        {"entities": (Entity(-1, 3, "PER"),)},
        "entity Entity(-1, 3, 'PER'): it lies outside the text of 32 characters",
    ),
    "entity behind the text": (
        {"entities": (Entity(25, 33, "LOC"),)},
        "entity Entity(25, 33, 'LOC'): it lies outside the text of 32 characters",
    ),
    "empty entity": (
        {"entities": (Entity(4, 4, "PER"),)},
        "entity Entity(4, 4, 'PER'): it is empty: start equals end, expected a range of at least one character",
    ),
    "reversed entity": (
        {"entities": (Entity(12, 0, "PER"),)},
        "entity Entity(12, 0, 'PER'): start 12 lies behind end 0; offsets are half-open ranges of characters",
    ),
    "second entity": ({"entities": (Entity(0, 12, "PER"), Entity(0, 99, "PER"))}, "Entity(0, 99, 'PER'): it lies"),
    "no label": ({"entities": (Entity(0, 6, ""),)}, "label '' is empty or has white space around it"),
    "label with a blank": ({"entities": (Entity(0, 6, "PER "),)}, "label 'PER ' is empty or has white space around it"),
    "label with a tab": ({"entities": (Entity(0, 6, "P\tR"),)}, "label 'P\\tR' has a control character"),
    "label that is a number": ({"entities": (Entity(0, 6, 5),)}, "label 5 is not a string"),  # type: ignore[arg-type]
    "score that is no number": (
        {"entities": (Entity(0, 6, "PER", score=float("nan")),)},
        "entity Entity(0, 6, 'PER', score=nan): the score is not a finite number",
    ),
    "infinite score": ({"entities": (Entity(0, 6, "PER", score=float("inf")),)}, "the score is not a finite number"),
    "dropped entity outside": (
        {"dropped": (Entity(0, 99, "PER"),)},
        "dropped entity Entity(0, 99, 'PER'): it lies outside",
    ),
    "complete that is one string": ({"complete": "PER"}, "complete is 'PER', expected True, False or a frozenset"),
    "complete for a bad label": ({"complete": frozenset({""})}, "complete: label '' is empty"),
    "rejected outside": ({"rejected": (Rejected(0, 99),)}, "Rejected(start=0, end=99, label=None): it lies outside"),
    "rejected with a bad label": ({"rejected": (Rejected(0, 6, " "),)}, "label ' ' is empty"),
    "token outside": ({"tokens": ((0, 6), (7, 99))}, "token (7, 99): it lies outside the text of 32 characters"),
    "empty token": ({"tokens": ((3, 3),)}, "token (3, 3): it is empty"),
    "overlapping tokens": (
        {"tokens": ((0, 6), (5, 12))},
        "token (5, 12) begins before the end of the one before it, 6",
    ),
    "tokens out of order": ({"tokens": ((7, 12), (0, 6))}, "token (0, 6) begins before the end of the one before it"),
    "unknown range outside": ({"unknown": ((0, 99),)}, "unknown range (0, 99): it lies outside"),
    "text that is none": ({"text": None}, "the text is None, expected a string"),
    "id that is a number": ({"id": 7}, "the id is 7, expected a string"),
    "entities that are one": (
        {"entities": Entity(0, 6, "PER")},
        "entities is Entity(0, 6, 'PER'), expected a tuple or",
    ),
    "entities that are none": ({"entities": None}, "entities is None, expected a tuple or list"),
    "tuple for an entity": ({"entities": [(0, 6, "PER")]}, "entity (0, 6, 'PER') is not an Entity"),
    "dictionary for a rejected span": ({"rejected": [{"start": 0}]}, "rejected span {'start': 0} is not a Rejected"),
    "offsets of numpy": (
        {"entities": (Entity(np.int64(0), 6, "PER"),)},  # type: ignore[arg-type]
        "expected offsets of the type int; int() makes",
    ),
    "offset that is text": ({"entities": (Entity(0, "6", "PER"),)}, "expected offsets of the type int"),  # type: ignore[arg-type]
    "rejected from nowhere": ({"rejected": (Rejected(None, 6),)}, "expected offsets of the type int"),  # type: ignore[arg-type]
    "score that is text": (
        {"entities": (Entity(0, 99, "PER", score="0.5"),)},  # type: ignore[arg-type]
        "entity (0, 99, 'PER'): the score is '0.5', expected a float",
    ),
    "score of numpy": ({"dropped": (Entity(0, 6, "PER", score=np.float32(0.5)),)}, "expected a float"),  # type: ignore[arg-type]
    "token of numpy": ({"tokens": ((np.int64(0), np.int64(6)),)}, "expected offsets of the type int"),
    "token without an end": ({"tokens": [3, 6]}, "token 3 is not a pair of offsets (start, end)"),
    "token of three": ({"tokens": ((0, 3, 6),)}, "token (0, 3, 6) is not a pair of offsets"),
    "overlapping unknown ranges": ({"unknown": ((0, 6), (2, 8))}, "unknown range (2, 8) begins before the end"),
}


@pytest.mark.parametrize(("parts", "message"), REFUSED.values(), ids=REFUSED)
def test_a_document_that_contradicts_itself_is_refused(parts: dict[str, Any], message: str) -> None:
    with pytest.raises(DocumentError) as caught:
        Document(**{"text": TEXT, **parts})
    assert message in str(caught.value)


def test_a_document_made_of_lists_is_the_one_made_of_tuples() -> None:
    entities, rejected, ranges = [Entity(0, 6, "PER")], [Rejected(7, 12)], [[0, 6], [7, 12]]
    given: Any = {"entities": entities, "rejected": rejected, "tokens": ranges, "unknown": ranges, "dropped": entities}
    document = Document(TEXT, **given)
    pairs = ((0, 6), (7, 12))
    assert document == Document(TEXT, (*entities,), "", pairs, False, (*rejected,), pairs, (*entities,))
    assert hash(document)
    assert Document(TEXT, tokens=iter(pairs)).words == ["Barack", "Obama"]  # type: ignore[arg-type]


def test_replacing_parts_checks_the_document_again() -> None:
    document = Document(TEXT, (Entity(25, 31, "LOC"),))
    with pytest.raises(DocumentError, match="outside the text of 3 characters"):
        document.replace(text="Hi.")


def test_entities_may_touch_nest_and_reach_both_ends() -> None:
    entities = (Entity(0, 32, "SENTENCE"), Entity(0, 12, "PER"), Entity(0, 6, "PER"), Entity(6, 12, "PER"))
    assert Document(TEXT, entities).entities == entities


def test_touching_tokens_are_words() -> None:
    document = Document("東京都", tokens=((0, 2), (2, 3)))
    assert document.words == ["東京", "都"]


def test_raw_text_has_no_words() -> None:
    assert Document(TEXT).words == []


def test_a_surface_counts_code_points() -> None:
    document = Document("👨‍👩‍👧 Paris", (Entity(6, 11, "LOC"),), rejected=(Rejected(0, 5),))
    assert document.surface(document.entities[0]) == "Paris"
    assert document.surface(document.rejected[0]) == "👨‍👩‍👧"


@pytest.mark.parametrize(
    ("complete", "expected"),
    [(True, True), (False, False), (frozenset({"PER"}), True), (frozenset({"LOC"}), False), (frozenset(), False)],
)
def test_a_document_knows_for_which_types_it_is_complete(complete: bool | frozenset[str], expected: bool) -> None:
    assert Document(TEXT, complete=complete).is_complete("PER") is expected


def test_a_document_cannot_be_changed() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        Document(TEXT).text = ""  # type: ignore[misc]


@pytest.mark.parametrize(
    "entity",
    [
        Entity(0, 12, "PER"),
        Entity(25, 31, "LOC", score=0.95),
        Entity(0, 1, 'it\'s "odd"', score=1.0, source="dictionary"),
        Entity(0, 1, "人", score=1e-05, source="a\\b"),
        Entity(0, 1, "X", score=0.0),
    ],
    ids=repr,
)
def test_the_repr_of_an_entity_can_be_pasted(entity: Entity) -> None:
    assert eval(repr(entity), {"Entity": Entity}) == entity


def test_the_repr_of_an_entity_is_short() -> None:
    assert repr(Entity(0, 12, "PER", score=0.97)) == "Entity(0, 12, 'PER', score=0.97)"
