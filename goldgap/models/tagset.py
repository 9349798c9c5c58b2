"""The tags of a tagger: their numbers, what may follow what, and entities to tags and back."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

import torch
from torch import Tensor

from goldgap.core.errors import InputError
from goldgap.core.labels import Labels
from goldgap.corpus.tags import OUTSIDE, Span, letters_of, spans_to_tags, split_tag, tags_to_spans

Scheme = Literal["bio", "bioes"]
NONE = "NONE"
"""The type of spans that are drawn from what is not annotated (002); nothing that carries it is an entity."""


class Legal(NamedTuple):
    """What the scheme allows.

    first     (tag,): at the beginning of a text
    behind    (tag, tag): the second right behind the first
    last      (tag,): at the end of a text
    """

    first: Tensor
    behind: Tensor
    last: Tensor


class TagSet:
    """The tags of some types in a scheme; tag 0 is O.

    none   there is a type NONE beside the types of the corpus
    """

    def __init__(self, labels: Labels, scheme: Scheme, *, none: bool = False) -> None:
        if none and NONE in labels:
            raise InputError(
                f"the training files have a type {NONE}, which the two-step method needs for what is not an entity; "
                "rename it, e.g. with sed, or use another method"
            )
        self.labels, self.scheme, self.none = labels, scheme, none
        types = [*labels, *([NONE] if none else [])]
        self.tags = (OUTSIDE, *(f"{letter}-{label}" for label in types for letter in letters_of(scheme)))
        self._number = {tag: number for number, tag in enumerate(self.tags)}
        self.legal = self._legal()

    def __len__(self) -> int:
        return len(self.tags)

    def encode(self, length: int, spans: Iterable[Span | tuple[int, int, str]]) -> list[int]:
        """The tags of a text; spans must not share a word."""
        return [self._number[tag] for tag in spans_to_tags(length, spans, scheme=self.scheme)]

    def decode(self, numbers: Sequence[int]) -> list[Span]:
        """The entities of a text; those of the type NONE are none."""
        found = tags_to_spans([self.tags[number] for number in numbers], scheme=self.scheme).spans
        return [span for span in found if not (self.none and span.label == NONE)]

    def of_type(self, label: str) -> list[int]:
        """The numbers of a type's tags."""
        return [self._number[f"{letter}-{label}"] for letter in letters_of(self.scheme)]

    def of_none(self) -> list[int]:
        """The numbers of the tags of NONE; they are the last."""
        return [self._number[f"{letter}-{NONE}"] for letter in letters_of(self.scheme)] if self.none else []

    def continuation(self, label: str) -> int | None:
        """The tag that would make an entity of this type longer; None where its last tag says that it ends."""
        return self._number[f"I-{label}"] if self.scheme == "bio" else None

    def single(self, label: str) -> int | None:
        """The tag of an entity of one word; None where the scheme does not tell it from the first of several."""
        return self._number[f"S-{label}"] if self.scheme == "bioes" else None

    def _legal(self) -> Legal:
        parts = [split_tag(tag) for tag in self.tags]
        opens = torch.tensor([letter in "OBS" for letter, _ in parts])
        open_behind = torch.tensor([letter in "BI" for letter, _ in parts])  # its entity may go on
        same = torch.tensor([[a[1] == b[1] for b in parts] for a in parts])
        goes_on = open_behind[:, None] & ~opens[None] & same
        closes = self.scheme == "bioes"
        ends = ~open_behind if closes else torch.ones_like(opens)
        return Legal(opens, goes_on | (ends[:, None] & opens[None]), ends)
