"""Notes: what a reader or writer assumed, repaired or left out. Nothing is dropped without an entry here."""

from __future__ import annotations

from dataclasses import dataclass, field

from goldgap.core.errors import InputError

EXAMPLES_KEPT = 3


@dataclass(slots=True)
class Tally:
    """How often one thing happened, and where first."""

    count: int = 0
    examples: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Notes:
    """Facts are assumptions that change nothing; changes are repairs and losses, counted by kind."""

    facts: dict[str, str] = field(default_factory=dict)
    changes: dict[str, Tally] = field(default_factory=dict)

    def fact(self, name: str, value: str) -> None:
        self.facts[name] = value

    def change(self, what: str, where: str = "", *, count: int = 1) -> None:
        tally = self.changes.setdefault(what, Tally())
        tally.count += count
        if where and len(tally.examples) < EXAMPLES_KEPT:
            tally.examples.append(where)

    def count(self, what: str) -> int:
        """How often a change was made."""
        return self.changes[what].count if what in self.changes else 0

    def merge(self, other: Notes) -> None:
        self.facts.update(other.facts)
        for what, tally in other.changes.items():
            mine = self.changes.setdefault(what, Tally())
            mine.count += tally.count
            mine.examples = (mine.examples + tally.examples)[:EXAMPLES_KEPT]

    def lines(self) -> list[str]:
        """One line a change, the most frequent first."""
        ordered = sorted(self.changes.items(), key=lambda item: (-item[1].count, item[0]))
        return [f"{tally.count:,} x {what}{_places(tally)}" for what, tally in ordered]

    def refuse_changes(self, todo: str = "Mend the input") -> None:
        """What `--strict` means: any repair or loss becomes an error; `todo` is what avoids it."""
        if self.changes:
            listed = "; ".join(self.lines())
            raise InputError(f"{listed}. {todo}, or leave out --strict to go on with these changes")


def _places(tally: Tally) -> str:
    return (
        f" ({', '.join(tally.examples)}{', ...' if tally.count > len(tally.examples) else ''})"
        if tally.examples
        else ""
    )
