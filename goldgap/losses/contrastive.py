"""Mentions near their type, everything else below the type's threshold (003 section 3).

For each text and type, the negatives are the spans known not to be of that type, those unknown ones that the policy
keeps, and the threshold. A mention competes with the negatives alone, never with another mention of its type; the
threshold competes with the negatives as well. So a mention comes to lie above the threshold, and the rest below it.
The ends of spans are taught in the same way.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

from goldgap.core.config import Amount, Share
from goldgap.losses.base import losses, reduce


class Thresholds(NamedTuple):
    """What a similarity has to pass.  (batch, type) each"""

    start: Tensor
    end: Tensor
    span: Tensor


class Similarity(NamedTuple):
    """Scaled similarities with every type; cell word * widths + width is the span of width + 1 words from that word.

    start, end   (batch, word, type)
    span         (batch, cell, type)
    thresholds   None where they are chosen after the training
    """

    start: Tensor
    end: Tensor
    span: Tensor
    thresholds: Thresholds | None


@dataclass(frozen=True, slots=True)
class Contrastive:
    """start, end, span   weights of the three objectives
    mentions           weight of the mentions' terms; the thresholds' have the rest
    """

    start: Amount = 0.2
    end: Amount = 0.2
    span: Amount = 0.6
    mentions: Share = 0.5

    def __call__(
        self, similarity: Similarity, types: Tensor, unknown: Tensor, keep: Tensor, aside: Tensor | None = None
    ) -> Tensor:
        """A scalar.

        types           (batch, cell, type): 2 a mention, 1 known not to be one, 0 neither
        unknown, keep   (batch, cell): cells of which some type is unknown, and those among them that are negatives
        aside           (batch, cell): those among the unknown that nothing is to be learned from, nor from their ends
        """
        sets = candidates(types, unknown, keep, aside, words=similarity.start.shape[1])
        total = similarity.span.new_zeros(())
        for name, weight in (("start", self.start), ("end", self.end), ("span", self.span)):
            scores, own = getattr(similarity, name), sets[name]
            threshold = None if similarity.thresholds is None else getattr(similarity.thresholds, name)
            mentions, thresholds = terms(scores, own.mentions, own.negatives, threshold)
            total = total + weight * (self.mentions * mentions + (1 - self.mentions) * thresholds)
        return total


class Candidates(NamedTuple):
    """What one objective is about.

    mentions    (mention, 3): batch, word or cell, type
    negatives   (batch, word or cell, type)
    """

    mentions: Tensor
    negatives: Tensor


def candidates(
    types: Tensor, unknown: Tensor, keep: Tensor, aside: Tensor | None = None, *, words: int
) -> dict[str, Candidates]:
    """Mentions and negatives of the three objectives.

    A word is a negative start for a type when no span from it can be a mention, or when a span from it was kept as a
    negative, and no mention begins there, nor a span that was set aside; the same holds for ends.
    """
    batch, cells, kinds = types.shape
    widths = cells // max(words, 1)
    is_mention, open_ = types == 2, unknown.unsqueeze(-1) & (types == 0)
    kept = open_ & keep.unsqueeze(-1)
    negative = (types == 1) | kept
    begin = torch.arange(cells, device=types.device) // max(widths, 1)
    finish = (begin + torch.arange(cells, device=types.device) % max(widths, 1)).clamp(max=max(words - 1, 0))
    place, cell, kind = is_mention.nonzero(as_tuple=True)
    found = {"span": Candidates(torch.stack([place, cell, kind], -1), negative)}
    for name, at in (("start", begin), ("end", finish)):

        def count(flags: Tensor, at: Tensor = at) -> Tensor:
            """How many of the spans at each word have a flag.  (batch, cell, type) -> (batch, word, type)"""
            return flags.new_zeros(batch, words, kinds, dtype=torch.int32).index_add_(1, at, flags.int())

        some_kept, some_mention = count(kept) > 0, count(is_mention) > 0
        all_known = (count(negative) > 0) & (count(open_) == 0)
        no_end = (some_kept | all_known) & ~some_mention
        if aside is not None:
            no_end = no_end & (count(aside.unsqueeze(-1) & (types == 0)) == 0)
        found[name] = Candidates(torch.stack([place, at[cell], kind], -1), no_end)
    return found


def terms(scores: Tensor, mentions: Tensor, negatives: Tensor, threshold: Tensor | None) -> tuple[Tensor, Tensor]:
    """The mean loss of the mentions, and of the thresholds of all texts and types; in float32, and 0 without any.

    (batch, place, type), (mention, 3), (batch, place, type), (batch, type)
    """
    scores = scores.float()
    against = torch.logsumexp(scores.masked_fill(~negatives, float("-inf")), 1)  # (batch, type)
    above = against[:0]  # of the negatives above the threshold
    if threshold is not None:
        against = torch.logaddexp(against, threshold.float())
        above = against - threshold.float()
    row, place, kind = mentions.unbind(-1)
    gaps = against[row, kind] - scores[row, place, kind]  # of the negatives above the mention
    return reduce(functional.softplus(gaps), "mean"), reduce(above.flatten(), "mean")


losses.add("contrastive", Contrastive)
