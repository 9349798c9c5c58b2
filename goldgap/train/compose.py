"""A recipe put together: the settings of a method, and above them those of files, options and `key=value` words."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from goldgap.core.config import load, toml_values
from goldgap.core.errors import ConfigError
from goldgap.core.registry import unknown_name
from goldgap.train.checks import check
from goldgap.train.methods import DEFAULT, METHODS
from goldgap.train.recipe import Recipe, TypeSettings


def recipe_for(method: str = DEFAULT, *layers: Mapping[str, Any], where: Path | None = None) -> Recipe:
    """The complete recipe of a method; the layers are further groups of settings, of which the later win."""
    if str(method) not in METHODS:
        raise ConfigError(unknown_name("method", str(method), METHODS), path=where)
    values: dict[str, Any] = Recipe(method=method).model_dump(mode="json", exclude_none=True)
    for layer in (METHODS[method].settings, *layers):
        if layer.get("method", method) != method:
            raise ConfigError(f"method = {layer['method']!r} among the settings of {method}: name it as the method")
        values = _merged(values, layer)
    recipe = load(Recipe, values, where=where)
    check(recipe)
    return recipe


def _merged(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """Nested settings, where those above win; another variant forgets the settings of the one it replaces."""
    result = dict(below)
    for key, value in above.items():
        old = result.get(key)
        if isinstance(old, Mapping) and isinstance(value, Mapping):
            other_variant = "name" in value and "settings" in old and value["name"] != old.get("name")
            result[key] = dict(value) if other_variant else _merged(old, value)
        else:
            result[key] = value
    return result


def read_descriptions(path: Path) -> dict[str, Any]:
    """Settings of types from a TOML file: `[PER]` with a description, or `PER = "..."`."""
    values = toml_values(path)
    types = {name: value if isinstance(value, dict) else {"description": value} for name, value in values.items()}
    for name, value in types.items():
        try:
            load(TypeSettings, value)
        except ConfigError as error:
            what = f"expected {name} = 'what it is', or a list of such texts"
            raise ConfigError(f"{name}: {error.message}; {what}", path=path) from None
    return {"types": types}


def parse_settings(pairs: Sequence[str]) -> dict[str, Any]:
    """Settings from `key=value` words; values as in TOML, and what is none of its values is a string.

    >>> parse_settings(["train.epochs=3", "policy.ratio=0.1", "loss=nrces"])
    {'train': {'epochs': 3}, 'policy': {'settings': {'ratio': 0.1}}, 'loss': {'name': 'nrces'}}
    """
    values: dict[str, Any] = {}
    for pair in pairs:
        key, sign, text = pair.partition("=")
        if not sign or not key.strip():
            raise ConfigError(f"--set {pair}: expected key=value, as in train.epochs=3")
        *groups, name = key.strip().split(".")
        if groups in (["policy"], ["loss"]) and name not in ("name", "settings"):
            groups = [*groups, "settings"]
        elif not groups and name in ("policy", "loss"):
            groups, name = [name], "name"
        place: Any = values
        for group in groups:
            place = place.setdefault(group, {})
            if not isinstance(place, dict):
                raise ConfigError(f"--set {pair}: {group} was given a value already")
        place[name] = _value(text.strip())
    return values


def _value(text: str) -> Any:
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except (ValueError, RecursionError):  # also a number of more digits than Python reads
        return text
