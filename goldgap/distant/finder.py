"""Find many strings in many texts at once, between places where a match may begin and end.

Every text becomes prefix sums of its characters times powers of a base, so that the hash of any substring is one
subtraction and one product. All (begin, end) pairs of a batch of texts are hashed and looked up together, as arrays;
nothing has to be built but a sorted list of hashes. What the hashes find is compared as text before it counts.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

BATCH = 1 << 18
"""Characters that are looked at together; a longer text is cut at blanks."""
_TOGETHER = 1 << 13
"""Patterns that are hashed together."""
_LEVELS = (4, 8, 16)
"""A pattern is told by its first 16, 8 or 4 characters, as many as it has."""
_LEVEL_BITS = 18
_BASES = (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9)
_BREAK = "\n"
_ASCII_ALNUM = np.array([chr(code).isalnum() for code in range(128)] + [False])

Positions = NDArray[np.int64]
Hashes = NDArray[np.uint64]


@dataclass(frozen=True, slots=True)
class Text:
    """A text without line ends, with the places where a match may begin and end.

    None stands for every place that does not cut a run of ASCII letters and digits.
    """

    text: str
    begins: Positions | None = None
    ends: Positions | None = None


class Hits(NamedTuple):
    """The matches in one text, as columns, in order of (begin, longest first).

    between_blanks   whether blanks or ends of the text stand on both sides
    """

    begins: list[int]
    ends: list[int]
    patterns: list[int]
    between_blanks: list[bool]


class Finder:
    """Patterns that differ from each other and hold no line end, ready to be found."""

    def __init__(self, patterns: Sequence[str]) -> None:
        self._patterns = patterns
        lengths = np.fromiter(map(len, patterns), np.int64, len(patterns))
        for base in _BASES:
            self._powers = _Powers(base)
            hashes, beginnings = self._powers.hash_all(patterns)
            self._order = np.argsort(hashes)
            self._sorted = hashes[self._order]
            if not (self._sorted[1:] == self._sorted[:-1]).any():
                break
        else:
            raise ValueError("two patterns are equal")
        # Two kinds of tables say no quickly: which hashes occur, and how long patterns with some beginning can be.
        bits = max(16, len(patterns).bit_length() + 4)
        self._shift = np.uint64(64 - bits)
        self._occurs = np.zeros(1 << bits, dtype=bool)
        self._occurs[hashes >> self._shift] = True
        levels = np.searchsorted(_LEVELS, lengths, side="right")  # 0: shorter than every level
        self._longest_short = int(lengths[levels == 0].max(initial=0))
        self._longest = np.zeros((len(_LEVELS), 1 << _LEVEL_BITS), dtype=np.int32)
        for level, table in enumerate(self._longest, 1):
            np.maximum.at(table, _bucket(beginnings[levels == level]), lengths[levels == level])
        self._reach = int(lengths.max(initial=0))

    def find(self, texts: Sequence[Text]) -> list[Hits]:
        """The hits of each text."""
        if len(texts) == 1 and len(texts[0].text) > 2 * BATCH:
            return [self._find_in_pieces(texts[0])]
        return self._find_together(texts)

    def _find_together(self, texts: Sequence[Text]) -> list[Hits]:
        joined = _BREAK + _BREAK.join(text.text for text in texts) + _BREAK * (_LEVELS[-1] + 1)
        codes = _codes(joined)
        offsets = np.cumsum([1, *(len(text.text) + 1 for text in texts)])  # where each text begins in `joined`
        blank = (codes == ord(" ")) | (codes == ord(_BREAK))
        can_begin, can_end = _edges(codes, blank)
        for text, offset in zip(texts, offsets.tolist(), strict=False):
            if text.begins is not None and text.ends is not None:
                can_begin[offset : offset + len(text.text) + 1] = False
                can_end[offset : offset + len(text.text) + 1] = False
                can_begin[offset + text.begins] = True
                can_end[offset + text.ends] = True
        begin, end, pattern = self._verified(joined, *self._look_up(codes, can_begin, can_end))
        between_blanks = blank[begin - 1] & blank[end]
        cuts = np.searchsorted(begin, offsets)
        shift = np.repeat(offsets[:-1], np.diff(cuts))
        columns = [column.tolist() for column in (begin - shift, end - shift, pattern, between_blanks)]
        return [Hits(*(column[first:last] for column in columns)) for first, last in pairwise(cuts.tolist())]

    def _find_in_pieces(self, text: Text) -> Hits:
        hits = Hits([], [], [], [])
        for offset, core, piece in _cut(text, self._reach):
            here = self._find_together([piece])[0]
            own = bisect_left(here.begins, core)  # the rest is found again in the next piece
            hits.begins.extend(begin + offset for begin in here.begins[:own])
            hits.ends.extend(end + offset for end in here.ends[:own])
            hits.patterns.extend(here.patterns[:own])
            hits.between_blanks.extend(here.between_blanks[:own])
        return hits

    def _verified(
        self, text: str, begin: Positions, end: Positions, pattern: Positions
    ) -> tuple[Positions, Positions, Positions]:
        """The candidates that really are what their hash says, in order."""
        order = np.lexsort((-end, begin))
        begin, end, pattern = begin[order], end[order], pattern[order]
        found = [text[a:b] for a, b in zip(begin.tolist(), end.tolist(), strict=True)]
        wanted = list(map(self._patterns.__getitem__, pattern.tolist()))
        if found != wanted:
            equal = np.array([a == b for a, b in zip(found, wanted, strict=True)])
            begin, end, pattern = begin[equal], end[equal], pattern[equal]
        return begin, end, pattern

    def _look_up(
        self, codes: NDArray[np.uint32], can_begin: NDArray[np.bool_], can_end: NDArray[np.bool_]
    ) -> tuple[Positions, Positions, Positions]:
        """Begins, ends and numbers of all pairs of places whose hash is that of a pattern."""
        sums = self._powers.sums(codes)
        begin, ends = np.flatnonzero(can_begin), np.flatnonzero(can_end)
        at, back = sums[begin], self._powers.down[begin]
        limit = np.full(len(begin), self._longest_short, dtype=np.int32)
        for length, table in zip(_LEVELS, self._longest, strict=True):
            np.maximum(limit, table[_bucket((sums[begin + length] - at) * back)], out=limit)
        following = np.cumsum(can_end, dtype=np.int32)[begin]  # index in `ends` of the first end behind each begin
        found: list[tuple[Positions, Positions, Positions]] = []
        while True:
            within = following < len(ends)
            within[within] = ends[following[within]] - begin[within] <= limit[within]
            begin, following, limit = begin[within], following[within], limit[within]
            back, at = back[within], at[within]
            if not len(begin):
                break
            end = ends[following]
            hashes = (sums[end] - at) * back
            likely = np.flatnonzero(self._occurs[hashes >> self._shift])
            place = np.minimum(np.searchsorted(self._sorted, hashes[likely]), len(self._sorted) - 1)
            equal = self._sorted[place] == hashes[likely]
            found.append((begin[likely[equal]], end[likely[equal]], self._order[place[equal]]))
            following = following + 1
        if not found:
            empty = np.zeros(0, dtype=np.int64)
            return empty, empty, empty
        columns = list(zip(*found, strict=True))
        return np.concatenate(columns[0]), np.concatenate(columns[1]), np.concatenate(columns[2])


class _Powers:
    """Powers of a base modulo 2^64 and of its inverse, as many as were needed so far."""

    def __init__(self, base: int) -> None:
        self._base, self._inverse = base, pow(base, -1, 1 << 64)
        self._up = self.down = np.zeros(0, dtype=np.uint64)

    def sums(self, codes: NDArray[np.uint32]) -> Hashes:
        """sums[i] is the sum of (code + 1) * base^position over the first i characters: a NUL counts as well."""
        self._grow(len(codes) + 1)
        sums = np.zeros(len(codes) + 1, dtype=np.uint64)
        np.cumsum((codes + np.uint32(1)) * self._up[: len(codes)], out=sums[1:])
        return sums

    def hash_all(self, strings: Sequence[str]) -> tuple[Hashes, Hashes]:
        """The hash of each string and of the beginning that tells it, as if it stood at the beginning of a text."""
        whole, beginnings = [], []
        for first in range(0, max(len(strings), 1), _TOGETHER):
            chunk = strings[first : first + _TOGETHER]
            lengths = np.fromiter(map(len, chunk), np.int64, len(chunk))
            ends = np.cumsum(lengths)
            begins = ends - lengths
            sums = self.sums(_codes("".join(chunk)))
            whole.append((sums[ends] - sums[begins]) * self.down[begins])
            levels = np.searchsorted(_LEVELS, lengths, side="right")
            known = begins + np.array([0, *_LEVELS])[levels]
            beginnings.append((sums[known] - sums[begins]) * self.down[begins])
        return np.concatenate(whole), np.concatenate(beginnings)

    def _grow(self, count: int) -> None:
        if count > len(self._up):
            self._up, self.down = _powers(self._base, count), _powers(self._inverse, count)


def _powers(base: int, count: int) -> Hashes:
    factors = np.full(count, base, dtype=np.uint64)
    factors[0] = 1
    return np.multiply.accumulate(factors)


def _codes(text: str) -> NDArray[np.uint32]:
    return np.frombuffer(text.encode("utf-32-le"), dtype=np.uint32)


def _bucket(hashes: Hashes) -> Hashes:
    return hashes >> np.uint64(64 - _LEVEL_BITS)


def _edges(codes: NDArray[np.uint32], blank: NDArray[np.bool_]) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Where a match may begin and where it may end: not inside a run of ASCII letters and digits."""
    alnum = _ASCII_ALNUM[np.minimum(codes, 128)]
    can_begin, can_end = ~blank, np.zeros(len(codes), dtype=bool)
    can_end[1:] = ~blank[:-1]
    inside = alnum[1:] & alnum[:-1]
    can_begin[1:] &= ~inside
    can_end[1:] &= ~inside
    return can_begin, can_end


def _cut(text: Text, reach: int) -> Iterator[tuple[int, int, Text]]:
    """Pieces of a long text that overlap by the longest pattern: (offset, length of its own part, piece)."""
    content, at = text.text, 0
    while at < len(content):
        following = content.find(" ", at + BATCH) + 1 or len(content)
        stop = content.find(" ", following + reach)
        stop = stop if stop >= 0 else len(content)
        begins = ends = None
        if text.begins is not None and text.ends is not None:
            begins = text.begins[(text.begins >= at) & (text.begins < stop)] - at
            ends = text.ends[(text.ends > at) & (text.ends <= stop)] - at
        yield at, following - at, Text(content[at:stop], begins, ends)
        at = following
