"""Settings: pydantic models that refuse unknown keys by naming the nearest, read from and written to TOML."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, TypeVar, get_args

import tomli_w
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from goldgap.core.errors import ConfigError
from goldgap.core.reading import read_text
from goldgap.core.registry import unknown_name


class Settings(BaseModel):
    """Base of every group of settings: frozen, and closed to keys that it does not know."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


S = TypeVar("S", bound=Settings)

Amount = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Share = Annotated[float, Field(ge=0, le=1)]

ERRORS_SHOWN = 5


def load(kind: type[S], values: dict[str, Any], *, where: Path | str | None = None) -> S:
    """Settings of `kind` from plain values, or an error that names the key."""
    try:
        # By way of JSON, where strict means: an array becomes a tuple, a string a path, but never a number.
        return kind.model_validate_json(json.dumps(values, default=str))
    except ValidationError as error:
        raise ConfigError("; ".join(_sentences(kind, error)), path=where) from None


def read_toml(kind: type[S], path: Path) -> S:
    """Settings of `kind` from a TOML file."""
    return load(kind, toml_values(path), where=path)


def toml_values(path: Path) -> dict[str, Any]:
    """What a TOML file says, not yet checked against any settings."""
    try:
        return tomllib.loads(read_text(path, limit=1 << 20))
    except (ValueError, RecursionError) as error:  # ValueError: also a number of more digits than Python reads
        raise ConfigError(f"not TOML: {error}", path=path) from None


def to_toml(settings: Settings) -> str:
    """The settings in full, as TOML; a key whose value is None is left out, which TOML has no word for."""
    return tomli_w.dumps(settings.model_dump(mode="json", exclude_none=True))


def _sentences(kind: type[Settings], error: ValidationError) -> list[str]:
    errors = error.errors(include_url=False, include_context=False)
    shown = [_sentence(kind, item["loc"], item["type"], item["msg"], item["input"]) for item in errors[:ERRORS_SHOWN]]
    return shown if len(errors) <= ERRORS_SHOWN else [*shown, f"and {len(errors) - ERRORS_SHOWN:,} more"]


def _sentence(kind: type[Settings], place: tuple[int | str, ...], what: str, message: str, found: object) -> str:
    if what == "extra_forbidden":
        group, above = _group(kind, place[:-1]), ".".join(map(str, place[:-1]))
        names = [f"{above}.{name}" if above else name for name in group.model_fields]
        hint = (
            f"; what a variant has of its own stands under [{above}.settings]" if f"{above}.settings" in names else ""
        )
        if elsewhere := [name for name in _dotted(kind) if name.rpartition(".")[2] == place[-1]]:
            return f"there is no setting {'.'.join(map(str, place))!r}; did you mean {' or '.join(elsewhere)}?"
        return unknown_name("setting", ".".join(map(str, place)), names) + hint
    # Where a value may be of several kinds, pydantic adds theirs, as in constrained-float and literal['auto'].
    key = ".".join(part for part in map(str, place) if not re.search(r"[-\[]", part))
    if what == "missing":
        return f"{key} is missing, and it has no default"
    expected = message[0].lower() + message[1:]
    return f"{key} = {found!r}: {expected}" if key else expected


def _group(kind: type[Settings], place: tuple[int | str, ...]) -> type[Settings]:
    """The settings class that a place inside nested settings belongs to."""
    for name in place:
        field = kind.model_fields.get(str(name))
        kind = _settings_in(field.annotation) or kind if field is not None else kind
    return kind


def _dotted(kind: type[Settings], before: str = "") -> Iterator[str]:
    """The names of all settings, those of groups behind the name of the group."""
    for name, field in kind.model_fields.items():
        if inner := _settings_in(field.annotation):
            yield from _dotted(inner, f"{before}{name}.")
        else:
            yield before + name


def _settings_in(annotation: object) -> type[Settings] | None:
    """The settings class in an annotation: itself, or inside an optional or a list."""
    if isinstance(annotation, type) and issubclass(annotation, Settings):
        return annotation
    return next((found for part in get_args(annotation) if (found := _settings_in(part))), None)
