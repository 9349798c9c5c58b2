"""The model card: the README.md of a saved model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from goldgap.core.labels import Labels
from goldgap.core.notes import Notes
from goldgap.report.render import flat, render
from goldgap.train.compose import recipe_for
from goldgap.train.methods import METHODS
from goldgap.train.recipe import AUTO, Recipe

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


def card_of_further_types(descriptions: Mapping[str, str]) -> str:
    """What a card says of types that were added after the training."""
    lines = "".join(f"- {label}: {text}\n" for label, text in descriptions.items())
    return f"\n## Types it was not trained for\n\nAdded after the training, by description alone:\n\n{lines}"


_OF_THE_UNKNOWN = ("policy.", "loss.", "two_step.", "model.kind")
"""Settings that say what became of the unknown."""


def _otherwise(recipe: Recipe) -> list[str]:
    """Where a recipe takes the unknown in another way than its method does, but for what was left to the data."""
    if recipe.method not in METHODS:
        return []
    usual = flat(recipe_for(recipe.method).model_dump(mode="json"))
    own = flat(recipe.model_dump(mode="json"))
    return [
        f"{name.replace('.settings.', '.')} = {value}"
        for name, value in own.items()
        if name.startswith(_OF_THE_UNKNOWN) and usual.get(name) not in (value, AUTO)
    ]


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
    wide = recipe.model.kind == "tagger" or not recipe.model.max_width
    values = {
        "recipe": recipe,
        "labels": list(labels),
        "method": METHODS.get(recipe.method),
        "otherwise": _otherwise(recipe),
        "widest": "any number of" if wide else f"at most {recipe.model.max_width}",
        "facts": facts,
        "best": best,
        "caveat": CAVEATS.get(recipe.select_on or "none"),
        "lost": notes.lines(),
    }
    return render("card.md.jinja", values)
