"""Phrases without types: where one stands there may be an entity, and nowhere else (after AutoNER, Shang et al. 2018).

A list of everything that could be an entity is often easy to have where its types are not: the index of a textbook, the
titles of an encyclopaedia, a phrase miner's output. It says what a dictionary cannot: what is *not* an entity.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from goldgap.core.corpus import Corpus
from goldgap.core.document import Range
from goldgap.core.errors import DictionaryError
from goldgap.core.notes import Notes
from goldgap.corpus.lines import read_lines
from goldgap.distant.dictionary import Dictionary, Entry, normal_surface
from goldgap.distant.matcher import Matcher
from goldgap.distant.rules import MatchRules

_LIBERAL = MatchRules(case="fold", plurals=True)
"""An extra phrase only leaves a place unknown; a missing one turns an entity into a negative."""


def read_phrases(path: Path) -> list[str]:
    """One phrase a line; blank lines are passed over."""
    phrases = [surface for line in read_lines(path, Notes()) if (surface := normal_surface(line))]
    if not phrases:
        raise DictionaryError("no phrase in it: expected one a line", path=path)
    return phrases


def leave_open(
    corpus: Corpus, phrases: Sequence[str], further: Mapping[str, Sequence[Range]] = MappingProxyType({})
) -> Corpus:
    """Documents that are complete, but for the places where a phrase stands that no annotation covers exactly.

    further   other such places, by document
    """
    found = Matcher(Dictionary(Entry("phrase", surface) for surface in phrases), _LIBERAL).find(corpus)
    documents = []
    for document, matches in zip(corpus, found, strict=True):
        annotated = {(entity.start, entity.end) for entity in document.entities}
        places = {*((start, end) for start, end, _ in matches), *further.get(document.id, ())} - annotated
        documents.append(document.replace(complete=True, unknown=_joined(places)))
    return Corpus(documents, notes=corpus.notes)


def _joined(places: Iterable[Range]) -> tuple[Range, ...]:
    """Places in order, those that overlap as one."""
    joined: list[Range] = []
    for start, end in sorted(places):
        if joined and start < joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    return tuple(joined)
