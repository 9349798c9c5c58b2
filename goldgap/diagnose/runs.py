"""What runs that were kept recorded while they learned."""

from __future__ import annotations

import json
import statistics
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from goldgap.compare.runs import Run, late_entries, missampled_share
from goldgap.core.errors import InputError
from goldgap.diagnose.need import need
from goldgap.report.diagnosis import Diagnosis
from goldgap.report.render import flat
from goldgap.report.svg import Series

mean = statistics.mean


def recorded_missampling(runs: Sequence[Run]) -> Diagnosis:
    """Masked entities among the negatives of each method, by epoch (001 Fig. 5), with the effective sample size."""
    groups = _by_contender(runs)
    need(any(entry["missampled"] for run in runs for entry in run.metrics), "runs on masked annotations, as of --drop")
    counted = sorted({run.negatives for run in runs})
    if len(counted) > 1:
        raise InputError(
            f"negatives that are {' and '.join(counted)}: give runs of taggers or of other models, not both"
        )
    series, rows, rates = [], [], {}
    for name, group in groups.items():
        together = zip(*(run.metrics for run in group), strict=False)
        points = [(entries[0]["epoch"], 100 * missampled_share(entries)) for entries in together]
        late = late_entries(group)
        rates[name] = 100 * missampled_share(late)
        taught = mean(sum(entry["missampled"] for entry in run.metrics) for run in group)
        effective = [entry["effective"] for entry in late if "effective" in entry]
        series.append(Series(name, points))
        rows.append(
            (
                name,
                str(len(group)),
                f"{points[0][1]:.3f} %",
                f"{rates[name]:.3f} %",
                f"{taught:,.0f}",
                f"{mean(effective):.1f}" if effective else "-",
            )
        )
    lowest = min(rates, key=lambda name: rates[name])
    return Diagnosis(
        "Masked entities among the negatives of each epoch",
        f"Over the last half of the epochs, the negatives of {lowest} have the smallest share of masked entities: "
        f"{rates[lowest]:.3f} % of its {counted[0]}.",
        ("method", "runs", "first epoch", "last half", "masked entities trained on, a run", "effective sample size"),
        rows,
        series,
        x="epoch",
        y="masked entities among the negatives, %",
    )


def over_epochs(runs: Sequence[Run]) -> Diagnosis:
    """Dev F1 of each method over the epochs, mean over the seeds (001 Fig. 6, 004 Fig. 2)."""
    groups = _by_contender(runs)
    series, rows = [], []
    for name, group in groups.items():
        together = [
            (entries[0]["epoch"], [100 * entry["f1"] for entry in entries])
            for entries in zip(*(run.metrics for run in group), strict=False)
        ]
        best = max(together, key=lambda item: mean(item[1]))
        series.append(
            Series(name, [(epoch, mean(values)) for epoch, values in together], [(min(v), max(v)) for _, v in together])
        )
        rows.append((name, str(len(group)), f"{mean(best[1]):.2f}", f"{best[0]:g}", f"{mean(together[-1][1]):.2f}"))
    first = max(rows, key=lambda row: float(row[2]))
    return Diagnosis(
        "Dev F1 over the epochs",
        f"{first[0]} is best, at epoch {first[3]} with a mean dev F1 of {first[2]}.",
        ("method", "runs", "best mean F1", "at epoch", "last epoch"),
        rows,
        series,
        x="epoch",
        y="dev F1, %",
    )


def selection(runs: Sequence[Run]) -> Diagnosis:
    """Test F1 of the epoch that each dev set would have chosen, of the last, and of the best there was."""
    runs = [run for run in runs if run.history]
    need(runs, "runs that scored further documents at every evaluation (distant_dev in an experiment)")
    names = [name for name in runs[0].history[0]["others"] if name != "test"]

    def on(name: str) -> Callable[[Mapping[str, Any]], float]:
        return lambda entry: float(entry["others"][name]["f1"])

    test = on("test")
    ways: dict[str, Callable[[Mapping[str, Any]], float]] = {
        "dev": lambda entry: float(entry["f1"]),
        **{name: on(name) for name in names},
        "last epoch": lambda entry: float(entry["step"]),
        "best on test": test,
    }
    rows, series = [], []
    for method, group in _by_contender(runs).items():
        scores = {way: mean(100 * test(max(run.history, key=rank)) for run in group) for way, rank in ways.items()}
        rows.append((method, str(len(group)), *(f"{score:.2f}" for score in scores.values())))
        together = zip(*(run.history for run in group), strict=False)
        series.append(
            Series(
                method, [(entries[0]["epoch"], mean(100 * test(entry) for entry in entries)) for entries in together]
            )
        )
    cost = [float(row[2]) - float(row[3]) for row in rows]
    return Diagnosis(
        "Test F1 of the epoch that is chosen on each set",
        f"Chosen on {names[0]} instead of the dev set, the methods lose {mean(cost):.2f} F1 on average.",
        ("method", "runs", *ways),
        rows,
        series,
        x="epoch",
        y="test F1, %",
    )


def _by_contender(runs: Sequence[Run]) -> dict[str, list[Run]]:
    """Runs that differ in their seed alone, by their method; where it has several settings, with those that differ."""
    need(runs, "runs")
    data = sorted({run.name for run in runs})
    if len(data) > 1:
        raise InputError(f"runs on different data: {', '.join(data)}; give those of one")
    alike: dict[str, list[Run]] = {}
    for run in runs:
        alike.setdefault(json.dumps(run.settings, sort_keys=True), []).append(run)
    settings = [{name: str(value) for name, value in flat(own[0].settings).items()} for own in alike.values()]
    methods = [statistics.mode(run.method for run in own) for own in alike.values()]  # settings decide, not their name
    groups: dict[str, list[Run]] = {}
    for method, mine, own in zip(methods, settings, alike.values(), strict=True):
        others = [one for name, one in zip(methods, settings, strict=True) if name == method]
        apart = [f"{name}={value}" for name, value in mine.items() if any(one.get(name) != value for one in others)]
        groups[":".join([method, *apart])] = own
    return groups
