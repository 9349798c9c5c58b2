"""One step: its rates and its loss against their formulas, what it counts, and whose scores a policy sees."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from goldgap import Corpus, Document, Entity
from goldgap.core.errors import RunError
from goldgap.core.notes import Notes
from goldgap.core.progress import Progress
from goldgap.losses.contrastive import Contrastive, candidates
from goldgap.losses.cross_entropy import CrossEntropy
from goldgap.models.scores import SpanScores
from goldgap.models.span_model import SpanModel
from goldgap.models.states import BatchStates
from goldgap.train.build import build
from goldgap.train.compose import recipe_for
from goldgap.train.data import prepare
from goldgap.train.optimiser import make_optimiser, set_rates
from goldgap.train.plan import Plan
from goldgap.train.recipe import Recipe, TrainSettings
from goldgap.train.step import Stepper, total_loss
from goldgap.unknown import Cells, Policy
from tests.slow.test_training import corpus

START = Progress(epoch=0, planned_epochs=2, step=0, planned_steps=10)

# Rates


def rates(steps: int, **options: Any) -> list[float]:
    """The rate at every step, as a share of the whole one."""
    optimiser = torch.optim.SGD([{"params": [torch.zeros(1)], "lr": 0.0, "rate": 0.5}])
    found = []
    for step in range(steps):
        set_rates(optimiser, TrainSettings(**options), step, steps)
        found.append(optimiser.param_groups[0]["lr"] / 0.5)
    return found


@pytest.mark.parametrize("warmup", [0.0, 0.1, 0.25, 1.0])
@pytest.mark.parametrize("steps", [1, 2, 20, 40])
def test_rates_rise_in_a_line_and_fall_in_a_line(steps: int, warmup: float) -> None:
    warm = max(round(warmup * steps), 1)
    expected = [(step + 1) / warm if step < warm else (steps - step) / (steps - warm) for step in range(steps)]
    assert rates(steps, warmup=warmup) == pytest.approx(expected)
    level = [min(1.0, (step + 1) / warm) for step in range(steps)]
    assert rates(steps, warmup=warmup, schedule="constant") == pytest.approx(level)


def test_rates_never_exceed_the_whole_one_and_never_end_at_nothing() -> None:
    for steps in range(1, 60):
        found = rates(steps, warmup=0.1)
        assert max(found) <= 1
        assert min(found) > 0


# The loss by hand


def states(*, several: bool) -> BatchStates:
    """Two sentences of six cells: an entity, a known negative, two unknown, partly known ones, padding."""
    labels = torch.tensor([[1, 0, 0, 0, 0, 0], [0, 2, 0, 0, 0, 0]])
    negative, unknown, partly = (
        torch.tensor(rows).bool()
        for rows in (
            [[0, 1, 0, 0, 0, 0], [1, 0, 0, 0, 0, 0]],
            [[0, 0, 1, 1, 0, 0], [0, 0, 1, 0, 0, 0]],
            [[0, 0, 0, 0, 1, 0], [0, 0, 0, 1, 1, 0]],
        )
    )
    if several:
        types = torch.zeros(2, 6, 2, dtype=torch.int8)
        types[0, 0], types[1, 1] = torch.tensor([2, 1]), torch.tensor([1, 2])
        types[negative] = 1
        types[partly] = torch.tensor([1, 0], dtype=torch.int8)
        return BatchStates(labels, unknown | partly, negative, types=types)
    possible = partly[..., None] & torch.tensor([True, False, True])
    return BatchStates(labels, unknown, negative, possible=possible)


def scores() -> Tensor:
    return torch.randn(2, 6, 3, generator=torch.Generator().manual_seed(0), requires_grad=True)


KEPT = [(0, 2), (0, 4), (1, 2)]
"""Two unknown cells and one of which the first type is ruled out."""


def keep_mask() -> Tensor:
    keep = torch.zeros(2, 6, dtype=torch.bool)
    for cell in KEPT:
        keep[cell] = True
    return keep


def scores_of(logits: Tensor) -> SpanScores:
    return SpanScores(logits, torch.ones(logits.shape[:2], dtype=torch.bool), None)


def minus_log(logits: Tensor, allowed: list[int]) -> float:
    exponentials = [math.exp(value) for value in logits.tolist()]
    return -math.log(sum(exponentials[label] for label in allowed) / sum(exponentials))


@pytest.mark.parametrize("reduction", ["mean", "sum"])
@pytest.mark.parametrize("known_weight", [1.0, 0.25, 0.0])
def test_the_loss_is_that_of_a_loop_over_the_cells(reduction: Any, known_weight: float) -> None:
    known, logits = states(several=False), scores()
    assert known.possible is not None
    values, weights, partly = [], [], []
    for row in range(2):
        for cell in range(6):
            label = int(known.labels[row, cell])
            if label > 0 or known.negative[row, cell] or (row, cell) in KEPT:
                values.append(minus_log(logits[row, cell], [label]))
                weights.append(known_weight if known.negative[row, cell] else 1.0)
            elif known.possible[row, cell].any():
                partly.append(known_weight * minus_log(logits[row, cell], [0, 2]))
    expected = sum(value * weight for value, weight in zip(values, weights, strict=True))
    if reduction == "mean":
        expected = (expected + sum(partly)) / (sum(weights) + known_weight * len(partly))
    else:
        expected += sum(partly)
    options = TrainSettings(known_weight=known_weight)
    found = total_loss(scores_of(logits), known, keep_mask(), CrossEntropy(reduction), options, START)
    assert (len(values), len(partly)) == (7, 2)
    assert found.item() == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("reduction", ["mean", "sum"])
@pytest.mark.parametrize("known_weight", [1.0, 0.25, 0.0])
def test_the_loss_of_several_types_is_binary_cross_entropy_of_cell_and_type(
    reduction: Any, known_weight: float
) -> None:
    known, logits = states(several=True), scores()
    assert known.types is not None
    pairs, targets, weights = [], [], []
    for row in range(2):
        for cell in range(6):
            for kind in range(2):
                state = int(known.types[row, cell, kind])
                if state > 0 or (row, cell) in KEPT:
                    pairs.append(logits[row, cell, kind + 1])
                    targets.append(float(state == 2))
                    weights.append(known_weight if state == 1 else 1.0)
    expected = torch.nn.functional.binary_cross_entropy_with_logits(
        torch.stack(pairs), torch.tensor(targets), torch.tensor(weights), reduction="sum"
    )
    if reduction == "mean":
        expected = expected / sum(weights)
    options = TrainSettings(known_weight=known_weight)
    found = total_loss(scores_of(logits), known, keep_mask(), CrossEntropy(reduction), options, START)
    assert len(pairs) == 8 + 6 + 2
    assert found.item() == pytest.approx(expected.item(), rel=1e-5)


@pytest.mark.parametrize("several", [False, True])
def test_what_is_neither_known_nor_kept_moves_nothing(several: bool) -> None:
    known, logits = states(several=several), scores()
    loss = total_loss(scores_of(logits), known, keep_mask(), CrossEntropy(), TrainSettings(), START)
    loss.backward()
    assert logits.grad is not None
    silent = [(0, 3), (0, 5), (1, 5)]
    for row in range(2):
        for cell in range(6):
            assert (logits.grad[row, cell].abs().sum() == 0).item() == ((row, cell) in silent)


def test_a_batch_of_nothing_costs_nothing() -> None:
    nothing = torch.zeros(2, 6, dtype=torch.bool)
    known, logits = BatchStates(torch.zeros(2, 6, dtype=torch.long), nothing, nothing), scores()
    loss = total_loss(scores_of(logits), known, nothing, CrossEntropy(), TrainSettings(), START)
    loss.backward()
    assert loss.item() == 0
    assert logits.grad is not None
    assert logits.grad.abs().sum() == 0


# Steps of a tiny model


def stepper(
    encoder: Path, documents: Corpus, policy: Policy | None = None, method: str = "span", **groups: Any
) -> Stepper:
    recipe: Recipe = recipe_for(
        method,
        {"encoder": {"name": str(encoder)}, "model": {"max_width": 4, "hidden": 16, "width_size": 8, "dropout": 0.0}},
        {"loss": {"settings": {"reduction": "mean"}}},
        groups,
    )
    model = build(recipe, documents)
    data = prepare(model, documents, recipe, Notes())
    optimiser = make_optimiser(model, recipe.train)
    return Stepper(model, optimiser, policy or recipe.make_policy(), recipe.make_loss(), recipe, data)


STILL = {"encoder_rate": 0.0, "head_rate": 0.0, "clip": 0.0}
"""Steps that leave the weights and the gradients as they are."""


def no_dropout(made: Stepper) -> Stepper:
    for module in made.model.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
    return made


def gradients(made: Stepper) -> dict[str, Tensor]:
    return {name: p.grad.clone() for name, p in made.model.named_parameters() if p.grad is not None}


def test_the_gradient_of_several_batches_is_the_mean_of_theirs(tiny_encoder: Path) -> None:
    made = no_dropout(stepper(tiny_encoder, corpus(False), train=STILL))
    parts = [[0, 1, 2], [3, 4], [5, 6, 7]]
    single, losses = [], []
    for part in parts:
        losses.append(made.take([part], START).loss)
        single.append(gradients(made))
    taken = made.take(parts, START)
    together = gradients(made)
    assert taken.loss == pytest.approx(sum(losses) / 3, rel=1e-5)
    assert together.keys() == single[0].keys()
    for name, gradient in together.items():
        mean = torch.stack([item[name] for item in single]).mean(0)
        assert torch.allclose(gradient, mean, atol=1e-6), name


def test_gradients_are_cut_to_the_norm_that_was_asked_for(tiny_encoder: Path) -> None:
    made = stepper(tiny_encoder, corpus(), train={**STILL, "clip": 0.01})
    made.take([[0, 1, 2, 3]], START)
    norm = torch.stack([gradient.norm() for gradient in gradients(made).values()]).norm()
    assert norm.item() == pytest.approx(0.01, rel=1e-3)


def test_a_step_depends_on_its_number_and_the_seed_and_not_on_what_came_before(tiny_encoder: Path) -> None:
    def after(seed: int, step: int, drawn: int = 0) -> Tensor:
        made = stepper(tiny_encoder, corpus(False), method="uniform", seed=seed, train=STILL, model={"dropout": 0.5})
        torch.rand(drawn)  # the global generator moves on
        made.take([[0, 1, 2], [3, 4]], START._replace(step=step))
        return gradients(made)["head.head.label.weight"]

    assert torch.equal(after(1, 4), after(1, 4, drawn=7))
    assert not torch.equal(after(1, 4), after(1, 5))
    assert not torch.equal(after(1, 4), after(2, 4))


def test_a_step_says_what_it_kept_and_what_of_it_was_an_entity(tiny_encoder: Path) -> None:
    """Two sentences of which one entity each was taken away, and one of more words than the model finds."""
    text = "Ann met Bob in the works of Acme"  # 8 words
    gone = (Entity(8, 11, "PER"), Entity(0, 19, "PER"))  # "Bob"; the first five words
    documents = Corpus([Document(text, (Entity(0, 3, "PER"),), dropped=gone)] * 2)
    spans = 8 + 7 + 6 + 5
    made = stepper(tiny_encoder, documents, train={"certain_negatives": False})
    taken = made.take([[0, 1]], START)
    assert (taken.kept, taken.missampled, taken.words) == (2 * (spans - 1), 2, 16)
    certain = stepper(tiny_encoder, documents).take([[0], [1]], START)  # what overlaps Ann is known
    assert (certain.kept, certain.missampled, certain.words) == (2 * (spans - 4), 2, 16)
    none = stepper(tiny_encoder, documents, Spy("train")).take([[0, 1]], START)
    assert (none.kept, none.missampled) == (0, 0)


def test_without_masked_entities_nothing_is_missampled(tiny_encoder: Path) -> None:
    assert stepper(tiny_encoder, corpus(False)).take([[0, 1]], START).missampled == 0


def test_a_weight_of_nothing_for_what_is_known_leaves_a_number(tiny_encoder: Path) -> None:
    known = states(several=False)
    nothing = torch.zeros_like(known.labels)
    alone = replace(known, labels=nothing, negative=nothing.bool(), unknown=nothing.bool())
    options = TrainSettings(known_weight=0.0)
    keep = torch.zeros_like(known.unknown)
    assert total_loss(scores_of(scores()), alone, keep, CrossEntropy(), options, START).item() == 0


def test_spans_that_are_partly_known_can_be_drawn(tiny_encoder: Path) -> None:
    """Else, in a corpus that is complete for one type, nothing would say what is no entity at all."""
    partly = corpus(False).map(lambda d: d.replace(complete=frozenset({"PER"})))
    taken = stepper(tiny_encoder, partly, train={"certain_negatives": False}).take([[0]], START)
    assert taken.kept == 5 + 4 + 3 + 2 - 2  # all spans of five words but the two entities


@dataclass(slots=True)
class Spy:
    """A policy that draws by weights, keeps nothing and remembers what it saw."""

    score_mode: str
    seen: list[Cells] = field(default_factory=list)

    def __call__(self, cells: Cells, progress: Progress, generator: torch.Generator) -> Tensor:
        self.seen.append(cells)
        return torch.zeros_like(cells.unknown)

    def effective_sample_size(self, cells: Cells, progress: Progress) -> Tensor:
        assert cells is self.seen[-1]
        return torch.full((len(cells.unknown),), 3.0)


@pytest.mark.parametrize("mode", ["train", "eval"])
def test_scores_for_a_policy_are_without_dropout_when_it_asks_for_that(mode: str, tiny_encoder: Path) -> None:
    spy = Spy(mode)
    made = stepper(tiny_encoder, corpus(False), spy, train=STILL, model={"dropout": 0.5})
    taken = made.take([[0, 1, 2]], START)
    assert (taken.effective, taken.weighed) == (9.0, 3)
    assert made.model.training
    with torch.no_grad():
        without = made.model.eval()(made.model.batch(made.data.examples[:3])).logits
    (cells,) = spy.seen
    assert not cells.logits.requires_grad
    assert torch.allclose(cells.logits, without, atol=1e-5) is (mode == "eval")


@pytest.mark.parametrize("mode", ["train", "eval"])
def test_the_scores_that_are_trained_have_dropout_in_either_case(mode: str, tiny_encoder: Path) -> None:
    losses = []
    for dropout in (0.0, 0.5):
        made = no_dropout(stepper(tiny_encoder, corpus(), Spy(mode), train=STILL, model={"dropout": dropout}))
        losses.append(made.take([[0, 1, 2]], START).loss)
    assert abs(losses[0] - losses[1]) > 1e-3


def test_a_loss_that_is_no_number_names_the_documents_of_its_batch(tiny_encoder: Path) -> None:
    made = stepper(tiny_encoder, corpus())
    assert isinstance(made.model, SpanModel)
    with torch.no_grad():
        made.model.head.head.label.bias.fill_(math.nan)
    with pytest.raises(RunError, match=r"not a number at step 0; the batch holds the documents '2', '5'$"):
        made.take([[1, 4]], START)


@pytest.mark.parametrize("features", ["ffnn", "span"])
@pytest.mark.parametrize("encoder", ["tiny", "bilstm"])
def test_half_precision_trains_every_model_and_stays_finite(encoder: str, features: str, tiny_encoder: Path) -> None:
    place = tiny_encoder if encoder == "tiny" else Path(encoder)
    for head in ("concat", "pair"):
        made = stepper(
            place,
            corpus(False),
            method="top-neg",
            model={"features": features, "head": head},
            train={"precision": "bfloat16", "batch_size": 4, "encoder_rate": 1e-3, "head_rate": 1e-2},
        )
        plan = Plan(made.recipe, [example.length for example in made.data.examples])
        losses = [made.take(plan.batches(step), plan.progress(step)).loss for step in range(plan.steps)]
        assert all(map(math.isfinite, losses))
        assert losses[-1] < losses[0]
        assert {parameter.dtype for parameter in made.model.parameters()} == {torch.float32}


def test_words_of_spans_that_are_left_aside_are_no_negatives_of_a_bi_encoder() -> None:
    """Ann met Bob, complete but for Bob: leaving Bob aside must not teach that no entity ends there."""
    types = torch.ones(1, 3, 1, dtype=torch.long)  # three words, spans of one word, all known not to be an entity
    types[0, 0], types[0, 2] = 2, 0  # Ann is one, Bob unknown
    unknown = types[..., 0] == 0
    known = BatchStates(
        labels=(types[..., 0] == 2).long(), negative=types[..., 0] == 1, unknown=unknown & False, possible=None,
        types=types, dropped=None, aside=unknown,
    )  # fmt: skip
    asked = []

    class Spy(Contrastive):
        def __call__(
            self, similarity: Any, types: Tensor, unknown: Tensor, keep: Tensor, aside: Tensor | None = None
        ) -> Tensor:
            asked.append(candidates(types, unknown, keep, aside, words=3)["end"].negatives[0, :, 0].tolist())
            return torch.zeros(())

    scores = scores_of(torch.zeros(1, 3, 2))._replace(similarity=object())  # type: ignore[arg-type]
    total_loss(scores, known, torch.zeros(1, 3, dtype=torch.bool), Spy(), TrainSettings(), START)
    assert asked == [[False, True, False]]
