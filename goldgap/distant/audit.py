"""Is the dictionary any good for this text? What it never finds, finds too often, or cannot decide."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable

from goldgap.core.corpus import Corpus
from goldgap.core.findings import Check, Finding
from goldgap.corpus.words import words_of, words_touching
from goldgap.distant.annotate import Annotated, Usage
from goldgap.distant.dictionary import Dictionary
from goldgap.distant.lookalikes import lookalikes
from goldgap.distant.matcher import is_exact

VERY_SHORT = 2
OVER_MATCHED_SHARE = 0.01
OVER_MATCHED_LEAST = 5
MOST = 0.5
"""Share of the words that no dictionary labels of a text."""
CASUAL_LEAST = 3
"""So many entries of a type in lower case make a habit."""
MANY_TYPES = 4
"""So many types are not all called the same by chance."""
_EXCHANGED = "are the columns exchanged? a line is LABEL, a tab, then the surface"
COLUMNS = ("type", "entries", "used", "matches")


def audit(annotated: Annotated, dictionary: Dictionary) -> Check:
    """Facts, a row for each type, and findings with counts and examples, of the dictionary in this corpus."""
    usage = annotated.usage
    labelled, words = _labelled(annotated.corpus)
    missed = [_lookalikes(annotated, dictionary), _never(dictionary, usage)]
    findings = [
        _exchanged(dictionary),
        *(missed if not usage.found else []),
        _most_words(labelled, words),
        *_common_words(annotated, dictionary),
        _alike(dictionary),
        _over_matched(dictionary, usage),
        _ambiguous(dictionary, usage),
        _conflicts(dictionary, usage),
        _short(dictionary, usage),
        *(missed if usage.found else []),
    ]
    return Check(
        _facts(annotated, dictionary, labelled, words),
        COLUMNS,
        _rows(dictionary, usage),
        [item for item in findings if item.count],
    )


def _facts(annotated: Annotated, dictionary: Dictionary, labelled: int, words: int) -> dict[str, str]:
    corpus, usage = annotated.corpus, annotated.usage
    with_match = sum(bool(document.entities) for document in corpus)
    used = sum(count > 0 for count in usage.used.values())
    return {
        "documents with a match": f"{with_match:,} of {len(corpus):,} ({100 * with_match / max(len(corpus), 1):.1f} %)",
        "words labelled": f"{labelled:,} of {words:,} ({100 * labelled / max(words, 1):.1f} %)",
        "entries used": f"{used:,} of {len(dictionary):,} ({100 * used / max(len(dictionary), 1):.1f} %)",
    } | dictionary.notes.facts


def _labelled(corpus: Corpus) -> tuple[int, int]:
    """The words that have a label, and all words."""
    words = labelled = 0
    for document in corpus:
        here = words_of(document)
        words += len(here)
        labelled += len({index for e in document.entities for index in words_touching(here, e.start, e.end)})
    return labelled, words


def _rows(dictionary: Dictionary, usage: Usage) -> list[tuple[str, ...]]:
    entries, used, matches = Counter[str](), Counter[str](), Counter[str]()
    for number, entry in enumerate(dictionary):
        entries[entry.label] += 1
        used[entry.label] += usage.used[number] > 0
        matches[entry.label] += usage.used[number]
    return [(label, f"{entries[label]:,}", f"{used[label]:,}", f"{matches[label]:,}") for label in dictionary.labels]


def _exchanged(dictionary: Dictionary) -> Finding:
    types, surfaces = len(dictionary.labels), len({entry.surface for entry in dictionary})
    return Finding.of(
        f"types, of only {surfaces:,} surfaces",
        [f"type {entry.label}, surface {entry.surface}" for entry in dictionary],
        _EXCHANGED,
        count=types if types >= max(MANY_TYPES, 2 * surfaces) else 0,
    )


def _most_words(labelled: int, words: int) -> Finding:
    return Finding.of(
        "words labelled, which are most of this text",
        [],
        "is this a dictionary, and no text? It has a name a line, or in a folder LABEL.txt files of such lines",
        count=labelled if labelled > MOST * words else 0,
    )


def _alike(dictionary: Dictionary) -> Finding:
    """Types whose names differ in case alone."""
    groups: dict[str, list[str]] = {}
    for label in dictionary.labels:
        groups.setdefault(label.casefold(), []).append(label)
    alike = [", ".join(labels) for labels in groups.values() if len(labels) > 1]
    return Finding.of("types that differ in case alone", alike, "these are several types: is one of them a slip?")


def _common_words(annotated: Annotated, dictionary: Dictionary) -> tuple[Finding, Finding]:
    """Capitalised one-word entries that match in any case, and whose word stands in lower case in this text: mostly, or
    in some places."""
    usage = annotated.usage
    counts: Counter[str] = Counter()
    for document in annotated.corpus:
        counts.update(document.text[start:end] for start, end in words_of(document))
    names: Counter[str] = Counter()
    lowered: dict[int, int] = {}
    mostly: set[int] = set()
    for number, entry in enumerate(dictionary):
        lower = entry.surface.lower()
        names_something = lower != entry.surface and " " not in lower and not is_exact(entry, annotated.rules.case)
        if names_something and usage.used[number]:
            names[entry.label] += 1
            if counts[lower]:
                lowered[number] = counts[lower]
            if counts[lower] > counts[entry.surface]:
                mostly.add(number)
    # Where most entries of a type stand in lower case in the text (diseases), capitals mean nothing in this dictionary.
    of_label = Counter(dictionary.entries[number].label for number in mostly)
    casual = {label for label, count in of_label.items() if count >= CASUAL_LEAST and count > names[label] / 2}
    suspects = {number: n for number, n in lowered.items() if dictionary.entries[number].label not in casual}

    def finding(what: str, chosen: dict[int, int]) -> Finding:
        return _listed(
            f"entries that are {what} a lower-case word in this text",
            dictionary,
            chosen,
            "give them a last column `exact`, or remove them",
            lambda number: f"{suspects[number]:,} in lower case; {usage.example[number]}",
        )

    return (
        finding("mostly", {number: n for number, n in suspects.items() if number in mostly}),
        finding("in some places", {number: n for number, n in suspects.items() if number not in mostly}),
    )


def _over_matched(dictionary: Dictionary, usage: Usage) -> Finding:
    total = usage.used.total()
    least = max(OVER_MATCHED_LEAST, math.ceil(OVER_MATCHED_SHARE * total))
    return _listed(
        f"entries with at least {least:,} of the {total:,} matches",
        dictionary,
        {number: count for number, count in usage.used.items() if count >= least},
        "a few entries decide the labels: make sure that these are right",
        lambda number: f"{usage.used[number]:,} matches; {usage.example[number]}",
    )


def _ambiguous(dictionary: Dictionary, usage: Usage) -> Finding:
    examples = []
    for numbers, count in sorted(usage.ambiguous.items(), key=lambda item: (-item[1], item[0])):
        labels = ", ".join(dict.fromkeys(dictionary.entries[number].label for number in numbers))
        examples.append(f"{dictionary.entries[numbers[0]].surface}: {labels} ({count:,})")
    return Finding.of(
        "matches with several types",
        examples,
        "settled by --ambiguous of `goldgap annotate` (first, drop or all)",
        count=usage.ambiguous.total(),
    )


def _conflicts(dictionary: Dictionary, usage: Usage) -> Finding:
    return _listed(
        "matches that lost to one they partly overlap",
        dictionary,
        dict(usage.conflicts),
        "the earlier match won; --overlapping of `goldgap annotate` keeps both",
        lambda number: f"{usage.conflicts[number]:,} lost",
        count=usage.conflicts.total(),
    )


def _short(dictionary: Dictionary, usage: Usage) -> Finding:
    return _listed(
        f"entries of at most {VERY_SHORT} characters that matched",
        dictionary,
        {n: usage.used[n] for n, entry in enumerate(dictionary) if len(entry.surface) <= VERY_SHORT and usage.used[n]},
        "short names are often something else: check them",
        lambda number: f"{usage.used[number]:,} matches; {usage.example[number]}",
    )


def _lookalikes(annotated: Annotated, dictionary: Dictionary) -> Finding:
    missed = [entry for number, entry in enumerate(dictionary) if number not in annotated.usage.found]
    found = lookalikes(annotated.corpus, missed, annotated.rules)
    return Finding.of(
        "entries that stand in this text in other characters",
        [f"{entry.surface} ({entry.label}); {where}" for entry, where in found.items()],
        "hyphens, apostrophes or accents that look alike: write these entries as the text does",
    )


def _never(dictionary: Dictionary, usage: Usage) -> Finding:
    never = [f"{entry.surface} ({entry.label})" for n, entry in enumerate(dictionary) if n not in usage.found]
    advice = "not in this text, or written otherwise: check case, spacing and spelling"
    if len(never) == len(dictionary):
        advice += f"; or {_EXCHANGED}"
    return Finding.of("entries that never match", never, advice)


def _listed(
    what: str,
    dictionary: Dictionary,
    counts: dict[int, int],
    advice: str,
    detail: Callable[[int], str],
    *,
    count: int | None = None,
) -> Finding:
    """A finding about entries, those with the highest count first."""
    ordered = sorted(counts, key=lambda number: (-counts[number], number))
    examples = [f"{dictionary.entries[n].surface} ({dictionary.entries[n].label}): {detail(n)}" for n in ordered]
    return Finding.of(what, examples, advice, count=count)
