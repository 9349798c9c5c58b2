"""Spans of unannotated words that are tagged as NONE, drawn anew in each epoch (002, its second step).

They take some of the weight off O, for a type that is thrown away in prediction.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import replace

import torch
from torch import Tensor

from goldgap.models.states import BatchStates
from goldgap.models.tagset import NONE, TagSet


def with_none(
    known: BatchStates,
    keep: Tensor,
    words: Tensor,
    tagset: TagSet,
    chances: Sequence[str],
    *,
    share: float,
    width: int,
) -> BatchStates:
    """The states of a batch with some spans of what is trained on as O tagged as NONE.

    keep      (batch, word) bool: unknown words that are trained on as O
    words     (batch,): of each text
    chances   for each text what its draws depend on
    share     spans for each word of the text, rounded up
    width     words of the widest; 0: any
    """
    labels = known.labels.clone()
    outside = keep | known.negative  # (batch, word)
    for row, chance in enumerate(chances):
        wanted = math.ceil(round(share * int(words[row]), 9))
        spans = [(first, end, NONE) for first, end in drawn_spans(outside[row].tolist(), wanted, width, chance)]
        tags = torch.tensor(tagset.encode(labels.shape[1], spans))
        labels[row] = tags.where(tags > 0, labels[row])
    retagged = labels != known.labels
    return replace(known, labels=labels, negative=known.negative & ~retagged)


def drawn_spans(outside: Sequence[bool], count: int, width: int, chance: str) -> Iterator[tuple[int, int]]:
    """Spans of words that are all outside, none of which shares a word with another, in random order.

    >>> sorted(drawn_spans([True, True, False, True], 3, 1, "a seed"))
    [(0, 1), (1, 2), (3, 4)]
    """
    every = [(first, end) for first, end in _candidates(outside, width)]
    random.Random(f"none/{chance}").shuffle(every)
    taken = [False] * len(outside)
    for first, end in every:
        if count <= 0:
            return
        if not any(taken[first:end]):
            taken[first:end] = [True] * (end - first)
            count -= 1
            yield first, end


def _candidates(outside: Sequence[bool], width: int) -> Iterator[tuple[int, int]]:
    for first in range(len(outside)):
        for end in range(first + 1, min(first + width, len(outside)) + 1 if width else len(outside) + 1):
            if not outside[end - 1]:
                break
            yield first, end
