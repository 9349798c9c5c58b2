"""Values of reports: an evaluation of the demo's labels, a training, and a comparison with made-up scores."""

from __future__ import annotations

import random
import statistics
from typing import Any

from goldgap import Corpus, Dictionary
from goldgap.core.manifest import sha256
from goldgap.corpus.inspect import inspect
from goldgap.demo import DICTIONARY, TEST, TRAIN
from goldgap.evaluate.scores import evaluate
from goldgap.report.examples import examples_of
from goldgap.train.compose import recipe_for

NAMES = {"span": 0.48, "uniform": 0.6, "weighted": 0.59, "top-neg": 0.61, "nrces:loss.w=10": 0.47}
"""Contenders, with the F1 that they have about."""


def evaluation_values() -> dict[str, Any]:
    """What the demo's dictionary finds in the demo's test set, against the gold."""
    gold, terms = Corpus.read(TEST), Dictionary.read(DICTIONARY)
    found = terms.annotate(gold)
    return {
        **evaluate(gold, found).to_json(),
        "gold": TEST.name,
        "predicted": "labels.jsonl",
        "files": {TEST.name: sha256(TEST)},
        "examples": examples_of(gold, found, terms.annotate(Corpus.read(TRAIN))),
        "recipe": recipe_for("uniform").model_dump(mode="json"),
        "against": {
            "name": "older.jsonl",
            "difference": 0.021,
            "interval": [-0.002, 0.045],
            "p_value": 0.08,
            "verdict": "undecided",
        },
    }


def training_values(epochs: int = 8) -> dict[str, Any]:
    """A training on the demo's labels whose best epoch is the last but one."""
    chance = random.Random(1)
    metrics: list[dict[str, Any]] = []
    for epoch in range(1, epochs + 1):
        recall = 0.7 * (1 - 0.7**epoch) + chance.uniform(-0.01, 0.01)
        precision = 0.8 - 0.02 * epoch
        f1 = 2 * precision * recall / (precision + recall) - (0.03 if epoch == epochs else 0)
        counts = {"loss": 40 * 0.6**epoch, "kept": 9_000 + epoch, "missampled": 120 - 5 * epoch}
        scores = {"precision": precision, "recall": recall, "f1": f1}
        metrics.append({"step": 60 * epoch, "epoch": epoch, **counts, **scores})
    best = max(metrics, key=lambda entry: entry["f1"])
    labels = Dictionary.read(DICTIONARY).annotate(Corpus.read(TRAIN))
    return {
        "model": "model",
        "recipe": recipe_for("uniform", {"select_on": "clean dev", "train": {"epochs": epochs}}).model_dump(
            mode="json"
        ),
        "labels": ["LOC", "ORG", "PER"],
        "facts": {
            "training documents": "440",
            "training entities": "512",
            "sha256 of the training documents": "ab" * 32,
        },
        "metrics": metrics,
        "best_step": best["step"],
        "lost": ["3 x entity wider than 10 words (encyclopaedia-bell-1, ...)"],
        "cautions": ["weighted draws by the model's probabilities, which gce leaves too low: use uniform"],
        "check": inspect(labels).to_json(),
        "files": {"labels.jsonl": sha256(TRAIN)},
    }


def comparison_values(*, seeds: int = 3, drops: tuple[float | None, ...] = (0.5, 0.7)) -> dict[str, Any]:
    """What `goldgap.compare.contest.compare` returns, with made-up scores: top-neg is the best on dev and on test."""
    return {
        "baseline": "span",
        "seeds": list(range(seeds)),
        "grid": {"policy.ratio": ["0.03", "0.1"]},
        "files": {"train.jsonl": "1" * 64, "dev.jsonl": "2" * 64, "test.jsonl": "3" * 64},
        "types": ["LOC", "ORG", "PER"],
        "samples": 2000,
        "conditions": [condition(drop, seeds) for drop in drops],
        "cautions": [],
    }


def condition(drop: float | None, seeds: int) -> dict[str, Any]:
    rows = [contender(name, f1 - 0.3 * (drop or 0), drop, seeds) for name, f1 in NAMES.items()]
    rows[0].pop("against")
    rows[4]["failed"] = [{"seed": 2, "settings": "", "why": "step 40: the loss is not a number"}]
    best = max(rows, key=lambda row: float(row["dev_f1"]))
    return {
        "drop": drop,
        "name": "test" if drop is None else f"test-masked-{drop:g}",
        "sizes": {"train": 440, "dev": 120, "test": 200},
        "contenders": rows,
        "recommended": {
            **{key: best[key] for key in ("name", "dev_f1", "f1", "best_share")},
            "seeds": seeds,
            "passed_over": None,
            "rival": {"name": "uniform", "best_share": 0.3},
        },
    }


def contender(name: str, f1: float, drop: float | None, seeds: int) -> dict[str, Any]:
    chance = random.Random(f"{name}/{drop}")
    runs: list[dict[str, Any]] = []
    for seed in range(seeds):
        score = f1 + chance.uniform(-0.01, 0.01)
        scores = {"precision": score + 0.1, "recall": score - 0.08, "f1": score, "dev_f1": score + 0.02}
        runs.append(
            {"key": f"{chance.getrandbits(48):012x}", "seed": seed, **scores, "seconds": chance.uniform(60, 90)}
        )
    means = {
        key: statistics.mean(run[key] for run in runs) for key in ("precision", "recall", "f1", "dev_f1", "seconds")
    }
    gain = means["f1"] - (NAMES["span"] - 0.3 * (drop or 0))
    counts = gain > 0.05 and seeds >= 3
    curve = [
        {"epoch": epoch, **{key: means[key] * (1 - 0.6**epoch) for key in ("precision", "recall", "f1")}}
        for epoch in range(1, 7)
    ]
    return {
        "name": name,
        "failed": [],
        "method": name.partition(":")[0],
        "select_on": "clean dev",
        "runs": runs,
        **means,
        "sd": statistics.stdev(run["f1"] for run in runs) if seeds > 1 else None,
        "per_type": {
            label: {key: means[key] for key in ("precision", "recall", "f1")} for label in ("LOC", "ORG", "PER")
        },
        "curve": curve,
        "missampled": None if drop is None else 0.0123,
        "negatives": "spans",
        "settings": "policy.ratio=0.1" if name == "uniform" else "",
        **(
            {"tried": [{"settings": f"policy.ratio={ratio}", "dev_f1": f1, "f1": f1} for ratio in ("0.03", "0.1")]}
            if name == "uniform"
            else {}
        ),
        "interval": [means["f1"] - 0.03, means["f1"] + 0.03],
        "best_share": 0.62 if name == "top-neg" else 0.1,
        "against": {
            "difference": gain,
            "interval": [gain - 0.03, gain + 0.03],
            "p_value": 0.001 if counts else 0.4,
            "adjusted": 0.004 if counts else 0.8,
            "verdict": "better" if counts else "undecided",
        },
    }
