"""Losses: pure functions of tensors. Importing this registers all of them."""

from goldgap.losses import contrastive, cross_entropy, gce, nrces
from goldgap.losses.base import Loss, losses

__all__ = ["Loss", "contrastive", "cross_entropy", "gce", "losses", "nrces"]
