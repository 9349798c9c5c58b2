"""Test F1 on WikiGold over the share of training annotations that is masked, from the runs that are kept.

    python experiments/picture.py docs/pictures/masked.svg

The mean of the seeds of each method as it comes; the band is from the lowest to the highest.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from pathlib import Path

from goldgap.compare.runs import Run
from goldgap.core.files import write_atomic
from goldgap.report.svg import Series, line_chart, standalone
from goldgap.train.recipe import recipe_for

RESULTS = Path(__file__).parent / "results"
METHODS = ("span", "uniform", "weighted", "top-neg", "nrces", "two-step", "binder")
MASK = "wikigold-masked-"


def as_it_comes(run: Run) -> bool:
    """No setting of the policy, the loss or the two steps was changed; a ratio may have been left to the data."""
    own = recipe_for(run.method).model_dump(mode="json")
    own["policy"]["settings"].pop("ratio", None)
    found = {**run.recipe["policy"], "settings": {**run.recipe["policy"]["settings"]}}
    if run.method == "uniform" and found["settings"].get("ratio") == 0.2:
        found["settings"].pop("ratio")
    same_steps = run.method == "two-step" or run.recipe["two_step"] == own["two_step"]
    return found == own["policy"] and run.recipe["loss"] == own["loss"] and same_steps


def main() -> None:
    scores: dict[str, dict[float, list[float]]] = defaultdict(lambda: defaultdict(list))
    for path in sorted(RESULTS.glob("wikigold*.json")):
        run = Run.read(path)
        share = 0.0 if run.name == "wikigold" else float(run.name.removeprefix(MASK)) if MASK in run.name else None
        if share is not None and as_it_comes(run):
            scores[run.method][100 * share].append(100 * run.scores["f1"])
    series = []
    for method in METHODS:
        by_share = sorted(scores[method].items())
        if len(by_share) > 1:
            points = [(share, sum(found) / len(found)) for share, found in by_share]
            series.append(Series(method, points, [(min(found), max(found)) for _, found in by_share]))
    x, y = "% of the training annotations masked", "test F1, %"
    chart = line_chart("masked", "What gaps do to a recogniser", series, x=x, y=y, limits=(0, 80))
    with write_atomic(Path(sys.argv[1])) as handle:
        handle.write(standalone(chart))


if __name__ == "__main__":
    main()
