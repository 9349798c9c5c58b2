"""Scores by angle: the corners of a simplex stand for the labels, and the scores of a cell sum to zero (002 eq. 5)."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn


def simplex(labels: int) -> Tensor:
    """Unit vectors with equal angles between any two, which sum to zero.  -> (label, label - 1)"""
    if labels < 2:
        raise ValueError("a simplex of labels has at least two corners")
    size = labels - 1
    corners = torch.full((labels, size), -(1 + math.sqrt(labels)) / size**1.5, dtype=torch.float64)
    corners[0] = 1 / math.sqrt(size)
    corners[1:] += math.sqrt(labels / size) * torch.eye(size, dtype=torch.float64)
    return corners


class AngleHead(nn.Module):
    """A linear layer with one output fewer than there are labels, compared with the corners of the simplex."""

    corners: Tensor

    def __init__(self, dimension: int, labels: int) -> None:
        super().__init__()
        self.linear = nn.Linear(dimension, labels - 1)
        self.register_buffer("corners", simplex(labels).float(), persistent=False)

    def forward(self, vectors: Tensor) -> Tensor:
        """(..., dimension) -> (..., label)"""
        scores: Tensor = self.linear(vectors) @ self.corners.T
        return scores
