"""Settings: pydantic models that refuse unknown keys by naming the nearest, read from and written to TOML."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any, TypeVar

import tomli_w
from pydantic import BaseModel, ConfigDict, ValidationError

from goldgap.core.errors import ConfigError
from goldgap.core.files import read_text
from goldgap.core.registry import unknown_name


class Settings(BaseModel):
    """Base of every group of settings: frozen, and closed to keys that it does not know."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


S = TypeVar("S", bound=Settings)


def load(kind: type[S], values: dict[str, Any], *, where: Path | str | None = None) -> S:
    """Settings of `kind` from plain values, or an error that names the key."""
    try:
        return kind.model_validate(values)
    except ValidationError as error:
        raise ConfigError("; ".join(_sentences(kind, error)), path=where) from None


def read_toml(kind: type[S], path: Path) -> S:
    """Settings of `kind` from a TOML file."""
    try:
        values = tomllib.loads(read_text(path, limit=1 << 20))
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise ConfigError(f"not TOML: {error}", path=path) from None
    return load(kind, values, where=path)


def to_toml(settings: Settings) -> str:
    """The settings in full, as TOML; a key whose value is None is left out, which TOML has no word for."""
    return tomli_w.dumps(settings.model_dump(mode="json", exclude_none=True))


def _sentences(kind: type[Settings], error: ValidationError) -> list[str]:
    return [_sentence(kind, item["loc"], item["type"], item["msg"], item["input"]) for item in error.errors()]


def _sentence(kind: type[Settings], place: tuple[int | str, ...], what: str, message: str, found: object) -> str:
    key = ".".join(map(str, place))
    if what == "extra_forbidden":
        group = _group(kind, place[:-1])
        return unknown_name("setting", key, [".".join([*map(str, place[:-1]), name]) for name in group.model_fields])
    expected = message[0].lower() + message[1:]
    return f"{key} = {found!r}: {expected}"


def _group(kind: type[Settings], place: tuple[int | str, ...]) -> type[Settings]:
    """The settings class that a place inside nested settings belongs to."""
    for name in place:
        field = kind.model_fields.get(str(name))
        if field is None or not isinstance(field.annotation, type) or not issubclass(field.annotation, Settings):
            break
        kind = field.annotation
    return kind
