"""Labels from a dictionary: choose among the matches, and remember what the audit needs."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from itertools import groupby
from operator import itemgetter

from goldgap.core.corpus import Corpus
from goldgap.core.document import DICTIONARY, Document, Entity, Range
from goldgap.core.errors import require
from goldgap.distant.dictionary import Dictionary
from goldgap.distant.matcher import Match, Matcher
from goldgap.distant.rules import MatchRules

CONTEXT = 30


@dataclass(slots=True)
class Usage:
    """What became of each entry's matches, by number of entry, with one place in the text for each."""

    found: set[int] = field(default_factory=set)
    """Entries that stand somewhere in the text, whatever became of the match."""
    used: Counter[int] = field(default_factory=Counter)
    conflicts: Counter[int] = field(default_factory=Counter)
    """Matches that partly overlap an earlier one, which won."""
    ambiguous: Counter[tuple[int, ...]] = field(default_factory=Counter)
    """Spans that matched entries of several types, by the first entry of each."""
    example: dict[int, str] = field(default_factory=dict)
    passed_over: dict[str, list[Range]] = field(default_factory=dict)
    """Places by document that an entry matches and that got no label: who knows what they are?"""


@dataclass(slots=True)
class Annotated:
    """A labelled corpus, by which rules, and how the dictionary was used."""

    corpus: Corpus
    rules: MatchRules
    usage: Usage


def annotate(corpus: Corpus, dictionary: Dictionary, rules: MatchRules) -> Annotated:
    """Label every document; entities it had are replaced, spans that a reviewer rejected stay unlabelled."""
    require(corpus, Corpus, "a Corpus is labelled", "Corpus.read(path) reads one from a file")
    matcher = Matcher(dictionary, rules)
    usage = Usage()
    labelled = Corpus(
        (
            _annotate(document, matches, dictionary, rules, usage)
            for document, matches in zip(corpus, matcher.find(corpus), strict=True)
        ),
        notes=corpus.notes,
    )
    return Annotated(labelled, rules, usage)


def _annotate(
    document: Document, matches: list[Match], dictionary: Dictionary, rules: MatchRules, usage: Usage
) -> Document:
    chosen = []
    rejected = {(item.start, item.end, item.label) for item in document.rejected}
    reach = 0
    for (start, end), group in groupby(matches, key=itemgetter(0, 1)):
        found = [entry for _, _, entry in group]
        usage.found.update(found)
        entries = _one_a_type(found, (start, end), dictionary, rejected)
        if not entries:
            continue
        labelling: list[int] = []
        if rules.overlapping or start >= reach:
            reach = end  # also of what is ambiguous and gets no label: whatever it is, it is one thing
            labelling = _settle(entries, rules, usage)
        elif end > reach:
            usage.conflicts[entries[0]] += 1
        if not labelling:
            usage.passed_over.setdefault(document.id, []).append((start, end))
        for number in labelling:
            _record(document, start, end, number, usage)
            chosen.append(Entity(start, end, dictionary.entries[number].label, source=DICTIONARY))
    return document.replace(entities=tuple(chosen), complete=False, unknown=(), dropped=())


def _one_a_type(
    entries: list[int], place: Range, dictionary: Dictionary, rejected: set[tuple[int, int, str | None]]
) -> list[int]:
    """The first entry of each type that no reviewer rejected for this place."""
    if (*place, None) in rejected:
        return []
    first: dict[str, int] = {}
    for number in entries:
        first.setdefault(dictionary.entries[number].label, number)
    return [number for label, number in first.items() if (*place, label) not in rejected]


def _settle(entries: list[int], rules: MatchRules, usage: Usage) -> list[int]:
    """Those of the entries of one place, one a type, that label it."""
    if len(entries) == 1:
        return entries
    usage.ambiguous[tuple(entries)] += 1
    return {"first": entries[:1], "drop": [], "all": entries}[rules.ambiguous]


def _record(document: Document, start: int, end: int, number: int, usage: Usage) -> None:
    usage.used[number] += 1
    if number not in usage.example:
        before, after = document.text[max(0, start - CONTEXT) : start], document.text[end : end + CONTEXT]
        usage.example[number] = " ".join(f"{before}[{document.text[start:end]}]{after}".split())
