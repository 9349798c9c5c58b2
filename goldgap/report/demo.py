"""The report of the demo, in Markdown: the labels, what was trained on them, what they miss."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from goldgap.core.findings import Check
from goldgap.evaluate.scores import Evaluation
from goldgap.models.suspects import Suspect
from goldgap.report.render import render

TITLE = "# Labels from a dictionary\n"


def demo_report(
    check: Check, quality: Evaluation, scores: Mapping[str, Evaluation], suspects: Sequence[Suspect]
) -> str:
    """All of it on one page."""
    values = {
        "title": TITLE,
        "check": check,
        "quality": quality,
        "by_type": [*quality.strict.per_type.items(), ("all", quality.strict.micro)],
        "documents": next(iter(scores.values())).documents,
        "scores": scores,
        "suspects": suspects,
    }
    return render("demo.md.jinja", values)
