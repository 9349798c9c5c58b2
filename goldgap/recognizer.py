"""Recognizer: what a user holds. Train it, call it on text, save it, load it."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import torch

from goldgap.core.config import load, read_toml, to_toml
from goldgap.core.corpus import Corpus
from goldgap.core.document import Document, Entity, label_problem
from goldgap.core.errors import ConfigError, IntegrityError, require
from goldgap.core.labels import Labels
from goldgap.core.manifest import MANIFEST, commit_directory, verify_directory
from goldgap.core.notes import Notes
from goldgap.core.reading import read_text
from goldgap.core.writing import require_unicode
from goldgap.decode import decoders
from goldgap.encode.device import device_named
from goldgap.models.bi_encoder import BiEncoder
from goldgap.models.model import Model
from goldgap.models.predict import predict
from goldgap.models.suspects import Suspect, suspects
from goldgap.report.card import card_of_further_types, model_card
from goldgap.train.build import rebuild
from goldgap.train.checkpoint import Metrics, contiguous
from goldgap.train.checks import check
from goldgap.train.compose import recipe_for
from goldgap.train.data import is_flat, knowledge_of
from goldgap.train.describe import texts_of
from goldgap.train.loop import Observer, train
from goldgap.train.methods import DEFAULT
from goldgap.train.recipe import Recipe, TypeSettings
from goldgap.train.two_step import train_in_two_steps

WEIGHTS = "model.safetensors"
CARD = "README.md"
LEFT_OUT_LIST = "left_out.jsonl"
_READ = "Corpus.read(path) reads one from a file"
_FILES = (WEIGHTS, CARD, "recipe.toml", "labels.json", "metrics.jsonl", "config.json")


class Recognizer:
    """A trained model with its recipe, the metrics of its training and its model card.

    notes, facts, best_step   what could not be trained on, how much there was, and the step that was kept; known after
                              the training alone
    left_out                  what the two-step method took for missing annotations; after the training alone
    """

    def __init__(
        self,
        model: Model,
        recipe: Recipe,
        metrics: list[Metrics],
        card: str,
        notes: Notes | None = None,
        *,
        facts: dict[str, Any] | None = None,
        best_step: int | None = None,
        left_out: list[dict[str, Any]] | None = None,
    ) -> None:
        self.model, self.recipe, self.metrics, self.card = model, recipe, metrics, card
        self.notes, self.facts, self.best_step = notes or Notes(), facts or {}, best_step
        self.left_out = left_out or []

    @classmethod
    def train(
        cls,
        corpus: Corpus,
        dev: Corpus | None = None,
        *,
        method: str | None = None,
        recipe: Recipe | None = None,
        work: str | Path | None = None,
        observe: Observer = lambda _: None,
        stopped: Callable[[], bool] = lambda: False,
        **settings: Any,
    ) -> Recognizer:
        """A recogniser trained on a corpus with gaps.

        dev        documents to choose the best epoch on; without it, a tenth of the corpus is held out
        method     the policy and loss by name, or the default one; `goldgap methods` lists them
        recipe     the whole recipe, in place of a method and settings
        work       folder for checkpoints; a run that was stopped goes on from the newest one in it
        settings   groups of the recipe that differ, e.g. train={"epochs": 3}, encoder={"name": "minilm"}, seed=1
        """
        if recipe is not None and (settings or method is not None):
            given = ", ".join(settings) or f"method={method!r}"
            raise ConfigError(f"a whole recipe is given, and {given} beside it: put it into the recipe")
        if recipe is None:  # whoever made one can ask it for its cautions
            recipe = recipe_for(method or DEFAULT, settings)
            for caution in recipe.cautions():
                warnings.warn(caution, stacklevel=2)
        check(recipe)
        for documents, what in ((corpus, "training documents"), (dev, "dev documents")):
            if documents is not None:
                require(documents, Corpus, f"the {what} are a Corpus", _READ)
                documents.require_own_ids(what)
        way = train_in_two_steps if recipe.two_step.explore else train
        folder = None if work is None else Path(work)
        with torch.random.fork_rng(devices=[]):  # the caller's own draws go on where they were
            run = way(recipe, corpus, dev, work=folder, observe=observe, stopped=stopped)
        card = model_card(
            run.recipe,
            run.model.labels,
            facts=run.facts,
            metrics=run.metrics,
            best_step=run.best_step,
            notes=run.notes,
        )
        return cls(
            run.model,
            run.recipe,
            run.metrics,
            card,
            run.notes,
            facts=run.facts,
            best_step=run.best_step,
            left_out=run.left_out,
        )

    def __call__(self, text: str) -> list[Entity]:
        """The entities of one text, with their probabilities."""
        require(text, str, "one text is asked about", "predict(documents) takes several")
        (document,) = self.predict([Document(text)])
        return list(document.entities)

    def predict(self, documents: Iterable[Document], notes: Notes | None = None) -> Iterator[Document]:
        """Each document with the entities found in it, in order; memory does not grow with their number.

        notes   gets what could not be read whole
        """
        require(documents, Iterable, "documents are asked about", _READ)
        return predict(self.model, map(_document, documents), notes=notes, **self.recipe.decode.model_dump())

    def __repr__(self) -> str:
        types = ", ".join(self.labels)
        return f"<Recognizer: {self.recipe.method} on {self.recipe.encoder.name}, types {types}>"

    def with_decoding(self, **changes: Any) -> Recognizer:
        """The same model under other settings of decoding, e.g. min_prob=0.8."""
        settings = self.recipe.model_dump(mode="json", exclude_none=True)
        settings["decode"] |= changes
        decoders.get(settings["decode"]["how"])
        return self._with(self.model, load(Recipe, settings))

    def with_types(self, /, **descriptions: str) -> Recognizer:
        """The same model with further types, which it was never trained for, e.g. Vessel="ships and boats".

        How well it finds them depends on how near they are to those it knows: see `experiments/unseen_types.py`.
        """
        if not isinstance(self.model, BiEncoder) or self.recipe.bi_encoder.describe not in ("text", "name"):
            raise ConfigError(
                f"this model (method {self.recipe.method}) does not read what a type is, so it can have no further "
                "ones; train one with the method binder and bi_encoder.describe = text, as it is by default"
            )
        for label, text in descriptions.items():
            if problem := label_problem(label):
                raise ConfigError(f"type {label!r}: {problem}")
            if label in self.labels:
                raise ConfigError(f"the model has a type {label} already; give the new one another name")
            if not text.strip():
                raise ConfigError(f"the description of {label} is empty: say in a sentence what it is")
        texts = {label: texts_of([text], self.model.tokenizer) for label, text in descriptions.items()}
        described = {label: TypeSettings(description=text) for label, text in descriptions.items()}
        recipe = self.recipe.model_copy(update={"types": {**self.recipe.types, **described}})
        return self._with(self.model.with_types(texts), recipe, self.card + card_of_further_types(descriptions))

    def _with(self, model: Model, recipe: Recipe, card: str | None = None) -> Recognizer:
        """The same training with another model, recipe or card."""
        return Recognizer(
            model,
            recipe,
            self.metrics,
            self.card if card is None else card,
            self.notes,
            facts=self.facts,
            best_step=self.best_step,
            left_out=self.left_out,
        )

    def suspects(self, corpus: Corpus, *, min_prob: float | None = None, notes: Notes | None = None) -> list[Suspect]:
        """Spans of a corpus that are unknown and that this model calls an entity: missing annotations, best first.

        min_prob   least probability; None: as the model was made
        notes      gets what could not be read whole
        """
        require(corpus, Corpus, "a Corpus is looked through", _READ)
        corpus.require_own_ids("documents")
        knowledge = knowledge_of(self.recipe, self.labels, flat=is_flat(corpus))
        asked = self if min_prob is None else self.with_decoding(min_prob=min_prob)
        return suspects(self.model, corpus, knowledge, notes=notes, **asked.recipe.decode.model_dump())

    @property
    def labels(self) -> Labels:
        return self.model.labels

    def save(self, path: str | Path) -> None:
        """Write a new directory, whole or not at all, with the hash of every file."""
        from safetensors.torch import save_file

        require_unicode(Path(path))
        with commit_directory(Path(path)) as folder:
            save_file(contiguous(self.model.state_dict()), folder / WEIGHTS)
            self.model.save_config(folder)
            (folder / CARD).write_text(self.card, encoding="utf-8")
            (folder / "recipe.toml").write_text(to_toml(self.recipe), encoding="utf-8")
            (folder / "labels.json").write_text(json.dumps(list(self.labels)) + "\n", encoding="utf-8")
            lines = (json.dumps(metrics) + "\n" for metrics in self.metrics)
            (folder / "metrics.jsonl").write_text("".join(lines), encoding="utf-8")
            if self.left_out:
                lines = (json.dumps(one, ensure_ascii=False) + "\n" for one in self.left_out)
                (folder / LEFT_OUT_LIST).write_text("".join(lines), encoding="utf-8")

    @classmethod
    def load(cls, path: str | Path, *, device: str = "cpu") -> Recognizer:
        """The recogniser in a directory, once every file was found to be what was saved.

        device   where it works, as torch names it: cpu, cuda, cuda:1, mps
        """
        from safetensors.torch import load_file

        folder = Path(path)
        require_unicode(folder)
        if not os.path.exists(folder / MANIFEST):
            what = "there is no such folder"
            if os.path.exists(folder):
                what = "it has no manifest.json" if os.path.isdir(folder) else "a file"
            raise IntegrityError(f"{what}, expected the folder that goldgap train wrote", path=folder)
        names = verify_directory(folder)
        for name in _FILES:
            if name not in names:
                raise IntegrityError(f"{name} is not among its files: not a model of goldgap", path=folder)
        recipe = read_toml(Recipe, folder / "recipe.toml")
        labels = Labels(tuple(json.loads(read_text(folder / "labels.json"))))
        model = rebuild(recipe, labels, folder)
        model.load_state_dict(load_file(folder / WEIGHTS))
        model.to(device_named(device)).eval()
        metrics = [json.loads(line) for line in read_text(folder / "metrics.jsonl").split("\n") if line]
        return cls(model, recipe, metrics, read_text(folder / CARD))


def _document(given: object) -> Document:
    require(given, Document, "documents are asked about", "Document('a text') makes one of a text, and " + _READ)
    assert isinstance(given, Document)
    return given
