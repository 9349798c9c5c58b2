"""Training: a plain loop that reads top to bottom. Nothing random survives from one step to the next."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from goldgap.core.corpus import Corpus
from goldgap.core.errors import InputError, RunError
from goldgap.core.labels import Labels
from goldgap.core.notes import Notes
from goldgap.core.progress import Progress
from goldgap.encode.batch import Batch, batch_order
from goldgap.encode.transformer import TransformerEncoder, load_encoder
from goldgap.evaluate.scores import evaluate
from goldgap.losses.base import Loss
from goldgap.losses.cross_entropy import partial_label
from goldgap.models.predict import predict
from goldgap.models.span import SpanHead, SpanScores
from goldgap.models.span_model import SpanModel
from goldgap.models.states import BatchStates, Knowledge, stack, states_of
from goldgap.train.recipe import Recipe
from goldgap.unknown.cells import Cells

Metrics = dict[str, Any]


@dataclass(slots=True)
class Trained:
    """The best model of a run, the metrics of each epoch, and what could not be trained on."""

    model: SpanModel
    metrics: list[Metrics] = field(default_factory=list)
    notes: Notes = field(default_factory=Notes)
    best_epoch: int = -1


def build(recipe: Recipe, labels: Labels) -> SpanModel:
    """A fresh model: the pretrained encoder under a new head, whose weights depend on the seed alone."""
    pretrained, tokenizer = load_encoder(recipe.encoder.name)
    torch.manual_seed(recipe.seed)
    return assemble(recipe, labels, pretrained, tokenizer)


def assemble(recipe: Recipe, labels: Labels, pretrained: nn.Module, tokenizer: Any) -> SpanModel:
    """The model of a recipe around an encoder."""
    options = recipe.encoder
    encoder = TransformerEncoder(pretrained, shapes=options.shapes, pooling=options.pooling, layers=options.layers)
    head = SpanHead(
        encoder.dimension,
        len(labels) + 1,
        head=recipe.model.head,
        max_width=recipe.model.max_width,
        hidden=recipe.model.hidden,
        width_size=recipe.model.width_size,
        dropout=recipe.model.dropout,
        features=recipe.model.features,
    )
    return SpanModel(encoder, head, labels, tokenizer, overlap=recipe.train.overlap)


def train(
    recipe: Recipe, corpus: Corpus, dev: Corpus | None = None, *, observe: Callable[[Metrics], None] = lambda _: None
) -> Trained:
    """Train on a corpus with gaps; the epoch with the best dev F1 is kept, or the last one without a dev set."""
    if corpus.entity_count == 0:
        raise InputError("no entity in the training files: nothing can be learned from unknown alone")
    run = Trained(build(recipe, corpus.labels))
    model, options = run.model, recipe.train
    examples = model.examples(corpus.documents)
    knowledge = Knowledge(corpus.labels, recipe.model.max_width, _is_flat(corpus), options.certain_negatives)
    states = [states_of(example, corpus[example.document], knowledge, run.notes) for example in examples]
    lengths = [example.length for example in examples]
    orders = [
        batch_order(
            lengths, batch_size=options.batch_size, token_budget=options.token_budget, seed=recipe.seed, epoch=epoch
        )
        for epoch in range(options.epochs)
    ]
    steps = sum(map(len, orders))
    optimiser, schedule = _optimiser(model, recipe, steps)
    policy, loss_function = recipe.make_policy(), recipe.make_loss()
    best: dict[str, Tensor] | None = None
    best_f1 = -1.0
    step = 0
    for epoch, order in enumerate(orders):
        started, total = time.perf_counter(), 0.0
        model.train()
        for indices in order:
            progress = Progress(epoch, options.epochs, step, steps)
            torch.manual_seed(recipe.seed * 1_000_003 + step)  # dropout is a function of (seed, step)
            generator = torch.Generator().manual_seed(recipe.seed * 1_000_003 + step + 500_000_000)
            batch = model.batch([examples[index] for index in indices])
            known = stack([states[index] for index in indices])
            scores = model(batch)  # (batch, cell, label)
            keep = policy(_cells(batch, scores, known), progress, generator)  # (batch, cell)
            loss = _loss(scores, known, keep, loss_function, progress)
            if not torch.isfinite(loss):
                names = ", ".join(repr(corpus[example.document].id) for example in batch.examples)
                raise RunError(f"the loss is not a number at step {step}; the batch holds the documents {names}")
            optimiser.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            torch.nn.utils.clip_grad_norm_(model.parameters(), options.clip)
            optimiser.step()
            schedule.step()
            total += float(loss.detach())
            step += 1
        metrics: Metrics = {"epoch": epoch, "step": step, "loss": total / max(len(order), 1)}
        metrics["seconds"] = time.perf_counter() - started
        if dev is not None:
            found = Corpus(predict(model, dev, how=recipe.decode.how, min_prob=recipe.decode.min_prob))
            score = evaluate(dev, found, samples=0).strict.micro
            metrics |= {"precision": score.precision, "recall": score.recall, "f1": score.f1}
            if score.f1 > best_f1:
                best_f1, best, run.best_epoch = score.f1, copy.deepcopy(model.state_dict()), epoch
        else:
            run.best_epoch = epoch
        run.metrics.append(metrics)
        observe(metrics)
    if best is not None:
        model.load_state_dict(best)
    model.eval()
    return run


def _cells(batch: Batch, scores: SpanScores, known: BatchStates) -> Cells:
    documents = torch.tensor([example.document for example in batch.examples], dtype=torch.long)
    return Cells(scores.logits.detach(), known.labels, known.unknown, batch.words, documents, scores.features)


def _loss(scores: SpanScores, known: BatchStates, keep: Tensor, loss_function: Loss, progress: Progress) -> Tensor:
    """Entities, known negatives and the unknown cells that the policy keeps; partly known cells by what is possible."""
    rows = (known.labels > 0) | known.negative | keep
    loss = loss_function(scores.logits[rows], known.labels[rows], progress)
    if known.possible is not None:
        partly = known.possible.any(-1) & ~keep
        if partly.any():
            loss = loss + partial_label(scores.logits[partly], known.possible[partly]).mean()
    return loss


def _optimiser(
    model: SpanModel, recipe: Recipe, steps: int
) -> tuple[torch.optim.Optimizer, torch.optim.lr_scheduler.LRScheduler]:
    """AdamW with one rate for what is pretrained and one for what is new, warmed up and brought down in a line."""
    options = recipe.train
    pretrained = list(model.encoder.model.parameters())
    known = {id(parameter) for parameter in pretrained}
    new = [parameter for parameter in model.parameters() if id(parameter) not in known]
    optimiser = torch.optim.AdamW(
        [{"params": pretrained, "lr": options.encoder_rate}, {"params": new, "lr": options.head_rate}],
        weight_decay=options.weight_decay,
    )
    warm = max(options.warmup * steps, 1.0)

    def factor(step: int) -> float:
        rising = min(1.0, (step + 1) / warm)
        falling = max(0.0, (steps - step) / max(steps - warm, 1.0)) if options.schedule == "linear" else 1.0
        return min(rising, falling)

    return optimiser, torch.optim.lr_scheduler.LambdaLR(optimiser, factor)


def _is_flat(corpus: Corpus) -> bool:
    """Whether no two entities of any document overlap."""
    for document in corpus:
        reach = 0
        for entity in sorted(document.entities, key=lambda entity: (entity.start, entity.end)):
            if entity.start < reach:
                return False
            reach = entity.end
    return True
