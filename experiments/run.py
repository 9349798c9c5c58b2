"""Train and test methods on a corpus, each run once: results are kept under experiments/results by what decides them.

python experiments/run.py wikigold-masked-0.7 --methods span,uniform --seeds 0,1,2
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import json
import shutil
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

import goldgap
from experiments.corpora import Splits, splits
from goldgap import Corpus, Recognizer
from goldgap.core.files import write_atomic
from goldgap.evaluate.scores import evaluate
from goldgap.train.loop import Seen
from goldgap.train.recipe import Recipe, parse_settings, recipe_for

RESULTS = Path(__file__).parent / "results"
WORK = Path(__file__).parent / "unfinished"
"""Checkpoints of runs that were stopped: called again, they go on."""
PARTS = ("encode", "models", "unknown", "losses", "decode.py", "train/step.py", "train/optimiser.py")
"""The code that decides a result, with recipe and data; `corpus` and the rest only read and show."""
ASIDE = ("suspects.py",)


def code_hash() -> str:
    digest = hashlib.sha256()
    root = Path(goldgap.__file__).parent
    for part in PARTS:
        place = root / part
        for file in sorted(place.rglob("*.py")) if place.is_dir() else [place]:
            if file.name in ASIDE:
                continue
            digest.update(file.relative_to(root).as_posix().encode() + _meaning(file).encode())
    return digest.hexdigest()


def _meaning(file: Path) -> str:
    """The code without comments, docstrings and layout."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            node.body = [item for item in node.body if not _is_docstring(item)]
    return ast.dump(tree)


def _is_docstring(item: ast.stmt) -> bool:
    return isinstance(item, ast.Expr) and isinstance(item.value, ast.Constant)


def run(corpus: str, data: Splits, recipe: Recipe, work: Path) -> dict[str, Any]:
    """One training with its scores on dev and test."""
    started = time.perf_counter()

    def show(seen: Seen) -> None:
        if seen.metrics is not None:
            print(f"  epoch {seen.metrics['epoch']:g}: dev F1 {100 * seen.metrics['f1']:.2f}", flush=True)

    model = Recognizer.train(data.train, data.dev, recipe=recipe, work=work, observe=show)
    seconds = time.perf_counter() - started
    result = evaluate(data.test, Corpus(model.predict(data.test)))
    micro = result.strict.micro
    return {
        "corpus": corpus,
        "method": recipe.method,
        "seed": recipe.seed,
        "select_on": model.recipe.select_on,
        "scale": {"train": len(data.train), "dev": len(data.dev), "test": len(data.test)},
        "data": data.hashes,
        "recipe": model.recipe.model_dump(mode="json"),
        "code": code_hash(),
        "metrics": model.metrics,
        "test": {
            "precision": micro.precision,
            "recall": micro.recall,
            "f1": micro.f1,
            "interval": list(result.strict.interval),
            "per_type": {name: score.f1 for name, score in result.strict.per_type.items()},
        },
        "seconds": round(seconds, 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus")
    parser.add_argument("--methods", default="span,uniform,weighted,top-neg,nrces")
    parser.add_argument("--seeds", default="0")
    parser.add_argument("--set", action="append", default=[], dest="settings", metavar="KEY=VALUE")
    given = parser.parse_args()
    RESULTS.mkdir(exist_ok=True)
    for seed in map(int, given.seeds.split(",")):
        data = splits(given.corpus, seed)
        for method in given.methods.split(","):
            recipe = recipe_for(method, parse_settings(given.settings), {"seed": seed})
            deciding = [given.corpus, data.hashes, recipe.model_dump(mode="json"), code_hash()]
            key = hashlib.sha256(json.dumps(deciding, sort_keys=True).encode()).hexdigest()[:12]
            file = RESULTS / f"{given.corpus}_{method}_{seed}_{key}.json"
            print(f"{given.corpus} {method} seed {seed}: {file.name}", flush=True)
            if not file.exists():
                work = WORK / key
                work.mkdir(parents=True, exist_ok=True)
                result = run(given.corpus, data, recipe, work)
                with write_atomic(file) as handle:
                    handle.write(json.dumps(result, indent=1) + "\n")
                shutil.rmtree(work)
            test = json.loads(file.read_text(encoding="utf-8"))["test"]
            print(
                "  test " + ", ".join(f"{name} {100 * test[name]:.2f}" for name in ("precision", "recall", "f1")),
                flush=True,
            )


if __name__ == "__main__":
    main()
