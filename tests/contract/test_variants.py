"""What every policy, loss, decoder, head and encoder promises. A new one is checked once it is registered."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import fields
from itertools import product
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

import pytest
import torch
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from torch import Tensor

from goldgap import Document, Recognizer
from goldgap.core.progress import Progress
from goldgap.core.registry import Registry
from goldgap.decode import Candidate, decode, decoders
from goldgap.encode.batch import Batch
from goldgap.encode.names import ENCODERS, MINILM
from goldgap.losses import losses
from goldgap.models.bi_encoder import BiEncoder
from goldgap.models.model import Model
from goldgap.models.predict import predict
from goldgap.models.scores import SpanScores
from goldgap.models.simplex import AngleHead
from goldgap.models.span import HeadSizes, heads
from goldgap.models.span_model import SpanModel
from goldgap.models.states import BatchStates
from goldgap.models.tagger import Tagger
from goldgap.models.types import AtomicTypes
from goldgap.train.build import build
from goldgap.train.compose import recipe_for
from goldgap.train.loop import Seen, Stopped
from goldgap.train.recipe import EncoderSettings, Recipe, TrainSettings
from goldgap.train.step import total_loss
from goldgap.unknown import Cells, policies
from goldgap.unknown.uniform import Count, sample_size
from tests.slow.test_training import corpus
from tests.tiny import lexicon_in
from tests.unit.test_decode import candidates, is_flat
from tests.unit.test_losses import rows
from tests.unit.test_unknown import cells, generator, without

START = Progress(epoch=0, planned_epochs=10, step=0, planned_steps=100)
LATER = Progress(epoch=3, planned_epochs=10, step=35, planned_steps=100)


def choices(kind: Any) -> list[Any]:
    """All values of a setting that can have only a few."""
    if kind is bool:
        return [False, True]
    return list(get_args(kind)) if get_origin(kind) is Literal else []


def variants(registry: Registry[Any]) -> dict[str, Callable[[], Any]]:
    """Every registered variant as it comes, and with each other value of each of its settings that has a few."""
    made = {}
    for name, variant in registry.items():
        made[name] = variant
        hints = get_type_hints(variant)
        for field in fields(variant):
            for value in choices(hints[field.name]):
                if value != field.default:
                    made[f"{name}, {field.name}={value}"] = _with(variant, field.name, value)
    return made


def _with(variant: Any, name: str, value: Any) -> Callable[[], Any]:
    return lambda: variant(**{name: value})


POLICIES, ALL_LOSSES = variants(policies), variants(losses)
OF_TEXTS = ("contrastive", "crf")
"""Losses that look at whole texts in place of rows, and have tests of their own."""
LOSSES = {name: made for name, made in ALL_LOSSES.items() if name.partition(",")[0] not in OF_TEXTS}


def test_variants_are_made_of_every_setting_with_few_values() -> None:
    assert {name.partition(",")[0] for name in POLICIES} == set(policies)
    assert {"weighted", "weighted, max_over=all", "weighted, count=floor+1", "top-neg, pick=bottom"} <= set(POLICIES)
    assert {name.partition(",")[0] for name in LOSSES} == set(losses) - set(OF_TEXTS)
    assert {"nrces, fractional=True", "nrces, sign=1", "nrces, parts=cs", "gce, reduction=sum"} <= set(LOSSES)


# Policies


@pytest.mark.parametrize("make", POLICIES.values(), ids=POLICIES)
class TestEveryPolicy:
    def test_keeps_only_unknown_cells(self, make: Callable[[], Any]) -> None:
        batch = cells()
        keep = make()(batch, START, generator())
        assert (keep.shape, keep.dtype) == (batch.unknown.shape, torch.bool)
        assert keep.any()
        assert not (keep & ~batch.unknown).any()
        assert not (keep & (batch.labels > 0)).any()

    def test_draws_the_same_with_the_same_generator_and_from_no_other(self, make: Callable[[], Any]) -> None:
        policy, batch = make(), cells()
        torch.manual_seed(1)
        before = torch.get_rng_state()
        first = policy(batch, START, generator(1))
        assert torch.equal(torch.get_rng_state(), before)
        torch.manual_seed(2)
        assert torch.equal(policy(batch, START, generator(1)), first)

    def test_works_without_entities_without_unknowns_and_without_sentences(self, make: Callable[[], Any]) -> None:
        policy, batch = make(), cells()
        no_entity = policy(without(batch, labels=torch.zeros_like(batch.labels)), START, generator())
        assert no_entity.any()
        assert not (no_entity & ~batch.unknown).any()
        nothing = policy(without(batch, unknown=torch.zeros_like(batch.unknown)), START, generator())
        assert not nothing.any()
        assert policy(cells(batch=0), START, generator()).shape == (0, 20)
        assert policy(cells(size=0), START, generator()).shape == (3, 0)

    def test_does_not_change_what_it_is_given(self, make: Callable[[], Any]) -> None:
        batch = cells()
        tensors = (batch.logits, batch.labels, batch.unknown, batch.words, batch.documents)
        before = [tensor.clone() for tensor in tensors]
        make()(batch, START, generator())
        assert all(torch.equal(a, b) for a, b in zip(before, tensors, strict=True))

    def test_stays_what_it_is_at_extreme_scores_and_late(self, make: Callable[[], Any]) -> None:
        batch = cells()
        for scale in (1e4, -1e4, 0.0):
            keep = make()(without(batch, logits=batch.logits * scale), LATER._replace(epoch=50), generator())
            assert keep.any()
            assert not (keep & ~batch.unknown).any()


def promised(policy: Any, batch: Cells) -> Tensor:
    """How many cells of each sentence a policy keeps that says so by a ratio to its words."""
    return torch.minimum(sample_size(batch.words, policy.ratio, policy.count), batch.unknown.sum(1))


@pytest.mark.parametrize("ratio", [0.0, 0.05, 0.35, 1.0, 3.0])
@pytest.mark.parametrize("count", get_args(Count))
@pytest.mark.parametrize("name", [name for name, made in policies.items() if "count" in get_type_hints(made)])
def test_a_policy_that_counts_by_words_keeps_as_many_as_it_says(name: str, count: Count, ratio: float) -> None:
    policy: Any = policies.get(name)(ratio=ratio, count=count)
    batch = without(cells(), words=torch.tensor([1, 10, 20]))
    assert policy(batch, START, generator()).sum(1).tolist() == promised(policy, batch).tolist()


# Losses


def tiny_states(*, several: bool) -> BatchStates:
    """One entity, one known negative, one unknown, one that is only not of the first type, one in no state."""
    labels = torch.tensor([[1, 0, 0, 0, 0]])
    unknown = torch.tensor([[False, False, True, False, False]])
    negative = torch.tensor([[False, True, False, False, False]])
    if several:
        types = torch.tensor([[[2, 1], [1, 1], [0, 0], [1, 0], [0, 0]]], dtype=torch.int8)
        return BatchStates(labels, unknown, negative, types=types)
    possible = torch.zeros(1, 5, 3, dtype=torch.bool)
    possible[0, 3] = torch.tensor([True, False, True])
    return BatchStates(labels, unknown, negative, possible=possible)


@pytest.mark.parametrize("make", LOSSES.values(), ids=LOSSES)
class TestEveryLoss:
    def test_is_finite_at_extreme_scores(self, make: Callable[[], Any]) -> None:
        logits = torch.tensor([[1e4, -1e4], [-1e4, 1e4], [1e4, 1e4]], requires_grad=True)
        value = make()(logits, torch.tensor([0, 0, 1]), LATER)
        value.backward()
        assert torch.isfinite(value)
        assert logits.grad is not None
        assert torch.isfinite(logits.grad).all()

    def test_is_zero_without_rows_and_lets_backward_run(self, make: Callable[[], Any]) -> None:
        logits = torch.zeros(3, 4, requires_grad=True)
        for weights in (None, torch.zeros(0)):
            value = make()(logits[:0], torch.zeros(0, dtype=torch.long), START, weights)
            value.backward()
            assert value.item() == 0.0
        assert logits.grad is not None
        assert logits.grad.abs().sum() == 0

    def test_gradient_equals_finite_differences(self, make: Callable[[], Any], monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(Tensor, "float", lambda tensor: tensor)  # stay in float64
        logits, targets = rows(dtype=torch.float64)
        logits.requires_grad_()
        weights = torch.arange(1.0, 7.0, dtype=torch.float64)
        assert torch.autograd.gradcheck(lambda scores: make()(scores, targets, LATER), logits)
        assert torch.autograd.gradcheck(lambda scores: make()(scores, targets, LATER, weights), logits)

    def test_is_never_negative_and_does_not_depend_on_the_order_of_rows(self, make: Callable[[], Any]) -> None:
        for seed in range(20):
            logits, targets = rows(seed=seed)
            value = make()(3 * logits, targets, LATER)
            assert value >= 0
            assert torch.allclose(make()(3 * logits.flip(0), targets.flip(0), LATER), value)

    def test_rows_without_weight_count_as_if_they_were_not_there(self, make: Callable[[], Any]) -> None:
        logits, targets = rows()
        weights = torch.tensor([1.0, 1.0, 1.0, 1.0, 0.0, 0.0])
        assert torch.allclose(make()(logits, targets, LATER, weights), make()(logits[:4], targets[:4], LATER))

    @pytest.mark.parametrize("several", [False, True])
    @pytest.mark.parametrize("keep_unknown", [False, True])
    def test_only_what_is_known_or_kept_has_a_gradient(
        self, make: Callable[[], Any], several: bool, keep_unknown: bool
    ) -> None:
        known = tiny_states(several=several)
        logits = torch.randn(1, 5, 3, generator=generator(), requires_grad=True)
        keep = known.unknown & keep_unknown
        scores = SpanScores(logits, torch.ones(1, 5, dtype=torch.bool), None)
        total_loss(scores, known, keep, make(), TrainSettings(), LATER).backward()
        assert logits.grad is not None
        touched = (logits.grad[0] != 0).any(-1).tolist()
        assert touched == [True, True, keep_unknown, True, False]
        if several:  # of the partly known cell the second type is unknown
            assert logits.grad[0, 3, 2] == 0


# Decoders


@hypothesis_settings(derandomize=True, deadline=None, max_examples=60)
@given(items=candidates)
@pytest.mark.parametrize("how", list(decoders))
def test_every_decoder_takes_a_subset_whatever_the_order_and_nothing_twice(how: str, items: list[Candidate]) -> None:
    before = list(items)
    chosen = decode(items, how)
    assert set(chosen) <= set(items)
    assert len(set(chosen)) == len(chosen)
    for shuffled in (items[::-1], random.Random(0).sample(items, len(items))):
        assert decode(shuffled, how) == chosen
    assert chosen == sorted(chosen, key=lambda item: item[:3])
    assert how == "none" or is_flat(chosen)
    assert decode(chosen, how) == chosen
    assert items == before


@pytest.mark.parametrize("how", list(decoders))
def test_every_decoder_gives_nothing_for_nothing_and_one_for_one(how: str) -> None:
    assert decode([], how) == []
    one = Candidate(0, 1, 1, 0.5, 1.0)
    assert decode([one], how) == [one]


# Encoders and heads, as models

OPTIONS = {name: list(get_args(EncoderSettings.model_fields[name].annotation)) for name in ("pooling", "layers")} | {
    "shapes": [False, True]
}
LONG = " ".join(text for document in corpus() for text in (document.text,) * 8)


def encoder_variants() -> Iterator[tuple[str, dict[str, Any]]]:
    """Every encoder that has a name; the options that only pretrained ones read, on a tiny one."""
    for name in ENCODERS:
        if name != MINILM:
            yield name, {"name": name, "min_count": 1, "size": 32, "hidden": 32}
    for values in product(*OPTIONS.values()):
        chosen = dict(zip(OPTIONS, values, strict=True))
        if sum(value != options[-1] for value, options in zip(values, OPTIONS.values(), strict=True)) < 2:
            yield "tiny " + " ".join(map(str, values)), {"name": "tiny", **chosen}


TYPES = {label: {"description": f"{label} of the works"} for label in corpus().labels}


def span_models() -> Iterator[tuple[str, dict[str, Any]]]:
    """Every head over every encoder."""
    for (title, encoder), head, several in product(encoder_variants(), heads, (False, True)):
        name = f"{title}, {head}{', several' if several else ''}"
        yield name, {"method": "span", "encoder": encoder, "model": {"head": head, "several": several}}


def bi_encoders() -> Iterator[tuple[str, dict[str, Any]]]:
    """Types that are read or learned, and all else that changes what a bi-encoder is made of."""
    tiny, bilstm = {"name": "tiny"}, {"name": "bilstm", "min_count": 1, "size": 32, "hidden": 32}
    text, atomic = {"describe": "text", "pooling": "mean"}, {"describe": "atomic"}
    for title, encoder, several, options in (
        ("text", tiny, False, text),
        ("text, several", tiny, True, text),
        ("text, share_encoders", tiny, False, {**text, "share_encoders": True}),
        ("text, share_projections", tiny, False, {**text, "share_projections": True}),
        ("text, thresholds=global", tiny, False, {**text, "thresholds": "global"}),
        ("atomic", tiny, False, atomic),
        ("atomic, several, thresholds=global", tiny, True, {**atomic, "thresholds": "global"}),
        ("bilstm, atomic", bilstm, False, atomic),
    ):
        own: dict[str, Any] = {"method": "binder", "encoder": encoder, "model": {"several": several}}
        types = TYPES if options["describe"] == "text" else {}
        yield f"bi-encoder, {title}", {**own, "bi_encoder": options, "types": types}


def taggers() -> Iterator[tuple[str, dict[str, Any]]]:
    """Every host with a CRF, and all else that changes what a tagger is made of."""
    tiny: dict[str, Any] = {"name": "tiny"}
    small = {"min_count": 1, "size": 32, "hidden": 32}
    for title, method, encoder, options in (
        ("crf", "crf", tiny, {}),
        ("crf, bio", "crf", tiny, {"tagger": {"scheme": "bio"}}),
        ("crf, angle", "crf", tiny, {"tagger": {"angle": True}}),
        ("softmax", "softmax", tiny, {}),
        ("softmax, bio, angle", "softmax", tiny, {"tagger": {"scheme": "bio", "angle": True}}),
        ("bilstm-crf", "bilstm-crf", {"name": "bilstm", **small}, {}),
        ("bilstm-crf, bigrams", "bilstm-crf", {"name": "bilstm", "bigrams": True, **small}, {}),
        ("flat", "flat", {"name": "flat", **small}, {"lexicon": {"size": 16}}),
        ("bert-word", "bert-word", tiny, {"lexicon": {"size": 16, "hidden": 16}}),
        ("lebert", "lebert", tiny, {"lexicon": {"size": 16}}),
    ):
        yield f"tagger, {title}", {"method": method, "encoder": encoder, "model": {"several": False}, **options}


SPAN_MODELS, BI_ENCODERS, TAGGERS = dict(span_models()), dict(bi_encoders()), dict(taggers())
MODELS = SPAN_MODELS | BI_ENCODERS | TAGGERS


def recipe_of(name: str, tiny_encoder: Path, **train: Any) -> Recipe:
    own = MODELS[name]
    encoder, several = own["encoder"], own["model"]["several"]
    place = str(tiny_encoder) if encoder["name"] == "tiny" else encoder["name"]
    shared = {"model": {"max_width": 4, "hidden": 24, "width_size": 8, "dropout": 0.0}, "train": train}
    decode = {"how": "none" if several else "greedy"}
    lexicon = {"lexicon": {"file": str(lexicon_in(tiny_encoder))}} if "lexicon" in own or place == "flat" else {}
    return recipe_for(own["method"], shared, own, {"encoder": {"name": place}, "decode": decode, **lexicon})


@pytest.fixture
def model(request: pytest.FixtureRequest, tiny_encoder: Path) -> Model:
    """A fresh model without training: it finds whatever chance says, but it must always find the same."""
    return build(recipe_of(request.param, tiny_encoder), corpus()).eval()


every_model = pytest.mark.parametrize("model", list(MODELS), indirect=True)
every_span_model = pytest.mark.parametrize("model", list(SPAN_MODELS), indirect=True)
every_tagger = pytest.mark.parametrize("model", list(TAGGERS), indirect=True)
every_bi_encoder = pytest.mark.parametrize("model", list(BI_ENCODERS), indirect=True)


def batch_of(model: Model, *more: str) -> Batch:
    return model.batch(model.examples([*corpus().documents, *map(Document, more)]))


@torch.no_grad()
def logits_of(model: Model, batch: Batch) -> list[Tensor]:
    """The scores of each example's own spans."""
    scores = model(batch)
    return [scores.logits[row, scores.valid[row]] for row in range(len(batch.examples))]


def test_every_option_of_an_encoder_is_among_the_models() -> None:
    seen = [own["encoder"] for own in SPAN_MODELS.values()]
    for option, values in OPTIONS.items():
        assert {encoder[option] for encoder in seen if option in encoder} == set(values)
    assert {encoder["name"] for encoder in seen} == {"tiny", *ENCODERS} - {MINILM}


@every_model
class TestEveryModel:
    def test_every_trainable_parameter_gets_a_gradient(self, model: Model) -> None:
        batch = batch_of(model)
        scores = model(batch)
        outputs = [scores.logits[scores.valid]]
        if scores.similarity is not None:  # of the ends, which the logits do not show
            inside = torch.arange(batch.first.shape[1]) < batch.words[:, None]  # (batch, word)
            outputs += [scores.similarity.start[inside], scores.similarity.end[inside], *scores.similarity.thresholds]
        if isinstance(model, Tagger) and model.chain.learned:
            outputs.append(model.chain.log_sum(scores.logits, batch.words))
        made = generator()
        total = torch.stack([(own * torch.randn(own.shape, generator=made)).sum() for own in outputs]).sum()
        total.backward()
        for name, parameter in model.named_parameters():
            assert parameter.requires_grad
            assert parameter.grad is not None, name
            if not name.endswith("key.bias"):  # adds the same to every score of an attention: softmax does not see it
                assert parameter.grad.abs().sum() > 0, name

    def test_comes_back_from_disk_the_same(
        self, model: Model, tiny_encoder: Path, request: pytest.FixtureRequest, tmp_path: Path
    ) -> None:
        recipe = recipe_of(request.node.callspec.params["model"], tiny_encoder)
        Recognizer(model, recipe, [{"step": 1}], "# A card\n").save(tmp_path / "model")
        loaded = Recognizer.load(tmp_path / "model")
        assert (loaded.recipe, loaded.metrics, loaded.card) == (recipe, [{"step": 1}], "# A card\n")
        for one, other in zip(
            logits_of(model, batch_of(model)), logits_of(loaded.model, batch_of(loaded.model)), strict=True
        ):
            assert torch.equal(one, other)

    def test_alone_is_as_batched(self, model: Model) -> None:
        documents = [*corpus().documents, Document("Ann"), Document(""), Document(LONG)]
        together = list(predict(model, documents, how="none"))
        assert sum(len(document.entities) for document in together) > (8 if isinstance(model, Tagger) else 50)
        for document, one in zip(documents, together, strict=True):
            (alone,) = predict(model, [document], how="none")
            assert [entity.key for entity in alone.entities] == [entity.key for entity in one.entities]
            for a, b in zip(alone.entities, one.entities, strict=True):
                assert a.score == pytest.approx(b.score, abs=1e-5)

    def test_what_stands_in_the_padding_does_not_matter(self, model: Model) -> None:
        batch = batch_of(model, "Ann")
        padding = batch.mask == 0
        behind = torch.arange(batch.first.shape[1]) >= batch.words[:, None]  # (batch, word)
        assert padding.any()
        assert behind.any()
        other = batch._replace(
            pieces=torch.where(padding, 3, batch.pieces),
            first=torch.where(behind, 1, batch.first),
            last=torch.where(behind, 1, batch.last),
            shapes=torch.where(behind, 2, batch.shapes),
        )
        for one, two in zip(logits_of(model, batch), logits_of(model, other), strict=True):
            assert torch.allclose(one, two, atol=1e-5)

    def test_permuting_the_batch_permutes_the_scores(self, model: Model) -> None:
        batch = batch_of(model)
        order = random.Random(0).sample(range(len(batch.examples)), len(batch.examples))
        straight = logits_of(model, batch)
        for index, scores in zip(order, logits_of(model, model.batch([batch.examples[i] for i in order])), strict=True):
            assert torch.allclose(straight[index], scores, atol=1e-5)

    def test_does_not_change_what_it_is_given(self, model: Model) -> None:
        batch = batch_of(model)
        before = [tensor.clone() for tensor in batch[1:]]
        weights = {name: tensor.clone() for name, tensor in model.state_dict().items()}
        logits_of(model, batch)
        assert all(torch.equal(one, other) for one, other in zip(before, batch[1:], strict=True))
        assert all(torch.equal(weights[name], tensor) for name, tensor in model.state_dict().items())

    @pytest.mark.parametrize("how", list(decoders))
    def test_reads_texts_of_every_length(self, model: Model, how: str) -> None:
        texts = ["", "   ", "Ann", "it was at the works", LONG]
        found = list(predict(model, map(Document, texts), how=how))
        assert [document.text for document in found] == texts
        assert found[0].entities == found[1].entities == ()
        if isinstance(model, Tagger):  # what is likeliest of all tags needs not be likely
            assert found[-1].entities
        assert len(model.examples([Document(LONG)])) > 1
        for document in found:
            for entity in document.entities:
                assert entity.score is not None
                assert 0 < entity.score <= 1
                assert document.text[entity.start : entity.end].strip() == document.text[entity.start : entity.end]


@every_span_model
class TestEverySpanModel:
    def test_is_what_its_recipe_says(self, model: Model, request: pytest.FixtureRequest) -> None:
        own = SPAN_MODELS[request.node.callspec.params["model"]]
        assert isinstance(model, SpanModel)
        assert type(model.head.head) is type(heads.get(own["model"]["head"])(2, 2, HeadSizes(2, 2, 2, 0.0)))
        logits = model(batch_of(model)).logits
        assert logits.shape[-1] == 4
        no_rivals = bool((logits[..., 0] == 0).all())  # no type competes with another: O is where they are 0
        assert no_rivals is own["model"]["several"] is model.several
        assert (getattr(model.encoder, "shapes", None) is None) is (own["encoder"].get("shapes") is False)
        assert (getattr(model.encoder, "mix", None) is None) is (own["encoder"].get("layers") != "mix")

    def test_finds_nothing_where_every_score_is_that_of_no_entity(self, model: Model) -> None:
        assert isinstance(model, SpanModel)
        with torch.no_grad():
            model.head.head.label.weight.zero_()
            model.head.head.label.bias.copy_(-torch.arange(len(model.head.head.label.bias)) - float(model.several))
        assert [document.entities for document in predict(model, corpus(), how="none")] == [()] * 8


@every_tagger
class TestEveryTagger:
    def test_is_what_its_recipe_says(self, model: Model, request: pytest.FixtureRequest) -> None:
        own = TAGGERS[request.node.callspec.params["model"]]
        options = own.get("tagger", {})
        assert isinstance(model, Tagger)
        scores = model(batch_of(model))
        bio = options.get("scheme") == "bio"
        assert scores.logits.shape == (8, batch_of(model).first.shape[1], 1 + 3 * (2 if bio else 4))
        assert model.chain.learned is (own["method"] != "softmax")
        assert torch.allclose(scores.logits.sum(-1), torch.zeros(1), atol=1e-4) is options.get("angle", False)

    def test_finds_nothing_where_every_tag_is_outside(self, model: Model) -> None:
        assert isinstance(model, Tagger)
        head = model.head.linear if isinstance(model.head, AngleHead) else model.head
        assert isinstance(head, torch.nn.Linear)
        corners = model.head.corners if isinstance(model.head, AngleHead) else torch.eye(len(model.tagset))
        with torch.no_grad():
            head.weight.zero_()
            head.bias.copy_(50 * corners[0])
        assert [document.entities for document in predict(model, corpus(), how="none")] == [()] * 8


@every_bi_encoder
class TestEveryBiEncoder:
    def test_is_what_its_recipe_says(self, model: Model, request: pytest.FixtureRequest) -> None:
        own = BI_ENCODERS[request.node.callspec.params["model"]]
        options = own["bi_encoder"]
        assert isinstance(model, BiEncoder)
        scores = model(batch_of(model))
        assert scores.logits.shape[-1] == 4
        assert not scores.logits[..., 0].any()
        assert model.several is own["model"]["several"]
        assert isinstance(model.types, AtomicTypes) is (options["describe"] == "atomic")
        if options["describe"] == "text":
            assert (model.types.reader is model.encoder.model) is options.get("share_encoders", False)
        assert (len(model.of_types), len(model.of_words)) == ((1, 1) if options.get("share_projections") else (3, 4))
        assert (model.limits is not None) is (options.get("thresholds") == "global")

    def test_finds_nothing_where_every_similarity_is_that_of_the_threshold(self, model: Model) -> None:
        assert isinstance(model, BiEncoder)
        assert any(document.entities for document in predict(model, corpus(), how="none"))
        with torch.no_grad():
            model.temperature.fill_(float("-inf"))  # all similarities are 0
        assert [document.entities for document in predict(model, corpus(), how="none")] == [()] * 8


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_every_model_learns_eight_sentences_by_heart(name: str, tiny_encoder: Path) -> None:
    slower = MODELS[name]["encoder"]["name"] == "flat"  # nothing of it is pretrained: attention learns at this rate too
    rates = {"encoder_rate": 2e-3, "head_rate": 3e-3 if slower else 1e-2, "schedule": "constant"}
    recipe = recipe_of(name, tiny_encoder, batch_size=4, epochs=300, **rates)
    learned = []

    def observe(seen: Seen) -> None:
        if seen.metrics is not None and seen.metrics["f1"] == 1.0:
            learned.append(seen.progress.epoch)

    with pytest.raises(Stopped):
        Recognizer.train(corpus(), corpus(), recipe=recipe, observe=observe, stopped=lambda: bool(learned))
