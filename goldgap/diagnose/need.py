"""What a diagnosis cannot be made without."""

from __future__ import annotations

from goldgap.core.errors import InputError


def need(what: object, expected: str) -> None:
    """Raise where there is nothing to look at."""
    if not what:
        raise InputError(f"nothing to diagnose: expected {expected}")
