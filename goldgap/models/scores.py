"""What every model says of a batch: a score for each label of each span."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from goldgap.losses.contrastive import Similarity
from goldgap.losses.crf import Sums
from goldgap.unknown.cells import Features


class SpanScores(NamedTuple):
    """Cell word * widths + width is the span of width + 1 words that begins at that word.

    logits     (batch, cell, label), label 0 is O
    valid      (batch, cell): the span ends inside the sentence
    features   what a policy can compare spans by; None where nothing is trained
    similarity what the logits of a bi-encoder were made of
    by_type    each type is a question of its own, and O has the score 0
    chain      of a tagger, whose cells are words and whose labels are tags: what holds the tags of a text together
    """

    logits: Tensor
    valid: Tensor
    features: Features | None
    similarity: Similarity | None = None
    chain: Sums | None = None
    by_type: bool = False


def end_words(words: int, widths: int) -> Tensor:
    """The last word of each span, held inside the sentence for those that are too long.  -> (word, width)"""
    return (torch.arange(words)[:, None] + torch.arange(widths)[None]).clamp(max=max(words - 1, 0))


def inside(words: Tensor, longest: int, widths: int) -> Tensor:
    """Which spans end inside their sentence.  (batch,) -> (batch, cell)"""
    reach = torch.arange(longest, device=words.device)[:, None] + torch.arange(widths, device=words.device)
    return (reach[None] < words[:, None, None]).flatten(1)
