"""Test F1 on WikiGold over the share of training annotations that is masked, from the runs that are kept.

    python experiments/picture.py docs/pictures/masked.svg

The mean of the seeds of each method as it comes; the band is from the lowest to the highest.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

from goldgap.compare.runs import Run
from goldgap.core.writing import write_atomic
from goldgap.report.svg import Series, line_chart, standalone
from goldgap.train.compose import recipe_for
from goldgap.train.deciding import deciding_settings
from goldgap.train.recipe import ratio_is_open
from goldgap.train.resolve import RATIO

RESULTS = Path(__file__).parent / "results"
METHODS = ("default", "span", "uniform", "weighted", "top-neg", "nrces", "binder")
MASK = "wikigold-masked-"


def as_it_comes(method: str) -> dict[str, Any]:
    """The settings of a method; a ratio that is left to the data is that of what people annotated."""
    recipe = recipe_for(method)
    if ratio_is_open(recipe.policy):
        recipe = recipe_for(method, {"policy": {"settings": {"ratio": RATIO}}})
    own = deciding_settings(recipe, ())
    return {group: own[group] for group in ("policy", "loss", "model", "two_step", "train")}


def main() -> None:
    scores: dict[str, dict[float, list[float]]] = defaultdict(lambda: defaultdict(list))
    wanted = {method: as_it_comes(method) for method in METHODS}
    for path in sorted(RESULTS.glob("wikigold*.json")):
        run = Run.read(path)
        share = 0.0 if run.name == "wikigold" else float(run.name.removeprefix(MASK)) if MASK in run.name else None
        for method, own in wanted.items():
            if share is not None and all(run.settings[group] == own[group] for group in own):
                scores[method][100 * share].append(100 * run.scores["f1"])
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
