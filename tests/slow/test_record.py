"""A recorder: what a model calls an entity is what it gives the probability of one; training is as without it."""

from __future__ import annotations

from pathlib import Path

import pytest

from goldgap import Corpus, Document, Entity, Recognizer
from goldgap.core.errors import CorpusError
from goldgap.distant.mask import mask
from goldgap.encode.batch import Batch
from goldgap.models.scores import SpanScores
from goldgap.models.tagger import Tagger
from goldgap.train.build import build
from goldgap.train.compose import recipe_for
from goldgap.train.loop import Stopped
from goldgap.train.recipe import Recipe
from goldgap.train.record import Recorder, entity_probabilities, read_record, whole_truth
from tests.slow.test_training import corpus, settings, settings_of

pytestmark = pytest.mark.slow


def recipe(encoder: Path, **model: object) -> Recipe:
    shared = settings(encoder, epochs=12)
    shared["model"] |= model
    return recipe_for("uniform", shared)


def test_recording_changes_nothing(tiny_encoder: Path) -> None:
    masked = mask(corpus(False), 0.5)
    recorder = Recorder(masked, corpus())
    watched = Recognizer.train(masked, corpus(), recipe=recipe(tiny_encoder), observe=recorder)
    plain = Recognizer.train(masked, corpus(), recipe=recipe(tiny_encoder))
    assert watched.metrics == plain.metrics
    assert [entry["epoch"] for entry in recorder.entries] == list(range(1, 13))
    assert all(len(entry["followed"]) == corpus().entity_count for entry in recorder.entries)
    last = recorder.entries[-1]
    assert {name: last[name] for name in plain.metrics[-1]} == plain.metrics[-1]
    # The training documents with all of their annotations are the dev documents.
    assert last["train"]["f1"] == pytest.approx(last["f1"])


def test_a_record_in_a_file_goes_on(tiny_encoder: Path, tmp_path: Path) -> None:
    path = tmp_path / "record.jsonl"
    recorder = Recorder(corpus(), corpus(), path)
    stops = iter([False] * 11 + [True])
    with pytest.raises(Stopped):
        Recognizer.train(
            corpus(),
            corpus(),
            recipe=recipe(tiny_encoder),
            work=tmp_path,
            observe=recorder,
            stopped=lambda: next(stops),
        )
    assert 0 < len(read_record(path)) < 12
    again = Recorder(corpus(), corpus(), path)
    again.go_on()
    Recognizer.train(corpus(), corpus(), recipe=recipe(tiny_encoder), work=tmp_path, observe=again)
    whole = Recorder(corpus(), corpus())
    Recognizer.train(corpus(), corpus(), recipe=recipe(tiny_encoder), observe=whole)
    assert read_record(path) == whole.entries == again.entries


@pytest.mark.parametrize("text", ["{", "[1]", '{"step": 1}'])
def test_what_is_no_record_is_refused(text: str, tmp_path: Path) -> None:
    path = tmp_path / "record.jsonl"
    path.write_text(f'{{"epoch": 1, "step": 1}}\n{text}\n', encoding="utf-8")
    with pytest.raises(CorpusError, match=r"record\.jsonl:2: .*expected what train --record wrote"):
        read_record(path)


@pytest.mark.parametrize("several", [False, True])
def test_probabilities_are_those_of_the_predictions(several: bool, tiny_encoder: Path) -> None:
    model = Recognizer.train(corpus(), corpus(), recipe=recipe(tiny_encoder, several=several))
    everything = Corpus(
        Document(d.text, tuple(Entity(a, b, "X") for a, b in word_ranges(d.text)), id=d.id) for d in corpus()
    )
    likely = entity_probabilities(model.model, everything)
    called = {
        (document.id, entity.start, entity.end)
        for document in model.with_decoding(how="none").predict(everything)
        for entity in document.entities
    }
    spans = [(document.id, entity.start, entity.end) for document in everything for entity in document.entities]
    assert len(likely) == len(spans)
    assert called
    if several:  # likelier than not, by one type
        assert {span for span, value in zip(spans, likely, strict=True) if value > 0.5} == called
    else:  # the likeliest label is a type: then O has less than half, and the types together more than O's share
        assert all(value > 0.5 for span, value in zip(spans, likely, strict=True) if span in called)


def word_ranges(text: str) -> list[tuple[int, int]]:
    """Every range of one or two words."""
    starts = [0, *(at + 1 for at, letter in enumerate(text) if letter == " ")]
    ends = [*(start - 1 for start in starts[1:]), len(text)]
    return [(starts[i], ends[j]) for i in range(len(starts)) for j in range(i, min(i + 2, len(ends)))]


def test_spans_in_long_documents_are_scored_where_prediction_scores_them(tiny_encoder: Path) -> None:
    model = Recognizer.train(corpus(), corpus(), recipe=recipe(tiny_encoder))
    text = " ".join(document.text for document in corpus()) + " "
    (long,) = model.with_decoding(how="none").predict([Document(text * 30)])
    assert len(long.entities) > 30
    likely = entity_probabilities(model.model, Corpus([long]))
    for entity, value in zip(long.entities, likely, strict=True):
        assert entity.score is not None
        assert value >= entity.score - 1e-5


def test_a_tagger_is_asked_whether_all_words_of_a_span_are_outside(tiny_encoder: Path) -> None:
    model = Recognizer.train(corpus(), corpus(), method="crf", **settings_of("crf", tiny_encoder))
    text = " ".join(document.text for document in corpus()) + " "
    (long,) = model.predict([Document(text * 30)])
    assert len(long.entities) > 100
    likely = entity_probabilities(model.model, Corpus([long]))
    for entity, value in zip(long.entities, likely, strict=True):
        assert entity.score is not None
        assert value >= entity.score - 1e-6
    outside = Document("it was at the works", (Entity(0, 6, "X"), Entity(7, 13, "X")))
    assert max(entity_probabilities(model.model, Corpus([outside]))) < 0.5


def test_what_a_tagger_calls_none_is_no_entity(tiny_encoder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = settings_of("two-step", tiny_encoder)
    model = build(recipe_for("two-step", settings, {"two_step": {"none": 0.2}}), corpus())
    assert isinstance(model, Tagger)
    plain, none = model.forward, model.tagset.of_none()[-1]

    def sure_of_none(batch: Batch) -> SpanScores:
        scores = plain(batch)
        logits = scores.logits.detach().clone()
        logits[..., none] = 60.0
        return scores._replace(logits=logits)

    monkeypatch.setattr(model, "forward", sure_of_none)
    assert model.tagset.tags[none] == "S-NONE"
    assert max(entity_probabilities(model, corpus())) < 1e-6


def test_what_a_model_cannot_represent_has_no_probability(tiny_encoder: Path) -> None:
    model = Recognizer.train(corpus(), corpus(), recipe=recipe(tiny_encoder))
    text = "Ann met Bob at the Oslo works"
    inside, wide = Entity(1, 3, "PER"), Entity(0, len(text), "PER")
    assert entity_probabilities(model.model, Corpus([Document(text, (inside, wide)), Document("")])) == [0.0, 0.0]


def test_the_whole_truth_is_what_was_there_before_the_mask() -> None:
    masked = mask(corpus(False), 0.5)
    assert masked.entity_count < corpus().entity_count
    assert [set(document.entities) for document in whole_truth(masked)] == [set(d.entities) for d in corpus()]
