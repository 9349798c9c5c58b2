"""Find many strings in many texts at once, between places where a match may begin and end.

Every text becomes prefix sums of its characters times powers of a base, so that the hash of any substring is one
subtraction and one product. All (begin, end) pairs of a batch of texts are hashed and looked up together, as arrays;
nothing has to be built but a sorted list of hashes. Equal hashes are not proof: who uses a hit compares the text.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

BATCH = 1 << 18
"""Characters that are looked at together; a longer text is cut at blanks."""
_PREFIX = 4
_PREFIX_BITS = 16
_BASES = (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9)
_BREAK = "\n"
_ASCII_ALNUM = np.array([chr(code).isalnum() for code in range(128)] + [False])

Positions = NDArray[np.int64]
Hashes = NDArray[np.uint64]
Hit = tuple[int, int, int, bool]
"""Begin, end, number of the pattern with that hash, and whether blanks or ends of the text stand on both sides."""


@dataclass(frozen=True, slots=True)
class Text:
    """A text without line ends, with the places where a match may begin and end.

    None stands for every place that does not cut a run of ASCII letters and digits.
    """

    text: str
    begins: Positions | None = None
    ends: Positions | None = None


class Finder:
    """Patterns that differ from each other and hold no line end, ready to be found."""

    def __init__(self, patterns: Sequence[str]) -> None:
        lengths = np.fromiter(map(len, patterns), np.int64, len(patterns))
        for base in _BASES:
            self._powers = _Powers(base)
            hashes = self._powers.hash_all(patterns)
            self._order = np.argsort(hashes)
            self._sorted = hashes[self._order]
            if not (self._sorted[1:] == self._sorted[:-1]).any():
                break
        else:
            raise ValueError("two patterns are equal")
        # Two tables that say no quickly: which hashes occur, and how long patterns with a certain beginning can be.
        bits = max(16, len(patterns).bit_length() + 4)
        self._shift = np.uint64(64 - bits)
        self._occurs = np.zeros(1 << bits, dtype=bool)
        self._occurs[hashes >> self._shift] = True
        short = lengths < _PREFIX
        beginnings = self._powers.hash_all([pattern[:_PREFIX] for pattern in patterns])
        self._longest = np.full(1 << _PREFIX_BITS, lengths[short].max(initial=0))
        np.maximum.at(self._longest, _bucket(beginnings[~short]), lengths[~short])
        self._reach = int(lengths.max(initial=0))

    def find(self, texts: Sequence[Text]) -> list[list[Hit]]:
        """The hits of each text, in order of (begin, longest first)."""
        if len(texts) == 1 and len(texts[0].text) > 2 * BATCH:
            return [
                [
                    hit
                    for offset, core, piece in _cut(texts[0], self._reach)
                    for hit in self._find_in(piece, offset, core)
                ]
            ]
        return self._find_batch(texts)

    def _find_in(self, piece: Text, offset: int, core: int) -> Iterator[Hit]:
        for begin, end, pattern, between_blanks in self._find_batch([piece])[0]:
            if begin < core:
                yield begin + offset, end + offset, pattern, between_blanks

    def _find_batch(self, texts: Sequence[Text]) -> list[list[Hit]]:
        joined = _BREAK + _BREAK.join(text.text for text in texts) + _BREAK * (_PREFIX + 1)
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
        begin, end, pattern = self._look_up(codes, can_begin, can_end)
        order = np.lexsort((-end, begin))
        begin, end, pattern = begin[order], end[order], pattern[order]
        between_blanks = blank[begin - 1] & blank[end]
        cuts = np.searchsorted(begin, offsets)
        shift = np.repeat(offsets[:-1], np.diff(cuts))
        columns = ((begin - shift).tolist(), (end - shift).tolist(), pattern.tolist(), between_blanks.tolist())
        hits = list(zip(*columns, strict=True))
        return [hits[first:last] for first, last in pairwise(cuts.tolist())]

    def _look_up(
        self, codes: NDArray[np.uint32], can_begin: NDArray[np.bool_], can_end: NDArray[np.bool_]
    ) -> tuple[Positions, Positions, Positions]:
        """Begins, ends and numbers of all pairs of places whose hash is that of a pattern."""
        sums = self._powers.sums(codes)
        begin, ends = np.flatnonzero(can_begin), np.flatnonzero(can_end)
        following = np.cumsum(can_end, dtype=np.int64)[begin]  # index in `ends` of the first end behind each begin
        back = self._powers.down(len(codes))[begin]
        at = sums[begin]
        limit = self._longest[_bucket((sums[begin + _PREFIX] - at) * back)]
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
        self._up = self._down = np.zeros(0, dtype=np.uint64)

    def sums(self, codes: NDArray[np.uint32]) -> Hashes:
        """sums[i] is the sum of code * base^position over the first i characters."""
        self._grow(len(codes) + 1)
        sums = np.zeros(len(codes) + 1, dtype=np.uint64)
        np.cumsum(codes * self._up[: len(codes)], out=sums[1:])
        return sums

    def down(self, count: int) -> Hashes:
        return self._down[:count]

    def hash_all(self, strings: Sequence[str]) -> Hashes:
        """The hash of each string, as if it stood at the beginning of a text."""
        parts = []
        for first in range(0, len(strings), BATCH >> 5):
            chunk = strings[first : first + (BATCH >> 5)]
            ends = np.cumsum(np.fromiter(map(len, chunk), np.int64, len(chunk)))
            begins = np.concatenate([[0], ends[:-1]]).astype(np.int64)
            sums = self.sums(_codes("".join(chunk)))
            parts.append((sums[ends] - sums[begins]) * self._down[begins])
        return np.concatenate(parts)

    def _grow(self, count: int) -> None:
        if count > len(self._up):
            self._up, self._down = _powers(self._base, count), _powers(self._inverse, count)


def _powers(base: int, count: int) -> Hashes:
    factors = np.full(count, base, dtype=np.uint64)
    factors[0] = 1
    return np.multiply.accumulate(factors)


def _codes(text: str) -> NDArray[np.uint32]:
    return np.frombuffer(text.encode("utf-32-le"), dtype=np.uint32)


def _bucket(hashes: Hashes) -> Hashes:
    return hashes >> np.uint64(64 - _PREFIX_BITS)


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
