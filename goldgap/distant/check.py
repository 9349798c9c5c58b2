"""All that is suspicious about a corpus."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from goldgap.core.corpus import Corpus
from goldgap.core.findings import Check
from goldgap.corpus.inspect import inspect
from goldgap.distant.bare import bare_surfaces


def check(corpus: Corpus, others: Sequence[tuple[str, Corpus]] = ()) -> Check:
    """Findings of the inspection, and surfaces that stand bare elsewhere; `others` are further splits, by name."""
    found, bare = inspect(corpus, others), bare_surfaces(corpus)
    return replace(found, findings=[*found.findings, bare]) if bare.count else found
