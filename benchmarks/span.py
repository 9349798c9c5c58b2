"""The span recogniser against stock token classification on the same encoder and the same batches.

A training step of every method, prediction with decoding, the factored head against gathering and concatenating, and
the cost of a word in long documents.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

import torch
from common import DATA, finish, median_seconds, peak_megabytes
from steps import first_steps
from stock import load_stock, stock_entities, stock_steps
from torch import Tensor, nn

from goldgap import Corpus, Document
from goldgap.demo import DEV, TRAIN
from goldgap.encode.encoder import WordVectors
from goldgap.models.model import Model
from goldgap.models.predict import TOGETHER, predict
from goldgap.models.span import SpanHead
from goldgap.models.span_model import SpanModel
from goldgap.train.build import build
from goldgap.train.compose import recipe_for

METHODS = ("span", "uniform", "weighted", "top-neg", "nrces")
DIMENSION, SENTENCES, WORDS = 384, 16, 64


def load_corpus() -> Corpus:
    """Sentences with gaps in their annotation: WikiGold's, or the demo's where that is absent."""
    path = DATA / "wikigold" / "train_gold.conll"
    return Corpus.read(path) if path.exists() else Corpus.read(TRAIN).map(lambda d: d.replace(complete=False))


# Training


def step_ratios(corpus: Corpus, steps: int, repeats: int) -> dict[str, float]:
    """The time of the same steps with each method, over that of the stock model."""
    contenders: dict[str, Callable[[], object]] = {}
    stock = load_stock(len(corpus.labels))
    optimiser = torch.optim.AdamW(stock.parameters(), lr=5e-5, fused=True)
    for method in METHODS:
        recipe = recipe_for(method, {"train": {"batch_size": 16}})  # the same batches for all
        contenders[method], batches = first_steps(recipe, corpus, steps)
    contenders = {"stock": lambda: stock_steps(stock, optimiser, batches), **contenders}
    for work in contenders.values():
        work()
    times = median_seconds(contenders, repeats)
    return {method: times[method] / times["stock"] for method in METHODS}


# Prediction


def sober(model: Model) -> Model:
    """A model that calls about as few spans an entity as a trained one; an untrained one would most of them."""
    assert isinstance(model, SpanModel)
    with torch.no_grad():
        model.head.head.label.bias[0] += 0.6
    return model.eval()


def prediction_ratio(corpus: Corpus, repeats: int) -> float:
    """Documents to entities, tokenising and decoding included, over the same with the stock model."""
    model = sober(build(recipe_for("uniform"), corpus))
    stock = load_stock(len(corpus.labels)).eval()
    corpus = Corpus(corpus.documents[:TOGETHER])  # sorted by length at once, so that both get the same batches
    contenders: dict[str, Callable[[], object]] = {
        "ours": lambda: list(predict(model, corpus)),
        "stock": lambda: stock_entities(stock, model, corpus),
    }
    for work in contenders.values():
        work()
    times = median_seconds(contenders, repeats)
    return times["ours"] / times["stock"]


def long_document_ratio(repeats: int) -> float:
    """The cost of a word in documents of 400 words over that in documents of 20."""
    words = [word for document in Corpus.read(DEV) for word in document.text.split()]
    while len(words) < 8000:
        words += words
    words = words[:8000]
    contenders: dict[str, Callable[[], object]] = {}
    model = sober(build(recipe_for("uniform"), load_corpus()))
    for size in (20, 400):
        documents = [Document(" ".join(words[at : at + size])) for at in range(0, len(words), size)]
        contenders[str(size)] = lambda documents=documents: list(predict(model, documents))  # type: ignore[misc]
        contenders[str(size)]()
    times = median_seconds(contenders, repeats)
    return times["400"] / times["20"]


# The head


class GatheredHead(nn.Module):
    """The same scores the literal way: a vector of [start; end; width] for every span."""

    def __init__(self, widths: int) -> None:
        super().__init__()
        self.width = nn.Embedding(widths, 150)
        self.layers = nn.Sequential(
            nn.Linear(2 * DIMENSION + 150, 150),
            nn.ReLU(),
            nn.Dropout(0.2),
            nn.Linear(150, 150),
            nn.ReLU(),
            nn.Dropout(0.2),
            nn.Linear(150, 5),
        )
        self.widths = widths

    def forward(self, vectors: WordVectors) -> Tensor:
        start = torch.arange(WORDS)[:, None].expand(-1, self.widths)
        end = (start + torch.arange(self.widths)).clamp(max=WORDS - 1)
        width = self.width.weight.expand(SENTENCES, WORDS, -1, -1)
        spans = torch.cat([vectors.start[:, start], vectors.end[:, end], width], -1)  # (batch, word, width, 2d + 150)
        logits: Tensor = self.layers(spans)
        return logits


def head_figures(widths: int, repeats: int) -> dict[str, float]:
    """Time and peak memory of scoring and its gradient, for both heads."""
    times = median_seconds({name: _head_work(name, widths) for name in ("factored", "gathered")}, repeats)
    memory = {}
    for name in times:
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            memory[name] = pool.apply(head_memory, (name, widths))
    return {
        f"head_time_factored_w{widths}": times["factored"],
        f"head_time_gathered_w{widths}": times["gathered"],
        f"head_mb_factored_w{widths}": memory["factored"],
        f"head_mb_gathered_w{widths}": memory["gathered"],
        f"head_memory_ratio_w{widths}": memory["gathered"] / memory["factored"],
    }


def _head_work(name: str, widths: int) -> Callable[[], object]:
    torch.manual_seed(0)
    start, end = (torch.randn(SENTENCES, WORDS, DIMENSION, requires_grad=True) for _ in range(2))
    vectors = WordVectors(start, end, torch.randn(SENTENCES, DIMENSION))
    words = torch.full((SENTENCES,), WORDS)
    factored, gathered = SpanHead(DIMENSION, 5, max_width=widths), GatheredHead(widths)

    def work() -> None:
        logits = factored(vectors, words).logits if name == "factored" else gathered(vectors)
        logits.sum().backward()

    return work


def head_memory(name: str, widths: int) -> float:
    """Megabytes that one pass adds at its peak, in a process of its own."""
    work = _head_work(name, widths)
    # Libraries are loaded at first use.
    _head_work(name, 1)()
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # forget the peak so far
    before = peak_megabytes()
    work()
    return peak_megabytes() - before


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="under a minute: fewer steps and repeats")
    quick = parser.parse_args().quick
    corpus = load_corpus()
    corpus = Corpus(corpus.documents[: 100 if quick else 600])
    figures: dict[str, Any] = {}
    print("A training step over that of stock token classification (at most 1.20):")
    for method, ratio in step_ratios(corpus, 3 if quick else 20, 3 if quick else 7).items():
        figures[f"step_{method}"] = ratio
        print(f"  {method:<10}{ratio:6.2f}")
    figures["prediction"] = prediction_ratio(corpus, 3 if quick else 7)
    print(f"Prediction over that of the stock model (at most 1.15): {figures['prediction']:.2f}")
    figures["long_documents"] = long_document_ratio(2 if quick else 5)
    print(f"A word in 400-word over one in 20-word documents (at most 1.35): {figures['long_documents']:.2f}")
    print(f"The head, {SENTENCES} sentences of {WORDS} words, {DIMENSION} dimensions, forth and back:")
    for widths in (8, 10):
        figures |= head_figures(widths, 5 if quick else 15)
        for name in ("factored", "gathered"):
            milliseconds = 1000 * figures[f"head_time_{name}_w{widths}"]
            print(f"  width {widths:>2} {name}: {milliseconds:7.1f} ms {figures[f'head_mb_{name}_w{widths}']:7.1f} MB")
        print(f"  width {widths:>2} memory ratio (at least 4): {figures[f'head_memory_ratio_w{widths}']:.1f}")
    finish(figures)


if __name__ == "__main__":
    main()
