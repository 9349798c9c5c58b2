"""The bi-encoder against the span model and stock token classification, on the same encoder and the same batches.

16 texts of 64 words at a time, 4 types with descriptions of 24 pieces: a training step with encoders apart and shared,
prediction with decoding, how often types are read for a file, and the head's memory as the window grows.
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
from common import finish, median_seconds, peak_megabytes, real_texts
from steps import first_steps
from stock import load_stock, stock_entities, stock_steps
from torch import Tensor, nn

from goldgap import Corpus, Document, Entity
from goldgap.core.labels import Labels
from goldgap.corpus.words import words_of
from goldgap.encode.batch import Batch
from goldgap.encode.encoder import WordVectors
from goldgap.losses.contrastive import Contrastive
from goldgap.models.bi_encoder import BiEncoder, BiEncoderShape
from goldgap.models.model import Model
from goldgap.models.predict import predict, scored
from goldgap.models.types import AtomicTypes
from goldgap.train.build import build
from goldgap.train.compose import recipe_for
from goldgap.train.recipe import Recipe
from goldgap.train.resolve import resolved
from goldgap.train.split import Split

SENTENCES, WORDS = 16, 64
TYPES = ("Chemical", "Disease", "Gene", "Species")
DESCRIPTION = "name of a thing that is in the text and that can be told from all the others by what it is"
RECIPES = {
    "span": ("span", {}),
    "binder": ("binder", {}),
    "binder, shared": ("binder", {"bi_encoder": {"share_encoders": True}}),
}


def make_texts(count: int) -> Corpus:
    """Abstracts cut into texts of 64 words, with an entity at every eighth word."""
    words = [word for text in real_texts(count * WORDS * 12) for word in text.split() if word.isalpha()]
    documents = []
    for number in range(count):
        document = Document(" ".join(words[number * WORDS : (number + 1) * WORDS]))
        ranges = words_of(document)
        entities = (Entity(*ranges[at], TYPES[at // 8 % len(TYPES)]) for at in range(0, len(ranges), 8))
        documents.append(document.replace(entities=tuple(entities)))
    return Corpus(documents)


def recipe_of(name: str, corpus: Corpus) -> Recipe:
    method, settings = RECIPES[name]
    types = {} if method == "span" else {"types": {label: {"description": DESCRIPTION} for label in TYPES}}
    recipe = recipe_for(method, settings, types, {"train": {"batch_size": SENTENCES}})
    return resolved(recipe, Split(corpus, None, "none"))


def step_ratios(corpus: Corpus, steps: int, repeats: int) -> dict[str, float]:
    """The time of the same steps with each model, over that of the stock model."""
    contenders: dict[str, Callable[[], object]] = {}
    batches: list[Batch] = []
    for name in RECIPES:
        contenders[name], batches = first_steps(recipe_of(name, corpus), corpus, steps)
    stock = load_stock(len(TYPES))
    optimiser = torch.optim.AdamW(stock.parameters(), lr=5e-5, fused=True)
    contenders = {"stock": lambda: stock_steps(stock, optimiser, batches), **contenders}
    for work in contenders.values():
        work()
    times = median_seconds(contenders, repeats)
    return {name: times[name] / times["stock"] for name in RECIPES}


def make_choosy(model: Any, corpus: Corpus) -> None:
    """Let one span in a hundred be an entity, about as many as a trained model finds: six in a text of 64 words."""
    _, scores = next(scored(model, corpus.documents[:SENTENCES]))
    gains = (scores.logits[..., 1:].amax(-1) - scores.logits[..., 0])[scores.valid]
    least = gains.quantile(0.99)
    if isinstance(model, BiEncoder):
        thresholds = model._thresholds
        model._thresholds = lambda *given: (own := thresholds(*given))._replace(span=own.span + least)  # type: ignore[method-assign]
    else:
        model.head.head.label.bias.data[0] += least


def prediction_ratios(corpus: Corpus, repeats: int) -> dict[str, float]:
    """Documents to entities, tokenising and decoding included, over the same with the stock model."""
    models: dict[str, Model] = {name: build(recipe_of(name, corpus), corpus).eval() for name in ("span", "binder")}
    for model in models.values():
        make_choosy(model, corpus)
    stock = load_stock(len(TYPES)).eval()
    contenders: dict[str, Callable[[], object]] = {
        "stock": lambda: stock_entities(stock, models["span"], corpus),
        **{name: lambda model=model: list(predict(model, corpus)) for name, model in models.items()},  # type: ignore[misc]
    }
    for work in contenders.values():
        work()
    times = median_seconds(contenders, repeats)
    return {name: times[name] / times["stock"] for name in models}


def types_read(corpus: Corpus) -> int:
    """How often the types of a bi-encoder are read for a file of many parts."""
    model: Any = build(recipe_of("binder", corpus), corpus).eval()
    list(predict(model, [document for _ in range(3) for document in corpus]))
    return int(model.types.calls)


# The head's memory


class Still(nn.Module):
    """An encoder that gives the same vectors to every batch."""

    dimension = 384

    def __init__(self, texts: int, words: int) -> None:
        super().__init__()
        start, end = (torch.randn(texts, words, self.dimension, requires_grad=True) for _ in range(2))
        self.vectors = WordVectors(start, end, torch.randn(texts, self.dimension))

    def forward(self, _: Batch) -> WordVectors:
        return self.vectors

    def piece_limit(self, _: object) -> int:
        return 10**6


def head_memory(words: int) -> float:
    """Megabytes that scores, loss and gradient of 8 texts add at their peak, in a process of its own."""
    from goldgap.encode.transformer import load_transformer

    _, tokenizer = load_transformer("minilm")
    _head_work(8, tokenizer)()
    work = _head_work(words, tokenizer)
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # forget the peak so far
    before = peak_megabytes()
    work()
    return peak_megabytes() - before


def _head_work(words: int, tokenizer: Any) -> Callable[[], object]:
    torch.manual_seed(0)
    texts, widths = 8, 10
    encoder: Any = Still(texts, words)
    types = AtomicTypes(len(TYPES), encoder.dimension)
    model = BiEncoder(
        encoder, types, Labels(TYPES), tokenizer, BiEncoderShape(max_width=widths), overlap=24, window=10**6
    )
    states = torch.randint(0, 3, (texts, words * widths, len(TYPES)), dtype=torch.int8)
    keep: Tensor = (states == 0).any(-1)
    loss, counts = Contrastive(), torch.full((texts,), words)

    def work() -> None:
        nothing = torch.zeros(0)  # the encoder reads none of it
        batch = Batch([], nothing, nothing, nothing, nothing, nothing, counts)
        loss(model.train()(batch).similarity, states, keep, keep).backward()

    return work


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="under a minute: fewer steps and repeats")
    quick = parser.parse_args().quick
    corpus = make_texts(64 if quick else 320)
    figures: dict[str, Any] = {}
    print("A training step over that of stock token classification (binder at most 1.80, shared 1.40):")
    for name, ratio in step_ratios(corpus, 2 if quick else 10, 3 if quick else 7).items():
        figures[f"step_{name}"] = ratio
        print(f"  {name:<16}{ratio:6.2f}")
    print("Prediction over that of the stock model (binder at most 1.25):")
    for name, ratio in prediction_ratios(corpus, 3 if quick else 7).items():
        figures[f"prediction_{name}"] = ratio
        print(f"  {name:<16}{ratio:6.2f}")
    figures["types_read"] = types_read(corpus)
    print(f"Types were read {figures['types_read']} time for {3 * len(corpus):,} documents")
    print("The head's memory, 8 texts forth and back:")
    for words in (128, 256, 512):
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            figures[f"head_mb_{words}"] = pool.apply(head_memory, (words,))
        print(f"  {words} words: {figures[f'head_mb_{words}']:6.1f} MB")
    finish(figures)


if __name__ == "__main__":
    main()
