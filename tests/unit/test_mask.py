"""Masking: how much falls, what falls together, and that chance is only the seed's."""

from __future__ import annotations

import random
from typing import Any

import pytest

from goldgap import Corpus, Document, Entity
from goldgap.core.errors import InputError
from goldgap.demo import TRAIN
from goldgap.distant.mask import mask


@pytest.fixture(scope="module")
def gold() -> Corpus:
    return Corpus.read(TRAIN)


def kept(corpus: Corpus) -> set[tuple[Any, ...]]:
    return {(document.id, *entity.key) for document in corpus for entity in document.entities}


def test_bernoulli_drops_about_the_share_and_exact_drops_exactly_it(gold: Corpus) -> None:
    total = gold.entity_count
    counts = [mask(gold, 0.7, seed=seed).entity_count for seed in range(20)]
    assert abs(sum(counts) / 20 / total - 0.3) < 0.02
    assert len(set(counts)) > 1
    assert mask(gold, 0.7, mode="exact").entity_count == total - round(0.7 * total)


@pytest.mark.parametrize(("drop", "left"), [(0.0, 1.0), (1.0, 0.0)])
def test_nothing_and_everything_can_be_dropped(gold: Corpus, drop: float, left: float) -> None:
    for mode in ("bernoulli", "exact"):
        assert mask(gold, drop, mode=mode).entity_count == left * gold.entity_count


def test_entities_are_moved_and_never_lost(gold: Corpus) -> None:
    for before, after in zip(gold, mask(gold, 0.5), strict=True):
        assert sorted(e.key for e in after.entities + after.dropped) == sorted(e.key for e in before.entities)
        assert (after.complete, after.text, after.id) == (False, before.text, before.id)


def test_all_mentions_of_a_surface_fall_together(gold: Corpus) -> None:
    masked = mask(gold, 0.5, by="surface")
    left = {(entity.label, document.surface(entity)) for document in masked for entity in document.entities}
    gone = {(entity.label, document.surface(entity)) for document in masked for entity in document.dropped}
    assert left
    assert gone
    assert not left & gone


def test_all_entities_of_a_type_fall_together(gold: Corpus) -> None:
    assert len(mask(gold, 0.5, by="type", mode="exact").map(lambda d: d.replace(dropped=())).labels) == 2


def test_the_draw_depends_on_the_seed_and_not_on_the_order(gold: Corpus) -> None:
    shuffled = Corpus(random.Random(0).sample(gold.documents, len(gold)))
    assert kept(mask(gold, 0.5, seed=3)) == kept(mask(shuffled, 0.5, seed=3))
    assert kept(mask(gold, 0.5, seed=3)) != kept(mask(gold, 0.5, seed=4))


def test_a_second_mask_keeps_what_the_first_one_dropped() -> None:
    corpus = Corpus([Document("a b", (Entity(0, 1, "X"), Entity(2, 3, "Y")), id="1")])
    twice = mask(mask(corpus, 1.0, by="type"), 1.0)
    assert {entity.label for entity in twice[0].dropped} == {"X", "Y"}


@pytest.mark.parametrize("drop", [-0.1, 1.5, 70, float("nan")])
def test_a_share_outside_0_to_1_is_refused(gold: Corpus, drop: float) -> None:
    with pytest.raises(InputError, match=r"for 70 % write 0\.7"):
        mask(gold, drop)


def test_documents_without_ids_are_told_apart() -> None:
    corpus = Corpus(Document("a", (Entity(0, 1, "X"),)) for _ in range(10))
    assert mask(corpus, 0.3, mode="exact").entity_count == 7


def test_documents_of_one_id_are_refused() -> None:
    twice = Corpus([Document("Ann", (Entity(0, 3, "PER"),), id="1")] * 2)
    with pytest.raises(InputError, match="the id '1' belongs to several documents; give each document its own"):
        mask(twice, 0.5)


def test_a_document_made_of_lists_can_be_masked() -> None:
    lists: Any = {"entities": [Entity(0, 3, "PER")], "dropped": [Entity(8, 11, "PER")]}
    (masked,) = mask(Corpus([Document("Ann met Bob", **lists)]), 1.0)
    assert {masked.surface(entity) for entity in masked.dropped} == {"Ann", "Bob"}
