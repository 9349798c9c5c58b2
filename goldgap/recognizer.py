"""Recognizer: what a user holds. Train it, call it on text, save it, load it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from goldgap.core.config import read_toml, to_toml
from goldgap.core.corpus import Corpus
from goldgap.core.document import Document, Entity
from goldgap.core.errors import IntegrityError
from goldgap.core.files import commit_directory, read_text, verify_directory
from goldgap.core.labels import Labels
from goldgap.encode.transformer import without_pooler
from goldgap.models.predict import predict
from goldgap.models.span_model import SpanModel
from goldgap.train.loop import Metrics, assemble, train
from goldgap.train.recipe import Recipe, recipe_for

WEIGHTS = "model.safetensors"


class Recognizer:
    """A trained model with its recipe and the metrics of its training."""

    def __init__(self, model: SpanModel, recipe: Recipe, metrics: list[Metrics]) -> None:
        self.model, self.recipe, self.metrics = model, recipe, metrics

    @classmethod
    def train(
        cls,
        corpus: Corpus,
        dev: Corpus | None = None,
        *,
        method: str = "uniform",
        observe: Callable[[Metrics], None] = lambda _: None,
        **settings: Any,
    ) -> Recognizer:
        """A recogniser trained on a corpus with gaps.

        method     the policy and loss by name
        settings   groups of the recipe that differ, e.g. train={"epochs": 3}, encoder={"name": "minilm"}, seed=1
        """
        recipe = recipe_for(method, **settings)
        run = train(recipe, corpus, dev, observe=observe)
        return cls(run.model, recipe, run.metrics)

    def __call__(self, text: str) -> list[Entity]:
        """The entities of one text, with their probabilities."""
        (document,) = self.predict([Document(text)])
        return list(document.entities)

    def predict(self, documents: Iterable[Document]) -> Iterator[Document]:
        """Each document with the entities found in it, in order; memory does not grow with their number."""
        return predict(self.model, documents, how=self.recipe.decode.how, min_prob=self.recipe.decode.min_prob)

    @property
    def labels(self) -> Labels:
        return self.model.labels

    def save(self, path: str | Path) -> None:
        """Write a new directory, whole or not at all, with the hash of every file."""
        from safetensors.torch import save_file

        with commit_directory(Path(path)) as folder:
            save_file({name: tensor.contiguous() for name, tensor in self.model.state_dict().items()}, folder / WEIGHTS)
            encoder: Any = self.model.encoder.model
            encoder.config.save_pretrained(folder)
            self.model.tokenizer.save_pretrained(folder)
            (folder / "recipe.toml").write_text(to_toml(self.recipe), encoding="utf-8")
            (folder / "labels.json").write_text(json.dumps(list(self.labels)) + "\n", encoding="utf-8")
            lines = (json.dumps(metrics) + "\n" for metrics in self.metrics)
            (folder / "metrics.jsonl").write_text("".join(lines), encoding="utf-8")

    @classmethod
    def load(cls, path: str | Path) -> Recognizer:
        """The recogniser in a directory, once every file was found to be what was saved."""
        from safetensors.torch import load_file
        from transformers import AutoConfig, AutoModel, AutoTokenizer

        folder = Path(path)
        names = verify_directory(folder)
        for name in (WEIGHTS, "recipe.toml", "labels.json", "metrics.jsonl", "config.json"):
            if name not in names:
                raise IntegrityError(f"{name} is not among its files: not a model of goldgap", path=folder)
        recipe = read_toml(Recipe, folder / "recipe.toml")
        labels = Labels(tuple(json.loads(read_text(folder / "labels.json"))))
        encoder = AutoModel.from_config(AutoConfig.from_pretrained(folder))  # type: ignore[no-untyped-call]
        without_pooler(encoder)
        tokenizer = AutoTokenizer.from_pretrained(folder, use_fast=True, add_prefix_space=True)
        model = assemble(recipe, labels, encoder, tokenizer)
        model.load_state_dict(load_file(folder / WEIGHTS))
        model.eval()
        metrics = [json.loads(line) for line in read_text(folder / "metrics.jsonl").split("\n") if line]
        return cls(model, recipe, metrics)
