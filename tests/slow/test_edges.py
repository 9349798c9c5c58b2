"""Documents at the edges of what there is: they train, predict, save and load like any other."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from goldgap import Corpus, Document, Entity, Recognizer, Rejected
from goldgap.corpus.words import words_of
from goldgap.evaluate.scores import evaluate
from goldgap.train.compose import recipe_for
from tests.slow.test_training import corpus, settings

pytestmark = pytest.mark.slow


def marked(text: str, *names: tuple[str, str], **more: Any) -> Document:
    """A text in which these surfaces are entities where they first stand."""
    return Document(
        text, tuple(Entity(text.index(name), text.index(name) + len(name), label) for name, label in names), **more
    )


ANN = marked("Ann lives in Paris .", ("Ann", "PER"), ("Paris", "LOC"))
EDGES: dict[str, list[Document]] = {
    "mostly without entities": [ANN, *[Document("it was at the works")] * 5],
    "one type": [marked("Ann met Bob", ("Ann", "PER")), marked("Bob met Ann", ("Bob", "PER"))],
    "empty documents": [ANN, Document(""), Document("  \n\t"), Document("a b", tokens=())],
    "a very long word": [ANN, marked("Ann met " + "x" * 10_000 + " in Oslo", ("Oslo", "LOC"))],
    "a very long word as entity": [ANN, marked("y" * 10_000, ("y" * 10_000, "ORG"))],
    "emoji": [ANN, marked("👩‍👩‍👧 met 🇳🇴 in 東京都", ("👩‍👩‍👧", "PER"), ("東京", "LOC"))],
    "scripts": [
        marked("王小明住在北京。", ("王小明", "PER"), ("北京", "LOC")),
        marked("Ἀθῆναι и Москва", ("Москва", "LOC")),
    ],
    "no piece of the vocabulary": [ANN, marked("\u200b \x7f Ann", ("\u200b", "PER"))],
    "not PER, LOC unknown": [
        ANN.replace(complete=frozenset({"PER"})),
        marked("Bob works at Acme", ("Acme", "ORG"), rejected=(Rejected(0, 3, "LOC"), Rejected(4, 9))),
    ],
    "one word": [marked("Ann", ("Ann", "PER")), Document("Bob"), marked("Oslo", ("Oslo", "LOC"), complete=True)],
    "all complete": [document.replace(id="") for document in corpus()],
    "all known to be none": [marked("Ann", ("Ann", "PER"), complete=True), Document("to the", complete=True)],
    "unknown stretches": [
        ANN.replace(complete=True, unknown=((0, 9),)),
        Document("a b", complete=True, unknown=((0, 3),)),
    ],
    "nested": [marked("the works of Bob Lee", ("Bob Lee", "PER"), ("works of Bob Lee", "ORG"), ("Bob", "PER"))],
    "two types of a span": [marked("Paris met Ann", ("Paris", "PER"), ("Paris", "LOC"))],
    "wider than the model": [ANN, marked("Ann Bob Ann Bob Ann Bob", ("Ann Bob Ann Bob Ann Bob", "ORG"))],
    "inside words": [ANN, marked("Annapolis", ("Anna", "PER"))],
    "many windows": [marked("Ann met Bob in Oslo and " * 40, ("Ann", "PER"), ("Oslo and Ann", "LOC"))],
    "masked": [ANN.replace(entities=ANN.entities[:1], dropped=ANN.entities[1:])],
    "labels of any kind": [marked("Ann met Bob", ("Ann", "a b/ü"), ("Bob", "O")), marked("Ann", ("Ann", "B-PER"))],
}  # fmt: skip
KINDS: dict[str, dict[str, Any]] = {
    "concat": {"model": {"head": "concat"}},
    "several types": {"model": {"several": True}, "decode": {"how": "none"}},
    "any width": {"model": {"head": "pair", "max_width": 0}, "decode": {"how": "dp"}},
    "bilstm": {"encoder": {"name": "bilstm"}},
    "crf": {"model": {"kind": "tagger"}, "loss": {"name": "crf"}},
    "softmax, two steps": {
        "model": {"kind": "tagger"},
        "tagger": {"scheme": "bio", "angle": True},
        "two_step": {"explore": 1, "share": 0.3, "none": 0.3},
    },
    "default": {"method": "default"},
}


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
@pytest.mark.parametrize("documents", EDGES.values(), ids=EDGES)
def test_odd_documents_train_predict_save_and_load(
    documents: list[Document], kind: dict[str, Any], tiny_encoder: Path, tmp_path: Path
) -> None:
    data = Corpus(documents)
    options, own = settings(tiny_encoder, epochs=2, batch_size=2), {**kind}
    method = own.pop("method", "uniform")
    chosen: dict[str, Any] = {name: {**options.get(name, {}), **own.get(name, {})} for name in {**options, **own}}
    model = Recognizer.train(data, data, recipe=recipe_for(method, chosen))
    assert all(math.isfinite(entry["loss"]) for entry in model.metrics)
    found = list(model.predict(data))
    assert [document.text for document in found] == [document.text for document in data]
    for document in found:
        starts, ends = {start for start, _ in words_of(document)}, {end for _, end in words_of(document)}
        assert all(e.start in starts and e.end in ends and e.label in model.labels for e in document.entities)
    model.suspects(data)
    model.save(tmp_path / "model")
    assert list(Recognizer.load(tmp_path / "model").predict(data)) == found


@pytest.mark.parametrize("several", [False, True])
def test_nested_entities_are_learned_where_overlaps_are_kept(several: bool, tiny_encoder: Path) -> None:
    nested = Corpus(
        [
            marked("the works of Bob Lee", ("works of Bob Lee", "ORG"), ("Bob Lee", "PER"), ("Lee", "LOC")),
            marked("Acme Oslo met Ann", ("Acme Oslo", "ORG"), ("Oslo", "LOC"), ("Ann", "PER")),
            Document("it was at the works"),
        ]
    ).map(lambda document: document.replace(complete=True))
    options = settings(tiny_encoder, epochs=60)
    options["model"]["several"] = several
    model = Recognizer.train(nested, nested, method="span", decode={"how": "none"}, **options)
    assert evaluate(nested, Corpus(model.predict(nested)), samples=0).strict.micro.f1 == 1.0
    flat = Corpus(model.with_decoding(how="greedy").predict(nested))
    assert flat.entity_count < nested.entity_count


def test_a_span_gets_both_of_its_types_where_it_can_have_several(tiny_encoder: Path) -> None:
    both = Corpus([marked("Paris met Ann", ("Paris", "PER"), ("Paris", "LOC")), Document("it was")]).map(
        lambda document: document.replace(complete=True)
    )
    options = settings(tiny_encoder, epochs=60)
    options["model"]["several"] = True
    model = Recognizer.train(both, both, method="span", decode={"how": "none"}, **options)
    assert sorted(entity.label for entity in model("Paris met Ann")) == ["LOC", "PER"]


@pytest.mark.parametrize("method", ["span", "uniform"])
def test_a_corpus_complete_for_one_type_still_teaches_what_is_none(method: str, tiny_encoder: Path) -> None:
    """Labels of a dictionary prove nothing about overlaps: every span without a label is "not PER", and no more."""
    data = corpus(complete=False).map(
        lambda d: d.replace(
            complete=frozenset({"PER"}),
            entities=tuple(Entity(*entity.key, source="dictionary") for entity in d.entities),
        )
    )
    model = Recognizer.train(data, method=method, select_on="none", **settings(tiny_encoder, epochs=40))
    assert model("it was at the works") == []
    assert evaluate(corpus(), Corpus(model.predict(corpus())), samples=0).strict.micro.precision > 0.9
