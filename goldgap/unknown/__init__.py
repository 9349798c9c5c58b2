"""Policies for the unknown: which unannotated cells count as "not an entity". Importing this registers all."""

import importlib
import pkgutil

from goldgap.unknown.ask import ask, named
from goldgap.unknown.cells import Cells, DenseFeatures, Features, Policy, policies

for _module in pkgutil.iter_modules(__path__, f"{__name__}."):
    importlib.import_module(_module.name)

__all__ = ["Cells", "DenseFeatures", "Features", "Policy", "ask", "named", "policies"]
