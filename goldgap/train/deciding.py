"""Which settings of a recipe decide a result: two runs that agree in them are one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from goldgap.train.methods import METHODS
from goldgap.train.recipe import AUTO, Recipe, ratio_is_open
from goldgap.train.unread import unread


def deciding_settings(recipe: Recipe, files: Iterable[str]) -> dict[str, Any]:
    """By group; what they are called together, or that a default was written out, decides nothing.

    files   settings that name a file whose contents count on their own: where it lies decides nothing either
    """
    values = recipe.model_dump(mode="json")
    for chosen, variant in (("policy", recipe.make_policy()), ("loss", recipe.make_loss())):
        values[chosen]["settings"] = asdict(variant)  # type: ignore[arg-type]
    if ratio_is_open(recipe.policy):  # until the data decide it, which the resolved recipe says
        values["policy"]["settings"]["ratio"] = AUTO
    if recipe.two_step.method and recipe.two_step.explore:  # what it is, whatever its name
        values["two_step"]["method"] = METHODS[recipe.two_step.method].settings
        own = METHODS[recipe.method].settings.get("train") if recipe.method in METHODS else None
        if own:  # which settings of `train` are the method's own, and so not those of the exploratory training
            values["two_step"]["own"] = own
    del values["method"]
    for place in {*unread(recipe), *(name for name in files if "." in name), "train.checkpoint_steps"}:
        group, _, name = place.partition(".")
        del values[group][name]
    return values
