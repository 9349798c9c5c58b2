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


def example_of(document: Document, window: Window | None = None) -> Example:
    words = tuple((2 * i, 2 * i + 1) for i in range(5))
    cut = window or Window(0, 5)
    return Example(0, [cut], 0, words[cut.first : cut.end], [[1]] * (cut.end - cut.first), [Shape.lower] * 5)


def states(document: Document, *, width: int = 3, flat: bool = True, certain: bool = True) -> States:
    return states_of(example_of(document), document, Knowledge(LABELS, width, flat, certain), Notes())


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
    if certain and any(e.source != "dictionary" for e in overlaps):
        return "not"
    if document.is_complete(label):
        words = [(2 * i, 2 * i + 1) for i in range(first, end)]
        unknown = [any(a < e and s < b for a, b in document.unknown) for s, e in words]
        covered = [any(x.start < e and s < x.end for x in document.entities) for s, e in words]
        outside = any(not u and not c for u, c in zip(unknown, covered, strict=True))
        return "not" if outside or not any(unknown) else "unknown"
    return "unknown"


spans = st.tuples(st.integers(0, 4), st.integers(1, 3)).map(lambda x: (x[0], min(x[0] + x[1], 5)))
sources = st.sampled_from([None, "dictionary"])
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


@settings(derandomize=True, deadline=None, max_examples=400)
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
    ("bad", "what"), [(Entity(0, 9, "PER"), "more than 3 words"), (Entity(0, 2, "PER"), "inside a word")]
)
def test_what_cannot_be_trained_on_is_counted(bad: Entity, what: str) -> None:
    notes = Notes()
    document = Document(TEXT, (bad,))
    states_of(example_of(document), document, Knowledge(LABELS, 3, flat=True), notes)
    (change,) = notes.changes
    assert what in change


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
