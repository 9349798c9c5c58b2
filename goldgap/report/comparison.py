"""A comparison in words and tables, from the plain values that `goldgap compare` keeps, and all of it as Markdown.

The Markdown and the HTML page say the same, because both take it from here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from goldgap.evaluate.bootstrap import ENOUGH, FEW
from goldgap.report.render import counted, percent, render, signed

SETTLED, LIKELY = 0.95, 0.5
"""Shares of the draws in which the recommended method is the best of all."""

LEAST = {"enough": ENOUGH, "few": FEW}
"""Seeds and documents below which no difference counts."""

Values = Mapping[str, Any]


def comparison_markdown(values: Values) -> str:
    """The comparison as Markdown: a recommendation and a table for each condition, failures, runs and files."""
    told = {"tables": tables_of(values), "summary": summary_of(values), **LEAST}
    return render("comparison.md.jinja", {**values, **told})


def summary_of(values: Values) -> str:
    """What was compared, in a sentence."""
    conditions = values["conditions"]
    names = list(dict.fromkeys(row["name"] for condition in conditions for row in condition["contenders"]))
    seeds = len(values["seeds"])
    masks = [condition["drop"] for condition in conditions if condition["drop"] is not None]
    over = f", with {_listed([f'{100 * drop:g} %' for drop in masks])} of the annotations masked" if masks else ""
    what = f"{counted(len(names), 'method')} ({_listed(names)}), {counted(seeds, 'seed')} each{over}"
    return f"{what}; the baseline is {values['baseline']}."


def tables_of(values: Values) -> list[dict[str, Any]]:
    """For each condition what a page shows of it: heading, sizes, recommendation, columns and rows, failures."""
    return [_table(condition, values["baseline"], values["samples"]) for condition in values["conditions"]]


def _table(condition: Values, baseline: str, samples: int) -> dict[str, Any]:
    rows = condition["contenders"]
    trained = [row for row in rows if "f1" in row]
    masked = any(row.get("missampled") is not None for row in trained)
    tuned = any(row.get("settings") for row in trained)
    columns = ["method", "F1", "sd", "95 % interval", f"against {baseline}", "verdict", "precision", "recall", "dev F1"]
    columns += ["seconds a run (median)", *(["masked among the negatives"] if masked else [])]
    columns += ["chosen settings"] if tuned else []
    return {
        "heading": heading_of(condition),
        "sizes": ", ".join(f"{count:,} {part}" for part, count in condition["sizes"].items()),
        "recommendation": recommendation_of(condition, baseline, samples),
        "columns": columns,
        "rows": [_row(row, condition, baseline, masked=masked, tuned=tuned) for row in rows],
        "failed": [{"name": row["name"], **failure} for row in rows for failure in row["failed"]],
        "runs": [{"name": row["name"], **run} for row in trained for run in row["runs"]],
        "tried": [{"name": row["name"], **one} for row in trained for one in row.get("tried", ())],
    }


def heading_of(condition: Values) -> str:
    drop = condition["drop"]
    return "The annotations as they are" if drop is None else f"{100 * drop:g} % of the annotations masked"


def recommendation_of(condition: Values, baseline: str, samples: int) -> str:
    """Which method to use here, by how much, and how sure that is."""
    best = condition["recommended"]
    if best is None:
        return "No run ended well: there is nothing to recommend."
    row = _named(condition, best["name"])
    hint = _hint(best, condition)
    parts = [_use(best), hint or _certainty(best, samples)]
    against = row.get("against")
    if best["name"] == baseline:
        parts.append("It is the baseline itself.")
    elif not hint and against is not None and claims(row, condition, baseline):
        parts.append(_difference(against, baseline))
    return " ".join(parts)


def _use(best: Values) -> str:
    name, dev, test = best["name"], percent(best["dev_f1"], 1), percent(best["f1"], 1)
    seeds = counted(best["seeds"], "seed")
    other = best["passed_over"]
    if other is None:
        return f"Use {name}: it has the best dev F1 ({dev}), and F1 {test} on the test set, the mean of {seeds}."
    return (
        f"Use {name}: it has the best dev F1 ({dev}) of the methods with {seeds}, and F1 {test} on the test set. "
        f"{other['name']} has a better dev F1 ({percent(other['dev_f1'], 1)}), "
        f"but only {other['seeds']} of its runs ended."
    )


def _hint(best: Values, condition: Values) -> str:
    """Why no claim is made, if none is."""
    if best["seeds"] < ENOUGH:
        return f"With fewer than {ENOUGH} seeds no claim is made: take it as a hint."
    if condition["sizes"]["test"] < FEW:
        return f"With fewer than {FEW} test documents intervals are too narrow and no claim is made: take it as a hint."
    return ""


def _difference(against: Values, baseline: str) -> str:
    verdict = against["verdict"]
    low, high = (signed(edge, 1) for edge in against["interval"])
    begin = (
        f"Whether it beats {baseline} is undecided" if verdict == "undecided" else f"It is {verdict} than {baseline}"
    )
    return f"{begin}: F1 {signed(against['difference'], 1)} (95 % interval {low} to {high})."


def _certainty(best: Values, samples: int) -> str:
    share, rival = best["best_share"], best["rival"]
    draws = f"{samples:,} draws of other test documents and other seeds"
    begin = f"In {100 * share:.0f} % of {draws} it is the best"
    if share >= SETTLED:
        return f"{begin}: practically settled."
    other = "" if rival is None else f"; {rival['name']} is in {100 * rival['best_share']:.0f} %"
    return f"{begin}: {'likely, not settled' if share >= LIKELY else 'open'}{other}."


def claims(row: Values, condition: Values, baseline: str) -> bool:
    """Whether there are enough seeds on both sides to say anything of a difference."""
    base = _named(condition, baseline)
    return min(len(row.get("runs", ())), len(base.get("runs", ()))) >= ENOUGH


def verdict_of(row: Values, condition: Values, baseline: str) -> str:
    """Of a method against the baseline: better, worse, undecided, or why nothing is said."""
    if "f1" not in row:
        return "failed"
    if row["name"] == baseline:
        return "baseline"
    if "against" not in row:
        return "the baseline failed"
    return str(row["against"]["verdict"]) if claims(row, condition, baseline) else "no claim: too few seeds"


def _row(row: Values, condition: Values, baseline: str, *, masked: bool, tuned: bool) -> list[str]:
    verdict = verdict_of(row, condition, baseline)
    if "f1" not in row:
        return [row["name"], *[""] * 4, verdict, *[""] * (4 + masked + tuned)]
    against = row.get("against")
    missampled = row.get("missampled")
    return [
        row["name"],
        percent(row["f1"]),
        "" if row["sd"] is None else percent(row["sd"]),
        f"{percent(row['interval'][0])} to {percent(row['interval'][1])}",
        "" if against is None else _with_interval(against),
        verdict,
        percent(row["precision"]),
        percent(row["recall"]),
        percent(row["dev_f1"]),
        f"{row['seconds']:,.0f}",
        *(["" if missampled is None else f"{100 * missampled:.2f} % of {row['negatives']}"] if masked else []),
        *([row["settings"]] if tuned else []),
    ]


def _with_interval(against: Values) -> str:
    low, high = (signed(edge) for edge in against["interval"])
    return f"{signed(against['difference'])} ({low} to {high})"


def _named(condition: Values, name: str) -> Values:
    row: Values = next(row for row in condition["contenders"] if row["name"] == name)
    return row


def _listed(words: Sequence[str]) -> str:
    """Words with commas and a last "and"; in quotes where one of them has a comma of its own."""
    if any("," in word for word in words):
        words = [f'"{word}"' for word in words]
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
