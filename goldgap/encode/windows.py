"""Long texts in overlapping windows of whole words; every span belongs to exactly one of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import takewhile
from typing import NamedTuple

import torch
from torch import Tensor


class Window(NamedTuple):
    """Words first..end-1 of a document."""

    first: int
    end: int


def windows(sizes: Sequence[int], limit: int, overlap: int) -> list[Window]:
    """Windows of at most `limit` pieces, neighbours sharing at least `overlap` words where they can.

    sizes   pieces of each word; no word may have more than `limit`
    """
    if not sizes:
        return []
    made: list[Window] = []
    first = 0
    while True:
        end, used = first, 0
        while end < len(sizes) and used + sizes[end] <= limit:
            used += sizes[end]
            end += 1
        if end == first:
            raise ValueError(f"word {first} has {sizes[first]} pieces, more than a window of {limit}")
        made.append(Window(first, end))
        if end == len(sizes):
            return made
        first = max(first + 1, end - overlap)


def owned(all_windows: Sequence[Window], index: int, max_width: int) -> Tensor:
    """Which spans are scored in this window: those that lie farther from its edges than from any other window's.

    The beginning and the end of the document are no edges. Ties go to the earlier window; a span that fits into no
    window whole belongs to none.  -> (word, width) bool, width 0 is one word
    """
    window = all_windows[index]
    start = torch.arange(window.first, window.end)[:, None]  # (word, 1)
    end = start + 1 + torch.arange(max_width)[None]  # (word, width)
    length = all_windows[-1].end
    mine = _distance(window, start, end, length)
    keep = mine >= 0
    for other in _neighbours(all_windows, index):
        theirs = _distance(all_windows[other], start, end, length)
        keep &= (mine > theirs) | ((mine == theirs) & (index < other))
    return keep


def _neighbours(all_windows: Sequence[Window], index: int) -> Iterator[int]:
    """The windows that share a word with this one: those of a document are in order, so the nearest are enough."""
    first, end = all_windows[index]
    yield from takewhile(lambda other: all_windows[other].end > first, range(index - 1, -1, -1))
    yield from takewhile(lambda other: all_windows[other].first < end, range(index + 1, len(all_windows)))


def _distance(window: Window, start: Tensor, end: Tensor, length: int) -> Tensor:
    """Words between a span and the nearest edge of a window; negative when it does not fit."""
    far = length + 1
    left = start - window.first
    right = window.end - end
    inside = (left >= 0) & (right >= 0)
    left = left if window.first > 0 else torch.full_like(left, far)
    right = right if window.end < length else torch.full_like(right, far)
    return torch.where(inside, torch.minimum(left.expand_as(right), right), -1)
