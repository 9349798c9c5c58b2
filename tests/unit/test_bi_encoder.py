"""The bi-encoder against its literal form: build every span vector, take its direction, multiply."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest
import torch
from hypothesis import example, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from torch import Tensor

from goldgap import Corpus, Document, Entity, Recognizer
from goldgap.core.errors import InputError
from goldgap.core.notes import Notes
from goldgap.encode.batch import Batch
from goldgap.encode.encoder import special_pieces
from goldgap.losses.contrastive import Similarity, Thresholds
from goldgap.models.bi_encoder import BLOCK, BiEncoder, SummedFeatures, band_products, span_lengths
from goldgap.models.predict import TOGETHER, candidates, predict
from goldgap.models.scores import SpanScores, inside
from goldgap.models.thresholds import best_thresholds, gold_cells
from goldgap.models.types import AtomicTypes, TypeReader, TypeText
from goldgap.train.build import build
from goldgap.train.compose import recipe_for
from goldgap.train.data import prepare
from goldgap.train.describe import LONGEST, PROTOTYPES, SHOWN, name_in_words, texts_of, type_texts
from goldgap.train.optimiser import make_optimiser
from goldgap.train.plan import Plan
from goldgap.train.recipe import Recipe
from goldgap.train.resolve import resolved
from goldgap.train.split import Split
from goldgap.train.step import Stepper
from tests.slow.test_training import corpus
from tests.tiny import save_tiny_encoder

WIDTHS = 3
TEXTS = {"LOC": "in paris, in oslo and in no other place", "ORG": "the works", "PER": "ann and bob"}


def recipe_of(encoder: Path, documents: Corpus | None = None, **groups: Any) -> Recipe:
    small = {"model": {"max_width": WIDTHS, "width_size": 8, "dropout": 0.0}, "bi_encoder": {"size": 12}}
    described = {"types": {label: {"description": text} for label, text in TEXTS.items()}}
    reads = groups.get("bi_encoder", {}).get("describe", "text") == "text"
    own: dict[str, Any] = {"encoder": {"name": str(encoder)}, **small, **(described if reads else {})}
    used = documents or corpus()
    return resolved(recipe_for("binder", own, groups), Split(used, used, "clean dev"))


def made(encoder: Path, documents: Corpus | None = None, **groups: Any) -> BiEncoder:
    """A fresh bi-encoder, with numbers in place of the zeros that some of its parts begin with."""
    model = build(recipe_of(encoder, documents, **groups), documents or corpus())
    assert isinstance(model, BiEncoder)
    chance = torch.Generator().manual_seed(1)
    with torch.no_grad():
        model.temperature.add_(torch.tensor([0.1, -0.2, 0.3]))
        for numbers in (*(model.limits or ()), model.chosen):
            if numbers is not None:
                numbers.copy_(torch.randn(numbers.shape, generator=chance))
    return model


def sober(model: BiEncoder) -> BiEncoder:
    """Without dropout in any layer, so that training gives what prediction does."""
    for module in model.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
    return model


def batch_of(model: BiEncoder, *more: str) -> Batch:
    return model.batch(model.examples([*corpus().documents, *map(Document, more)]))


# The literal form


class Literal(NamedTuple):
    start: Tensor
    end: Tensor
    span: Tensor
    thresholds: Tensor


def direction(vector: Tensor) -> Tensor:
    return vector / vector.square().sum().sqrt()


def layer_of(layers: Any, name: str) -> Any:
    return layers[name]


def literal(model: BiEncoder, batch: Batch, widths: int) -> Literal:
    """The words of METHODS 5.1, span by span: a layer over [start; end; width], its direction, and the product."""
    vectors, types = model.encoder(batch), model.types()
    shared = model.shape.share_projections
    names = dict.fromkeys(("start", "end", "span", "span_start", "span_end"), "all") if shared else {}
    layer: dict[str, Any] = {name: model.of_words[names.get(name, name)] for name in ("start", "end")}
    left, right = (layer_of(model.of_words, names.get(name, name)) for name in ("span_start", "span_end"))
    wide = torch.cat([left.weight, right.weight, model.of_width.weight], 1)
    bias = left.bias + right.bias
    sides = {
        name: [direction(model.of_types[names.get(name, name)](vector)) for vector in types]
        for name in ("start", "end", "span")
    }
    factor = dict(zip(("start", "end", "span"), model.temperature.exp(), strict=True))

    def word(name: str, vector: Tensor) -> Tensor:
        own = direction(layer[name](vector))
        return torch.stack([factor[name] * (own @ side) for side in sides[name]])

    def span(start: Tensor, end: Tensor, width: int) -> Tensor:
        embedded = model.width.weight[min(width, model.shape.max_width)]
        own = direction(wide @ torch.cat([start, end, embedded]) + bias)
        return torch.stack([factor["span"] * (own @ side) for side in sides["span"]])

    rows, words, kinds = len(batch.examples), int(batch.words.max()), len(model.labels)
    found = Literal(
        torch.zeros(rows, words, kinds),
        torch.zeros(rows, words, kinds),
        torch.zeros(rows, words * widths, kinds),
        torch.zeros(3, rows, kinds),
    )
    for row in range(rows):
        start, end, whole = vectors.start[row], vectors.end[row], vectors.whole[row]
        for first in range(int(batch.words[row])):
            found.start[row, first], found.end[row, first] = word("start", start[first]), word("end", end[first])
            for extra in range(min(widths, int(batch.words[row]) - first)):
                found.span[row, first * widths + extra] = span(start[first], end[first + extra], extra)
        if model.shape.thresholds == "dynamic":
            found.thresholds[:, row] = torch.stack([word("start", whole), word("end", whole), span(whole, whole, 0)])
        elif model.limits is not None:
            found.thresholds[:, row] = torch.stack(list(model.limits))
        elif model.chosen is not None:
            found.thresholds[2, row] = model.chosen
    return found


@torch.no_grad()
def check_against_literal(model: BiEncoder, widths: int = WIDTHS) -> None:
    batch = batch_of(model, "Ann")
    scores, expected = model(batch), literal(model, batch, widths)
    assert scores.similarity is not None
    words = torch.arange(int(batch.words.max())) < batch.words[:, None]
    spans = inside(batch.words, int(batch.words.max()), widths)
    assert torch.equal(scores.valid, spans)
    for name, valid in (("start", words), ("end", words), ("span", spans)):
        found, own = getattr(scores.similarity, name), getattr(expected, name)
        assert found.shape == own.shape
        assert torch.allclose(found[valid], own[valid], atol=1e-5), name
    margins = expected.span - expected.thresholds[2].unsqueeze(1)
    assert not scores.logits[..., 0].any()
    assert torch.allclose(scores.logits[..., 1:][spans], margins[spans], atol=1e-5)
    if model.shape.thresholds == "dev":
        assert scores.similarity.thresholds is None
    else:
        assert scores.similarity.thresholds is not None
        assert torch.allclose(torch.stack(scores.similarity.thresholds), expected.thresholds, atol=1e-5)


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("thresholds", ["dynamic", "global", "dev"])
def test_the_factored_scores_equal_the_literal_ones(thresholds: str, shared: bool, tiny_encoder: Path) -> None:
    options = {"thresholds": thresholds, "share_projections": shared}
    check_against_literal(made(tiny_encoder, bi_encoder=options).eval())


@pytest.mark.parametrize("train_all", [False, True])
@pytest.mark.parametrize("shared", [False, True])
def test_in_training_they_do_so_too_and_spans_of_any_width_are_scored_when_asked(
    shared: bool, train_all: bool, tiny_encoder: Path
) -> None:
    model = made(tiny_encoder, bi_encoder={"train_all": train_all, "share_encoders": shared})
    longest = int(batch_of(model).words.max())
    assert longest > WIDTHS + 1
    check_against_literal(sober(model).train(), longest if train_all else WIDTHS)
    check_against_literal(model.eval(), WIDTHS)


@pytest.mark.parametrize("pooling", ["first", "mean"])
def test_types_that_are_learned_or_pooled_otherwise_do_so_too(pooling: str, tiny_encoder: Path) -> None:
    check_against_literal(made(tiny_encoder, bi_encoder={"pooling": pooling}).eval())
    atomic = made(tiny_encoder, bi_encoder={"describe": "atomic", "pooling": pooling}).eval()
    assert isinstance(atomic.types, AtomicTypes)
    check_against_literal(atomic)


def test_the_text_as_a_whole_is_its_first_piece(tiny_encoder: Path) -> None:
    encoder: Any = made(tiny_encoder).eval().encoder
    batch = batch_of(made(tiny_encoder))
    states = encoder.model(input_ids=batch.pieces, attention_mask=batch.mask).last_hidden_state
    assert torch.equal(encoder(batch).whole, encoder.norm(states[:, 0]))


def test_dropout_is_of_training_alone_and_of_words_and_types(tiny_encoder: Path) -> None:
    model = sober(made(tiny_encoder, model={"dropout": 0.5}))
    batch = batch_of(model)
    with torch.no_grad():
        still, again = model.eval()(batch).logits, model(batch).logits
        moved, other = (model.train()(batch) for _ in range(2))
        assert torch.equal(still, again)
        assert not torch.allclose(moved.logits, other.logits)
        assert not torch.allclose(model._read().span, model._read().span)


# Products in blocks, and features


@pytest.mark.parametrize("widths", [1, 8, 200])
@pytest.mark.parametrize("words", [0, 1, BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK + 2])
def test_products_block_by_block_are_those_of_all_with_all(words: int, widths: int) -> None:
    chance = torch.Generator().manual_seed(words)
    left, right = (torch.randn(2, words, 5, generator=chance) for _ in range(2))
    whole = left @ right.transpose(1, 2)  # (batch, word, word)
    found = band_products(left, right, widths)
    assert found.shape == (2, words, widths)
    for first in range(words):
        row = whole[:, first, first:]  # with itself and the words behind it
        row = torch.cat([row, row[:, -1:].expand(-1, widths)], 1)[:, :widths]
        assert torch.allclose(found[:, first], row, atol=1e-5)


def summed(words: int = 5) -> tuple[SummedFeatures, Tensor, Tensor]:
    """Features, the vectors that they stand for, and which of these are spans."""
    chance = torch.Generator().manual_seed(0)
    start, end = (torch.randn(2, words, 6, generator=chance) for _ in range(2))
    width = torch.randn(WIDTHS, 6, generator=chance)
    vectors, valid = torch.zeros(2, words * WIDTHS, 6), torch.zeros(2, words * WIDTHS, dtype=torch.bool)
    for first, extra in product(range(words), range(WIDTHS)):
        if first + extra < words:
            vectors[:, first * WIDTHS + extra] = start[:, first] + end[:, first + extra] + width[extra]
            valid[:, first * WIDTHS + extra] = True
    return SummedFeatures(start, end, width, span_lengths(start, end, width)), vectors, valid


def test_summed_features_equal_the_built_vectors() -> None:
    features, vectors, valid = summed()
    assert torch.allclose(features.at(valid), vectors[valid], atol=1e-6)
    one = torch.zeros_like(valid)
    one[1, 4] = True
    assert torch.allclose(features.at(one), vectors[1, 4][None], atol=1e-6)
    assert torch.allclose(features.length.flatten(1)[valid], vectors[valid].norm(dim=-1), atol=1e-5)
    directions = torch.randn(4, 6, generator=torch.Generator().manual_seed(1))
    literal = torch.nn.functional.normalize(vectors, dim=-1) @ directions.T
    assert torch.allclose(features.cosine(directions)[valid], literal[valid], atol=1e-5)


def test_features_are_those_of_the_scores_and_carry_no_gradient(tiny_encoder: Path) -> None:
    model = sober(made(tiny_encoder)).train()
    scores = model(batch_of(model))
    found = scores.features.cosine(model._read().span)
    assert torch.allclose(model.temperature[2].exp() * found, scores.similarity.span, atol=1e-5)
    assert not scores.features.at(scores.valid).requires_grad
    assert model.eval()(batch_of(model)).features is None


# Training


def stepper(encoder: Path, documents: Corpus | None = None, **groups: Any) -> Stepper:
    used = documents or corpus()
    recipe = recipe_of(encoder, used, **groups)
    model = build(recipe, used)
    data = prepare(model, used, recipe, Notes())
    return Stepper(model, make_optimiser(model, recipe.train), recipe.make_policy(), recipe.make_loss(), recipe, data)


def take(made: Stepper, steps: int = 1) -> list[float]:
    plan = Plan(made.recipe, [example.length for example in made.data.examples])
    return [made.take(plan.batches(step), plan.progress(step)).loss for step in range(steps)]


@pytest.mark.parametrize("options", [
    {},
    {"share_encoders": True},
    {"share_projections": True},
    {"train_all": True},
    {"thresholds": "global"},
    {"describe": "atomic"},
], ids=str)  # fmt: skip
def test_gradients_reach_both_encoders_and_every_temperature(options: dict[str, Any], tiny_encoder: Path) -> None:
    run = stepper(tiny_encoder, bi_encoder=options, train={"encoder_rate": 0.0, "head_rate": 0.0})
    take(run)
    model = run.model
    assert isinstance(model, BiEncoder)
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        if not name.endswith("key.bias"):  # adds the same to every score of an attention: softmax does not see it
            assert parameter.grad.abs().sum() > 0, name
    assert model.temperature.grad is not None
    assert bool((model.temperature.grad != 0).all())


def test_thresholds_of_the_dev_set_are_trained_without(tiny_encoder: Path) -> None:
    """Also on batches in which no text has a mention."""
    documents = Corpus([*corpus().documents, *[Document("it was at the works", complete=True)] * 8])
    run = stepper(tiny_encoder, documents, bi_encoder={"thresholds": "dev"}, train={"batch_size": 2, "order": "file"})
    losses = take(run, 8)
    assert losses[-3:] == [0.0, 0.0, 0.0]
    assert all(loss > 0 for loss in losses[:4])


@pytest.mark.parametrize("drop", [False, True])
def test_texts_without_an_annotation_are_trained_on_or_not(drop: bool, tiny_encoder: Path) -> None:
    data = stepper(tiny_encoder, bi_encoder={"drop_empty": drop}).data
    texts = [corpus()[example.document].text for example in data.examples]
    assert ("it was at the works" in texts) is not drop
    assert len(texts) == len(data.states) == (7 if drop else 8)


def test_every_type_of_a_span_is_told_apart_whether_it_can_have_several_or_not(tiny_encoder: Path) -> None:
    for several in (False, True):
        run = stepper(tiny_encoder, corpus(False), model={"several": several})
        assert all(states.types is not None and states.possible is None for states in run.data.states)
        assert run.model.several is several


@pytest.mark.parametrize("options", [{}, {"share_encoders": True}, {"thresholds": "global"}], ids=str)
@pytest.mark.parametrize("policy", ["all", "top-neg", "uniform"])
def test_half_precision_trains_and_stays_finite(policy: str, options: dict[str, Any], tiny_encoder: Path) -> None:
    rates = {"encoder_rate": 2e-3, "head_rate": 5e-3, "batch_size": 4, "epochs": 4}
    run = stepper(
        tiny_encoder,
        corpus(False),
        bi_encoder=options,
        policy={"name": policy},
        train={"precision": "bfloat16", **rates},
    )
    losses = take(run, 8)
    assert all(map(math.isfinite, losses))
    assert losses[-1] < losses[0]
    assert {parameter.dtype for parameter in run.model.parameters()} == {torch.float32}


def test_both_encoders_learn_at_the_rate_of_the_pretrained(tiny_encoder: Path) -> None:
    model = made(tiny_encoder)
    found = {id(parameter) for parameter in model.pretrained()}
    names = {name for name, parameter in model.named_parameters() if id(parameter) in found}
    assert names == {name for name, _ in model.named_parameters() if name.startswith(("encoder.model.", "types.own."))}
    one = len(list(model.encoder.model.parameters()))
    assert len(found) == 2 * one
    assert len(made(tiny_encoder, bi_encoder={"share_encoders": True}).pretrained()) == one


def test_encoders_that_are_shared_are_stored_once(tiny_encoder: Path) -> None:
    apart, shared = (made(tiny_encoder, bi_encoder={"share_encoders": value}) for value in (False, True))
    for model in (apart, shared):
        places = [tensor.data_ptr() for tensor in model.state_dict().values()]
        assert len(set(places)) == len(places)
    assert {name for name in apart.state_dict() if name.startswith("types.own.")}
    assert not {name for name in shared.state_dict() if name.startswith("types.")}
    assert shared.types.reader is shared.encoder.model
    assert apart.types.reader is not apart.encoder.model
    own = apart.types.reader.state_dict()
    assert all(torch.equal(own[name], tensor) for name, tensor in apart.encoder.model.state_dict().items())


# Types are read once in prediction


def test_types_are_read_once_for_a_whole_file_and_anew_when_weights_have_changed(tiny_encoder: Path) -> None:
    model = made(tiny_encoder).eval()
    names = [Document(text) for text in ("Ann", "Oslo", "Bob")] * (TOGETHER // 3 + 2)
    assert len(names) > TOGETHER
    for calls in (1, 2):
        assert len(list(predict(model, names))) == len(names)
        assert len(list(predict(model, names[:5]))) == 5
        assert model.types.calls == calls
        model.load_state_dict(model.state_dict())


@pytest.mark.parametrize("policy", [{"name": "all"}, {"name": "weighted", "settings": {"score_mode": "eval"}}], ids=str)
def test_what_a_step_changed_is_seen_by_the_next_prediction(policy: dict[str, Any], tiny_encoder: Path) -> None:
    """Also where the step looked at the scores of a prediction itself."""
    run = stepper(tiny_encoder, corpus(False), policy=policy, train={"head_rate": 0.1, "encoder_rate": 0.1})
    model = run.model
    assert isinstance(model, BiEncoder)

    def read() -> Tensor:
        list(predict(model.eval(), corpus()))
        assert model._known is not None
        return model._known.span

    before, calls = read(), model.types.calls
    assert read() is before
    assert model.types.calls == calls
    take(run, 2)
    assert not torch.allclose(read(), before)
    with torch.no_grad():
        assert torch.equal(read(), model._read().span)


def test_types_are_read_anew_in_another_precision(tiny_encoder: Path) -> None:
    model = made(tiny_encoder).eval()
    before = list(predict(model, corpus()))
    again = list(predict(model.double(), corpus()))
    assert [[e.key for e in one.entities] for one in again] == [[e.key for e in one.entities] for one in before]


def test_other_weights_are_read_by_the_next_prediction(tiny_encoder: Path) -> None:
    one, other = made(tiny_encoder).eval(), made(tiny_encoder, seed=1).eval()
    documents = [*corpus().documents]
    expected = list(predict(other, documents, how="none"))
    assert list(predict(one, documents, how="none")) != expected
    one.load_state_dict(other.state_dict())
    assert list(predict(one, documents, how="none")) == expected


def test_where_a_gradient_is_wanted_types_are_read_anew(tiny_encoder: Path) -> None:
    model = made(tiny_encoder).eval()
    batch = batch_of(model)
    with torch.no_grad():
        model(batch)
    for _ in range(2):
        model(batch).logits.sum().backward()
    assert model.of_types["span"].weight.grad is not None
    assert model._known is None


# Thresholds from a dev set


def f1_above(scores: Sequence[float], gold: Sequence[bool], wanted: int, threshold: float) -> float:
    taken = [is_gold for score, is_gold in zip(scores, gold, strict=True) if score > threshold]
    return 2 * sum(taken) / (len(taken) + wanted) if taken else 0.0


def best_of_all(scores: Sequence[float], gold: Sequence[bool], wanted: int) -> float:
    """The best F1 that any threshold gives: below all scores, or at one of them."""
    return max(f1_above(scores, gold, wanted, threshold) for threshold in (-math.inf, *scores))


class Said:
    """A bi-encoder that says what it was told of texts of one word."""

    def __init__(self, model: BiEncoder, scores: list[float]) -> None:
        self.model, self.scores = model, torch.tensor(scores)

    def forward(self, batch: Batch) -> SpanScores:
        own = self.scores[[example.document for example in batch.examples]]
        span = own[:, None, None].expand(-1, WIDTHS, len(self.model.labels)).contiguous()
        start = span[:, :1]
        logits = torch.nn.functional.pad(span, (1, 0))
        return SpanScores(logits, inside(batch.words, 1, WIDTHS), None, Similarity(start, start, span, None))


numbers = st.one_of(
    st.integers(-4, 4).map(lambda x: x / 4),
    st.sampled_from([1.0, 1.0 + 2**-23, 1.0 + 2**-22, 1.0 - 2**-24]),  # neighbours: nothing lies between
)


@pytest.fixture(scope="module")
def untrained(tiny_encoder: Path) -> BiEncoder:
    return made(tiny_encoder, bi_encoder={"thresholds": "dev"}).eval()


@hypothesis_settings(derandomize=True, deadline=None, max_examples=40)
@given(st.lists(st.tuples(numbers, st.sampled_from(["PER", "LOC", None]), st.integers(2, 3)), min_size=1, max_size=9))
@example([(1.0, "PER", 3), (0.75, None, 3), (0.5, None, 3), (0.25, "PER", 3), (-1.0, "PER", 2), (-1.0, "PER", 2)])
def test_thresholds_of_the_dev_set_are_as_good_as_any(
    untrained: BiEncoder, told: list[tuple[float, str | None, int]]
) -> None:
    """Some entities end inside of their word: they are missed under any threshold."""
    scores = [score for score, _, _ in told]
    documents = [Document("Ann", () if label is None else (Entity(0, end, label),)) for _, label, end in told]
    untrained.forward = Said(untrained, scores).forward  # type: ignore[method-assign]
    try:
        found = best_thresholds(untrained, documents).tolist()
    finally:
        del untrained.forward
    for label, threshold in zip(untrained.labels, found, strict=True):
        gold, wanted = [(own, end) == (label, 3) for _, own, end in told], sum(own == label for _, own, _ in told)
        assert f1_above(scores, gold, wanted, threshold) == best_of_all(scores, gold, wanted)
        if not any(gold):
            assert threshold > max(scores)


def test_thresholds_count_what_no_span_can_find_and_spans_of_long_texts_once(tiny_encoder: Path) -> None:
    """An entity inside a word, one that is too wide, one of a type that the model does not have; many windows."""
    long = "Ann met Bob in Oslo . " * 30
    people = tuple(Entity(at, at + 3, "PER") for at in range(0, len(long), 22))
    odd = (Entity(0, 27, "PER"), Entity(8, 10, "PER"), Entity(23, 27, "X"))
    dev = Corpus([*corpus().documents, Document(long, people), Document("Ann and Bob and Lee of Acme", odd)])
    model = made(tiny_encoder, model={"several": True}, bi_encoder={"thresholds": "dev"}).eval()
    assert len(model.examples(dev.documents)) > len(dev) + 3
    assert model.chosen is not None
    model.chosen.fill_(-1e9)  # every span and type is a candidate
    every = [(number, item) for number, (_, found) in enumerate(candidates(model, dev)) for item in found]
    examples = model.examples(dev.documents)
    windows = [gold_cells(example, dev[example.document], model.labels, WIDTHS) for example in examples]
    assert sum(int(cells.sum()) for cells, _ in windows) == len(every) / 3
    model.fit_to(dev.documents)
    for kind, label in enumerate(model.labels):
        own = [(number, item) for number, item in every if item.label == kind + 1]
        scores = [item.rank or 0.0 for _, item in own]
        truth = {(number, e.start, e.end) for number, d in enumerate(dev) for e in d.entities if e.label == label}
        gold = [(number, item.start, item.end) in truth for number, item in own]
        assert len(truth) - sum(gold) == (2 if label == "PER" else 0)
        assert sum(int(types[cells, kind].sum()) for cells, types in windows) == sum(gold)
        best = best_of_all(scores, gold, len(truth))
        assert f1_above(scores, gold, len(truth), float(model.chosen[kind])) == best


# Prediction


@pytest.mark.parametrize("several", [False, True])
@pytest.mark.parametrize("thresholds", ["dynamic", "global"])
def test_joint_prediction_is_a_loop_over_spans_and_types(thresholds: str, several: bool, tiny_encoder: Path) -> None:
    model = made(tiny_encoder, model={"several": several}, bi_encoder={"thresholds": thresholds}).eval()
    documents = [*corpus().documents, Document("Ann")]
    fewer = 0
    for document, together in zip(documents, predict(model, documents, how="none", joint=True), strict=True):
        (example,) = model.examples([document])
        with torch.no_grad():
            similarity = model(model.batch([example])).similarity
        assert similarity is not None
        assert similarity.thresholds is not None
        start_limit, end_limit, span_limit = (limit[0] for limit in similarity.thresholds)
        expected: list[Any] = []
        for first, extra in product(range(len(example.words)), range(WIDTHS)):
            if first + extra >= len(example.words):
                continue
            margins = (similarity.span[0, first * WIDTHS + extra] - span_limit).tolist()
            starts, ends = similarity.start[0, first] >= start_limit, similarity.end[0, first + extra] >= end_limit
            passed = [k for k in range(3) if margins[k] > 0 and starts[k] and ends[k]]
            fewer += sum(margin > 0 for margin in margins) - len(passed)
            rivals = [math.exp(margins[k]) for k in range(3) if starts[k] and ends[k]]
            if passed and not several:
                passed = [max(passed, key=lambda k: margins[k])]
            for k in passed:
                share = math.exp(margins[k]) / (1 + (math.exp(margins[k]) if several else sum(rivals)))
                place = example.words[first][0], example.words[first + extra][1], model.labels.types[k]
                expected.append((*place, pytest.approx(share, abs=1e-5)))
        assert [(e.start, e.end, e.label, e.score) for e in together.entities] == expected
    assert fewer > 10


def test_without_thresholds_of_the_ends_joint_prediction_is_that_of_spans(tiny_encoder: Path) -> None:
    model = made(tiny_encoder, bi_encoder={"thresholds": "dev"}).eval()
    alone, joint = (list(predict(model, corpus(), joint=joint)) for joint in (False, True))
    assert alone == joint
    assert any(document.entities for document in alone)


def test_a_span_must_be_above_its_threshold_and_not_at_it(tiny_encoder: Path) -> None:
    model = made(tiny_encoder, model={"several": True}, bi_encoder={"thresholds": "dev"}).eval()
    (example,) = model.examples([Document("Ann")])
    with torch.no_grad():
        span = model(model.batch([example])).similarity.span[0, 0]
    for own, labels in ((span, []), (span - 1e-3, ["LOC", "ORG", "PER"])):
        model.chosen = own
        (found,) = predict(model, [Document("Ann")], how="none")
        assert [entity.label for entity in found.entities] == labels
    model.several = False
    model.chosen = span
    assert next(predict(model, [Document("Ann")])).entities == ()


def test_overlapping_spans_are_ranked_by_similarity_or_by_margin(
    tiny_encoder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ "Ann" is more similar to its type than "Ann Lee" is to its own, but less far above the threshold."""
    model = made(tiny_encoder).eval()
    similarity, limits = torch.full((1, 2 * WIDTHS, 3), -50.0), torch.tensor([[4.0, 0.0, 0.0]])
    similarity[0, 0, 0], similarity[0, 1, 1] = 5.0, 3.0

    def forward(batch: Batch) -> SpanScores:
        logits = torch.nn.functional.pad(similarity - limits.unsqueeze(1), (1, 0))
        found = Similarity(similarity[:, :2], similarity[:, :2], similarity, Thresholds(limits, limits, limits))
        return SpanScores(logits, inside(batch.words, 2, WIDTHS), None, found)

    monkeypatch.setattr(model, "forward", forward)
    found = {by: next(predict(model, [Document("Ann Lee")], rank_by=by)).entities for by in ("similarity", "margin")}
    assert [e.key for e in found["similarity"]] == [(0, 3, "LOC")]
    assert [e.key for e in found["margin"]] == [(0, 7, "ORG")]
    assert len(next(predict(model, [Document("Ann Lee")], how="none")).entities) == 2


# Further types


NEW = {"DATE": "it was in the works of oslo to paris", "WORK": "works"}


def recognizer_of(recipe: Recipe) -> Recognizer:
    return Recognizer(build(recipe, corpus()).eval(), recipe, [], "")


@pytest.mark.parametrize(
    "options",
    [{}, {"share_encoders": True}, {"pooling": "mean"}, {"thresholds": "global"}, {"thresholds": "dev"}],
    ids=str,
)
def test_further_types_leave_the_others_as_they_are(options: dict[str, Any], tiny_encoder: Path) -> None:
    model = made(tiny_encoder, bi_encoder=options).eval()
    batch = batch_of(model)
    with torch.no_grad():
        old = model(batch)
        more = model.with_types({label: texts_of([text], model.tokenizer) for label, text in NEW.items()})
        new = more(batch)
    assert more.labels.types == ("LOC", "ORG", "PER", "DATE", "WORK")
    assert model.labels.types == ("LOC", "ORG", "PER")
    assert torch.allclose(new.logits[..., :4], old.logits, atol=1e-5)
    assert torch.allclose(new.similarity.start[..., :3], old.similarity.start, atol=1e-5)
    assert new.logits.shape[-1] == 6
    check_against_literal(more)
    check_against_literal(model)
    own = dict(model.named_parameters())
    assert all(parameter is own[name] for name, parameter in more.named_parameters() if not name.startswith("limits"))
    assert more.state_dict().keys() == model.state_dict().keys()


def test_a_further_type_reads_as_if_it_had_been_there(tiny_encoder: Path) -> None:
    """The scores of a type depend on its description alone."""
    model = made(tiny_encoder).eval()
    twin = model.with_types({"SOMEBODY": texts_of([TEXTS["PER"]], model.tokenizer)})
    with torch.no_grad():
        logits = twin(batch_of(model)).logits
    assert torch.allclose(logits[..., 4], logits[..., 3], atol=1e-5)


@pytest.mark.parametrize("thresholds", ["dynamic", "global", "dev"])
def test_a_model_with_further_types_is_saved_with_them(thresholds: str, tiny_encoder: Path, tmp_path: Path) -> None:
    recognizer = recognizer_of(recipe_of(tiny_encoder, bi_encoder={"thresholds": thresholds})).with_types(**NEW)
    recognizer.save(tmp_path / "model")
    loaded = Recognizer.load(tmp_path / "model")
    assert loaded.labels == recognizer.labels
    check_same(recognizer, loaded)


# Texts about types


class Counting(torch.nn.Module):
    """An encoder whose vector of a piece is its number, its place and the number of texts; `read` is what it read."""

    read: list[list[int]]

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Any:
        self.read = input_ids.tolist()
        places = torch.arange(input_ids.shape[1]).expand_as(input_ids)
        counts = torch.full_like(input_ids, len(input_ids))
        return SimpleNamespace(last_hidden_state=torch.stack([input_ids, places, counts], -1).float())


def test_the_vector_of_a_type_is_the_mean_over_its_texts() -> None:
    texts = [[TypeText([5, 6, 7], 1)], [TypeText([1], 0), TypeText([3, 9], 0), TypeText([2, 4, 8, 6], 3)]]
    reader = TypeReader(Counting(), texts, padding=100)
    assert torch.allclose(reader(), torch.tensor([[6.0, 1.0, 4.0], [(1 + 3 + 6) / 3, 1.0, 4.0]]))
    assert reader.reader.read == [[5, 6, 7, 100], [1, 100, 100, 100], [3, 9, 100, 100], [2, 4, 8, 6]]
    mean = TypeReader(Counting(), texts, padding=100, pooling="mean")()
    assert torch.allclose(mean[:, 0], torch.tensor([6.0, (1 + 6 + 5) / 3]))


def test_several_descriptions_are_averaged(tiny_encoder: Path) -> None:
    both = [TEXTS["PER"], "somebody who works"]

    def vectors(description: str | list[str]) -> Tensor:
        model = made(tiny_encoder, types={"PER": {"description": description}}).eval()
        with torch.no_grad():
            found: Tensor = model.types()
        return found

    one, other = (vectors(text) for text in both)
    assert not torch.allclose(one[2], other[2], atol=1e-3)
    assert torch.allclose(vectors(both)[2], (one[2] + other[2]) / 2, atol=1e-6)
    assert torch.allclose(vectors(both)[:2], one[:2], atol=1e-6)


def test_a_description_is_cut_and_leaves_the_tokenizer_as_it_was(tiny_encoder: Path) -> None:
    model = made(tiny_encoder)
    before = model.examples([Document("ann " * 200)])
    (text,) = texts_of(["ann  met\n" * 200], model.tokenizer)
    words = model.tokenizer("ann met")["input_ids"]
    assert len(text.pieces) == LONGEST
    assert text.pieces[:3] + text.pieces[-1:] == words
    assert text.at == 0
    assert model.examples([Document("ann " * 200)]) == before


# Prototypes


@pytest.fixture(scope="module")
def marking_encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tiny encoder, with a mask piece."""
    return save_tiny_encoder(tmp_path_factory.mktemp("marking"), mask=True)


def prototypes(encoder: Path, documents: Corpus, seed: int = 0) -> tuple[list[list[TypeText]], Any]:
    recipe = recipe_of(encoder, documents, bi_encoder={"describe": "prototypes"}, seed=seed)
    model = build(recipe, documents)
    return type_texts(recipe, documents, model.tokenizer), model.tokenizer


def test_prototypes_are_sentences_with_a_marked_mention(marking_encoder: Path) -> None:
    texts, tokenizer = prototypes(marking_encoder, corpus())
    mask = tokenizer.mask_token_id
    shown: list[str] = []
    for own in texts:
        assert len({tuple(text.pieces) for text in own}) == len(own)
        for text in own:
            assert text.pieces.index(mask) == text.at
            assert text.pieces.count(mask) == 2
            shown.append(tokenizer.decode(text.pieces))
    expected = []
    for label in corpus().labels:
        for document in corpus():
            for entity in document.entities:
                if entity.label == label:
                    before, name, behind = (
                        document.text[: entity.start],
                        document.surface(entity),
                        document.text[entity.end :],
                    )
                    coded = tokenizer(f"{before} [MASK] {name} [MASK] {behind}")["input_ids"]
                    expected.append(tokenizer.decode(coded))
    assert sorted(shown) == sorted(expected)


@pytest.mark.parametrize("words", [1, 3, 30, 61])
@pytest.mark.parametrize(("before", "behind"), [(0, 0), (0, 300), (300, 0), (300, 300), (5, 300), (300, 5), (40, 40)])
def test_long_prototypes_are_cut_around_the_mention(
    before: int, behind: int, words: int, marking_encoder: Path
) -> None:
    text = " ".join(["the"] * before + ["bob"] * words + ["of"] * behind)
    start = 4 * before
    entity = Entity(start, start + 4 * words - 1, "PER")
    ((cut,),), tokenizer = prototypes(marking_encoder, Corpus([Document(text, (entity,))]))
    the, bob, of, mask = tokenizer.convert_tokens_to_ids(["the", "bob", "of", "[MASK]"])
    special = special_pieces(tokenizer)
    room = LONGEST - len(special.before) - len(special.behind) - 2
    inside = min(words, room)
    assert len(cut.pieces) == LONGEST - max(0, room - before - words - behind)
    left, right = cut.pieces.count(the), cut.pieces.count(of)
    expected = [*special.before, *[the] * left, mask, *[bob] * inside, mask, *[of] * right, *special.behind]
    assert cut.pieces == expected
    assert cut.at == len(special.before) + left
    free = room - inside
    if min(before, behind) >= free // 2 + 1:
        assert abs(left - right) <= 1
    assert left == before or right == behind or left + right == free


def test_prototypes_depend_on_the_seed_and_are_not_too_many(marking_encoder: Path) -> None:
    names = [f"{a}{b}" for a in "abcdefgh" for b in "abcdefgh"]
    documents = Corpus([Document(f"it was {name}", (Entity(7, 9, "PER"),)) for name in names])
    first, again, other = (prototypes(marking_encoder, documents, seed)[0] for seed in (0, 0, 1))
    assert first == again != other
    assert [len(own) for own in first] == [PROTOTYPES]


def test_a_step_draws_one_prototype_and_prediction_shows_the_first_three() -> None:
    texts = [[TypeText([10 * kind + number], 0) for number in range(6)] for kind in (1, 2)]
    reader = TypeReader(Counting(), texts, padding=0, draw=SHOWN)
    assert reader.eval()().tolist() == [[11, 0, 2 * SHOWN], [21, 0, 2 * SHOWN]]  # the mean of 0, 1 and 2
    reader.train()
    torch.manual_seed(0)
    drawn = torch.stack([reader() for _ in range(200)])
    assert bool((drawn[..., 2] == 2).all())  # one for each type
    assert set(drawn[:, 0, 0].tolist()) == {10.0 + number for number in range(6)}
    assert not torch.equal(drawn[:, 0, 0] + 10, drawn[:, 1, 0])  # each type's by its own chance


def test_prototypes_need_a_mask_piece_and_mentions_of_whole_words(tiny_encoder: Path, marking_encoder: Path) -> None:
    with pytest.raises(InputError, match="no mask piece to mark a mention with"):
        prototypes(tiny_encoder, corpus())
    inside_a_word = Document("Annabel", (Entity(0, 3, "ORG"),))
    with pytest.raises(InputError, match="no mention of the type ORG to show"):
        prototypes(marking_encoder, Corpus([Document("Ann", (Entity(0, 3, "PER"),)), inside_a_word]))


# Saved and loaded


def check_same(one: Recognizer, other: Recognizer) -> None:
    documents = [*corpus().documents, Document("Oslo was in the works of Ann Lee " * 10)]
    found = [list(recognizer.with_decoding(how="none").predict(documents)) for recognizer in (one, other)]
    assert found[0] == found[1]
    assert sum(len(document.entities) for document in found[0]) > 20


@pytest.mark.parametrize("options", [
    {"describe": "text"},
    {"describe": "text", "pooling": "mean", "share_encoders": True},
    {"describe": "name"},
    {"describe": "atomic"},
    {"describe": "prototypes"},
    {"describe": "prototypes", "share_encoders": True},
    {"thresholds": "global"},
    {"thresholds": "dev", "share_projections": True},
], ids=str)  # fmt: skip
def test_a_saved_model_comes_back_the_same(options: dict[str, Any], marking_encoder: Path, tmp_path: Path) -> None:
    model, recipe = made(marking_encoder, bi_encoder=options), recipe_of(marking_encoder, bi_encoder=options)
    recognizer = Recognizer(model.eval(), recipe, [], "")
    recognizer.save(tmp_path / "model")
    loaded = Recognizer.load(tmp_path / "model")
    check_same(recognizer, loaded)
    assert loaded.recipe == recipe
    weights = loaded.model.state_dict()
    assert weights.keys() == model.state_dict().keys()
    assert all(torch.equal(tensor, weights[name]) for name, tensor in model.state_dict().items())
    if options.get("describe") == "prototypes":  # those that stand for a type in prediction, and no more
        assert isinstance(loaded.model, BiEncoder)
        assert loaded.model.types.texts == [own[:SHOWN] for own in model.types.texts]
        assert max(map(len, model.types.texts)) > SHOWN


# Names


@pytest.mark.parametrize(("label", "words"), [
    ("creative-work", "creative work"),
    ("cell_line", "cell line"),
    ("Cell_Line", "cell line"),
    ("WorkOfArt", "work of art"),
    ("workOfArt", "work of art"),
    ("WORK_OF_ART", "WORK OF ART"),
    ("PER", "PER"),
    ("IOError", "IO error"),
    ("ProteinDNAComplex", "protein DNA complex"),
    ("mRNA", "mRNA"),
    ("RNAs", "RNAs"),
    ("pH", "pH"),
    ("VitaminC", "vitamin C"),
    ("T-Cell", "T cell"),
    ("event.attack", "event attack"),
    ("Straße", "straße"),
    ("人名", "人名"),
    ("_", "_"),
])  # fmt: skip
def test_a_name_in_words(label: str, words: str) -> None:
    assert name_in_words(label) == words
