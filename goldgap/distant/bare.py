"""Surfaces that are annotated in one place and bare in another: slips of annotators, or gaps."""

from __future__ import annotations

from collections import Counter

from goldgap.core.corpus import Corpus
from goldgap.core.document import Document
from goldgap.core.findings import Finding
from goldgap.distant.dictionary import Dictionary, Entry, normal_surface
from goldgap.distant.matcher import Matcher
from goldgap.distant.rules import MatchRules


def bare_surfaces(corpus: Corpus) -> Finding:
    """Each annotated surface with how often it stands, in the same case, where no annotation touches it."""
    annotated: Counter[str] = Counter()
    for document in corpus:
        annotated.update(normal_surface(document.surface(entity)) for entity in document.entities)
    dictionary = Dictionary(Entry("any", surface) for surface in annotated if surface)
    bare: Counter[str] = Counter()
    if len(dictionary):
        matcher = Matcher(dictionary, MatchRules(case="exact"))
        for document, matches in zip(corpus, matcher.find(corpus), strict=True):
            bare.update(
                dictionary.entries[entry].surface for start, end, entry in matches if not _touched(document, start, end)
            )
    ordered = sorted(bare.items(), key=lambda item: (-item[1], item[0]))
    return Finding.of(
        "surfaces annotated in one place and bare in another",
        [f"{surface}: annotated {annotated[surface]:,}, bare {count:,}" for surface, count in ordered],
        "missing annotations, or words with two meanings: look at the most frequent",
    )


def _touched(document: Document, start: int, end: int) -> bool:
    """Whether an entity overlaps the range: a part of a longer name is not bare."""
    return any(entity.start < end and start < entity.end for entity in document.entities)
