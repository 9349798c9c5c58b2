"""The charts of the reports, from the same plain values as their tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from markupsafe import Markup

from goldgap.report.svg import Estimate, Series, bar_chart, interval_chart, line_chart

Values = Mapping[str, Any]
SCORES = {"f1": "F1", "precision": "precision", "recall": "recall"}


class Figure(NamedTuple):
    """A chart and what it shows."""

    title: str
    chart: Markup


def types_figure(per_type: Mapping[str, Values]) -> Figure | None:
    """Precision and recall of every type; None where there is none."""
    rows = {label: {name: 100 * score[name] for name in ("precision", "recall")} for label, score in per_type.items()}
    title = "Precision and recall by type"
    return Figure(title, Markup(bar_chart("types", title, rows, x="percent"))) if rows else None


def learning_figures(values: Values, best: Values | None) -> list[Figure]:
    """Dev scores, loss, and where entities were masked, how many of them were trained on as negatives."""
    metrics = values["metrics"]
    mark = None if best is None else (best["epoch"], "kept")
    scored = [entry for entry in metrics if "f1" in entry]
    found = []
    if scored:
        lines = [_curve(words, name, scored) for name, words in SCORES.items()]
        found.append(_lines("dev", "Dev scores by epoch", lines, x="epoch", y="percent", mark=mark))
    if metrics:
        loss = Series("loss", [(entry["epoch"], entry["loss"]) for entry in metrics])
        found.append(_lines("loss", "Training loss by epoch", [loss], x="epoch", y="loss", mark=mark))
    if any(entry["missampled"] for entry in metrics):
        shares = [(entry["epoch"], 100 * entry["missampled"] / max(entry["kept"], 1)) for entry in metrics]
        title, line = "Masked entities among the negatives by epoch", Series("masked entities", shares)
        found.append(_lines("missampled", title, [line], x="epoch", y="percent of the negatives"))
    return found


def contest_figures(number: int, condition: Values, baseline: str) -> dict[str, list[Figure]]:
    """The charts of one condition, the main ones and more; a method has one colour in all of them."""
    looks = {row["name"]: look for look, row in enumerate(condition["contenders"])}
    rows = [row for row in condition["contenders"] if "f1" in row]
    if not rows:
        return {}
    base = next((row for row in rows if row["name"] == baseline), None)
    estimates = []
    for row in rows:
        value, low, high = (100 * share for share in (row["f1"], *row["interval"]))
        estimates.append(Estimate(row["name"], value, low, high, looks[row["name"]]))
    reference = None if base is None else (100 * base["f1"], baseline)
    shown = "F1 on the test set, with 95 % intervals"
    chart = interval_chart(f"f1-{number}", shown, estimates, x="F1 (percent)", reference=reference)
    costs = [Series(row["name"], [(row["seconds"], 100 * row["f1"])], look=looks[row["name"]]) for row in rows]
    seconds = "seconds a run (median), of the machine that made it"
    cost = _lines(f"cost-{number}", "F1 against cost", costs, x=seconds, y="F1 (percent)", joined=False)
    curves = []
    for name, words in SCORES.items():
        lines = [_curve(row["name"], name, row["curve"], looks[row["name"]]) for row in rows if row["curve"]]
        if lines:
            title = f"Dev {words} by epoch, mean of the seeds"
            curves.append(_lines(f"{name}-curve-{number}", title, lines, x="epoch", y=f"{words} (percent)"))
    return {"main": [Figure(shown, Markup(chart)), *curves[:1], cost], "more": curves[1:]}


def drop_figure(conditions: Sequence[Values]) -> Figure | None:
    """F1 of every method against the share of annotations masked, if there are several."""
    drops = [condition for condition in conditions if condition["drop"] is not None]
    if len(drops) < 2:
        return None
    looks = {row["name"]: look for look, row in enumerate(drops[0]["contenders"])}
    lines: dict[str, list[tuple[float, float]]] = {}
    for condition in sorted(drops, key=lambda condition: condition["drop"]):
        for row in condition["contenders"]:
            if "f1" in row:
                lines.setdefault(row["name"], []).append((100 * condition["drop"], 100 * row["f1"]))
    series = [Series(name, points, look=looks[name]) for name, points in lines.items()]
    title = "F1 against the share of annotations masked"
    return _lines("drops", title, series, x="annotations masked (percent)", y="F1 (percent)")


def _lines(id: str, title: str, series: Sequence[Series], **axes: Any) -> Figure:
    return Figure(title, Markup(line_chart(id, title, series, **axes)))


def _curve(title: str, name: str, entries: Sequence[Values], look: int | None = None) -> Series:
    return Series(title, [(entry["epoch"], 100 * entry[name]) for entry in entries], look=look)
