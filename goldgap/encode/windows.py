"""Long texts by paragraphs, long paragraphs in overlapping windows of whole words; a span belongs to one of them."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import pairwise, takewhile
from operator import itemgetter
from typing import NamedTuple

import torch
from torch import Tensor

from goldgap.core.document import Range

_BLANK_LINE = re.compile(r"\n[^\S\n]*\n")


class Window(NamedTuple):
    """Words first..end-1 of a document."""

    first: int
    end: int


def paragraphs(text: str, words: Sequence[Range]) -> list[int]:
    """The words that begin a paragraph, the first word aside: there is a blank line before them."""
    breaks = [match.end() for match in _BLANK_LINE.finditer(text)]
    found = {bisect_left(words, end, key=itemgetter(0)) for end in breaks}
    return sorted(found - {0, len(words)})


def windows(sizes: Sequence[int], limit: int, overlap: int, paragraphs: Sequence[int] = ()) -> list[Window]:
    """Windows of at most `limit` pieces; a text that fits is one.

    sizes        pieces of each word; no word may have more than `limit`
    overlap      words that neighbours in a paragraph share, where they can; half of a window's at most, or words of
                 many pieces would be read over and over
    paragraphs   words that begin one, the first aside: each is read as it would be alone
    """
    if not sizes:
        return []
    if sum(sizes) <= limit:
        return [Window(0, len(sizes))]
    return [
        Window(begin + first, begin + last)
        for begin, end in pairwise((0, *paragraphs, len(sizes)))
        for first, last in _overlapping(sizes[begin:end], limit, overlap)
    ]


def _overlapping(sizes: Sequence[int], limit: int, overlap: int) -> list[Window]:
    made: list[Window] = []
    first = 0
    while True:
        end, used = first, 0
        while end < len(sizes) and used + sizes[end] <= limit:
            used += sizes[end]
            end += 1
        if end == first:
            raise ValueError(f"word {first} has {sizes[first]} pieces, more than a window of {limit}")
        if not made or end > made[-1].end:  # else a long word behind it keeps it from holding more than the last
            made.append(Window(first, end))
        if end == len(sizes):
            return made
        first = max(first + 1, end - min(overlap, (end - first) // 2))


def owned(all_windows: Sequence[Window], index: int, max_width: int) -> Tensor:
    """Which spans are scored in this window: those that lie farther from its edges than from any other window's.

    Where no neighbour shares a word there is no edge, but the beginning or end of a paragraph. Ties go to the earlier
    window; a span that fits into no window whole belongs to none.  -> (word, width) bool, width 0 is one word
    """
    window = all_windows[index]
    start = torch.arange(window.first, window.end)[:, None]  # (word, 1)
    end = start + 1 + torch.arange(max_width)[None]  # (word, width)
    mine = _distance(all_windows, index, start, end)
    keep = mine >= 0
    for other in _neighbours(all_windows, index):
        theirs = _distance(all_windows, other, start, end)
        keep &= (mine > theirs) | ((mine == theirs) & (index < other))
    return keep


def _neighbours(all_windows: Sequence[Window], index: int) -> Iterator[int]:
    """The windows that share a word with this one: those of a document are in order, so the nearest are enough."""
    first, end = all_windows[index]
    yield from takewhile(lambda other: all_windows[other].end > first, range(index - 1, -1, -1))
    yield from takewhile(lambda other: all_windows[other].first < end, range(index + 1, len(all_windows)))


def _distance(all_windows: Sequence[Window], index: int, start: Tensor, end: Tensor) -> Tensor:
    """Words between a span and the nearest edge of a window; negative when it does not fit."""
    window, far = all_windows[index], all_windows[-1].end + 1
    left = start - window.first
    right = window.end - end
    inside = (left >= 0) & (right >= 0)
    if index == 0 or all_windows[index - 1].end <= window.first:
        left = torch.full_like(left, far)
    if index + 1 == len(all_windows) or all_windows[index + 1].first >= window.end:
        right = torch.full_like(right, far)
    return torch.where(inside, torch.minimum(left.expand_as(right), right), -1)
