"""A table of a paper with our numbers beside, from plain values."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

from goldgap.report.comparison import comparison_markdown, verdict_of
from goldgap.report.render import cell

Values = Mapping[str, Any]


def experiment_rows(results: Sequence[Values], score: str, *, mean: bool = False) -> tuple[list[str], list[list[str]]]:
    """Columns and rows: our mean F1 with its deviation, the verdict against the baseline, and the paper's number.

    score   "test" or "dev": the set whose F1 the paper shows
    mean    a last column has the mean over all conditions, where a row has them all
    """
    columns = [""]
    rows: dict[str, list[str]] = {}
    for baseline, condition in _conditions(results):
        printed = any(row["paper"] is not None for row in condition["contenders"])
        columns += [f"{condition['name']}: {score} F1", "verdict"] + (
            [f"paper, {condition['place']}"] if printed else []
        )
        for row in condition["contenders"]:
            paper = "-" if row["paper"] is None else f"{row['paper']:.2f}"
            verdict = verdict_of(row, condition, baseline)
            ours = [_ours(row, score), "" if score == "dev" else verdict]
            rows.setdefault(row["name"], [row["name"]]).extend([*ours, *([paper] if printed else [])])
    if mean:
        columns.append(f"mean {score} F1")
        for name, cells in rows.items():
            cells.append(_mean_of(name, results, score))
    return columns, list(rows.values())


def _mean_of(name: str, results: Sequence[Values], score: str) -> str:
    key = "dev_f1" if score == "dev" else "f1"
    own = [row for _, condition in _conditions(results) for row in condition["contenders"] if row["name"] == name]
    return f"{100 * fmean(row[key] for row in own):.2f}" if all(key in row for row in own) else "-"


def _conditions(results: Sequence[Values]) -> list[tuple[str, Values]]:
    return [(result["baseline"], condition) for result in results for condition in result["conditions"]]


def _ours(row: Values, score: str) -> str:
    if "f1" not in row:
        return "failed"
    if score == "dev":
        return f"{100 * row['dev_f1']:.2f}"
    spread = "" if row["sd"] is None else f" ({100 * row['sd']:.2f})"
    return f"{100 * row['f1']:.2f}{spread}"


def experiment_markdown(experiment: Values, results: Sequence[Values]) -> str:
    """The table as Markdown, with what the paper claims; then every comparison that it was made of."""
    columns, rows = experiment_rows(results, experiment["score"], mean=experiment["mean"])
    lines = [f"# {experiment['paper']} {experiment['table']}: {experiment['title']}", ""]
    lines += [f"Claim: {experiment['claim']}.", ""] if experiment["claim"] else []
    lines += [f"Needs {experiment['needs']}.", ""] if experiment["needs"] else []
    lines += [
        "Our F1 is the mean over seeds, with their deviation in brackets.",
        "",
    ]
    lines += [f"| {' | '.join(map(cell, columns))} |", "|" + "---|" * len(columns)]
    lines += [f"| {' | '.join(map(cell, row))} |" for row in rows]
    parts = [re.sub("^#", "##", comparison_markdown(result), flags=re.MULTILINE) for result in results]
    return "\n\n".join(["\n".join(lines), *parts])
