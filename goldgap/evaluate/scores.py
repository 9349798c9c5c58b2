"""Scores: precision, recall and F1 from counts, with bootstrap intervals over documents."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from goldgap.core.corpus import Corpus
from goldgap.core.document import Document
from goldgap.core.errors import require
from goldgap.evaluate.bootstrap import Interval, f1_interval
from goldgap.evaluate.counts import (
    MATCHES,
    Counts,
    Match,
    Pair,
    TypeCounts,
    by_type,
    count,
    entity_pairs,
    inner,
    pair_up,
    token_pairs,
)
from goldgap.evaluate.errors import Errors, find_errors


@dataclass(frozen=True, slots=True)
class Score:
    """Precision, recall and F1 in 0..1; a ratio with nothing to divide by is 0."""

    counts: Counts

    @property
    def precision(self) -> float:
        return self.counts.tp / self.counts.predicted if self.counts.predicted else 0.0

    @property
    def recall(self) -> float:
        return self.counts.tp / self.counts.gold if self.counts.gold else 0.0

    @property
    def f1(self) -> float:
        total = self.counts.predicted + self.counts.gold
        return 2 * self.counts.tp / total if total else 0.0

    def to_json(self) -> dict[str, Any]:
        return {"precision": self.precision, "recall": self.recall, "f1": self.f1, **self.counts._asdict()}


@dataclass(frozen=True, slots=True)
class Scores:
    """Micro average over all entities, the score of each type, and the interval of the micro F1."""

    micro: Score
    per_type: dict[str, Score]
    interval: Interval

    @property
    def macro_f1(self) -> float:
        """Mean F1 over the types that occur in gold or predictions."""
        return sum(score.f1 for score in self.per_type.values()) / len(self.per_type) if self.per_type else 0.0

    def to_json(self) -> dict[str, Any]:
        return {
            **self.micro.to_json(),
            "macro_f1": self.macro_f1,
            "interval": list(self.interval),
            "per_type": {label: score.to_json() for label, score in self.per_type.items()},
        }


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Entity scores under each way of matching, token scores, and what kinds of errors there are."""

    entities: dict[Match, Scores]
    tokens: Scores
    errors: Errors
    inner: Counts
    """Gold entities that lie inside another, and how many of them were found; predictions are not counted."""
    documents: int
    samples: int
    seed: int
    strict_counts: list[Counts] = field(repr=False)
    """Counts of each document in gold order, for paired tests."""

    @property
    def strict(self) -> Scores:
        return self.entities["strict"]

    def to_json(self) -> dict[str, Any]:
        scores = {match: own.to_json() for match, own in (*self.entities.items(), ("tokens", self.tokens))}
        if not self.samples:  # a point is no interval
            for own in scores.values():
                del own["interval"]
        return {
            **scores,
            "errors": self.errors.to_json(),
            "inner": {"gold": self.inner.gold, "found": self.inner.tp, "recall": Score(self.inner).recall},
            "documents": self.documents,
            "bootstrap": {"samples": self.samples, "seed": self.seed},
        }


def evaluate(gold: Corpus, predicted: Corpus, *, samples: int = 1000, seed: int = 0) -> Evaluation:
    """Every score of the predictions against the gold; documents are paired by id."""
    for corpus, what in ((gold, "the gold"), (predicted, "what is scored")):
        require(corpus, Corpus, f"{what} is a Corpus", "Corpus([document, ...]) makes one")
    documents = pair_up(gold, predicted)
    pairs = entity_pairs(documents)
    groups = [by_type(pair) for pair in pairs]
    per_document = {match: [count(group, match) for group in groups] for match in MATCHES}
    return Evaluation(
        entities={match: scores_of(counts, samples, seed) for match, counts in per_document.items()},
        tokens=scores_of(_token_counts(documents), samples, seed),
        errors=find_errors(pairs),
        inner=_inner(pairs),
        documents=len(documents),
        samples=samples,
        seed=seed,
        strict_counts=[total(counts) for counts in per_document["strict"]],
    )


def _inner(pairs: Sequence[Pair]) -> Counts:
    inside = [(inner(pair.gold), pair.predicted) for pair in pairs]
    return Counts(tp=sum(len(own & found) for own, found in inside), gold=sum(len(own) for own, _ in inside))


def total(counts: TypeCounts) -> Counts:
    """The counts of all types together."""
    return add(counts.values())


def add(counts: Iterable[Counts]) -> Counts:
    return Counts(*map(sum, zip(*(Counts(), *counts), strict=True)))


def _token_counts(documents: list[tuple[Document, Document]]) -> list[TypeCounts]:
    return [count(by_type(pair), "strict") for pair in token_pairs(documents)]


def scores_of(per_document: Sequence[TypeCounts], samples: int, seed: int) -> Scores:
    """The scores of the counts of each document."""
    labels = sorted({label for counts in per_document for label in counts})
    per_type = {label: Score(add([counts[label] for counts in per_document if label in counts])) for label in labels}
    micro = Score(add([score.counts for score in per_type.values()]))
    interval = f1_interval([total(counts) for counts in per_document], samples=samples, seed=seed)
    return Scores(micro, per_type, interval)
