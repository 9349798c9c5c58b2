"""The report on dictionary labels, in Markdown."""

from __future__ import annotations

import jinja2

from goldgap.core.findings import Check
from goldgap.evaluate.scores import Evaluation

_TEMPLATE = """\
# Labels from a dictionary

{% for name, value in check.facts.items() -%}
- {{ name }}: {{ value }}
{% endfor %}
| {{ check.columns | join(" | ") }} |
|{% for _ in check.columns %}---|{% endfor %}
{% for row in check.rows -%}
| {{ row | join(" | ") }} |
{% endfor %}
## Quality against the gold

| | precision | recall | F1 | gold | labels |
|---|---|---|---|---|---|
{% for name, score in scores -%}
| {{ name }} | {{ "%.2f" | format(100 * score.precision) }} | {{ "%.2f" | format(100 * score.recall) }} \
| {{ "%.2f" | format(100 * score.f1) }} | {{ score.counts.gold }} | {{ score.counts.predicted }} |
{% endfor %}
95 % interval of F1: {{ "%.2f" | format(100 * quality.strict.interval.low) }} to \
{{ "%.2f" | format(100 * quality.strict.interval.high) }} ({{ quality.samples }} resamples of \
{{ quality.documents }} documents, seed {{ quality.seed }}).

## What is suspicious about the dictionary

{% for finding in check.findings -%}
**{{ finding.what }}: {{ finding.count }}** ({{ finding.advice }})

{% for example in finding.examples -%}
- {{ example }}
{% endfor %}
{% endfor %}"""


def label_report(check: Check, quality: Evaluation) -> str:
    """Facts, quality and findings on one page."""
    environment = jinja2.Environment(autoescape=False, undefined=jinja2.StrictUndefined)
    scores = [*quality.strict.per_type.items(), ("all", quality.strict.micro)]
    return environment.from_string(_TEMPLATE).render(check=check, quality=quality, scores=scores)
