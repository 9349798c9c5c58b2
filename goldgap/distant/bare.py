"""Surfaces that are annotated in one place and bare in another: slips of annotators, or gaps."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from goldgap.core.corpus import Corpus
from goldgap.core.document import Document, Range
from goldgap.core.findings import Finding
from goldgap.corpus.words import words_touching
from goldgap.distant.dictionary import Dictionary, Entry, normal_surface
from goldgap.distant.matcher import Matcher
from goldgap.distant.rules import MatchRules


def bare_surfaces(corpus: Corpus) -> Finding:
    """Each annotated surface with how often it stands, in the same case, where no annotation touches it."""
    annotated: Counter[str] = Counter()
    for document in corpus:
        annotated.update(normal_surface(document.surface(entity)) for entity in document.entities)
    bare = find_surfaces(corpus, annotated).bare
    ordered = sorted(bare.items(), key=lambda item: (-item[1], item[0]))
    return Finding.of(
        "surfaces annotated in one place and bare in another",
        [f"{surface}: annotated {annotated[surface]:,}, bare {count:,}" for surface, count in ordered],
        "missing annotations, or words with two meanings: look at the most frequent",
    )


class Occurrences(NamedTuple):
    """How often each surface stands where no annotation touches it, and where one does that is another range."""

    bare: Counter[str]
    overlapping: Counter[str]


def find_surfaces(corpus: Corpus, surfaces: Iterable[str]) -> Occurrences:
    """Where surfaces stand in the same case and as whole words, apart from where they are annotated themselves."""
    dictionary = Dictionary(Entry("any", surface) for surface in surfaces if surface)
    found = Occurrences(Counter(), Counter())
    if len(dictionary):
        matcher = Matcher(dictionary, MatchRules(case="exact"))
        for document, matches in zip(corpus, matcher.find(corpus), strict=True):
            annotated_parts = _merged(document)
            ranges = {(entity.start, entity.end) for entity in document.entities}
            for start, end, entry in matches:
                if not words_touching(annotated_parts, start, end):
                    found.bare[dictionary.entries[entry].surface] += 1
                elif (start, end) not in ranges:
                    found.overlapping[dictionary.entries[entry].surface] += 1
    return found


def _merged(document: Document) -> list[Range]:
    """The parts of a text that some entity covers: a part of a longer name is not bare."""
    parts: list[Range] = []
    for start, end in sorted((entity.start, entity.end) for entity in document.entities):
        if parts and start <= parts[-1][1]:
            parts[-1] = (parts[-1][0], max(parts[-1][1], end))
        else:
            parts.append((start, end))
    return parts
