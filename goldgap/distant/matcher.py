"""Find dictionary entries in documents: folded surfaces in folded text, between the boundaries of words."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import pairwise

import numpy as np

from goldgap.core.document import Document
from goldgap.corpus.words import split_words
from goldgap.distant.dictionary import Dictionary, Entry
from goldgap.distant.finder import BATCH, Finder, Hits, Text
from goldgap.distant.rules import CaseRule, MatchRules

SHORT = 3
"""Entries of at most this many characters match exactly under the smart rule."""
_STRETCH = re.compile(r"\S+")
_SIBILANT = re.compile(r"(?:s|x|z|ch|sh)$", re.IGNORECASE)

Match = tuple[int, int, int]
"""Start, end, and the number of the entry that stands there. A plain tuple: there may be millions."""


class Matcher:
    """A dictionary ready to be looked up in documents."""

    def __init__(self, dictionary: Dictionary, rules: MatchRules) -> None:
        patterns: dict[str, int] = {}
        # The one entry that a pattern stands for, if its case does not matter; else -1, and _several has each entry
        # with the surface that must stand there literally, or None.
        self._single: list[int] = []
        self._several: dict[int, list[tuple[int, str | None]]] = {}
        for number, entry in enumerate(dictionary.entries):
            exact = is_exact(entry, rules.case)
            for surface in _variants(entry.surface) if rules.plurals else (entry.surface,):
                pattern = patterns.setdefault(surface.casefold(), len(patterns))
                if pattern == len(self._single):
                    self._single.append(-1 if exact else number)
                    if not exact:
                        continue
                elif self._single[pattern] >= 0:
                    self._several[pattern] = [(self._single[pattern], None)]
                    self._single[pattern] = -1
                self._several.setdefault(pattern, []).append((number, surface if exact else None))
        self._finder = Finder(list(patterns))

    def find(self, documents: Iterable[Document]) -> Iterator[list[Match]]:
        """For each document every entry on word boundaries, in order of (start, longest first, entry)."""
        for batch in _batches(documents):
            folded = [fold(document.text) for document in batch]
            texts = [_text(document, *pair) for document, pair in zip(batch, folded, strict=True)]
            for document, (_, origin), hits in zip(batch, folded, self._finder.find(texts), strict=True):
                yield self._matches(document, origin, hits)

    def _matches(self, document: Document, origin: Sequence[int] | None, hits: Hits) -> list[Match]:
        if origin is not None:
            hits = _in_original(hits, origin)
        single = self._single
        if document.tokens is None:
            is_edge = _word_edges(document.text)
            found = [
                (start, end, pattern)
                for start, end, pattern, between_blanks in zip(*hits, strict=True)
                if between_blanks or (is_edge(start) and is_edge(end))
            ]
        else:  # then the finder looked at the edges of tokens only
            found = list(zip(hits.begins, hits.ends, hits.patterns, strict=True))
        if not self._several:
            return [(start, end, single[pattern]) for start, end, pattern in found]
        return [match for hit in found for match in self._settle(document.text, *hit)]

    def _settle(self, text: str, start: int, end: int, pattern: int) -> Iterator[Match]:
        """The entries of a pattern whose case is right here."""
        entry = self._single[pattern]
        if entry >= 0:
            yield start, end, entry
            return
        here = text[start:end]
        for entry, literal in self._several[pattern]:
            if literal is None or literal == here or literal == " ".join(here.split()):
                yield start, end, entry


def is_exact(entry: Entry, case: CaseRule) -> bool:
    """Whether the letters' case matters for this entry."""
    if entry.case is not None:
        return entry.case == "exact"
    return case == "exact" or (case == "smart" and (len(entry.surface) <= SHORT or entry.surface.isupper()))


def fold(text: str) -> tuple[str, Sequence[int] | None]:
    """The text case-folded and with each white space as one blank, and the offset in `text` of each character.

    The offsets are None when they are the same, which they nearly always are. Folding may lengthen a text
    ("ß" to "ss", "İ" to two characters), so offsets cannot be taken over without the map.
    """
    folded = text.casefold()
    if len(folded) == len(text) and text.isprintable() and "  " not in text:
        return folded, None
    parts: list[str] = []
    origin: list[int] = []
    for index, character in enumerate(text):
        if character.isspace():
            if parts and parts[-1] == " ":
                continue
            part = " "
        else:
            part = character.casefold()
        parts.append(part)
        origin += [index] * len(part)
    return "".join(parts), origin


def _batches(documents: Iterable[Document]) -> Iterator[list[Document]]:
    """Documents in groups that are worth looking at together; a very long one stands alone."""
    batch: list[Document] = []
    size = 0
    for document in documents:
        if batch and size + len(document.text) > BATCH:
            yield batch
            batch, size = [], 0
        batch.append(document)
        size += len(document.text)
    if batch:
        yield batch


def _text(document: Document, folded: str, origin: Sequence[int] | None) -> Text:
    """The folded text, with the edges of its tokens where the document has them."""
    if document.tokens is None:
        return Text(folded)
    tokens = np.array(document.tokens, dtype=np.int64).reshape(-1, 2)
    begins, ends = tokens[:, 0], tokens[:, 1]
    if origin is not None:
        begins, ends = np.searchsorted(origin, begins), np.searchsorted(origin, ends)
    return Text(folded, begins, ends)


def _in_original(hits: Hits, origin: Sequence[int]) -> Hits:
    """Hits in folded text as hits in the text itself, without those inside the expansion of one character.

    "s" stands in "ss", which "ß" folds to, but not in "ß".
    """
    whole = [True, *(a != b for a, b in pairwise(origin)), True]
    kept = [
        (origin[start], origin[end - 1] + 1, pattern, between_blanks)
        for start, end, pattern, between_blanks in zip(*hits, strict=True)
        if whole[start] and whole[end]
    ]
    return Hits(*(list(column) for column in zip(*kept, strict=True))) if kept else Hits([], [], [], [])


def _word_edges(text: str) -> Callable[[int], bool]:
    """Whether a word of the splitter begins or ends at a place, found without splitting the whole text."""
    padded = f" {text} "  # the character before position i of the text is padded[i]
    starts: list[int] = []  # of the stretches without white space, once one of them matters
    edges: dict[int, frozenset[int]] = {}

    def is_edge(at: int) -> bool:
        if padded[at].isspace() or padded[at + 1].isspace():
            return True
        if not starts:
            starts.extend(match.start() for match in _STRETCH.finditer(text))
        start = starts[bisect_right(starts, at) - 1]
        if start not in edges:
            stretch = _STRETCH.match(text, start)
            edges[start] = _edges_inside(stretch[0]) if stretch else frozenset()
        return at - start in edges[start]

    return is_edge


@lru_cache(maxsize=1 << 16)
def _edges_inside(chunk: str) -> frozenset[int]:
    """Where words begin or end in a stretch without white space; words never reach over white space."""
    return frozenset(edge for word in split_words(chunk) for edge in word)


def _variants(surface: str) -> tuple[str, ...]:
    """The surface, and its regular plural if its last word is one of letters: of NSAID, NSAIDs and NSAIDS."""
    if len(surface) <= SHORT or len(surface.split(" ")[-1]) < 2 or not surface[-1].isalpha():
        return (surface,)
    if surface[-1] in "yY" and surface[-2].lower() not in "aeiou":
        plural = surface[:-1] + "ies"
    else:
        plural = surface + ("es" if _SIBILANT.search(surface) else "s")
    return (surface, f"{surface}s", plural.upper()) if surface.isupper() else (surface, plural)
