"""Findings: what a check of a corpus or a dictionary has to say."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

EXAMPLES_KEPT = 5


@dataclass(frozen=True, slots=True)
class Finding:
    """Something worth a look: how often, a few examples, what to do about it."""

    what: str
    count: int
    examples: tuple[str, ...]
    advice: str

    @classmethod
    def of(cls, what: str, examples: list[str], advice: str, *, count: int | None = None) -> Finding:
        """A finding with the first few examples; the count is their number unless given."""
        return cls(what, len(examples) if count is None else count, tuple(examples[:EXAMPLES_KEPT]), advice)


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
            "findings": [asdict(finding) for finding in self.findings],
        }
