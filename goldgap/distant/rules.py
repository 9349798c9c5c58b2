"""How dictionary entries are matched."""

from __future__ import annotations

from typing import Literal

from goldgap.core.config import Settings

CaseRule = Literal["exact", "fold", "smart"]


class MatchRules(Settings):
    """case       exact; fold: case does not matter; smart: short or all-upper entries exact, the rest folded
    overlapping   keep every match; otherwise the leftmost, and of these the longest
    ambiguous     a span that matches entries of several types gets the first of them, none, or all
    plurals       an entry also matches with a regular English plural ending
    """

    case: CaseRule = "smart"
    overlapping: bool = False
    ambiguous: Literal["first", "drop", "all"] = "first"
    plurals: bool = False
