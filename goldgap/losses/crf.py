"""The loss of whole tag sequences (002 eq. 6 to 8): the chain's sum over all of them less that over those allowed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

from torch import Tensor

from goldgap.losses.base import Reduction, losses

Drop = Literal["marginal", "score", "emission"]


class Sums(Protocol):
    """Weights of tag sequences: see `goldgap.models.chain.Chain`."""

    def log_sum(
        self, emissions: Tensor, words: Tensor, allowed: Tensor | None = None, deleted: Tensor | None = None
    ) -> Tensor: ...


def chain_loss(chain: Sums, emissions: Tensor, words: Tensor, allowed: Tensor, gone: Tensor, drop: Drop) -> Tensor:
    """The loss of each text.

    emissions   (text, word, tag)
    allowed     (text, word, tag) bool: tags that a word may have; of a word that is gone, all that remain possible
    gone        (text, word) bool: words that nothing is to be learned from
    drop        what becomes of those: any allowed tag (marginal); O, without its score and the one of the step to it
                (score: 002 eq. 7); O, without its own score (emission)
    -> (text,)
    """
    if drop == "marginal":
        return chain.log_sum(emissions, words) - chain.log_sum(emissions, words, allowed)
    outside = allowed.new_zeros(allowed.shape[-1])
    outside[0] = True
    held = allowed.where(~gone.unsqueeze(-1), outside)
    if drop == "emission":
        emissions = emissions.masked_fill(gone.unsqueeze(-1), 0.0)
        return chain.log_sum(emissions, words) - chain.log_sum(emissions, words, held)
    return chain.log_sum(emissions, words, deleted=gone) - chain.log_sum(emissions, words, held, gone)


@dataclass(frozen=True, slots=True)
class SequenceLoss:
    """drop        what becomes of words that the policy leaves alone: they may have any tag (marginal), or they are O
                without their score and that of the step to them (score, as in 002), or without their score (emission)
    reduction   the mean over words, or the sum
    """

    drop: Drop = "marginal"
    reduction: Reduction = "mean"

    def __call__(self, chain: Sums, emissions: Tensor, words: Tensor, allowed: Tensor, gone: Tensor) -> Tensor:
        """See `chain_loss`.  -> scalar"""
        total = chain_loss(chain, emissions, words, allowed, gone, self.drop).sum()
        return total if self.reduction == "sum" else total / words.sum().clamp(min=1)


losses.add("crf", SequenceLoss)
