"""The three states, against a loop over every span and type that follows the words of the design."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from goldgap import Document, Entity, Rejected
from goldgap.core.labels import Labels
from goldgap.core.notes import Notes
from goldgap.encode.align import Shape
from goldgap.encode.batch import Example
from goldgap.encode.windows import Window
from goldgap.models.states import Knowledge, States, stack, states_of

LABELS = Labels(("LOC", "PER"))
TEXT = "a b c d e"  # five words of one letter


def example_of(windows: list[Window], index: int = 0) -> Example:
    first, end = windows[index]
    words = tuple((2 * i, 2 * i + 1) for i in range(first, end))
    return Example(0, windows, index, words, [[1]] * len(words), [Shape.lower] * len(words))


WHOLE = [Window(0, 5)]


def states(document: Document, *, width: int = 3, flat: bool = True, certain: bool = True) -> States:
    return states_of(example_of(WHOLE), document, Knowledge(LABELS, width, flat, certain), Notes())


def span(first: int, end: int) -> tuple[int, int]:
    """The cell of words first..end-1."""
    return first, end - first - 1


def word_range(first: int, end: int) -> tuple[int, int]:
    return 2 * first, 2 * end - 1


def entity(first: int, end: int, label: str, source: str | None = None) -> Entity:
    return Entity(*word_range(first, end), label, source=source)


def state_by_the_book(document: Document, first: int, end: int, label: str, certain: bool) -> str:
    """entity, not or unknown, for one span and one type, in the words of the design."""
    start, stop = word_range(first, end)
    if any(e.key == (start, stop, label) for e in document.entities):
        return "entity"
    if any((r.start, r.end) == (start, stop) and r.label in (None, label) for r in document.rejected):
        return "not"
    overlaps = [e for e in document.entities if e.start < stop and start < e.end]
    if certain and any(e.source not in ("dictionary", "exploratory model") for e in overlaps):
        return "not"
    if document.is_complete(label):
        words = [(2 * i, 2 * i + 1) for i in range(first, end)]
        unknown = [any(a < e and s < b for a, b in document.unknown) for s, e in words]
        covered = [any(x.start < e and s < x.end for x in document.entities) for s, e in words]
        outside = any(not u and not c for u, c in zip(unknown, covered, strict=True))
        return "not" if outside or not any(unknown) else "unknown"
    return "unknown"


def guessed(document: Document, first: int, end: int) -> bool:
    """Whether an exploratory model alone annotated the span."""
    sources = {one.source for one in document.entities if (one.start, one.end) == word_range(first, end)}
    return sources == {"exploratory model"}


spans = st.tuples(st.integers(0, 4), st.integers(1, 3)).map(lambda x: (x[0], min(x[0] + x[1], 5)))
sources = st.sampled_from([None, "dictionary", "exploratory model", "a reviewer"])
entities = st.lists(
    st.tuples(spans, st.sampled_from(LABELS.types), sources).map(lambda x: entity(x[0][0], x[0][1], x[1], x[2])),
    max_size=2,
    unique_by=lambda e: (e.start, e.end),
)
rejected = st.lists(
    st.builds(lambda s, label: Rejected(*word_range(*s), label), spans, st.sampled_from([None, "PER", "LOC"])),
    max_size=2,
)
complete = st.sampled_from([False, True, frozenset({"PER"}), frozenset({"PER", "LOC"})])
unknown = st.sampled_from([(), ((0, 3),), ((2, 5), (8, 9))])


@settings(derandomize=True, deadline=None, max_examples=150)
@given(entities, rejected, complete, unknown, st.booleans())
def test_states_are_those_of_the_design(
    entities: list[Entity], rejected: list[Rejected], complete: Any, unknown: Any, certain: bool
) -> None:
    document = Document(TEXT, tuple(entities), complete=complete, rejected=tuple(rejected), unknown=unknown)
    found = states(document, certain=certain)
    for first in range(5):
        for end in range(first + 1, min(first + 3, 5) + 1):
            cell = span(first, end)
            by_type = {label: state_by_the_book(document, first, end, label, certain) for label in LABELS}
            if "entity" in by_type.values():
                wanted = [label for label, state in by_type.items() if state == "entity"]
                assert LABELS.types[int(found.labels[cell]) - 1] in wanted
                assert not found.unknown[cell]
                assert not found.negative[cell]
                continue
            assert found.labels[cell] == 0
            assert bool(found.negative[cell]) == (set(by_type.values()) == {"not"})
            assert bool(found.unknown[cell]) == (set(by_type.values()) == {"unknown"})
            if set(by_type.values()) == {"not", "unknown"}:
                assert found.possible is not None
                assert found.possible[cell].tolist() == [True, *(by_type[label] == "unknown" for label in LABELS)]


@pytest.mark.parametrize(("source", "state"), [(None, 1), ("dictionary", 1), ("exploratory model", 0)])
def test_who_guessed_one_type_has_not_looked_at_the_others(source: str | None, state: int) -> None:
    document = Document(TEXT, (entity(0, 2, "PER", source),))
    knowledge = Knowledge(LABELS, 3, flat=False, several=True)
    found = states_of(example_of(WHOLE), document, knowledge, Notes()).types
    assert found is not None
    assert dict(zip(LABELS, found[span(0, 2)].tolist(), strict=True)) == {"LOC": state, "PER": 2} | {
        label: state for label in LABELS if label not in ("LOC", "PER")
    }


CUTS = [WHOLE, [Window(0, 3), Window(2, 5)], [Window(0, 2), Window(1, 4), Window(3, 5)], [Window(0, 3), Window(3, 5)]]


def owner_by_the_book(windows: list[Window], first: int, end: int) -> int | None:
    """The window in which a span lies farthest from an edge that is none of the document's."""
    rooms = []
    for index, (a, b) in enumerate(windows):
        if a <= first and end <= b:
            rooms.append((-min(first - a if a else 99, b - end if b < 5 else 99), index))
    return min(rooms)[1] if rooms else None


@settings(derandomize=True, deadline=None, max_examples=150)
@given(
    entities, rejected, complete, unknown, st.booleans(), entities, st.sampled_from(CUTS), st.sampled_from([0, 2, 5])
)
def test_every_type_of_every_span_has_its_state_in_the_window_that_owns_it(
    entities: list[Entity],
    rejected: list[Rejected],
    complete: Any,
    unknown: Any,
    certain: bool,
    dropped: list[Entity],
    windows: list[Window],
    width: int,
) -> None:
    """Where a span can have several types, with and without a limit of width, and in windows."""
    document = Document(
        TEXT, tuple(entities), "1", None, complete, tuple(rejected), tuple(unknown), dropped=tuple(dropped)
    )
    knowledge = Knowledge(LABELS, width, True, certain, several=True)
    for index, (a, b) in enumerate(windows):
        found = states_of(example_of(windows, index), document, knowledge, Notes())
        widths = width or b - a
        assert found.types is not None
        assert (found.labels.shape, found.types.shape) == ((b - a, widths), (b - a, widths, 2))
        assert found.possible is None
        for first in range(a, b):
            for extra in range(widths):
                end, cell = first + extra + 1, (first - a, extra)
                mine = end <= b and owner_by_the_book(windows, first, end) == index
                was = mine and any((d.start, d.end) == word_range(first, end) for d in dropped)
                assert bool(found.dropped is not None and found.dropped[cell]) == was
                by_type = [state_by_the_book(document, first, end, label, certain) for label in LABELS]
                runs_on = any(other.first < b < other.end for other in windows)
                elsewhere = not mine and (end <= b or runs_on)
                assert bool(found.aside is not None and found.aside[cell]) == elsewhere
                if not mine:
                    assert found.types[cell].tolist() == [0, 0]
                    assert [int(grid[cell]) for grid in (found.labels, found.unknown, found.negative)] == [0, 0, 0]
                    continue
                if "entity" in by_type and not guessed(document, first, end):  # whoever annotated it has looked at it
                    by_type = [state if state == "entity" else "not" for state in by_type]
                expected = [{"entity": 2, "not": 1, "unknown": 0}[state] for state in by_type]
                assert found.types[cell].tolist() == expected
                assert (int(found.labels[cell]) > 0) == ("entity" in by_type)
                assert bool(found.negative[cell]) == (by_type == ["not", "not"])
                assert bool(found.unknown[cell]) == ("entity" not in by_type and "unknown" in by_type)


def test_both_types_of_a_span_are_trained_where_it_can_have_several() -> None:
    document = Document(TEXT, (entity(1, 3, "PER"), entity(1, 3, "LOC"), entity(0, 1, "PER")))
    notes = Notes()
    found = states_of(example_of(WHOLE), document, Knowledge(LABELS, 3, flat=False, several=True), notes)
    assert found.types is not None
    assert found.types[span(1, 3)].tolist() == [2, 2]
    assert found.types[span(0, 1)].tolist() == [1, 2]
    assert found.types[span(0, 2)].tolist() == [0, 0]
    assert notes.changes == {}


def test_spans_beyond_the_sentence_are_in_no_state() -> None:
    found = states(Document(TEXT, complete=True))
    for first in range(5):
        for width in range(3):
            assert bool(found.negative[first, width]) == (first + width < 5)


def test_a_bare_document_is_unknown_throughout() -> None:
    found = states(Document(TEXT))
    assert (int(found.unknown.sum()), int(found.negative.sum()), found.possible) == (12, 0, None)


def test_labels_of_a_dictionary_prove_nothing_about_what_overlaps_them() -> None:
    by_hand, by_dictionary = (states(Document(TEXT, (entity(1, 3, "PER", source),))) for source in (None, "dictionary"))
    assert by_hand.negative[span(1, 2)]
    assert by_dictionary.unknown[span(1, 2)]
    assert not states(Document(TEXT, (entity(1, 3, "PER"),)), flat=False).negative.any()


def test_not_per_but_perhaps_loc() -> None:
    found = states(Document(TEXT, complete=frozenset({"PER"})))
    assert found.possible is not None
    assert found.possible[span(0, 1)].tolist() == [True, True, False]  # O, LOC, not PER
    assert not found.unknown.any()


@pytest.mark.parametrize(
    ("bad", "what"),
    [
        ([Entity(0, 9, "PER")], "more than 3 words"),
        ([Entity(0, 2, "PER")], "inside a word"),
        ([Entity(0, 3, "PER"), Entity(0, 3, "LOC")], "range of another type"),
    ],
)
def test_what_cannot_be_trained_on_is_counted(bad: list[Entity], what: str) -> None:
    notes = Notes()
    document = Document(TEXT, tuple(bad))
    states_of(example_of(WHOLE), document, Knowledge(LABELS, 3, flat=True), notes)
    (change,) = notes.changes
    assert what in change


@pytest.mark.parametrize(
    ("rejected", "what"), [(Rejected(0, 9), "rejected span of more than 3 words"), (Rejected(0, 2), "inside a word")]
)
def test_a_rejected_span_that_says_nothing_is_counted(rejected: Rejected, what: str) -> None:
    notes = Notes()
    document = Document(TEXT, rejected=(rejected, Rejected(0, 1)))
    states_of(example_of(WHOLE), document, Knowledge(LABELS, 3, flat=True), notes)
    (change,) = notes.changes
    assert what in change


def test_what_cannot_be_trained_on_is_counted_once_for_all_windows() -> None:
    windows, notes = [Window(0, 3), Window(2, 5)], Notes()
    document = Document(TEXT, (entity(1, 4, "PER"), entity(0, 3, "PER"), entity(2, 5, "PER")))
    found = [states_of(example_of(windows, i), document, Knowledge(LABELS, 3, flat=False), notes) for i in (0, 1)]
    assert {what: tally.count for what, tally in notes.changes.items()} == {
        "entity that no window of the encoder holds whole (not trained on)": 1
    }
    assert [int((item.labels > 0).sum()) for item in found] == [1, 1]


def test_stacking_pads_with_cells_in_no_state() -> None:
    short = Document("a b", complete=True)
    words = ((0, 1), (2, 3))
    small = states_of(
        Example(1, [Window(0, 2)], 0, words, [[1], [1]], [Shape.lower] * 2), short, Knowledge(LABELS, 3, True), Notes()
    )
    both = stack([states(Document(TEXT, complete=frozenset({"PER"}))), small])
    assert both.labels.shape == (2, 15)
    assert not (both.unknown | both.negative)[1, 6:].any()
    assert both.possible is not None
    assert not both.possible[1].any()
    assert int(both.negative[1].sum()) == 3
    assert torch.equal(both.unknown[0], states(Document(TEXT, complete=frozenset({"PER"}))).unknown.flatten())
