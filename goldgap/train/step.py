"""One step: scores, the policy's choice among the unknown, the loss, and the optimiser."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import torch
from torch import Tensor

from goldgap.core.errors import RunError
from goldgap.core.progress import Progress
from goldgap.encode.batch import Batch
from goldgap.encode.device import making_on, moved, precise
from goldgap.losses import Loss
from goldgap.losses.contrastive import Contrastive
from goldgap.losses.crf import SequenceLoss
from goldgap.losses.cross_entropy import partial_label
from goldgap.models.chain import Chain
from goldgap.models.model import Model
from goldgap.models.scores import SpanScores
from goldgap.models.states import BatchStates, stack
from goldgap.models.tagger import Tagger
from goldgap.train.data import TrainingSet
from goldgap.train.none_spans import with_none
from goldgap.train.optimiser import set_rates
from goldgap.train.recipe import Recipe, TrainSettings
from goldgap.train.rows import RowGradients
from goldgap.unknown import Cells, Policy, ask, named
from goldgap.unknown.cells import Weighing


class Taken(NamedTuple):
    """What a step did.

    kept, missampled   unknown cells trained on as negatives, and those among them that are masked entities
    effective          the policy's effective sample size, added up over sentences; and how many those were
    """

    loss: float
    words: int
    kept: int
    missampled: int
    effective: float
    weighed: int


@dataclass(frozen=True, slots=True)
class Stepper:
    """Everything that a step needs besides its number."""

    model: Model
    optimiser: torch.optim.Optimizer
    policy: Policy
    loss: Loss | Contrastive | SequenceLoss
    recipe: Recipe
    data: TrainingSet
    rows: RowGradients = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "rows", RowGradients(self.model))

    def take(self, batches: Sequence[Sequence[int]], progress: Progress) -> Taken:
        """Train on the batches as one step; nothing random survives from one step to the next."""
        options = self.recipe.train
        set_rates(self.optimiser, options, progress.step, progress.planned_steps)
        self.optimiser.zero_grad()
        self.model.train()
        parts = []
        for number, indices in enumerate(batches):
            chance = _seed(self.recipe.seed, progress.step, number)
            torch.manual_seed(chance)  # dropout
            parts.append(self._one(indices, progress, torch.Generator().manual_seed(chance + 1), 1 / len(batches)))
        self.rows.spread()
        if options.clip:
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), options.clip)
        self.optimiser.step()
        loss, *sums = (sum(column) for column in zip(*parts, strict=True))
        return Taken(loss / len(batches), *sums)

    def _one(self, indices: Sequence[int], progress: Progress, generator: torch.Generator, share: float) -> Taken:
        batch = self.model.batch([self.data.examples[index] for index in indices])
        known = moved(stack([self.data.states[index] for index in indices]), self.model.device)
        with making_on(self.model.device):
            return self._learn(batch, known, indices, progress, generator, share)

    def _learn(
        self,
        batch: Batch,
        known: BatchStates,
        indices: Sequence[int],
        progress: Progress,
        generator: torch.Generator,
        share: float,
    ) -> Taken:
        with torch.autocast(self.model.device.type, torch.bfloat16, enabled=self.recipe.train.precision == "bfloat16"):
            scores: SpanScores = self.model(batch)  # logits: (batch, cell, label)
        cells = self._cells(batch, scores, known)
        keep = ask(self.recipe.policy.name, self.policy, cells, progress, generator)  # (batch, cell)
        if self.recipe.two_step.none:
            known = self._with_none(batch, known, keep, indices, progress)
        loss = total_loss(scores, known, keep, self.loss, self.recipe.train, progress)
        if not torch.isfinite(loss):
            names = ", ".join(sorted({repr(self.data.names[example.document]) for example in batch.examples}))
            raise RunError(f"the loss is not a number at step {progress.step}; the batch holds the documents {names}")
        (loss * share).backward()
        effective = 0.0
        if isinstance(self.policy, Weighing):
            with named(self.recipe.policy.name, progress):
                effective = float(self.policy.effective_sample_size(cells, progress).sum())
        missampled = 0 if known.dropped is None else int((keep & known.dropped).sum())
        return Taken(float(loss.detach()), int(batch.words.sum()), int(keep.sum()), missampled, effective, len(indices))

    def _with_none(
        self, batch: Batch, known: BatchStates, keep: Tensor, indices: Sequence[int], progress: Progress
    ) -> BatchStates:
        """The same draws for a text in all of an epoch, whatever batch it is in."""
        assert isinstance(self.model, Tagger), "a recipe draws them for taggers alone"
        options, chances = self.recipe.two_step, [f"{self.recipe.seed}/{progress.epoch}/{index}" for index in indices]
        tagset, width = self.model.tagset, options.none_width
        return with_none(known, keep, batch.words, tagset, chances, share=options.none, width=width)

    def _cells(self, batch: Batch, scores: SpanScores, known: BatchStates) -> Cells:
        texts = [example.document + (example.index << 32) for example in batch.examples]  # windows are told apart
        features, mode = scores.features, getattr(self.policy, "score_mode", None)
        if mode == "eval":
            self.model.eval()
            with torch.no_grad():
                scores = self.model(batch)
            self.model.train()
        unknown = known.unknown
        if known.possible is not None:  # of these too some type is unknown: were none drawn, nothing would teach O
            unknown = unknown | known.possible.any(-1)
        if known.aside is not None:
            unknown = unknown & ~known.aside
        logits = scores.logits.detach().float()
        if mode is not None and isinstance(scores.chain, Chain):
            logits = scores.chain.log_marginals(logits, batch.words)  # what neighbouring tags say counts as well
        return Cells(logits, known.labels, unknown, batch.words, torch.tensor(texts, dtype=torch.long), features)


def total_loss(
    scores: SpanScores,
    known: BatchStates,
    keep: Tensor,
    loss: Loss | Contrastive | SequenceLoss,
    options: TrainSettings,
    progress: Progress,
) -> Tensor:
    """Entities, known negatives and the unknown cells that the policy keeps; partly known cells by what is possible."""
    if isinstance(loss, Contrastive):
        assert scores.similarity is not None, "a recipe pairs this loss with a bi-encoder"
        assert known.types is not None, "and its states are by type"
        unknown = known.unknown if known.aside is None else known.unknown | known.aside
        return loss(scores.similarity, known.types, unknown, keep, known.aside)
    if isinstance(loss, SequenceLoss):
        assert scores.chain is not None, "a recipe pairs this loss with a tagger"
        allowed, gone = _allowed(known, keep, scores.logits.shape[-1])
        # In double precision: a sequence that is far less likely than another must not vanish beside it.
        return loss(scores.chain, precise(scores.logits), scores.valid.sum(-1), allowed, gone)
    logits = scores.logits
    if known.types is not None:
        return _by_type(logits, known.types, keep, loss, options, progress)
    rows = (known.labels > 0) | known.negative | keep
    weights = None
    if options.known_weight != 1.0:
        weights = torch.where(known.negative, options.known_weight, 1.0)[rows]
    total = loss(logits[rows], known.labels[rows], progress, weights)
    if known.possible is not None:
        partly = known.possible.any(-1) & ~keep
        if partly.any():
            weight = options.known_weight  # what they teach is what they are not
            values = weight * partial_label(logits[partly], known.possible[partly]).sum()
            if getattr(loss, "reduction", "mean") == "sum":
                return total + values
            counted = rows.sum() if weights is None else weights.sum()
            total = (total * counted + values) / (counted + weight * partly.sum()).clamp(min=1e-8)
    return total


def _allowed(known: BatchStates, keep: Tensor, tags: int) -> tuple[Tensor, Tensor]:
    """Which tags each word may have (batch, word, tag), and the words to learn nothing from (batch, word)."""
    told = (known.labels > 0) | known.negative | keep
    one = torch.nn.functional.one_hot(known.labels, tags).bool()
    allowed = one | ~told.unsqueeze(-1)
    if known.possible is not None:
        partly = known.possible.any(-1) & ~keep
        allowed = known.possible.where(partly.unsqueeze(-1), allowed)
        told = told | partly
    return allowed, ~told


def _by_type(
    logits: Tensor, types: Tensor, keep: Tensor, loss: Loss, options: TrainSettings, progress: Progress
) -> Tensor:
    """A question of two answers for every (cell, type) that is known or kept.

    The two are scored -s/2 and s/2: their softmax is the sigmoid of s, and losses that look at the score of O find one.
    """
    rows = (types == 1) | (types == 2) | keep.unsqueeze(-1)  # (batch, cell, type)
    score = logits[..., 1:][rows] / 2
    state = types[rows]
    weights = torch.where(state == 1, options.known_weight, 1.0) if options.known_weight != 1.0 else None
    return loss(torch.stack([-score, score], -1), (state == 2).long(), progress, weights)


def _seed(seed: int, step: int, number: int) -> int:
    return (seed * 1_000_003 + step) * 2_000 + 2 * number
