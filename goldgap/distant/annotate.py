"""Labels from a dictionary: choose among the matches, and remember what the audit needs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import groupby

from goldgap.core.corpus import Corpus
from goldgap.core.document import Document, Entity
from goldgap.distant.dictionary import Dictionary
from goldgap.distant.matcher import Match, Matcher
from goldgap.distant.rules import MatchRules

SOURCE = "dictionary"
CONTEXT = 30


@dataclass(slots=True)
class Usage:
    """What became of each entry's matches, by number of entry, with one place in the text for each."""

    used: Counter[int] = field(default_factory=Counter)
    covered: Counter[int] = field(default_factory=Counter)
    """Matches inside a longer one, which won."""
    conflicts: Counter[int] = field(default_factory=Counter)
    """Matches that partly overlap an earlier one, which won."""
    ambiguous: Counter[tuple[int, ...]] = field(default_factory=Counter)
    """Spans that matched entries of several types, by those entries."""
    example: dict[int, str] = field(default_factory=dict)


@dataclass(slots=True)
class Annotated:
    """A labelled corpus, and how the dictionary was used."""

    corpus: Corpus
    usage: Usage


def annotate(corpus: Corpus, dictionary: Dictionary, rules: MatchRules) -> Annotated:
    """Label every document; entities it had are replaced, spans that a reviewer rejected stay unlabelled."""
    matcher = Matcher(dictionary, rules)
    usage = Usage()
    labelled = Corpus(
        (_annotate(document, dictionary, matcher, rules, usage) for document in corpus), notes=corpus.notes
    )
    return Annotated(labelled, usage)


def _annotate(
    document: Document, dictionary: Dictionary, matcher: Matcher, rules: MatchRules, usage: Usage
) -> Document:
    chosen = []
    reach = 0
    for group in _spans(matcher.find(document)):
        group = _settle(group, dictionary, rules, usage)
        if not group:
            continue
        if group[0].start < reach and not rules.overlapping:
            lost = usage.covered if group[0].end <= reach else usage.conflicts
            lost.update(match.entry for match in group)
            continue
        reach = max(reach, group[0].end)
        for match in group:
            entry = dictionary.entries[match.entry]
            if _is_rejected(document, match, entry.label):
                continue
            _record(document, match, usage)
            chosen.append(Entity(match.start, match.end, entry.label, source=SOURCE))
    entities = tuple(dict.fromkeys(chosen))
    return document.replace(entities=entities, complete=False, unknown=())


def _spans(matches: list[Match]) -> Iterator[list[Match]]:
    """Matches of the same span together."""
    for _, group in groupby(matches, key=lambda match: (match.start, match.end)):
        yield list(group)


def _settle(group: list[Match], dictionary: Dictionary, rules: MatchRules, usage: Usage) -> list[Match]:
    """The matches of one span that count, once its types are settled."""
    labels = [dictionary.entries[match.entry].label for match in group]
    if len(set(labels)) == 1:
        return group[:1]
    usage.ambiguous[tuple(match.entry for match in group)] += 1
    if rules.ambiguous == "all":
        return [match for index, match in enumerate(group) if labels[index] not in labels[:index]]
    return group[:1] if rules.ambiguous == "first" else []


def _is_rejected(document: Document, match: Match, label: str) -> bool:
    return any(
        (item.start, item.end) == (match.start, match.end) and item.label in (None, label) for item in document.rejected
    )


def _record(document: Document, match: Match, usage: Usage) -> None:
    usage.used[match.entry] += 1
    found = document.text[match.start : match.end]
    if match.entry not in usage.example:
        before = document.text[max(0, match.start - CONTEXT) : match.start]
        after = document.text[match.end : match.end + CONTEXT]
        usage.example[match.entry] = " ".join(f"{before}[{found}]{after}".split())
