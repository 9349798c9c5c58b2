"""Variants behind names: formats, policies, losses, heads, decoders."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from difflib import get_close_matches
from typing import Generic, TypeVar

from goldgap.core.errors import UnknownNameError

T = TypeVar("T")


class Registry(Generic[T]):
    """Named variants of one kind.

    >>> sizes = Registry[int]("size")
    >>> sizes.add("small", 1)
    1
    >>> sizes.get("smal")
    Traceback (most recent call last):
    goldgap.core.errors.UnknownNameError: there is no size 'smal'; did you mean 'small'? Known: small
    """

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self._items: dict[str, T] = {}

    def add(self, name: str, item: T) -> T:
        if name in self._items:
            raise ValueError(f"{self.kind} {name!r} is registered twice")
        self._items[name] = item
        return item

    def get(self, name: str) -> T:
        if name not in self._items:
            raise UnknownNameError(unknown_name(self.kind, name, self._items))
        return self._items[name]

    def items(self) -> Iterable[tuple[str, T]]:
        return self._items.items()

    def __iter__(self) -> Iterator[str]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)


def unknown_name(kind: str, name: str, known: Iterable[str]) -> str:
    """The sentence for a name that does not exist: the nearest one, and all there are."""
    names = list(known)
    if not names:
        return f"there is no {kind} {name!r}: there is none at all"
    near = get_close_matches(name, names, n=1)
    hint = f"; did you mean {near[0]!r}?" if near else "."
    return f"there is no {kind} {name!r}{hint} Known: {', '.join(names)}"
