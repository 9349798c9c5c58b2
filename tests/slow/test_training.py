"""Training end to end on a tiny encoder: it learns, it repeats itself, it comes back from disk the same."""

from __future__ import annotations

import hashlib
import random
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from goldgap import Corpus, Document, Entity, Recognizer
from goldgap.core.errors import ConfigError, InputError, IntegrityError, RunError
from goldgap.corpus.words import split_words
from goldgap.decode import decode
from goldgap.encode.windows import owned
from goldgap.evaluate.scores import evaluate
from goldgap.models.predict import candidates
from goldgap.train.compose import recipe_for
from goldgap.train.loop import Stopped
from goldgap.train.methods import METHODS
from goldgap.train.recipe import Chosen
from tests.tiny import lexicon_in

pytestmark = pytest.mark.slow

SENTENCES = [
    ("Ann lives in Paris .", [("Ann", "PER"), ("Paris", "LOC")]),
    ("Bob works at Acme in Oslo .", [("Bob", "PER"), ("Acme", "ORG"), ("Oslo", "LOC")]),
    ("the works of Bob Lee", [("Bob Lee", "PER")]),
    ("Acme was in Paris", [("Acme", "ORG"), ("Paris", "LOC")]),
    ("to the Oslo works", [("Oslo", "LOC")]),
    ("it was at the works", []),
    ("Ann Lee met Bob", [("Ann Lee", "PER"), ("Bob", "PER")]),
    ("Paris met Acme Oslo", [("Paris", "PER"), ("Acme Oslo", "ORG")]),
]


def corpus(complete: bool = True) -> Corpus:
    documents = []
    for text, names in SENTENCES:
        entities = [Entity(text.index(name), text.index(name) + len(name), label) for name, label in names]
        documents.append(Document(text, tuple(entities), complete=complete))
    return Corpus(documents)


def settings(encoder: Path, **train: Any) -> dict[str, Any]:
    rates = {"encoder_rate": 2e-3, "head_rate": 5e-3, "epochs": 40, "batch_size": 4, "schedule": "constant"}
    return {"encoder": {"name": str(encoder)}, "model": {"max_width": 4, "dropout": 0.0}, "train": {**rates, **train}}


def settings_of(method: str, encoder: Path, **train: Any) -> dict[str, Any]:
    """As `settings`; a bi-encoder learns faster from types that do not look the same to random weights."""
    options = settings(encoder, **train)
    if kind_of(method) == "bi-encoder":
        return options | {"bi_encoder": {"pooling": "mean"}}
    if kind_of(method) == "tagger":
        own = METHODS[method].settings.get("encoder", {}).get("name")
        if own in ("bilstm", "flat"):
            options["encoder"] |= {"name": own, "size": 32, "hidden": 32, "min_count": 1}
            del options["train"]["encoder_rate"]
        options["model"] = {"dropout": 0.0}
        sizes = {"flat": {"size": 16}, "bert-word": {"size": 16, "hidden": 32}, "lebert": {"size": 16}}.get(method)
        return options | ({} if sizes is None else {"lexicon": {"file": str(lexicon_in(encoder)), **sizes}})
    return options


def kind_of(method: str) -> str:
    return str(METHODS[method].settings.get("model", {}).get("kind", "span"))


@pytest.fixture(scope="module", params=["span", "binder"])
def trained(request: pytest.FixtureRequest, tiny_encoder: Path) -> Recognizer:
    """The rates let a bi-encoder learn as fast as a span model."""
    options = settings_of(request.param, tiny_encoder, head_rate=1e-2)
    return Recognizer.train(corpus(), corpus(), method=request.param, **options)


OURS = [name for name in METHODS if not name.endswith("-paper")]


@pytest.mark.parametrize(("method", "head"), [
    *((method, "concat") for method in OURS),
    *((method, "pair") for method in OURS if kind_of(method) == "span"),
])  # fmt: skip
def test_every_method_learns_eight_sentences_by_heart(method: str, head: str, tiny_encoder: Path) -> None:
    options = settings_of(method, tiny_encoder)
    options["model"] |= {} if kind_of(method) == "tagger" else {"head": head}
    model = Recognizer.train(corpus(), corpus(), method=method, **options)
    assert evaluate(corpus(), Corpus(model.predict(corpus())), samples=0).strict.micro.f1 == 1.0


@pytest.mark.parametrize("method", [name for name in METHODS if name.endswith("-paper")])
def test_every_recipe_of_a_paper_runs_on_another_encoder(method: str, tiny_encoder: Path) -> None:
    options: dict[str, Any] = {"encoder": {"name": str(tiny_encoder)}, "train": {"epochs": 1}}
    if kind_of(method) == "tagger":
        options["lexicon"] = {"file": str(lexicon_in(tiny_encoder))}
    model = Recognizer.train(corpus(), corpus(), method=method, **options)
    assert model.recipe.train.certain_negatives is False
    assert model.metrics[-1]["loss"] > 0


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_policy_learns_from_gaps_what_all_negatives_unlearn(seed: int, tiny_encoder: Path) -> None:
    holed = corpus(complete=False).map(lambda d: d.replace(entities=d.entities if int(d.id) % 2 else ()))
    options = settings(tiny_encoder, epochs=30)
    recall = {}
    for method in ("span", "weighted"):  # in 30 epochs of five words, uniform draws every span as a negative
        model = Recognizer.train(holed, method=method, seed=seed, select_on="none", **options)
        recall[method] = evaluate(corpus(), Corpus(model.predict(corpus())), samples=0).strict.micro.recall
    assert recall["weighted"] > recall["span"] + 0.1


def test_predictions_carry_probabilities_and_exact_offsets(trained: Recognizer) -> None:
    text = "Ann lives in Paris ."
    found = trained(text)
    assert [(text[e.start : e.end], e.label) for e in found] == [("Ann", "PER"), ("Paris", "LOC")]
    least = 0.25 if kind_of(trained.recipe.method) == "bi-encoder" else 0.5  # of three types and none, the likeliest
    assert all(e.score is not None and least < e.score <= 1 for e in found)
    assert not any(e.by_people for e in found)


def test_a_saved_model_comes_back_the_same(trained: Recognizer, tmp_path: Path) -> None:
    trained.save(tmp_path / "model")
    loaded = Recognizer.load(tmp_path / "model")
    assert list(loaded.predict(corpus())) == list(trained.predict(corpus()))
    assert (loaded.recipe, loaded.metrics, loaded.labels) == (trained.recipe, trained.metrics, trained.labels)
    with pytest.raises(InputError, match="exists already"):
        trained.save(tmp_path / "model")


@pytest.mark.parametrize("name", ["model.safetensors", "recipe.toml", "labels.json", "tokenizer.json", "types.json"])
def test_an_altered_or_missing_file_is_named(trained: Recognizer, tmp_path: Path, name: str) -> None:
    trained.save(tmp_path / "model")
    file = tmp_path / "model" / name
    if name == "types.json" and kind_of(trained.recipe.method) != "bi-encoder":
        assert not file.exists()
        return
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data)
    with pytest.raises(IntegrityError, match=name):
        Recognizer.load(tmp_path / "model")
    file.unlink()
    with pytest.raises(IntegrityError, match=f"{name} is missing"):
        Recognizer.load(tmp_path / "model")


def weights_hash(model: Recognizer) -> str:
    digest = hashlib.sha256()
    for name, tensor in sorted(model.model.state_dict().items()):
        digest.update(name.encode() + tensor.numpy().tobytes())
    return digest.hexdigest()


@pytest.mark.parametrize("method", ["weighted", "binder"])
def test_the_same_seed_gives_the_same_weights_and_another_seed_others(method: str, tiny_encoder: Path) -> None:
    options = settings(tiny_encoder, epochs=2)
    options["model"] |= {"dropout": 0.3}

    def run(seed: int) -> str:
        torch.manual_seed(random.randrange(1000))  # what the caller did with the global generator must not matter
        return weights_hash(Recognizer.train(corpus(False), method=method, seed=seed, **options))

    first = run(1)
    assert run(1) == first
    assert run(2) != first


def test_checkpoints_leave_out_vectors_that_stay_as_the_file_gave_them(tmp_path: Path) -> None:
    words = sorted({word for text, _ in SENTENCES for word in text.split()})[:-2]  # two have none in the file
    words += ["nowhere", "to", "be", "seen"]
    vectors = tmp_path / "words.vec"
    vectors.write_text("".join(f"{word} {hash_of(word)} 0.5 0.25\n" for word in words), "utf-8")
    own = {"name": "bilstm", "hidden": 8, "min_count": 1, "vectors": str(vectors), "freeze": True}
    options: dict[str, Any] = {"encoder": own, "train": {"epochs": 4, "batch_size": 4}, "method": "bilstm-crf"}

    def stop() -> bool:
        return len(list(work.glob("step-*"))) == 2

    (work := tmp_path / "work").mkdir()
    with pytest.raises(Stopped):
        Recognizer.train(corpus(), corpus(), work=work, stopped=stop, **options)
    kept = {name for file in work.glob("step-*/*.safetensors") for name in load_file(file)}
    assert any("chain" in name for name in kept)
    assert not any("words.weight" in name or "unseen" in name for name in kept)
    resumed = Recognizer.train(corpus(), corpus(), work=work, **options)
    assert weights_hash(resumed) == weights_hash(Recognizer.train(corpus(), corpus(), **options))


@pytest.mark.parametrize("select_on", [None, "none"])
def test_averaged_weights_are_kept_and_those_of_the_steps_go_on(
    select_on: Any, tiny_encoder: Path, tmp_path: Path
) -> None:
    """Whenever a run is stopped, in the middle of an evaluation too, it ends in the same weights."""
    options = settings(tiny_encoder, epochs=2, average=0.8) | {"select_on": select_on}
    plain = settings(tiny_encoder, epochs=2) | {"select_on": select_on}
    whole = weights_hash(Recognizer.train(corpus(), corpus(), **options))
    assert whole != weights_hash(Recognizer.train(corpus(), corpus(), **plain))
    for last in (1, 2, 4, 8):  # of the questions whether to stop: behind steps, and behind documents of the dev set
        left = iter([False] * last)
        (work := tmp_path / str(last)).mkdir()
        with pytest.raises(Stopped):
            Recognizer.train(corpus(), corpus(), work=work, stopped=partial(next, left, True), **options)
        assert weights_hash(Recognizer.train(corpus(), corpus(), work=work, **options)) == whole


def hash_of(word: str) -> float:
    return int.from_bytes(hashlib.sha256(word.encode()).digest()[:2], "big") / 65536


def test_alone_batched_and_permuted_give_the_same_entities(trained: Recognizer) -> None:
    documents = [*corpus().documents, Document("Oslo " * 9), Document("Ann")]
    together = list(trained.predict(documents))
    for document, one in zip(documents, together, strict=True):
        (alone,) = trained.predict([document])
        assert [e.key for e in alone.entities] == [e.key for e in one.entities]
        for a, b in zip(alone.entities, one.entities, strict=True):
            assert a.score == pytest.approx(b.score, abs=1e-5)
    order = random.Random(0).sample(range(len(documents)), len(documents))
    permuted = list(trained.predict(documents[index] for index in order))
    assert [[e.key for e in d.entities] for d in permuted] == [[e.key for e in together[i].entities] for i in order]


def test_a_long_document_is_scored_span_by_span_in_its_best_window(trained: Recognizer) -> None:
    """Against an oracle that predicts every window as a text of its own and takes each span from the right one."""
    generator = random.Random(1)
    text = " ".join(generator.choice(SENTENCES)[0] for _ in range(40))  # the tiny encoder reads 62 pieces at once
    examples = trained.model.examples([Document(text)])
    cut, width = examples[0].windows, trained.recipe.model.max_width
    assert len(cut) == 5
    words = split_words(text)
    found = []
    for index, (first, end) in enumerate(cut):
        offset, stop = words[first][0], words[end - 1][1]
        ((_, alone),) = candidates(trained.model, [Document(text[offset:stop])])
        for item in alone:
            start = next(i for i, word in enumerate(words) if word[0] == item.start + offset)
            last = next(i for i, word in enumerate(words) if word[1] == item.end + offset)
            if bool(owned(cut, index, width)[start - first, last - start]):
                found.append(item._replace(start=item.start + offset, end=item.end + offset))
    expected = [(item.start, item.end) for item in decode(found)]
    assert [(entity.start, entity.end) for entity in trained(text)] == expected
    assert len(expected) > 30


@pytest.mark.parametrize("text", ["", "   ", "x" * 10_000, "👩‍👩‍👧 北京 ok", "\u200b"])
def test_odd_texts_are_predicted_without_trouble(trained: Recognizer, text: str) -> None:
    assert all(0 <= e.start < e.end <= len(text) for e in trained(text))


@pytest.mark.parametrize("method", ["uniform", "binder"])
def test_what_is_known_of_a_part_of_the_types_is_trained_on(method: str, tiny_encoder: Path) -> None:
    few = {"name": "uniform", "settings": {"ratio": 0.2}}
    losses = set()
    for complete in (False, frozenset({"PER"}), frozenset({"PER", "LOC"}), True):
        known = corpus().map(lambda d, complete=complete: d.replace(complete=complete))  # type: ignore[misc]
        model = Recognizer.train(known, method=method, policy=few, **settings(tiny_encoder, epochs=1))
        losses.add(round(model.metrics[0]["loss"], 6))
    assert len(losses) == 4


def test_a_corpus_without_entities_is_refused(tiny_encoder: Path) -> None:
    with pytest.raises(InputError, match="no entity in the training files"):
        Recognizer.train(Corpus([Document("a b")]), **settings(tiny_encoder))


def test_documents_of_one_id_are_refused(tiny_encoder: Path) -> None:
    twice = Corpus([*corpus(), *corpus()])
    with pytest.raises(InputError, match="the id '1' belongs to several training documents"):
        Recognizer.train(twice, **settings(tiny_encoder))
    with pytest.raises(InputError, match="the id '1' belongs to several dev documents"):
        Recognizer.train(corpus(), twice, **settings(tiny_encoder))


def test_a_recipe_that_no_method_made_is_checked_and_trained(tiny_encoder: Path) -> None:
    recipe = recipe_for("uniform", settings(tiny_encoder, epochs=1))
    with pytest.raises(ConfigError, match="loss = crf: only a tagger"):
        Recognizer.train(corpus(), recipe=recipe.model_copy(update={"loss": Chosen(name="crf")}))
    model = Recognizer.train(corpus(), recipe=recipe.model_copy(update={"method": "mine"}))
    assert "with the method `mine`, on the encoder" in model.card


def test_an_unknown_method_or_setting_names_the_nearest(tiny_encoder: Path) -> None:
    with pytest.raises(ConfigError, match="did you mean 'weighted'"):
        Recognizer.train(corpus(), method="weigted")
    with pytest.raises(ConfigError, match="did you mean 'ratio'"):
        recipe_for("uniform", {"policy": {"settings": {"ration": 1}}}).make_policy()
    with pytest.raises(ConfigError, match=r"did you mean 'train\.epochs'"):
        recipe_for("uniform", {"train": {"epoch": 1}})


def test_a_loss_that_is_no_number_stops_the_run_and_names_the_batch(tiny_encoder: Path) -> None:
    options = settings(tiny_encoder, encoder_rate=1e30, head_rate=1e30, clip=1e30, epochs=20)
    with pytest.raises(RunError, match=r"not a number at step \d+; the batch holds the documents '\d"):
        Recognizer.train(corpus(), method="span", **options)
