"""Reports as HTML: one file each, which asks for nothing else, runs no script and is read on a phone or in the dark.

Every page is made of plain values, such as those of the JSON that the same command prints or keeps.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from markupsafe import Markup

from goldgap import __version__
from goldgap.core.writing import printable
from goldgap.evaluate.counts import MATCHES
from goldgap.evaluate.errors import KINDS, MISSED, SPURIOUS
from goldgap.report.card import CAVEATS
from goldgap.report.comparison import LEAST, summary_of, tables_of
from goldgap.report.figures import contest_figures, drop_figure, learning_figures, types_figure
from goldgap.report.render import counted, percent, render
from goldgap.report.svg import STYLE

Values = Mapping[str, Any]
_NOUNS = {
    "type": "entities with the wrong type",
    "boundary": "entities with the wrong range",
    "type_and_boundary": "overlaps with the wrong type",
    "missed": "missed entities",
    "spurious": "spurious entities",
}


def evaluation_page(values: Values) -> str:
    """The page of an evaluation.

    values   `Evaluation.to_json()`, with `gold` and `predicted` (what they are called) and `files` (sha256 by name);
             and, where there are any, `examples` (of `examples_of`), `against` (a comparison with its `name`),
             `recipe` (of the model), `lost` (lines on what a model could not read)
    """
    return _page(
        "evaluation.jinja",
        values,
        summary=_evaluation_summary(values),
        matches=[(match, values[match]) for match in (*MATCHES, "tokens")],
        kinds=[(words, values["errors"][kind]) for kind, words in KINDS.items()],
        confusion=_confusion(values["errors"]["confusion"]),
        figure=types_figure(values["strict"]["per_type"]),
        examples=_examples(values),
        **_optional(values, "against", "recipe", "lost"),
    )


def training_page(values: Values) -> str:
    """The page of a training.

    values   `model` (its name), `recipe`, `labels`, `facts`, `metrics`, `best_step`, `lost` (lines), `cautions`,
             `check` (`Check.to_json()` of the training documents) and `files` (sha256 by name)
    """
    best = next((entry for entry in values["metrics"] if entry["step"] == values["best_step"]), None)
    return _page(
        "training.jinja",
        values,
        summary=_training_summary(values, best),
        caveat=CAVEATS.get(values["recipe"]["select_on"]) if best and "f1" in best else None,
        figures=learning_figures(values, best),
        measured=[_measured(entry) for entry in values["metrics"]],
    )


def comparison_page(values: Values) -> str:
    """The page of a comparison.

    values   what `goldgap.compare.contest.compare` returns, and, where there are any, `command`, `cautions` (lines on
             the data) and `examples` (of `examples_of`)
    """
    tables = tables_of(values)
    conditions = values["conditions"]
    for number, (table, condition) in enumerate(zip(tables, conditions, strict=True)):
        table |= {"figures": contest_figures(number, condition, values["baseline"]), "types": _by_type(condition)}
    return _page(
        "comparison.jinja",
        values,
        summary=summary_of(values),
        tables=tables,
        by_drop=drop_figure(conditions),
        **LEAST,
        examples=_examples(values),
        **_optional(values, "command", "cautions"),
    )


def _page(template: str, values: Values, **more: Any) -> str:
    return printable(render(template, {**values, **more, "style": Markup(STYLE), "version": __version__}))


def _optional(values: Values, *names: str) -> dict[str, Any]:
    return {name: values.get(name) for name in names}


def _evaluation_summary(values: Values) -> str:
    strict, errors = values["strict"], values["errors"]
    interval = ""
    if values["bootstrap"]["samples"]:
        low, high = strict["interval"]
        interval = f" (95 % interval {percent(low, 1)} to {percent(high, 1)})"
    number, total = max(errors[kind] for kind in KINDS), sum(errors[kind] for kind in KINDS)
    kind = next(kind for kind in KINDS if errors[kind] == number)
    if total == 0:
        end = "there is no error"
    else:
        begin = "most errors are" if 2 * number > total else "the most frequent errors are"
        end = f"{begin} {_NOUNS[kind]} ({number:,} of {total:,})"
    size = f"{counted(strict['gold'], 'entity', 'entities')} in {counted(values['documents'], 'document')}"
    return f"F1 {percent(strict['f1'], 1)}{interval} on {size}; {end}."


def _by_type(condition: Values) -> list[list[str]]:
    """Scores of every method for each type, side by side."""
    rows = [row for row in condition["contenders"] if "f1" in row]
    labels = sorted({label for row in rows for label in row["per_type"]})
    return [
        [label, row["name"], *(percent(row["per_type"][label][name]) for name in ("precision", "recall", "f1"))]
        for label in labels
        for row in rows
        if label in row["per_type"]
    ]


def _measured(entry: Values) -> list[str]:
    scores = [percent(entry[name]) if name in entry else "" for name in ("precision", "recall", "f1")]
    counts = [f"{entry[name]:,}" for name in ("kept", "missampled")]
    return [f"{entry['step']:,}", f"{entry['epoch']:g}", f"{entry['loss']:.4g}", *scores, *counts]


def _confusion(cells: Sequence[Values]) -> dict[str, Any]:
    """Rows of gold types and columns of predicted ones, with the share of its row for each cell."""
    counts = {(cell["gold"], cell["predicted"]): cell["count"] for cell in cells}
    golds = sorted({gold for gold, _ in counts} - {SPURIOUS})
    columns = [*sorted({predicted for _, predicted in counts} - {MISSED}), MISSED]
    rows = []
    for gold in [*golds, SPURIOUS]:
        numbers = [counts.get((gold, column), 0) for column in columns]
        total = sum(numbers) or 1
        row: list[dict[str, Any] | None] = [
            {"count": number, "share": round(number / total, 3), "right": gold == column}
            for number, column in zip(numbers, columns, strict=True)
        ]
        rows.append((gold, [*row[:-1], None] if gold == SPURIOUS else row))
    return {"columns": columns, "rows": rows if golds or len(columns) > 1 else []}


def _examples(values: Values) -> list[tuple[str, int | None, list[dict[str, Any]]]]:
    """The examples by kind, with how many errors of it there are if that is known; none if none are given."""
    groups = []
    for kind, words in KINDS.items():
        own = [_laid_out(one) for one in values.get("examples") or () if one["kind"] == kind]
        if own:
            groups.append((words, values["errors"][kind] if "errors" in values else None, own))
    return groups


def _laid_out(example: Values) -> dict[str, Any]:
    spans = example["spans"]
    return {
        **example,
        "parts": parts_of(example["text"], spans),
        "lines": max((span["line"] + 1 for span in spans), default=0),
    }


def parts_of(text: str, spans: Sequence[Values]) -> list[dict[str, Any]]:
    """A text cut wherever a span begins or ends: the spans over each part, and those that end behind it."""
    edges = sorted({0, len(text), *(edge for span in spans for edge in (span["start"], span["end"]))})
    ordered = sorted(spans, key=lambda span: span["line"])
    return [
        {
            "text": text[start:end],
            "over": [span for span in ordered if span["start"] <= start and end <= span["end"]],
            "ending": [span for span in ordered if span["end"] == end],
        }
        for start, end in pairwise(edges)
    ]


def _training_summary(values: Values, best: Values | None) -> str:
    recipe = values["recipe"]
    what = f"{recipe['method']} on {recipe['encoder']['name']}"
    if best is None:
        return f"{what}: nothing was measured."
    of = f"epoch {best['epoch']:g} of {recipe['train']['epochs']:g}"
    if "f1" not in best:
        return f"{what}: {of} was kept; no dev set says how good it is."
    scores = f"precision {percent(best['precision'], 1)}, recall {percent(best['recall'], 1)}"
    how = (
        "the last, was kept"
        if recipe["select_on"] == "none"
        else f"the best on the {recipe['select_on']} set, was kept"
    )
    return f"{what}: dev F1 {percent(best['f1'], 1)} ({scores}). {of.capitalize()}, {how}."
