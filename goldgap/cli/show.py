"""What a person sees in the terminal: tables, notes and findings that fit into 80 columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from goldgap.core.document import Document, Entity
from goldgap.core.findings import Check, Finding
from goldgap.core.notes import Notes
from goldgap.evaluate.bootstrap import Comparison
from goldgap.evaluate.counts import MATCHES
from goldgap.evaluate.errors import KINDS, MISSED, SPURIOUS, Errors
from goldgap.evaluate.scores import Evaluation, Score, Scores

if TYPE_CHECKING:  # torch comes with these
    from goldgap.models.suspects import Suspect

# No markup: labels, texts and paths hold whatever they hold.
out = Console(highlight=False, markup=False, emoji=False)
err = Console(stderr=True, highlight=False, markup=False, emoji=False)
MOST_CONFUSED = 10
MOST_ROWS = 100
"""Of a table by type; corpora with more types are rare, mistaken columns are not."""


def table(columns: Sequence[str], rows: Iterable[Sequence[str]], *, title: str | None = None) -> Table:
    """The first column to the left, the others, which are numbers, to the right."""
    made = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), title_justify="left", title_style="bold")
    made.title = None if title is None else Text(title)
    made.show_header = any(columns)
    for index, name in enumerate(columns):
        made.add_column(Text(name), justify="left" if index == 0 else "right", header_style="dim")
    for row in rows:
        made.add_row(*map(Text, row))
    return made


def words_table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> Table:
    """Columns of sentences, which wrap; the first, of names, does not."""
    made = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for index, name in enumerate(columns):
        made.add_column(Text(name), header_style="dim", no_wrap=index == 0)
    for row in rows:
        made.add_row(*map(Text, row))
    return made


def show_suspects(found: Iterable[Suspect]) -> None:
    """One line a surface, with its likeliest place."""
    for suspect in found:
        place = suspect.places[0]
        head = f"{place.score:.2f} x{suspect.counted:<3} {suspect.label:<6} "
        _show_place(head, place.before, suspect.surface, place.after)


def show_entities(found: Iterable[tuple[Document, Entity]]) -> None:
    """One line an entity, in its context."""
    for document, entity in found:
        before, after = document.text[: entity.start], document.text[entity.end :]
        _show_place(f"{entity.score or 0:.2f} {entity.label:<6} ", before, document.surface(entity), after)


def _show_place(head: str, before: str, surface: str, after: str) -> None:
    line = Text(head)
    line.append(one_line(_last_words(before, 24)), style="dim")
    line.append(f"[{one_line(surface)}]", style="bold")
    line.append(one_line(after[:80]), style="dim")
    out.print(line, no_wrap=True, overflow="ellipsis")


def _last_words(text: str, most: int) -> str:
    """The end of a text, from where a word begins."""
    if len(text) <= most:
        return text
    _, blank, rest = text[-most:].partition(" ")
    return f"…{rest}" if blank else text[-most:]


def one_line(text: str) -> str:
    return "".join(" " if character in "\r\n\t" else character for character in text)


def show_notes(notes: Notes, when: str) -> None:
    """Repairs and losses, on the error channel."""
    if notes.changes:
        err.print(Text(f"{when}:", style="yellow"))
        for line in notes.lines():
            err.print(Text(f"  {line}"), soft_wrap=True)


def show_facts(facts: dict[str, str]) -> None:
    width = max(map(len, facts), default=0)
    for name, value in facts.items():
        out.print(Text(f"{name:<{width}}  {value}"))


def show_check(check: Check) -> None:
    show_facts(check.facts)
    if check.rows:
        out.print()
        out.print(table(check.columns, check.rows[:MOST_ROWS]))
        if len(check.rows) > MOST_ROWS:
            out.print(f"... and {len(check.rows) - MOST_ROWS:,} further types (`goldgap check --json` has every one)")
    show_findings(check.findings)


def show_findings(findings: Iterable[Finding]) -> None:
    for finding in findings:
        out.print()
        out.print(Text(f"{finding.what}: {finding.count:,}", style="bold"))
        for example in finding.examples:
            out.print(Text(f"  {example}"), no_wrap=True, overflow="ellipsis")
        if finding.more:
            out.print(Text("  ...", style="dim"))
        out.print(Text(f"  -> {finding.advice}", style="dim"))


def show_quality(evaluation: Evaluation) -> None:
    """Precision, recall and F1 of each type, for whole entities and for their words."""
    from goldgap.report.render import sample_of

    columns = ("", "precision", "recall", "F1", "gold", "predicted")
    out.print(table(columns, _score_rows(evaluation.strict), title="Entities (same range and type)"))
    low, high = evaluation.strict.interval
    if evaluation.samples:
        out.print(
            f"95 % interval of F1: {percent(low)} to {percent(high)} "
            f"({evaluation.samples:,} resamples of {sample_of(evaluation.documents)})"
        )
    out.print()
    out.print(table(columns, _score_rows(evaluation.tokens), title="Words (each word of an entity counts)"))


def show_comparison(scores: Mapping[str, Evaluation]) -> None:
    """One row a contender."""
    rows = []
    for name, evaluation in scores.items():
        low, high = evaluation.strict.interval
        rows.append((name, *_numbers(evaluation.strict.micro), f"{percent(low)} to {percent(high)}"))
    out.print(table(("", "precision", "recall", "F1", "95 % interval"), rows))


def show_contest(values: Mapping[str, Any]) -> None:
    """A table for each condition, and what it recommends, in the words of the report."""
    from goldgap.report.comparison import heading_of, recommendation_of

    baseline = values["baseline"]
    columns = ("", "precision", "recall", "F1", "95 % interval", "to baseline")
    for condition in values["conditions"]:
        rows = [_contender(row, condition, baseline) for row in condition["contenders"]]
        out.print()
        out.print(table(columns, rows, title=heading_of(condition)))
        for row in condition["contenders"]:
            for failure in row["failed"]:
                out.print(f"{row['name']}, seed {failure['seed']}, failed: {failure['why']}", soft_wrap=True)
        out.print(recommendation_of(condition, baseline, values["samples"]), soft_wrap=True)


def _contender(row: Mapping[str, Any], condition: Mapping[str, Any], baseline: str) -> tuple[str, ...]:
    """A row of the table of a contest."""
    from goldgap.report.comparison import verdict_of

    verdict = verdict_of(row, condition, baseline)
    if "f1" not in row:
        return (row["name"], verdict, "", "", "", "")
    if against := row.get("against"):
        verdict = f"{100 * against['difference']:+.2f} {verdict}"
    low, high = row["interval"]
    numbers = (percent(row[name]) for name in ("precision", "recall", "f1"))
    return (row["name"], *numbers, f"{percent(low)} to {percent(high)}", verdict)


def show_evaluation(evaluation: Evaluation) -> None:
    show_quality(evaluation)
    out.print()
    rows = [(match, *_numbers(evaluation.entities[match].micro)) for match in MATCHES]
    out.print(table(("", "precision", "recall", "F1"), rows, title="Other ways to match"))
    if len(types := evaluation.strict.per_type) > 1:
        columns = [evaluation.entities[match].per_type for match in MATCHES]
        cells = [(label, *(percent(column[label].f1) for column in columns)) for label in types]
        out.print()
        out.print(table(("", *MATCHES), cells, title="F1 of each type"))
    if inside := evaluation.inner.gold:
        found = evaluation.inner.tp
        out.print(f"\nentities inside another: {found:,} of {inside:,} found ({percent(found / inside)} %)")
    show_errors(evaluation.errors)


def show_against(found: Comparison, name: str) -> None:
    """Whether the first of two predictions is better than the named ones."""
    low, high = found.interval
    out.print(
        f"\nagainst {name}: F1 {found.difference * 100:+.2f} "
        f"(95 % interval {percent(low)} to {percent(high)}, p = {found.p_value:.3f}): {found.verdict}",
        soft_wrap=True,
    )


def show_errors(errors: Errors) -> None:
    kinds = [(words, getattr(errors, kind)) for kind, words in KINDS.items()]
    out.print()
    out.print(table(("", ""), [(name, f"{count:,}") for name, count in kinds], title="Errors"))
    golds = sorted({gold for gold, _ in errors.confusion} - {SPURIOUS})
    predictions = sorted({predicted for _, predicted in errors.confusion} - {MISSED})
    if not golds and not predictions:
        return
    columns = [*predictions, MISSED]
    grid = _grid(errors, golds, columns) if len(columns) < out.width else None
    if grid is None or Measurement.get(out, out.options.update(width=10_000), grid).maximum > out.width:
        confused = [(count, *pair) for pair, count in errors.confusion.items() if pair[0] != pair[1]]
        most = sorted(confused, key=lambda one: (-one[0], one[1:]))[:MOST_CONFUSED]
        named = [(gold, predicted, f"{count:,}") for count, gold, predicted in most]
        grid = table(("gold", "predicted", "entities"), named, title="Types confused most (--html has the whole table)")
    out.print()
    out.print(grid)


def _grid(errors: Errors, golds: list[str], columns: list[str]) -> Table:
    """How often each type was taken for each other one."""
    rows = [(gold, *(f"{errors.confusion[gold, column]:,}" for column in columns)) for gold in [*golds, SPURIOUS]]
    rows[-1] = (*rows[-1][:-1], "-")
    return table(("", *columns), rows, title="Types (gold in rows)")


def percent(value: float) -> str:
    return f"{100 * value:.2f}"


def _numbers(score: Score) -> tuple[str, str, str]:
    return percent(score.precision), percent(score.recall), percent(score.f1)


def _score_rows(scores: Scores) -> list[tuple[str, ...]]:
    named = [*scores.per_type.items(), ("all (micro)", scores.micro)]
    rows: list[tuple[str, ...]] = [
        (name, *_numbers(score), f"{score.counts.gold:,}", f"{score.counts.predicted:,}") for name, score in named
    ]
    return [*rows, ("mean of types", "", "", percent(scores.macro_f1), "", "")]
