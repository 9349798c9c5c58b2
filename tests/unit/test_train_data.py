"""What a run trains on: the split, the plan of its steps, the states it prepares."""

from __future__ import annotations

from itertools import combinations, pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from goldgap import Corpus, Document, Entity, Rejected
from goldgap.core.errors import ConfigError, InputError
from goldgap.core.notes import Notes
from goldgap.train.build import build
from goldgap.train.checkpoint import same_run
from goldgap.train.compose import recipe_for
from goldgap.train.data import is_flat, prepare
from goldgap.train.plan import Plan
from goldgap.train.recipe import Recipe
from goldgap.train.resolve import resolved
from goldgap.train.split import Split, facts_of, fingerprint, hold_out, split
from goldgap.unknown.uniform import Uniform

SOME = Document("Ann met Bob", (Entity(0, 3, "PER"),))
NONE = Document("it rained")


def documents(flags: list[bool]) -> Corpus:
    return Corpus([SOME if has_entity else NONE for has_entity in flags])


def recipe(**train: Any) -> Recipe:
    return recipe_for("uniform", {"train": train})


# Held out


@settings(derandomize=True, deadline=None)
@given(st.lists(st.booleans(), min_size=2, max_size=60).filter(lambda flags: sum(flags) >= 2), st.integers(0, 5))
def test_a_tenth_is_held_out_and_both_sides_keep_an_entity(flags: list[bool], seed: int) -> None:
    corpus = documents(flags)
    train, dev = hold_out(corpus, seed)
    wanted = max(1, len(flags) // 10)
    assert wanted - 1 <= len(dev) <= wanted
    assert train.entity_count > 0
    assert dev.entity_count > 0
    names = [document.id for document in corpus]
    for side in (train, dev):
        assert [names.index(document.id) for document in side] == sorted(names.index(d.id) for d in side)
    assert sorted(names) == sorted(d.id for side in (train, dev) for d in side)


def test_training_keeps_an_entity_whatever_the_seed_holds_out() -> None:
    corpus = documents([True, True] + [False] * 38)  # one seed in a hundred would hold out both
    assert {hold_out(corpus, seed)[0].entity_count for seed in range(500)} == {1}


def test_what_is_held_out_follows_from_the_seed() -> None:
    corpus = documents([True] * 100)
    chosen = [[document.id for document in hold_out(corpus, seed)[1]] for seed in (1, 1, 2)]
    assert chosen[0] == chosen[1] != chosen[2]
    assert len(chosen[0]) == 10


def test_one_document_with_an_entity_cannot_be_on_both_sides() -> None:
    with pytest.raises(InputError, match=r"only one training document has an entity.*--dev.*select_on=none"):
        hold_out(documents([True, False, False]), 0)


# Split


def test_a_given_dev_set_is_clean_and_training_keeps_every_document() -> None:
    corpus, dev = documents([True] * 20), documents([True])
    parts = split(recipe(), corpus, dev, Notes())
    assert (parts.train, parts.dev, parts.select_on) == (corpus, dev, "clean dev")


def test_without_a_dev_set_the_selection_is_on_a_distant_one() -> None:
    parts = split(recipe(), documents([True] * 20), None, Notes())
    assert (len(parts.train), parts.select_on) == (18, "distant dev")
    assert parts.dev is not None
    assert len(parts.dev) == 2


@pytest.mark.parametrize("given_dev", [False, True])
def test_without_selection_nothing_is_held_out(given_dev: bool) -> None:
    corpus, dev = documents([True] * 20), documents([True]) if given_dev else None
    parts = split(recipe_for("uniform", {"select_on": "none"}), corpus, dev, Notes())
    assert (parts.train, parts.dev, parts.select_on) == (corpus, dev, "none")


def test_a_dev_set_that_is_called_distant_is_used_and_recorded_as_such() -> None:
    dev = documents([True])
    parts = split(recipe_for("uniform", {"select_on": "distant dev"}), documents([True]), dev, Notes())
    assert (parts.dev, parts.select_on) == (dev, "distant dev")


def test_selection_on_a_dev_set_that_is_not_there_is_refused() -> None:
    with pytest.raises(InputError, match="no dev set is given: name one with --dev"):
        split(recipe_for("uniform", {"select_on": "clean dev"}), documents([True] * 20), None, Notes())


@pytest.mark.parametrize("dropped", [(), (Entity(0, 3, "PER"),)])
def test_a_corpus_without_any_entity_is_refused(dropped: tuple[Entity, ...]) -> None:
    with pytest.raises(InputError, match="no entity in the training files"):
        split(recipe(), Corpus([SOME.replace(entities=(), dropped=dropped)] * 3), None, Notes())


def test_types_of_the_dev_set_that_training_lacks_are_noted_with_their_counts() -> None:
    notes = Notes()
    odd = Document("a b c", (Entity(0, 1, "X"), Entity(2, 3, "X"), Entity(4, 5, "PER")))
    split(recipe(), documents([True] * 3), Corpus([odd, odd, Document("a", (Entity(0, 1, "Y"),))]), notes)
    assert {what.split()[5]: tally.count for what, tally in notes.changes.items()} == {"X,": 4, "Y,": 1}
    assert all("can never be found" in what for what in notes.changes)


def test_a_dev_set_without_any_type_that_is_trained_on_is_refused() -> None:
    other = Corpus([Document("a b c", (Entity(0, 1, "X"), Entity(2, 3, "per")))])
    with pytest.raises(InputError, match="none of the training types PER, but X, per: nothing can be chosen by it"):
        split(recipe(), documents([True] * 3), other, Notes())
    assert split(recipe_for("uniform", {"select_on": "none"}), documents([True] * 3), other, Notes()).dev is other


def test_types_that_only_a_statement_of_completeness_names_are_known() -> None:
    notes = Notes()
    train = Corpus([SOME.replace(complete=frozenset({"X"}))])
    split(recipe(), train, Corpus([Document("a", (Entity(0, 1, "X"),))]), notes)
    assert notes.changes == {}


# Facts


def test_facts_have_counts_and_hashes_of_both_sides() -> None:
    facts = facts_of(split(recipe(), documents([True] * 20), documents([True, False]), Notes()))
    assert {name: value for name, value in facts.items() if "sha256" not in name} == {
        "training documents": "20",
        "training entities": "20",
        "dev documents": "2",
        "dev entities": "1",
    }
    assert sum("sha256" in name and len(value) == 64 for name, value in facts.items()) == 2


@pytest.mark.parametrize(
    "change",
    [
        {"text": "Ann met Bo"},
        {"id": "other"},
        {"complete": True},
        {"entities": (Entity(0, 3, "LOC"),)},
        {"entities": (Entity(0, 3, "PER", source="dictionary"),)},
        {"rejected": (Rejected(4, 7),)},
        {"tokens": ((0, 3), (4, 11))},
        {"dropped": (Entity(8, 11, "PER"),)},
    ],
    ids=lambda change: next(iter(change)),
)
def test_the_hash_of_documents_sees_every_part_of_them(change: dict[str, Any]) -> None:
    before = fingerprint([SOME.replace(id="1")])
    assert fingerprint([SOME.replace(id="1")]) == before
    assert fingerprint([SOME.replace(id="1").replace(**change)]) != before


@settings(derandomize=True, deadline=None, max_examples=200)
@given(st.lists(st.tuples(st.integers(0, 8), st.integers(1, 5), st.sampled_from("AB")), max_size=4))
def test_a_corpus_is_flat_when_no_two_entities_share_a_character(items: list[tuple[int, int, str]]) -> None:
    entities = tuple(Entity(start, start + length, label) for start, length, label in items)
    different = set(entities)  # one that stands twice overlaps nothing
    overlap = any(a.start < b.end and b.start < a.end for a, b in combinations(different, 2))
    assert is_flat(Corpus([Document("x" * 20, entities)])) is not overlap


# The plan

plans = st.builds(
    lambda lengths, size, accumulate, evaluations, order: (
        Plan(recipe(epochs=3, batch_size=size, accumulate=accumulate, evaluations=evaluations, order=order), lengths),
        lengths,
        evaluations,
    ),
    st.lists(st.integers(1, 60), min_size=1, max_size=30),
    st.integers(1, 5),
    st.integers(1, 4),
    st.integers(1, 4),
    st.sampled_from(["shuffled", "file"]),
)


@settings(derandomize=True, deadline=None)
@given(plans)
def test_every_example_is_seen_once_an_epoch(made: tuple[Plan, list[int], int]) -> None:
    plan, lengths, _ = made
    seen: dict[int, list[int]] = {0: [], 1: [], 2: []}
    for step in range(plan.steps):
        progress = plan.progress(step)
        assert (progress.step, progress.planned_steps, progress.planned_epochs) == (step, plan.steps, 3)
        seen[progress.epoch] += [index for batch in plan.batches(step) for index in batch]
    for indices in seen.values():
        assert sorted(indices) == list(range(len(lengths)))


@settings(derandomize=True, deadline=None)
@given(plans)
def test_the_dev_set_is_scored_after_equal_parts_of_each_epoch_and_at_its_end(
    made: tuple[Plan, list[int], int],
) -> None:
    plan, _, evaluations = made
    epochs = [plan.progress(step).epoch for step in range(plan.steps)]
    assert not plan.evaluates_after(0)
    for epoch in range(3):
        size = epochs.count(epoch)
        begun = epochs.index(epoch)
        due = [step - begun for step in range(begun + 1, begun + size + 1) if plan.evaluates_after(step)]
        assert due[-1] == size
        assert len(due) == min(evaluations, size)
        gaps = [after - before for before, after in pairwise([0, *due])]
        assert max(gaps) - min(gaps) <= 1
        assert plan.epochs_done(begun + size) == epoch + 1
        assert plan.epochs_done(begun) == epoch


def test_batches_are_put_together_into_steps() -> None:
    made = Plan(recipe(epochs=2, batch_size=2, accumulate=3, order="file"), [5] * 9)
    assert made.steps == 4
    assert [made.batches(step) for step in range(2)] == [[[0, 1], [2, 3], [4, 5]], [[6, 7], [8]]]


def test_the_order_of_the_file_is_that_of_every_epoch_and_shuffling_is_not() -> None:
    lengths = [(7 * i) % 30 + 1 for i in range(50)]

    def orders(order: str) -> list[list[int]]:
        plan = Plan(recipe(epochs=2, batch_size=4, order=order), lengths)
        half = plan.steps // 2
        return [
            [i for step in range(a, b) for batch in plan.batches(step) for i in batch]
            for a, b in ((0, half), (half, plan.steps))
        ]

    assert orders("file") == [list(range(50))] * 2
    first, second = orders("shuffled")
    assert first != second
    assert list(range(50)) not in (first, second)


def test_a_corpus_without_words_has_a_plan_of_no_step() -> None:
    plan = Plan(recipe(epochs=2), [])
    assert plan.steps == 0
    assert not plan.evaluates_after(0)


# States of a corpus


def test_states_are_prepared_for_every_window_and_losses_are_noted_once(tiny_encoder: Path) -> None:
    long = " ".join(["Ann met Bob"] * 30)
    entities = [Entity(12 * i, 12 * i + 3, "PER") for i in range(30)]
    corpus = Corpus(
        [
            Document(long, (*entities, Entity(0, 47, "PER"), Entity(1, 3, "PER"))),
            SOME,
            Document(""),
            Document("Ann met Bob", (Entity(0, 3, "LOC"), Entity(0, 3, "PER"))),
        ]
    )
    chosen = recipe_for("uniform", {"encoder": {"name": str(tiny_encoder)}, "model": {"max_width": 4}})
    notes = Notes()
    data = prepare(build(chosen, corpus), corpus, chosen, notes)
    assert data.names == ["1", "2", "3", "4"]
    assert [example.document for example in data.examples] == [0, 0, 1, 3]
    assert len(data.states) == 4
    assert sum(int((item.labels > 0).sum()) for item in data.states) == 32
    assert {what: tally.count for what, tally in notes.changes.items()} == {
        "entity of more than 4 words (not trained on)": 1,
        "entity that begins or ends inside a word (not trained on)": 1,
        "entity with the range of another type (one is trained on; see model.several)": 1,
    }


def test_a_corpus_of_which_no_entity_can_be_trained_on_is_refused(tiny_encoder: Path) -> None:
    corpus = Corpus([Document("Ann met Bob", (Entity(1, 3, "PER"),)), Document("  ", (Entity(0, 1, "PER"),))])
    chosen = recipe_for("uniform", {"encoder": {"name": str(tiny_encoder)}})
    with pytest.raises(InputError, match=r"none of the 2 entities.*1 x entity that begins or ends inside a word"):
        prepare(build(chosen, corpus), corpus, chosen, Notes())


def test_an_entity_without_words_is_noted(tiny_encoder: Path) -> None:
    corpus = Corpus([SOME, Document("Ann was here", (Entity(0, 3, "PER"),), tokens=())])
    chosen, notes = recipe_for("uniform", {"encoder": {"name": str(tiny_encoder)}}), Notes()
    prepare(build(chosen, corpus), corpus, chosen, notes)
    assert notes.lines() == ["1 x entity in a document without words (not trained on) (2)"]


@pytest.mark.parametrize("several", [False, True])
def test_a_type_that_a_bi_encoder_would_not_tell_is_noted(several: bool, tiny_encoder: Path) -> None:
    corpus = Corpus([Document("Ann met Bob", (Entity(0, 3, "LOC"), Entity(0, 3, "PER"), Entity(8, 11, "PER")))])
    own = {"encoder": {"name": str(tiny_encoder)}, "model": {"several": several}}
    chosen, notes = resolved(recipe_for("binder", own), Split(corpus, None, "none")), Notes()
    prepare(build(chosen, corpus), corpus, chosen, notes)
    what = "1 x entity with the range of another type (learned; only the likelier is told, see model.several) (1)"
    assert notes.lines() == ([] if several else [what])


def test_an_entity_that_is_rejected_as_well_is_noted(tiny_encoder: Path) -> None:
    corpus = Corpus([SOME.replace(rejected=(Rejected(0, 3),)), SOME.replace(rejected=(Rejected(8, 11),))])
    for method in ("uniform", "softmax"):
        chosen, notes = recipe_for(method, {"encoder": {"name": str(tiny_encoder)}}), Notes()
        prepare(build(chosen, corpus), corpus, chosen, notes)
        tally = notes.changes["entity whose span is rejected as well (trained on as an entity)"]
        assert (tally.count, tally.examples) == (1, ["1"])


def test_an_entity_that_no_window_holds_is_noted(tiny_encoder: Path) -> None:
    wide = " ".join(["Ann"] * 100)  # 62 of them fit into a window
    corpus = Corpus([Document(wide, (Entity(0, 399, "PER"), Entity(0, 199, "PER")))])
    chosen = recipe_for("uniform", {"encoder": {"name": str(tiny_encoder)}, "model": {"head": "pair", "max_width": 0}})
    notes = Notes()
    data = prepare(build(chosen, corpus), corpus, chosen, notes)
    assert sum(int((item.labels > 0).sum()) for item in data.states) == 1
    (what,) = notes.changes
    assert "no window of the encoder holds whole" in what


@pytest.mark.parametrize(
    ("ranges", "several", "how"),
    [([(0, 3)], False, "greedy"), ([(0, 3), (0, 7)], False, "none"), ([(0, 3)], True, "none")],
    ids=["flat", "nested", "several types"],
)
def test_decoding_follows_from_the_corpus_unless_it_is_named(
    ranges: list[tuple[int, int]], several: bool, how: str
) -> None:
    corpus = Corpus([Document("Ann Lee", tuple(Entity(*span, "PER") for span in ranges))])
    parts = Split(corpus, None, "none")
    recipe = recipe_for("uniform", {"model": {"several": several}})
    assert resolved(recipe, parts).decode.how == how
    assert resolved(recipe_for("uniform", {"decode": {"how": "dp"}}), parts).decode.how == "dp"


@pytest.mark.parametrize(
    ("document", "certain", "ratio"),
    [
        (SOME, True, 0.2),  # what overlaps Ann is not an entity
        (SOME, False, 1.5),
        (SOME.replace(entities=(Entity(0, 3, "PER", source="dictionary"),)), True, 1.5),
        (SOME.replace(entities=(Entity(0, 7, "PER"), Entity(0, 3, "PER"))), True, 1.5),  # nested: nothing follows
        (SOME.replace(entities=(Entity(0, 3, "PER", source="dictionary"),), complete=True), True, 0.2),
        (SOME.replace(entities=(Entity(0, 3, "PER", source="dictionary"),), rejected=(Rejected(8, 11),)), True, 0.2),
        (SOME.replace(complete=frozenset({"PER"})), False, 0.2),
    ],
    ids=["people", "not counted", "dictionary", "nested", "complete", "rejected", "complete for a type"],
)
def test_few_are_drawn_beside_known_negatives_and_many_without(document: Document, certain: bool, ratio: float) -> None:
    parts = Split(Corpus([document, NONE]), None, "none")
    made = resolved(recipe(certain_negatives=certain), parts)
    assert made.policy.settings == {"ratio": ratio}
    assert made.make_policy() == Uniform(ratio=ratio)
    given = recipe_for("uniform", {"policy": {"settings": {"ratio": 0.7}}})
    assert resolved(given, parts).policy.settings == {"ratio": 0.7}


@pytest.mark.parametrize(("seen", "ratio"), [(0, 1.5), (1, 1.5), (2, 0.2)])
def test_the_first_of_many_documents_that_a_reviewer_has_seen_leaves_the_draws_as_they_are(
    seen: int, ratio: float
) -> None:
    by_dictionary = SOME.replace(entities=(Entity(0, 3, "PER", source="dictionary"),))
    reviewed = by_dictionary.replace(rejected=(Rejected(8, 11),))
    parts = Split(Corpus([reviewed] * seen + [by_dictionary] * (20 - seen) + [NONE] * 50), None, "none")
    assert resolved(recipe(), parts).policy.settings == {"ratio": ratio}


@pytest.mark.parametrize(
    ("dev", "select_on", "message"),
    [
        (None, "none", "no dev set"),
        (Corpus([SOME]), "none", "select_on = none: leave one of the two out"),
        (Corpus([SOME]), "clean dev", "no dev document has the types ORG: they could never be found"),
    ],
)
def test_thresholds_are_chosen_by_a_dev_set_that_has_every_type(dev: Any, select_on: Any, message: str) -> None:
    asked = recipe_for("binder", {"bi_encoder": {"thresholds": "dev"}})
    both = Corpus([SOME, Document("Acme", (Entity(0, 4, "ORG"),))])
    with pytest.raises(InputError, match=message):
        resolved(asked, Split(both, dev, select_on))


def test_a_tagger_draws_some_of_its_words_not_all() -> None:
    tagger = recipe_for("crf", {"policy": {"name": "uniform", "settings": {"ratio": "auto"}}})
    for document, ratio in ((SOME, 0.5), (SOME.replace(complete=True), 0.2)):
        assert resolved(tagger, Split(Corpus([document, NONE]), None, "none")).policy.settings == {"ratio": ratio}


def test_only_the_number_of_draws_can_be_left_to_the_data() -> None:
    for name, setting in (("top-neg", "ratio"), ("weighted", "mu")):
        with pytest.raises(ConfigError, match=setting):
            recipe_for("uniform", {"policy": {"name": name, "settings": {setting: "auto"}}}).make_policy()


@pytest.mark.parametrize(("theirs", "mine"), [({"a": 1, "b": 2}, {"a": 1}), ({"a": 1}, {"a": 1, "b": 2})])
def test_a_setting_that_only_one_of_two_runs_has_tells_them_apart(theirs: dict[str, int], mine: dict[str, int]) -> None:
    same_run({"a": 1}, {"a": 1}, Path("there"))
    with pytest.raises(ConfigError, match=r"b is .* there and .* here"):
        same_run(theirs, mine, Path("there"))
