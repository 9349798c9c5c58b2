"""The bundled corpus is prose with the properties that the demo needs."""

from __future__ import annotations

import re
from collections import Counter, defaultdict

import pytest

from goldgap import Corpus, Dictionary, Document
from goldgap.corpus.inspect import inspect
from goldgap.demo import DEV, DICTIONARY, TEST, TRAIN
from goldgap.evaluate.scores import evaluate


@pytest.fixture(scope="module")
def splits() -> dict[str, Corpus]:
    return {"train": Corpus.read(TRAIN), "dev": Corpus.read(DEV), "test": Corpus.read(TEST)}


@pytest.fixture(scope="module")
def documents(splits: dict[str, Corpus]) -> list[Document]:
    return [document for corpus in splits.values() for document in corpus]


def surfaces(corpus: Corpus) -> list[str]:
    return [document.surface(entity) for document in corpus for entity in document.entities]


def skeleton(document: Document) -> str:
    text = document.text
    for entity in sorted(document.entities, key=lambda entity: -entity.start):
        text = text[: entity.start] + entity.label + text[entity.end :]
    return text


def test_size_types_and_density(documents: list[Document]) -> None:
    entities = Counter(entity.label for document in documents for entity in document.entities)
    assert len(documents) >= 600
    assert set(entities) == {"PER", "ORG", "LOC", "PRODUCT"}
    assert 1.5 <= entities.total() / len(documents) <= 2.5
    assert sum(not document.entities for document in documents) >= 0.15 * len(documents)
    assert {document.id.split("-")[0] for document in documents} == {"news", "encyclopaedia", "science"}


def test_it_is_prose_and_not_a_template(documents: list[Document]) -> None:
    assert max(Counter(map(skeleton, documents)).values()) == 1
    openings = Counter(" ".join(document.text.lower().split()[:5]) for document in documents)
    assert sum(count for count in openings.values() if count > 1) <= 0.03 * len(documents)


def test_half_of_the_test_surfaces_do_not_occur_in_train(splits: dict[str, Corpus]) -> None:
    known, wanted = set(surfaces(splits["train"])), surfaces(splits["test"])
    assert sum(surface not in known for surface in wanted) >= len(wanted) / 2
    assert len(set(wanted) - known) >= len(set(wanted)) / 2


def test_dictionary_covers_two_fifths_of_the_training_mentions_and_is_sometimes_wrong(
    splits: dict[str, Corpus],
) -> None:
    gold = splits["train"]
    score = evaluate(gold, Dictionary.read(DICTIONARY).annotate(gold), samples=0).strict.micro
    assert 0.35 <= score.recall <= 0.45
    assert 0.7 <= score.precision <= 0.95


def test_ambiguous_cases_are_there(documents: list[Document]) -> None:
    types: dict[str, set[str]] = defaultdict(set)
    for document in documents:
        for entity in document.entities:
            types[document.surface(entity)].add(entity.label)
    assert sum({"LOC", "ORG"} <= found for found in types.values()) >= 3, "a city that is also a club"
    words = {word for document in documents for word in re.findall(r"\b[a-z]+\b", document.text)}
    names = {name.split()[-1] for name, found in types.items() if "PER" in found}
    assert sum(name.lower() in words for name in names) >= 10, "a surname that is a common word"
    assert any(name[0].islower() for name, found in types.items() if "PRODUCT" in found)
    assert any("'s" in name or "’s" in name for name in types), "a name with 's"
    assert sum("-" in name for name in types) >= 10
    assert sum(name.isupper() and len(name) > 1 for name in types) >= 10, "abbreviations"
    per_surface = Counter(entry.surface for entry in {e._replace(case=None) for e in Dictionary.read(DICTIONARY)})
    assert sum(count > 1 for count in per_surface.values()) >= 5, "dictionary entries of several types"


def test_every_entity_stands_on_word_boundaries_and_no_sentence_repeats(splits: dict[str, Corpus]) -> None:
    check = inspect(splits["train"], [("dev", splits["dev"]), ("test", splits["test"])])
    mixed = {"surfaces of several types"}  # Amazon is a river, and a firm
    assert {finding.what for finding in check.findings} == mixed
    assert {finding.what for finding in inspect(splits["test"], [("dev", splits["dev"])]).findings} <= mixed
