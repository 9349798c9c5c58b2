"""The entity types of a corpus or a model, in a fixed order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from goldgap.core.document import Document, label_problem
from goldgap.core.errors import DocumentError, UnknownNameError
from goldgap.core.registry import unknown_name


@dataclass(frozen=True, slots=True)
class Labels:
    """An ordered set of type names. Index 0 of a model's output is O, so type k of this list is index k + 1 there."""

    types: tuple[str, ...]

    @classmethod
    def of(cls, names: Iterable[str]) -> Labels:
        """Sorted and without repeats, so that the order of documents never matters."""
        types = tuple(sorted(set(names)))
        for name in types:
            if problem := label_problem(name):
                raise DocumentError(problem)
        return cls(types)

    @classmethod
    def seen_in(cls, documents: Iterable[Document]) -> Labels:
        """Every type that an entity or a statement of completeness names; what was masked is not to be known."""
        names: set[str] = set()
        for document in documents:
            names.update(entity.label for entity in document.entities)
            if isinstance(document.complete, frozenset):
                names |= document.complete
        return cls.of(names)

    def index(self, name: str) -> int:
        if name not in self.types:
            raise UnknownNameError(unknown_name("label", name, self.types))
        return self.types.index(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self.types)

    def __len__(self) -> int:
        return len(self.types)

    def __contains__(self, name: object) -> bool:
        return name in self.types
