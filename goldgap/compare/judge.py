"""Runs to a table: means, intervals, verdicts and a recommendation."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from goldgap.compare.runs import Run, late_entries, missampled_share
from goldgap.core.corpus import Corpus
from goldgap.evaluate.bootstrap import ENOUGH, difference, holm, interval_of, resampled_f1
from goldgap.evaluate.counts import Counts
from goldgap.evaluate.scores import evaluate

SAMPLES = 2000


def judge(
    done: Mapping[tuple[str, str], list[Run]],
    failed: Mapping[str, list[dict[str, Any]]],
    baseline: str,
    test: Corpus,
) -> dict[str, Any]:
    """A row for each contender, with the choice of the grid that is best on dev, and which of them is recommended.

    done     the runs by contender and settings
    failed   what failed, by contender; nothing for most of them
    """
    rows: dict[str, dict[str, Any]] = {}
    counts: dict[str, dict[int, list[Counts]]] = {}
    for one, lost in failed.items():
        choices = {settings: runs for (name, settings), runs in done.items() if name == one}
        row: dict[str, Any] = {"name": one, "failed": lost}
        if choices:
            chosen = max(choices, key=lambda settings: (len(choices[settings]), _mean_dev(choices[settings])))
            counts[one] = {run.seed: _counts(run, test) for run in choices[chosen]}
            row |= _row(choices[chosen]) | {"settings": chosen}
            if len(choices) > 1:
                row["tried"] = [_tried(settings, runs) for settings, runs in choices.items()]
        rows[one] = row
    if counts:
        _add_verdicts(rows, counts, baseline)
    return {"contenders": list(rows.values()), "recommended": _recommended(rows)}


def _counts(run: Run, test: Corpus) -> list[Counts]:
    return evaluate(test, run.predicted(test), samples=0).strict_counts


def _mean_dev(runs: Sequence[Run]) -> float:
    return statistics.mean(run.dev_f1 for run in runs)


def _tried(settings: str, runs: Sequence[Run]) -> dict[str, Any]:
    return {"settings": settings, "dev_f1": _mean_dev(runs), "f1": statistics.mean(run.scores["f1"] for run in runs)}


def _row(runs: Sequence[Run]) -> dict[str, Any]:
    """Means over the seeds; of the seconds the median, as one run may come from a slower machine."""
    mean = statistics.mean
    types = sorted({label for run in runs for label in run.scores["per_type"]})
    names = ("precision", "recall", "f1")
    return {
        "method": runs[0].method,
        "select_on": runs[0].select_on,
        "runs": [
            {
                "key": run.key,
                "seed": run.seed,
                **{name: run.scores[name] for name in names},
                "dev_f1": run.dev_f1,
                "seconds": run.seconds,
            }
            for run in runs
        ],
        **{name: mean(run.scores[name] for run in runs) for name in names},
        "sd": statistics.stdev(run.scores["f1"] for run in runs) if len(runs) > 1 else None,
        "dev_f1": _mean_dev(runs),
        "seconds": statistics.median(run.seconds for run in runs),
        "per_type": {
            label: {name: mean(run.scores["per_type"].get(label, {}).get(name, 0.0) for run in runs) for name in names}
            for label in types
        },
        "curve": _curve(runs),
        "missampled": _missampled(runs),
        "negatives": runs[0].negatives,
    }


def _curve(runs: Sequence[Run]) -> list[dict[str, float]]:
    """Mean dev scores after each evaluation that all runs had."""
    names = ("precision", "recall", "f1")
    together = zip(*(run.metrics for run in runs), strict=False)
    return [
        {"epoch": entries[0]["epoch"], **{name: statistics.mean(entry[name] for entry in entries) for name in names}}
        for entries in together
        if all("f1" in entry for entry in entries)
    ]


def _missampled(runs: Sequence[Run]) -> float | None:
    """Share of masked entities among the negatives of the last half of the evaluations; None if nothing was masked."""
    masked = any(entry["missampled"] for run in runs for entry in run.metrics)
    return missampled_share(late_entries(runs)) if masked else None


def _add_verdicts(
    rows: Mapping[str, dict[str, Any]], counts: Mapping[str, Mapping[int, list[Counts]]], baseline: str
) -> None:
    """Add intervals, the difference to the baseline and how often each contender is the best of all."""
    resampled = dict(zip(counts, resampled_f1(list(counts.values()), samples=SAMPLES), strict=True))
    drawn = np.stack([one.means() for one in resampled.values()], 1)  # (sample, contender)
    best = drawn.max(1)
    for name, own in zip(resampled, drawn.T, strict=True):
        rows[name]["interval"] = list(interval_of(own.clip(0, 1)))
        rows[name]["best_share"] = float((own >= best).mean())
    if baseline not in resampled:
        return
    base = resampled[baseline]
    others = [name for name, one in resampled.items() if name != baseline and set(one.seeds) & set(base.seeds)]
    found = [difference(base, resampled[name]) for name in others]
    for name, one, adjusted in zip(others, found, holm([one.p_value for one in found]), strict=True):
        enough = len(resampled[name].minus(base).seeds) >= ENOUGH
        rows[name]["against"] = {
            "difference": one.difference,
            "interval": list(one.interval),
            "p_value": one.p_value,
            "adjusted": adjusted,
            "verdict": one._replace(p_value=adjusted).verdict if enough else "undecided",
        }


def _recommended(rows: Mapping[str, dict[str, Any]]) -> dict[str, Any] | None:
    """The contender with the best mean dev F1, which the test set had no part in choosing, and how sure that is.

    One of which fewer seeds came to their end stands below those of which more did; `passed_over` is the best of such,
    where its dev F1 is better. `rival` is the other contender that is most often the best of all.
    """
    told = [row for row in rows.values() if "dev_f1" in row]
    if not told:
        return None
    first = max(told, key=lambda row: (len(row["runs"]), row["dev_f1"]))
    best = max(told, key=lambda row: float(row["dev_f1"]))
    rival = max((row for row in told if row is not first), key=lambda row: float(row["best_share"]), default=None)
    return {
        "name": first["name"],
        "dev_f1": first["dev_f1"],
        "f1": first["f1"],
        "best_share": first["best_share"],
        "seeds": len(first["runs"]),
        "passed_over": None
        if best["dev_f1"] <= first["dev_f1"]
        else {"name": best["name"], "dev_f1": best["dev_f1"], "seeds": len(best["runs"])},
        "rival": None if rival is None else {"name": rival["name"], "best_share": rival["best_share"]},
    }
