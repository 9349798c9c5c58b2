"""Find dictionary entries in documents: one automaton over case-folded text, then the boundaries of words.

The automaton (Aho-Corasick) reports every occurrence of every folded surface, also the overlapping ones; asked for the
longest it would hide a shorter match that stands on word boundaries behind a longer one that does not.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

import ahocorasick_rs

from goldgap.core.document import Document
from goldgap.corpus.words import split_words
from goldgap.distant.dictionary import Dictionary, Entry
from goldgap.distant.rules import CaseRule, MatchRules

SHORT = 3
"""Entries of at most this many characters match exactly under the smart rule."""
_IRREGULAR_BLANK = re.compile(r"[^\S ]|  ")
_SIBILANT = re.compile(r"(?:s|x|z|ch|sh)$", re.IGNORECASE)

EdgeTest = Callable[[int, int], bool]


class Match(NamedTuple):
    """Entry number `entry` of the dictionary stands at this range of the text."""

    start: int
    end: int
    entry: int


class Matcher:
    """A dictionary ready to be looked up in documents."""

    def __init__(self, dictionary: Dictionary, rules: MatchRules) -> None:
        # folded surface -> the entries that have it: (number, surface that must stand there literally, or None)
        wanted: dict[str, list[tuple[int, str | None]]] = {}
        for number, entry in enumerate(dictionary):
            exact = is_exact(entry, rules.case)
            for surface in _variants(entry.surface, rules.plurals):
                wanted.setdefault(surface.casefold(), []).append((number, surface if exact else None))
        self._wanted = list(wanted.values())
        # DFA and the automatic choice are slower to build than they gain; patterns need not be kept.
        self._automaton = ahocorasick_rs.AhoCorasick(
            list(wanted), implementation=ahocorasick_rs.Implementation.ContiguousNFA, store_patterns=False
        )

    def find(self, document: Document) -> list[Match]:
        """Every entry that stands on word boundaries, in order of (start, longest first, entry)."""
        folded, origin = fold(document.text)
        hits: Iterable[tuple[int, int, int]] = self._automaton.find_matches_as_indexes(folded, overlapping=True)
        on_edges = _token_edges(document.tokens) if document.tokens is not None else _word_edges(document.text)
        text, found = document.text, []
        for pattern, start, end in hits:
            if origin is not None:
                inside_start = start > 0 and origin[start] == origin[start - 1]
                inside_end = end < len(folded) and origin[end] == origin[end - 1]
                if inside_start or inside_end:
                    continue  # inside the expansion of one character: "s" in the "ss" of "ß"
                start, end = origin[start], origin[end - 1] + 1
            if not on_edges(start, end):
                continue
            for entry, literal in self._wanted[pattern]:
                if literal is None or literal == text[start:end] or literal == " ".join(text[start:end].split()):
                    found.append(Match(start, end, entry))
        found.sort(key=lambda match: (match.start, -match.end, match.entry))
        return found


def is_exact(entry: Entry, case: CaseRule) -> bool:
    """Whether the letters' case matters for this entry."""
    if entry.case is not None:
        return entry.case == "exact"
    return case == "exact" or (case == "smart" and (len(entry.surface) <= SHORT or entry.surface.isupper()))


def fold(text: str) -> tuple[str, Sequence[int] | None]:
    """The text case-folded and with single blanks, and the offset in `text` of each of its characters.

    The offsets are None when they are the same, which they nearly always are. Folding may lengthen a text
    ("ß" to "ss", "İ" to two characters), so offsets cannot be taken over without the map.
    """
    folded = text.casefold()
    if len(folded) == len(text) and not _IRREGULAR_BLANK.search(text):
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


def _token_edges(tokens: Sequence[tuple[int, int]]) -> EdgeTest:
    starts = {start for start, _ in tokens}
    ends = {end for _, end in tokens}
    return lambda start, end: start in starts and end in ends


def _word_edges(text: str) -> EdgeTest:
    """Whether a range begins and ends where the word splitter would, without splitting the whole text."""
    length = len(text)

    def is_edge(at: int) -> bool:
        if at in (0, length):
            return True
        before, after = text[at - 1], text[at]
        if before == " " or after == " " or before.isspace() or after.isspace():
            return True
        if before.isalnum() and after.isalnum() and before.isascii() and after.isascii():
            return False
        start = end = at
        while start and not text[start - 1].isspace():
            start -= 1
        while end < length and not text[end].isspace():
            end += 1
        return at - start in _edges_inside(text[start:end])

    return lambda start, end: is_edge(start) and is_edge(end)


@lru_cache(maxsize=1 << 16)
def _edges_inside(chunk: str) -> frozenset[int]:
    """Where words begin or end in a stretch without white space; words never reach over white space."""
    return frozenset(edge for word in split_words(chunk) for edge in word)


def _variants(surface: str, plurals: bool) -> list[str]:
    """The surface, and its regular plural if wanted and if it ends in a word of letters."""
    if not plurals or len(surface) <= SHORT or not surface[-1].isalpha():
        return [surface]
    if surface[-1] in "yY" and surface[-2].lower() not in "aeiou":
        return [surface, surface[:-1] + "ies"]
    return [surface, surface + ("es" if _SIBILANT.search(surface) else "s")]
