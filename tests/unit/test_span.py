"""The span head against its literal form: gather, concatenate, multiply."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from goldgap.encode.encoder import WordVectors
from goldgap.models import layers
from goldgap.models.span import ConcatHead, PairHead, SpanFeatures, SpanHead

D, WORDS, WIDTHS, LABELS = 6, 5, 3, 4


def inputs(batch: int = 2) -> tuple[WordVectors, Tensor]:
    torch.manual_seed(0)
    return WordVectors(torch.randn(batch, WORDS, D), torch.randn(batch, WORDS, D), torch.randn(batch, D)), torch.tensor(
        [WORDS, 3]
    )


def literal_concat(head: ConcatHead, start: Tensor, end: Tensor, width: int) -> Tensor:
    """One span the long way: [start; end; width] through one wide matrix."""
    vector = torch.cat([start, end, head.width.weight[width]])
    wide = torch.cat([head.from_start.weight, head.from_end.weight, head.from_width.weight], dim=1)
    hidden = torch.relu(wide @ vector + head.from_start.bias)
    hidden = torch.relu(head.second(hidden))
    return head.label(hidden)  # type: ignore[no-any-return]


def literal_pair(head: PairHead, start: Tensor, end: Tensor) -> Tensor:
    """One span the long way: W [a; b; a - b; a * b] with W3 = 0 chosen, then with its weight moved into W3."""
    w3 = torch.randn_like(head.from_start.weight)
    wide = torch.cat([head.from_start.weight - w3, head.from_end.weight + w3, w3, head.from_product.weight], dim=1)
    vector = torch.cat([start, end, start - end, start * end])
    return head.label(torch.tanh(wide @ vector + head.from_start.bias))  # type: ignore[no-any-return]


@pytest.mark.parametrize("name", ["concat", "pair"])
def test_the_factored_head_equals_the_literal_one(name: str) -> None:
    vectors, words = inputs()
    torch.manual_seed(1)
    model = SpanHead(D, LABELS, head=name, max_width=WIDTHS, hidden=7, width_size=2).eval()
    scores = model(vectors, words)
    for row in range(2):
        for first in range(WORDS):
            for width in range(WIDTHS):
                cell = first * WIDTHS + width
                inside = first + width < words[row]
                assert scores.valid[row, cell].item() == inside
                if inside:
                    start, end = vectors.start[row, first], vectors.end[row, first + width]
                    head = model.head
                    literal = (
                        literal_concat(head, start, end, width)
                        if isinstance(head, ConcatHead)
                        else literal_pair(head, start, end)
                    )
                    assert torch.allclose(scores.logits[row, cell], literal, atol=1e-5)


@pytest.mark.parametrize("cells", [1, 7, 1000])
@pytest.mark.parametrize("rate", [0.0, 0.4])
def test_layers_in_chunks_have_the_gradients_of_finite_differences(
    cells: int, rate: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(layers, "CELLS", cells)
    torch.manual_seed(0)
    second, label = torch.nn.Linear(3, 3).double(), torch.nn.Linear(3, 2).double()
    shapes = ((2, 3, 3), (2, 3, 3), (2, 3))
    inputs = [torch.randn(shape, dtype=torch.float64, requires_grad=True) for shape in shapes]
    parameters = [*second.parameters(), *label.parameters()]

    def logits(*tensors: Tensor) -> Tensor:
        torch.manual_seed(1)  # the same dropout at every call
        return layers.span_layers(tensors[:3], second, label, rate)[0]  # type: ignore[arg-type]

    assert torch.autograd.gradcheck(logits, (*inputs, *parameters))


def test_layers_in_chunks_equal_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    vectors, words = inputs()
    model = SpanHead(D, LABELS, max_width=WIDTHS).eval()
    whole = model(vectors, words).logits
    monkeypatch.setattr(layers, "CELLS", 1)
    assert torch.allclose(model(vectors, words).logits, whole, atol=1e-6)


@pytest.mark.parametrize("cells", [1, 1000])
def test_without_a_gradient_the_scores_are_the_same_and_no_features_are_kept(
    cells: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(layers, "CELLS_WITHOUT_GRADIENT", cells)
    vectors, words = inputs()
    model = SpanHead(D, LABELS, max_width=WIDTHS).eval()
    with torch.no_grad():
        scores = model(vectors, words)
    trained = model(vectors, words)
    assert torch.allclose(scores.logits, trained.logits, atol=1e-6)
    assert scores.features is None
    assert trained.features is not None


def test_dropout_of_the_layers_keeps_the_mean() -> None:
    torch.manual_seed(0)
    second, label = torch.nn.Linear(4, 4), torch.nn.Linear(4, 2)
    parts = (torch.ones(1, 1, 4), torch.ones(1, 1, 4), torch.ones(1, 4))

    def last_layer() -> Tensor:
        hidden = layers.span_layers(parts, second, label, 0.5)[1]
        assert hidden is not None
        return hidden

    with torch.no_grad():
        drawn = torch.stack([last_layer() for _ in range(4000)])
        second.weight.copy_(torch.eye(4))
        second.bias.zero_()
        kept = torch.stack([last_layer() for _ in range(4000)])
    assert (drawn == 0).float().mean() >= 0.45
    assert (kept == 0).float().mean().item() == pytest.approx(0.75, abs=0.02)  # each of two layers drops a half
    assert kept.mean().item() == pytest.approx(3.0, abs=0.15)


def test_without_a_width_limit_every_span_is_scored() -> None:
    vectors, words = inputs()
    scores = SpanHead(D, LABELS, head="pair", max_width=0)(vectors, words)
    assert scores.valid.sum(1).tolist() == [WORDS * (WORDS + 1) // 2, 6]
    with pytest.raises(ValueError, match="max_width"):
        SpanHead(D, LABELS, head="concat", max_width=0)


@pytest.mark.parametrize("name", ["concat", "pair"])
def test_what_is_not_trained_keeps_only_scores_and_they_are_the_same(name: str) -> None:
    vectors, words = inputs()
    model = SpanHead(D, LABELS, head=name, max_width=WIDTHS, dropout=0.0).eval()
    trained = model(vectors, words)
    with torch.no_grad():
        scores = model(vectors, words)
    assert scores.features is None
    torch.testing.assert_close(scores.logits, trained.logits)


@pytest.mark.parametrize("name", ["concat", "pair"])
def test_every_parameter_gets_a_gradient(name: str) -> None:
    vectors, words = inputs()
    model = SpanHead(D, LABELS, head=name, max_width=WIDTHS, dropout=0.0)
    model(vectors, words).logits.square().sum().backward()
    for parameter, value in model.named_parameters():
        assert value.grad is not None, parameter
        assert value.grad.abs().sum() > 0, parameter


def test_span_features_equal_the_built_vectors() -> None:
    vectors, _ = inputs()
    width = torch.randn(WIDTHS, 2)
    features = SpanFeatures(vectors.start, vectors.end, width)
    built = torch.zeros(2, WORDS * WIDTHS, 2 * D + 2)
    valid = torch.zeros(2, WORDS * WIDTHS, dtype=torch.bool)
    for first in range(WORDS):
        for extra in range(min(WIDTHS, WORDS - first)):
            cell = first * WIDTHS + extra
            parts = [vectors.start[:, first], vectors.end[:, first + extra], width[extra].expand(2, 2)]
            built[:, cell] = torch.cat(parts, -1)
            valid[:, cell] = True
    assert torch.equal(features.at(valid), built[valid])
    directions = torch.randn(3, 2 * D + 2)
    literal = torch.nn.functional.normalize(built, dim=-1) @ directions.T
    assert torch.allclose(features.cosine(directions)[valid], literal[valid], atol=1e-5)


def test_features_carry_no_gradient_and_follow_the_option() -> None:
    vectors, words = inputs()
    chosen = torch.zeros(2, WORDS * WIDTHS, dtype=torch.bool)
    chosen[0, 0] = True
    for features, size in (("ffnn", 9), ("span", 2 * D + 4)):
        head = SpanHead(D, LABELS, max_width=WIDTHS, hidden=9, width_size=4, features=features)  # type: ignore[arg-type]
        found = head(vectors, words).features.at(chosen)
        assert found.shape == (1, size)
        assert not found.requires_grad


def test_an_empty_batch_passes() -> None:
    head = SpanHead(D, LABELS, max_width=WIDTHS)
    scores = head(
        WordVectors(torch.zeros(0, 0, D), torch.zeros(0, 0, D), torch.zeros(0, D)), torch.zeros(0, dtype=torch.long)
    )
    assert scores.logits.shape == (0, 0, LABELS)
