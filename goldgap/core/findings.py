"""Findings: what a check of a corpus or a dictionary has to say."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

EXAMPLES_KEPT = 5


@dataclass(frozen=True, slots=True)
class Finding:
    """Something worth a look: how often, a few examples (and whether there are more), what to do about it."""

    what: str
    count: int
    examples: tuple[str, ...]
    advice: str
    more: bool = False

    def to_json(self) -> dict[str, Any]:
        return {"what": self.what, "count": self.count, "examples": self.examples, "advice": self.advice}

    @classmethod
    def of(cls, what: str, examples: list[str], advice: str, *, count: int | None = None) -> Finding:
        """A finding with the first few examples; the count is their number unless given."""
        number = len(examples) if count is None else count
        return cls(what, number, tuple(examples[:EXAMPLES_KEPT]), advice, len(examples) > EXAMPLES_KEPT)


@dataclass(frozen=True, slots=True)
class Check:
    """Plain facts by name, a table of rows by type, and the findings that are not empty."""

    facts: dict[str, str]
    columns: tuple[str, ...]
    rows: list[tuple[str, ...]] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        return {
            "facts": self.facts,
            "table": [dict(zip(self.columns, row, strict=True)) for row in self.rows],
            "findings": [finding.to_json() for finding in self.findings],
        }
