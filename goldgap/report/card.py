"""The model card: the README.md of a saved model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import jinja2

from goldgap.core.labels import Labels
from goldgap.core.notes import Notes
from goldgap.train.methods import METHODS
from goldgap.train.recipe import Recipe

CAVEATS = {
    "distant dev": (
        "The scores are against labels that have gaps themselves: they say which epoch was best, not how good the "
        "model is."
    ),
    "clean dev": (
        "The best epoch was chosen by these scores, so they flatter the model; judge it on documents that it has never "
        "seen."
    ),
}
"""What dev scores do not say, by what the epoch was selected on."""

_TEMPLATE = """\
# A recogniser of {{ labels | join(", ") }}

Trained by goldgap with the method `{{ recipe.method }}`, which {{ method.what }}, on the encoder
`{{ recipe.encoder.name }}`. It finds entities of {% if recipe.model.kind == "tagger" or not recipe.model.max_width -%}
any number of{% else %}at most {{ recipe.model.max_width }}{% endif %} words.

## Use

```sh
goldgap predict MODEL input.txt -o output.jsonl
```

```python
from goldgap import Recognizer

model = Recognizer.load("MODEL")
model("Some text.")
```

{% if recipe.types -%}
## Types

It read what its types are:

{% for name, type in recipe.types.items() -%}
- {{ name }}: {{ type.descriptions | join(" / ") }}
{% endfor %}
`goldgap predict --type NAME=TEXT` asks it for a further type. It was not trained for that, and how well it does was not
measured: take what it finds as suggestions to look through.

{% endif -%}
## Training

{% for name, value in facts.items() -%}
- {{ name }}: {{ value }}
{% endfor -%}
- seed: {{ recipe.seed }}
- selected on: {{ recipe.select_on }}
{% if best -%}
- {{ recipe.select_on if recipe.select_on != "none" else "dev" }} scores of the chosen model (epoch \
{{ best.epoch }}): precision {{ "%.2f" | format(100 * best.precision) }}, recall \
{{ "%.2f" | format(100 * best.recall) }}, F1 {{ "%.2f" | format(100 * best.f1) }}
{% endif -%}
{% for line in lost -%}
- left out: {{ line }}
{% endfor %}
{% if caveat -%}
{{ caveat }}
{% endif %}
All settings are in `recipe.toml`, the scores of every evaluation in `metrics.jsonl`; `manifest.json` has the hash of
each file.
"""


def model_card(
    recipe: Recipe,
    labels: Labels,
    facts: Mapping[str, Any],
    metrics: Sequence[Mapping[str, Any]],
    best_step: int,
    notes: Notes,
) -> str:
    """What a person must know to use the model: what it finds, how it was made and chosen, what it was not taught."""
    best = next((entry for entry in metrics if entry["step"] == best_step and "f1" in entry), None)
    template = jinja2.Environment(keep_trailing_newline=True, undefined=jinja2.StrictUndefined).from_string(_TEMPLATE)
    return template.render(
        recipe=recipe,
        labels=list(labels),
        method=METHODS[recipe.method],
        facts=facts,
        best=best,
        caveat=CAVEATS.get(recipe.select_on or "none"),
        lost=notes.lines(),
    )
