"""What comes along with packages that need not be installed."""

from __future__ import annotations

import importlib.util
from pathlib import Path


def jieba_list() -> Path | None:
    """The word list of jieba, if that is installed."""
    package = importlib.util.find_spec("jieba")
    return None if package is None or package.origin is None else Path(package.origin).parent / "dict.txt"
