"""How sparse entities are, and what that promises about drawing negatives uniformly (001 section 3).

The candidates of a sentence are its n (n + 1) / 2 spans without the annotated ones; 001 prints n (n - 1) / 2 in places.
With a width limit there are fewer, so that each draw is likelier to hit an entity that was not annotated.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from goldgap.core.corpus import Corpus
from goldgap.core.document import Entity, Range
from goldgap.corpus.words import word_spans, words_of


class Sentence(NamedTuple):
    """Words, annotated entities, and entities whose annotation is missing (those that `mask` took away)."""

    words: int
    annotated: int
    missing: int

    @property
    def entities(self) -> int:
        return self.annotated + self.missing

    @property
    def sparse(self) -> bool:
        """At most as many entities as the root of the number of words: what the bounds need (001 eq. 5)."""
        return self.entities <= math.sqrt(self.words)


def sentences_of(corpus: Corpus, max_width: int = 0) -> list[Sentence]:
    """Documents that have words, in numbers; entities of more words than `max_width`, if it is not 0, do not count."""
    found = []
    for document in corpus:
        if words := words_of(document):
            counts = (_within(words, own, max_width) for own in (document.entities, document.dropped))
            found.append(Sentence(len(words), *counts))
    return found


def _within(words: tuple[Range, ...], entities: Sequence[Entity], max_width: int) -> int:
    spans = word_spans(words, [(entity.start, entity.end) for entity in entities])
    return sum(max_width == 0 or (span is not None and span[1] - span[0] <= max_width) for span in spans)


def spans(words: int, max_width: int = 0) -> int:
    """All spans of so many words, or those up to a width."""
    widest = min(words, max_width or words)
    return widest * words - widest * (widest - 1) // 2


def draws(words: int, ratio: float) -> int:
    """Negatives that are drawn from a sentence."""
    return math.ceil(round(ratio * words, 9))


def guarantee(sentence: Sentence, ratio: float, max_width: int = 0) -> float:
    """The probability that no missing entity is among the draws (001 eq. 6)."""
    candidates = spans(sentence.words, max_width) - sentence.annotated
    chance = 1.0
    for drawn in range(min(draws(sentence.words, ratio), candidates)):
        chance *= max(0.0, 1 - sentence.missing / (candidates - drawn))
    return chance


def guarantee_bound(words: int, ratio: float) -> float:
    """The least probability for sparse sentences of so many words, without a width limit (001 eq. 10)."""
    return max(0.0, 1 - 4 * ratio * math.sqrt(words) / (words - 1)) if words > 1 else 0.0


def coverage(sentence: Sentence, ratio: float, max_width: int = 0) -> float:
    """The share of the true negatives that one epoch draws."""
    negatives = spans(sentence.words, max_width) - sentence.entities
    return min(1.0, draws(sentence.words, ratio) / negatives) if negatives > 0 else 1.0


def coverage_bound(words: int) -> float:
    """The largest share for sparse sentences of so many words: eq. 13 of 001 with n (n + 1) / 2 spans."""
    return min(1.0, 2 / (words - 1)) if words > 1 else 1.0


def expected_missampling(sentences: Iterable[Sentence], ratio: float, max_width: int = 0) -> float:
    """The share of missing entities among uniform draws: each sentence's own share, by what is drawn from it."""
    drawn = hit = 0.0
    for sentence in sentences:
        candidates = spans(sentence.words, max_width) - sentence.annotated
        if candidates > 0:
            here = min(draws(sentence.words, ratio), candidates)
            drawn += here
            hit += here * min(1.0, sentence.missing / candidates)
    return hit / drawn if drawn else 0.0


class Bin(NamedTuple):
    """Sentences of `low` to `high` words."""

    low: int
    high: int
    sentences: list[Sentence]

    @property
    def middle(self) -> float:
        """Mean number of words."""
        return sum(sentence.words for sentence in self.sentences) / len(self.sentences)


def by_length(sentences: Iterable[Sentence], step: int = 5, most: int = 60) -> list[Bin]:
    """The sentences by number of words, in bins of `step`; those of more than `most` words are together."""
    bins: dict[int, list[Sentence]] = {}
    for sentence in sentences:
        bins.setdefault(min((sentence.words - 1) // step, most // step), []).append(sentence)
    return [
        Bin(index * step + 1, max(sentence.words for sentence in bins[index]), bins[index]) for index in sorted(bins)
    ]
