"""Losses: pure functions of tensors. Importing this registers all of them."""

from goldgap.losses import contrastive, crf, cross_entropy, gce, nrces
from goldgap.losses.base import Loss, losses

__all__ = ["Loss", "contrastive", "crf", "cross_entropy", "gce", "losses", "nrces"]
