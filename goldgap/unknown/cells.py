"""What a policy sees of a batch, and the one method that a policy is.

A cell is whatever a model gives labels to: a span, or a word. Models expose their cells in this shape, so a policy
serves every model and can be tested on a 3 x 3 tensor.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import torch
from torch import Tensor

from goldgap.core.progress import Progress
from goldgap.core.registry import Registry


class Features(Protocol):
    """Feature vectors of all cells, which need never be built at once."""

    def at(self, cells: Tensor) -> Tensor:
        """The vectors of the chosen cells.  (batch, cell) bool -> (chosen, feature)"""

    def cosine(self, directions: Tensor) -> Tensor:
        """The product of each cell's unit vector with each direction.  (n, feature) -> (batch, cell, n)"""


@dataclass(frozen=True, slots=True)
class DenseFeatures:
    """Features that exist as one tensor."""

    vectors: Tensor  # (batch, cell, feature)

    def at(self, cells: Tensor) -> Tensor:
        return self.vectors[cells]

    def cosine(self, directions: Tensor) -> Tensor:
        # A zero vector (after ReLU) has no direction: its cosine is 0.
        return torch.nn.functional.normalize(self.vectors, dim=-1, eps=1e-8) @ directions.T


@dataclass(frozen=True, slots=True)
class Cells:
    """The cells of a batch; scores and features carry no gradient.

    logits     (batch, cell, label), label 0 is O; of a CRF the logarithms of probabilities for a policy that has a
               `score_mode`, else the scores of single words
    labels     (batch, cell): the annotated type's index, 0 where there is none
    unknown    (batch, cell): neither annotated nor known not to be an entity; False for padding
    words      (batch,): words of each sentence
    documents  (batch,): a number that tells sentences apart over the whole training, whatever batch they are in
    """

    logits: Tensor
    labels: Tensor
    unknown: Tensor
    words: Tensor
    documents: Tensor
    features: Features | None = None


class Policy(Protocol):
    """Which unknown cells are trained on as "not an entity" in this step; the others are left alone."""

    def __call__(self, cells: Cells, progress: Progress, generator: torch.Generator) -> Tensor:
        """(batch, cell) bool, a subset of `cells.unknown`"""


@runtime_checkable
class Weighing(Protocol):
    """A policy that draws by weights.

    score_mode   "train": the scores that are trained on; "eval": those of a second pass without dropout. Any policy
                 can have it
    """

    score_mode: str

    def effective_sample_size(self, cells: Cells, progress: Progress) -> Tensor:
        """How many equally likely cells the weights of each sentence are worth.  -> (batch,)"""


policies: Registry[Callable[..., Policy]] = Registry("policy")


def draw(cells: Cells, generator: torch.Generator) -> Tensor:
    """A random number from 0 to below 1 for each cell, the same wherever the cells are.  -> (batch, cell)"""
    return torch.rand(cells.unknown.shape, generator=generator, device=generator.device).to(cells.unknown.device)


def largest(keys: Tensor, counts: Tensor) -> Tensor:
    """The `counts[i]` largest keys of row i, ties by position; cells with the key -inf are never taken.

    (row, cell), (row,) -> (row, cell) bool
    """
    order = keys.argsort(dim=-1, descending=True, stable=True)
    rank = torch.empty_like(order)
    rank.scatter_(-1, order, torch.arange(keys.shape[-1], device=keys.device).expand_as(order))
    return (rank < counts.unsqueeze(-1)) & (keys > float("-inf"))
