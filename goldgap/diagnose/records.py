"""What `train --record` wrote: how well a model fits, and how likely chosen spans are, while it learns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from goldgap.diagnose.need import need
from goldgap.report.diagnosis import Diagnosis
from goldgap.report.svg import COLOURS, Series


def fit(entries: Sequence[Mapping[str, Any]]) -> Diagnosis:
    """Precision and recall on training and dev documents over the epochs (000 Fig. 2)."""
    complete = bool(entries) and all("train" in entry and "f1" in entry for entry in entries)
    need(complete, "a record with training and dev scores in each entry")
    columns = [("train", "precision"), ("train", "recall"), ("dev", "precision"), ("dev", "recall")]
    lines: dict[str, list[tuple[float, float]]] = {f"{part} {name}": [] for part, name in columns}
    rows = []
    for entry in entries:
        values = [100 * (entry["train"] if part == "train" else entry)[name] for part, name in columns]
        for line, value in zip(lines.values(), values, strict=True):
            line.append((entry["epoch"], value))
        rows.append((f"{entry['epoch']:g}", *(f"{value:.2f}" for value in values)))
    best = max(entries, key=lambda entry: float(entry["f1"]))
    return Diagnosis(
        "Precision and recall while it learns",
        f"Best on dev at epoch {best['epoch']:g} (F1 {100 * best['f1']:.2f}); there, recall on the training documents "
        f"is {100 * best['train']['recall']:.2f}, at the end {100 * entries[-1]['train']['recall']:.2f}.",
        ("epoch", *lines),
        rows,
        [Series(name, points) for name, points in lines.items()],
        x="epoch",
        y="%",
        limits=(0, 100),
    )


def traces(names: Sequence[str], records: Mapping[str, Sequence[Mapping[str, Any]]]) -> Diagnosis:
    """The probability of being an entity that chosen spans have over the epochs, under each run (004 Figs. 4-7)."""
    lines: dict[tuple[int, str], list[tuple[float, float]]] = {}
    rows = []
    for run, entries in records.items():
        followed = [len(entry.get("followed", ())) for entry in entries]
        need(followed and min(followed) == len(names), f"a record that followed {len(names)} spans in {run}")
        for index, name in enumerate(names):
            points = [(entry["epoch"], entry["followed"][index]) for entry in entries]
            lines[index, run] = points
            rows.append((name, run, *(f"{points[at][1]:.3f}" for at in (0, len(points) // 2, -1))))

    def apart(index: int) -> float:
        """How far a span's last probabilities lie from each other."""
        ends = [lines[index, run][-1][1] for run in records]
        return max(ends) - min(ends)

    shown = sorted(range(len(names)), key=apart, reverse=True)[: max(1, COLOURS // len(records))]
    series = [Series(f"{names[index]} ({run})", lines[index, run]) for index in sorted(shown) for run in records]
    drawn = "" if len(shown) == len(names) else f"; the {len(shown)} that end farthest apart are drawn"
    return Diagnosis(
        "How likely spans are to be an entity, while a model learns",
        f"{len(names)} spans under {len(records)} runs{drawn}.",
        ("span", "run", "first", "middle", "last"),
        rows,
        series,
        x="epoch",
        y="probability of an entity",
        limits=(0, 1),
    )
