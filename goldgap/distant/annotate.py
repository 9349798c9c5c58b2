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
    """Spans that matched entries of several types, by those entries."""
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
        allowed = _not_rejected(found, start, end, dictionary, rejected)
        entries = _settle(allowed, dictionary, rules, usage)
        in_the_way = start < reach and not rules.overlapping
        if allowed and (in_the_way or not entries):
            usage.passed_over.setdefault(document.id, []).append((start, end))
        if in_the_way and end > reach:
            usage.conflicts.update(entries)
        if in_the_way or not entries:
            continue
        reach = max(reach, end)
        for number in entries:
            _record(document, start, end, number, usage)
            chosen.append(Entity(start, end, dictionary.entries[number].label, source=DICTIONARY))
    return document.replace(entities=tuple(chosen), complete=False, unknown=(), dropped=())


def _not_rejected(
    entries: list[int], start: int, end: int, dictionary: Dictionary, rejected: set[tuple[int, int, str | None]]
) -> list[int]:
    """The entries whose type no reviewer rejected for this span."""
    if (start, end, None) in rejected:
        return []
    return [number for number in entries if (start, end, dictionary.entries[number].label) not in rejected]


def _settle(entries: list[int], dictionary: Dictionary, rules: MatchRules, usage: Usage) -> list[int]:
    """The entries of one span that count, once its types are settled."""
    labels = [dictionary.entries[number].label for number in entries]
    if len(set(labels)) <= 1:
        return entries[:1]
    usage.ambiguous[tuple(entries)] += 1
    if rules.ambiguous == "all":
        return [number for index, number in enumerate(entries) if labels[index] not in labels[:index]]
    return entries[:1] if rules.ambiguous == "first" else []


def _record(document: Document, start: int, end: int, number: int, usage: Usage) -> None:
    usage.used[number] += 1
    if number not in usage.example:
        before, after = document.text[max(0, start - CONTEXT) : start], document.text[end : end + CONTEXT]
        usage.example[number] = " ".join(f"{before}[{document.text[start:end]}]{after}".split())
