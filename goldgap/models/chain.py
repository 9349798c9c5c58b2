"""A linear chain over the tags of a text: sums over sequences, the best one, and the probability of a tag.

All of it is vectorised over texts and tags; the one loop is over words. What a scheme does not allow has no weight at
all. With learned scores this is a CRF; without, it holds the tags of single words to what the scheme allows.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn

from goldgap.core.errors import ConfigError
from goldgap.models.tagset import Legal

_NEVER = float("-inf")


class Chain(nn.Module):
    """Scores of a first tag, of a tag behind another, and of a last one, in the range of what is legal."""

    first_legal: Tensor
    behind_legal: Tensor
    last_legal: Tensor

    def __init__(self, legal: Legal, *, learned: bool) -> None:
        super().__init__()
        if not has_path(legal):
            raise ConfigError("no sequence of tags is legal: some tag must be allowed to begin a text and to end it")
        for name, allowed in legal._asdict().items():
            self.register_buffer(f"{name}_legal", allowed, persistent=False)
        self.learned = learned
        count = len(legal.first)
        if learned:
            self.first, self.last = nn.Parameter(torch.zeros(count)), nn.Parameter(torch.zeros(count))
            self.behind = nn.Parameter(torch.zeros(count, count))

    def _scores(self, like: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """(tag,), (tag, tag), (tag,) in the precision of another tensor, with -inf where it is not legal"""
        legal = (self.first_legal, self.behind_legal, self.last_legal)
        learned = (
            (self.first, self.behind, self.last) if self.learned else map(torch.zeros_like, map(Tensor.float, legal))
        )
        first, behind, last = (
            score.to(like).masked_fill(~ok.to(like.device), _NEVER) for score, ok in zip(learned, legal, strict=True)
        )
        return first, behind, last

    def log_sum(
        self, emissions: Tensor, words: Tensor, allowed: Tensor | None = None, deleted: Tensor | None = None
    ) -> Tensor:
        """log of the summed weight of all sequences, or of those with allowed tags only.

        emissions   (text, word, tag)
        words       (text,)
        allowed     (text, word, tag) bool; at least one sequence of each text must be legal
        deleted     (text, word) bool: words without a score, which nothing is scored into either (002 eq. 7)
        -> (text,), 0 for a text without words
        """
        first, behind, last = self._scores(emissions)
        if allowed is not None:
            emissions = emissions.masked_fill(~allowed, _NEVER)
        if emissions.shape[1] == 0:
            return emissions.sum((1, 2))
        if deleted is not None:
            nothing = torch.zeros_like(emissions)
            nothing = nothing if allowed is None else nothing.masked_fill(~allowed, _NEVER)
            emissions = emissions.where(~deleted.unsqueeze(-1), nothing)
            first = first.where(~deleted[:, :1], torch.zeros_like(first))
        step = behind.exp()
        alpha = first + emissions[:, 0]  # (text, tag)
        for word in range(1, emissions.shape[1]):
            top = alpha.detach().amax(-1, keepdim=True)
            weights = (alpha - top).exp()
            reached = weights @ step
            if deleted is not None:  # whatever came before, any tag can stand here
                reached = reached.where(~deleted[:, word, None], weights.sum(-1, keepdim=True))
            moved = _log(reached) + top + emissions[:, word]
            alpha = moved.where((word < words).unsqueeze(-1), alpha)
        total = torch.logsumexp(alpha + last, -1)
        return total.where(words > 0, torch.zeros_like(total))

    def log_marginals(self, emissions: Tensor, words: Tensor) -> Tensor:
        """log of the probability of each tag: the gradient of the sum.  -> (text, word, tag)"""
        with torch.enable_grad():
            inputs = emissions.detach().requires_grad_()
            (shares,) = torch.autograd.grad(self.log_sum(inputs, words).sum(), inputs)
        return shares.clamp(min=torch.finfo(shares.dtype).tiny).log()

    @torch.no_grad()
    def best(self, emissions: Tensor, words: Tensor) -> Tensor:
        """The sequence with the largest weight; of equal ones that with the smaller tags.  -> (text, word)"""
        first, behind, last = (scores.numpy() for scores in self._scores(emissions))
        at = np.ascontiguousarray(emissions.permute(1, 2, 0).numpy())  # (word, tag, text): long rows of texts
        length, _, texts = at.shape
        if length == 0:
            return torch.zeros(texts, 0, dtype=torch.long)
        best = np.empty_like(at)  # the weight of the best sequence that ends there
        best[0] = first[:, None] + at[0]
        for word in range(1, length):
            best[word] = (best[word - 1, :, None] + behind[..., None]).max(0) + at[word]
        final = (words.numpy() - 1).clip(0)  # (text,)
        last_tag = (best[final, :, np.arange(texts)] + last).argmax(-1)
        path = np.empty((length, texts), dtype=np.int64)
        path[-1] = last_tag
        for word in range(length - 2, -1, -1):
            before = (best[word] + behind[:, path[word + 1]]).argmax(0)
            path[word] = np.where(word < final, before, last_tag)  # behind the last word nothing leads back
        return torch.from_numpy(path.T)


def has_path(legal: Legal) -> bool:
    """Whether a text of one word has a legal tag, and one of two words too."""
    one, two = legal.first & legal.last, legal.first[:, None] & legal.behind & legal.last[None]
    return bool(one.any() and two.any())


def _log(weights: Tensor) -> Tensor:
    """log with -inf, and no gradient, at 0."""
    return weights.clamp(min=torch.finfo(weights.dtype).tiny).log().masked_fill(weights <= 0, _NEVER)
