"""Train and test methods on a corpus; what is kept under experiments/results is not done again.

python experiments/run.py wikigold-masked-0.7 --methods span,uniform --seeds 0,1,2
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from experiments.corpora import splits
from goldgap.compare.runs import Runs
from goldgap.train.loop import Seen
from goldgap.train.recipe import parse_settings, recipe_for

RESULTS = Runs(Path(__file__).parent / "results")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus")
    parser.add_argument("--methods", default="span,uniform,weighted,top-neg,nrces")
    parser.add_argument("--seeds", default="0")
    parser.add_argument("--set", action="append", default=[], dest="settings", metavar="KEY=VALUE")
    given = parser.parse_args()
    for seed in map(int, given.seeds.split(",")):
        data = splits(given.corpus, seed)
        for method in given.methods.split(","):
            recipe = recipe_for(method, parse_settings(given.settings), {"seed": seed})
            print(f"{given.corpus} {method} seed {seed}: {RESULTS.path(data, recipe).name}", flush=True)
            scores = RESULTS.get(data, recipe, observe=show).scores
            found = ", ".join(f"{name} {100 * scores[name]:.2f}" for name in ("precision", "recall", "f1"))
            print(f"  test {found}", flush=True)


def show(seen: Seen) -> None:
    if seen.metrics is not None:
        print(f"  epoch {seen.metrics['epoch']:g}: dev F1 {100 * seen.metrics['f1']:.2f}", flush=True)


if __name__ == "__main__":
    main()
