"""How well a bi-encoder finds a type that it was never trained for: each type of WikiGold in turn is left out.

The annotations of the type are taken out of the training and dev files, and the model is asked for it by its
description at prediction time. Beside it, the F1 of the same type when it was trained.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from goldgap import Corpus, Document, Recognizer
from goldgap.evaluate.scores import evaluate
from goldgap.train.compose import parse_settings, recipe_for
from goldgap.train.describe import known_descriptions


def without(corpus: Corpus, label: str) -> Corpus:
    """The corpus as if nobody had thought of a type."""

    def leave_out(document: Document) -> Document:
        return document.replace(entities=tuple(entity for entity in document.entities if entity.label != label))

    return corpus.map(leave_out)


def f1_of(model: Recognizer, test: Corpus, label: str) -> dict[str, float]:
    """Precision, recall and F1 of one type."""
    score = evaluate(test, Corpus(model.predict(test)), samples=0).strict.per_type[label]
    return {"precision": score.precision, "recall": score.recall, "f1": score.f1}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path, help="folder of the corpora")
    parser.add_argument("--method", default="binder")
    parser.add_argument("--set", dest="pairs", metavar="KEY=VALUE", action="append", default=[], help="any setting")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    folder = options.data / "wikigold"
    train, dev, test = (Corpus.read(folder / f"{part}.conll") for part in ("train_gold", "dev", "test"))
    recipe = recipe_for(options.method, {"seed": options.seed}, parse_settings(options.pairs))
    trained = Recognizer.train(train, dev, recipe=recipe)
    figures = {}
    for label in train.labels:
        model = Recognizer.train(without(train, label), without(dev, label), recipe=recipe)
        unseen = f1_of(model.with_types(**{label: known_descriptions()[label.lower()]}), test, label)
        figures[label] = {"unseen": unseen, "trained": f1_of(trained, test, label)}
        print(
            f"{label}: F1 {100 * unseen['f1']:.2f} unseen, {100 * figures[label]['trained']['f1']:.2f} trained",
            flush=True,
        )
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
