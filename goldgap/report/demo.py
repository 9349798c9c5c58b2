"""The report of the demo, in Markdown: the labels, what was trained on them, what they miss."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import jinja2

from goldgap.core.findings import Check
from goldgap.evaluate.scores import Evaluation
from goldgap.models.suspects import Suspect
from goldgap.report.labels import label_report

_TEMPLATE = """\

# Recognisers trained on these labels

Scores on {{ documents }} sentences that were annotated by hand and that no model has seen.

| | precision | recall | F1 | 95 % interval of F1 |
|---|---|---|---|---|
{% for name, score in scores.items() -%}
| {{ name }} | {{ "%.2f" | format(100 * score.strict.micro.precision) }} \
| {{ "%.2f" | format(100 * score.strict.micro.recall) }} | {{ "%.2f" | format(100 * score.strict.micro.f1) }} \
| {{ "%.2f" | format(100 * score.strict.interval.low) }} to {{ "%.2f" | format(100 * score.strict.interval.high) }} |
{% endfor %}
# Missing annotations

Unknown spans of the training text that the last recogniser calls an entity, the surest first.

| surface | type | places | probability | context |
|---|---|---|---|---|
{% for suspect in suspects -%}
{% set place = suspect.places[0] -%}
| {{ suspect.surface | cell }} | {{ suspect.label }} | {{ suspect.places | length }} \
| {{ "%.3f" | format(place.score) }} \
| {{ place.before | cell }}**{{ suspect.surface | cell }}**{{ place.after | cell }} |
{% endfor %}"""


def demo_report(
    check: Check, quality: Evaluation, scores: Mapping[str, Evaluation], suspects: Sequence[Suspect]
) -> str:
    """All of it on one page."""
    environment = jinja2.Environment(autoescape=False, undefined=jinja2.StrictUndefined)
    environment.filters["cell"] = lambda text: text.replace("|", "\\|").replace("\n", " ")
    documents = next(iter(scores.values())).documents
    rest = environment.from_string(_TEMPLATE).render(scores=scores, suspects=suspects, documents=documents)
    return label_report(check, quality) + rest
