"""Which weights of a training are kept: those with the best F1 on the dev set, or the last."""

from __future__ import annotations

from collections.abc import Callable

from goldgap.core.corpus import Corpus
from goldgap.evaluate.scores import evaluate
from goldgap.models.model import Model
from goldgap.models.predict import predict
from goldgap.train.checkpoint import Metrics, RunState, Weights, contiguous, trained_weights
from goldgap.train.recipe import Recipe


def score(model: Model, recipe: Recipe, corpus: Corpus, between: Callable[[], None] = lambda: None) -> Metrics:
    """Precision, recall and F1 of the model as it is.

    between   called after each document
    """
    found = []
    for document in predict(model, corpus, **recipe.decode.model_dump()):
        found.append(document)
        between()
    micro = evaluate(corpus, Corpus(found), samples=0).strict.micro
    return {"precision": micro.precision, "recall": micro.recall, "f1": micro.f1}


def choose(state: RunState, metrics: Metrics, model: Model, select_on: str | None) -> None:
    """Note an evaluation, and keep the weights if they are the best so far."""
    state.metrics.append(metrics)
    state.evaluated, state.sums = state.step, {}
    if select_on == "none":
        state.best_step = state.step
        if state.average is not None:
            state.best = _copied(model)
    elif metrics["f1"] > state.best_f1 or state.best_f1 == 0:  # of scores of 0, the last: it was trained the longest
        state.best_f1, state.best_step, state.waited = metrics["f1"], state.step, 0
        state.best = _copied(model)
    else:
        state.waited += 1


def _copied(model: Model) -> Weights:
    return {name: tensor.clone() for name, tensor in contiguous(trained_weights(model)).items()}
