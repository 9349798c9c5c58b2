"""A diagnosis: a finding in words, a table, and a picture of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from goldgap.report.svg import Series, line_chart, standalone


class Diagnosis(NamedTuple):
    """What was looked at and found.

    finding   one sentence with the numbers that matter
    x, y      what the axes of the picture show, with the unit
    limits    of the y axis, if they are not those of the points
    """

    title: str
    finding: str
    columns: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]
    series: Sequence[Series]
    x: str
    y: str
    limits: tuple[float, float] | None = None

    def to_svg(self) -> str:
        """The picture as a file of its own."""
        return standalone(line_chart("chart", self.title, self.series, x=self.x, y=self.y, limits=self.limits)) + "\n"

    def to_json(self) -> dict[str, Any]:
        return {
            "title": self.title,
            "finding": self.finding,
            "table": [dict(zip(self.columns, row, strict=True)) for row in self.rows],
            "series": [series._asdict() for series in self.series],
        }
