"""Who is compared: a method with settings of its own, and the choices of a grid."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from goldgap.core.errors import ConfigError
from goldgap.encode.names import LOOK_UP
from goldgap.train.compose import parse_settings, recipe_for
from goldgap.train.methods import METHODS
from goldgap.train.recipe import Recipe


@dataclass(frozen=True, slots=True)
class Contender:
    """A method with settings of its own, under a name; seedless."""

    name: str
    method: str
    layers: tuple[Mapping[str, Any], ...]

    def __post_init__(self) -> None:
        if any("seed" in layer for layer in self.layers):
            raise ConfigError(f"{self.name}: seed is no setting of a method here; name seeds with --seeds")

    def recipe(self, seed: int) -> Recipe:
        return recipe_for(self.method, *self.layers, {"seed": seed})


def keeps_encoder(method: str) -> bool:
    """Whether a method is what it is by its encoder, as bilstm-crf: it keeps it whatever encoder the others have."""
    return method in METHODS and METHODS[method].encoder in LOOK_UP


def contender(text: str, *layers: Mapping[str, Any], name: str | None = None) -> Contender:
    """`nrces`, or `nrces:policy=top-neg:loss.w=10`: a method and where it differs; `layers` hold for all contenders."""
    method, *words = text.split(":")
    pairs: list[str] = []
    for word in words:
        if pairs and "=" not in word:  # of a value that has a colon, as cuda:1
            pairs[-1] += f":{word}"
        else:
            pairs.append(word)
    if keeps_encoder(method):
        layers = tuple(_without_encoder(layer) for layer in layers)
    made = Contender(name or text, method, (*layers, parse_settings(pairs)))
    _check(made)
    return made


def _without_encoder(layer: Mapping[str, Any]) -> dict[str, Any]:
    return {**layer, "encoder": {key: value for key, value in layer.get("encoder", {}).items() if key != "name"}}


def _check(one: Contender) -> None:
    """Raise for what cannot be trained, before anything is."""
    recipe = one.recipe(0)
    recipe.make_policy()
    recipe.make_loss()


class Variant(NamedTuple):
    """A contender with one choice of the grid."""

    settings: str
    contender: Contender


def variants(one: Contender, grid: Mapping[str, Sequence[str]]) -> list[Variant]:
    """Every choice of the settings that this contender has; settings and values that it does not take are left out.

    A grid varies a method and makes no other of it: one of a single step stays that.
    """
    own: dict[str, Sequence[str]] = {}
    steps = one.recipe(0).two_step
    for key, values in grid.items():
        if key.startswith("two_step.") and not (steps.explore or steps.none):
            continue
        if taken := [value for value in values if _takes(one, f"{key}={value}")]:
            own[key] = taken
    chosen = []
    for choice in itertools.product(*own.values()):
        pairs = [f"{key}={value}" for key, value in zip(own, choice, strict=True)]
        variant = _with(one, pairs)
        _check(variant)
        chosen.append(Variant(" ".join(pairs), variant))
    return chosen


def _takes(one: Contender, pair: str) -> bool:
    try:
        _check(_with(one, [pair]))
    except ConfigError:
        return False
    return True


def _with(one: Contender, pairs: list[str]) -> Contender:
    return Contender(one.name, one.method, (*one.layers, parse_settings(pairs)))
