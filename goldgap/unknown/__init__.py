"""Policies for the unknown: which unannotated cells count as "not an entity". Importing this registers all of them."""

from goldgap.unknown import everything, fraction, top_neg, uniform, weighted
from goldgap.unknown.cells import Cells, DenseFeatures, Features, Policy, policies

__all__ = [
    "Cells",
    "DenseFeatures",
    "Features",
    "Policy",
    "everything",
    "fraction",
    "policies",
    "top_neg",
    "uniform",
    "weighted",
]
