"""What a model does while it learns: an observer of the training loop, free where it is not asked for."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import torch

from goldgap.core.corpus import Corpus
from goldgap.core.errors import CorpusError
from goldgap.core.reading import read_text
from goldgap.core.writing import write_atomic
from goldgap.corpus.words import word_spans, words_of
from goldgap.encode.batch import Example
from goldgap.encode.windows import owned
from goldgap.models.model import Model
from goldgap.models.predict import scored_examples
from goldgap.models.scores import SpanScores
from goldgap.models.tagger import Tagger
from goldgap.train.loop import Seen
from goldgap.train.select import score

SCORES = ("precision", "recall", "f1")


class Recorder:
    """Behind each evaluation: the scores on the training documents, and the probability of chosen spans.

    train     documents to score against all that is known of them, what `mask` took away included
    follow    documents whose entities are the spans to follow
    others    further documents to score, by name
    path      a file to keep the entries in; those of a run that goes on stay
    entries   one for each evaluation: its metrics, "train", "followed" and "others"
    """

    def __init__(
        self,
        train: Corpus | None = None,
        follow: Corpus | None = None,
        path: Path | None = None,
        *,
        others: Mapping[str, Corpus] | None = None,
    ) -> None:
        self.train, self.follow, self.path, self.others = train, follow, path, others or {}
        self.entries: list[dict[str, Any]] = []

    def go_on(self) -> None:
        """Take over what is in the file, if there is one."""
        if self.path is not None and self.path.exists():
            self.entries = read_record(self.path)

    def __call__(self, seen: Seen) -> None:
        if seen.metrics is None or seen.model is None or seen.recipe is None:
            return
        entry: dict[str, Any] = dict(seen.metrics)
        if self.train is not None:
            entry["train"] = score(seen.model, seen.recipe, whole_truth(self.train))
        if self.others:
            scores = {name: score(seen.model, seen.recipe, corpus) for name, corpus in self.others.items()}
            entry["others"] = scores
        if self.follow is not None:
            entry["followed"] = [round(value, 6) for value in entity_probabilities(seen.model, self.follow)]
        self.entries = [*(before for before in self.entries if before["step"] < entry["step"]), entry]
        if self.path is not None:
            write_record(self.entries, self.path)


def write_record(entries: list[dict[str, Any]], path: Path) -> None:
    """One JSON object a line for each evaluation."""
    with write_atomic(path) as handle:
        for entry in entries:
            handle.write(json.dumps(entry) + "\n")


def read_record(path: Path) -> list[dict[str, Any]]:
    """The entries of a recorder, each with all that is read of one."""
    entries = []
    for number, line in enumerate(read_text(path).splitlines(), 1):
        try:
            entry = json.loads(line)
            problem = next(_problems(entry), None)
        except (ValueError, RecursionError) as error:
            problem = f"not JSON: {error}"
        if problem is not None:
            raise CorpusError(f"{problem}; expected what train --record wrote", path=path, line=number)
        entries.append(entry)
    return entries


def _problems(entry: object) -> Iterator[str]:
    """What an entry lacks, or holds in another form than a recorder writes it."""
    if not isinstance(entry, dict):
        yield "no evaluation"
        return
    own = SCORES if any(name in entry for name in SCORES) else ()  # none without a dev set
    yield from _no_numbers(entry, ("step", "epoch", *own))
    if "train" in entry:
        yield from _no_scores(entry["train"], "train")
    others = entry.get("others", {})
    if not isinstance(others, dict):
        yield "others holds no scores"
    else:
        for name, scores in others.items():
            yield from _no_scores(scores, f"others.{name}")
    followed = entry.get("followed", [])
    if not isinstance(followed, list) or not all(map(_is_number, followed)):
        yield "followed is no list of numbers"


def _no_scores(scores: object, name: str) -> Iterator[str]:
    if isinstance(scores, dict):
        yield from _no_numbers(scores, SCORES, f"{name}.")
    else:
        yield f"{name} holds no scores"


def _no_numbers(values: Mapping[str, object], names: Iterable[str], group: str = "") -> Iterator[str]:
    return (f"{group}{name} is no number" for name in names if not _is_number(values.get(name)))


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= sys.float_info.max


def whole_truth(corpus: Corpus) -> Corpus:
    """The corpus with the annotations that were taken away put back."""
    return corpus.map(lambda document: document.replace(entities=document.entities + document.dropped, dropped=()))


@torch.no_grad()
def entity_probabilities(model: Model, corpus: Corpus) -> list[float]:
    """1 - p(O) of each entity of the corpus, in order; 0 for those that the model cannot represent.

    For a tagger O is that all words of the entity are outside.
    """
    documents = corpus.documents
    places = [word_spans(words_of(d), [(e.start, e.end) for e in d.entities]) for d in documents]
    values = [[0.0] * len(document.entities) for document in documents]
    examples = [example for example in model.examples(documents) if places[example.document]]
    for batch, scores in scored_examples(model, examples):
        widths = scores.valid.shape[1] // max(batch.first.shape[1], 1)
        for row, example in enumerate(batch.examples):
            where = places[example.document]
            if isinstance(model, Tagger):
                found = _of_words(scores, row, example, where, [0, *model.tagset.of_none()])
            else:
                found = _of_spans(scores, row, example, where, widths, several=model.several)
            for number, value in found:
                values[example.document][number] = value
    return [value for row in values for value in row]


Places = list[tuple[int, int] | None]


def _of_spans(
    scores: SpanScores, row: int, example: Example, places: Places, widths: int, *, several: bool
) -> Iterator[tuple[int, float]]:
    """The number of each entity that a window has to score, and 1 - p(O)."""
    logits = scores.logits[row]  # (cell, label)
    others = logits[:, 1:].amax(-1) if several else torch.logsumexp(logits[:, 1:], -1)
    entity = torch.sigmoid(others - logits[:, 0])
    for number, word, width in _own(example, places, widths):
        yield number, float(entity[word * widths + width - 1])


def _of_words(
    scores: SpanScores, row: int, example: Example, places: Places, outside: list[int]
) -> Iterator[tuple[int, float]]:
    """The same of a tagger, some of whose tags are of no entity."""
    assert scores.chain is not None
    emissions, count = scores.logits[row : row + 1].double(), torch.tensor([len(example.words)])
    total = scores.chain.log_sum(emissions, count)
    for number, word, width in _own(example, places, len(example.words)):
        allowed = torch.ones(emissions.shape, dtype=torch.bool)
        allowed[:, word : word + width] = False
        allowed[:, word : word + width, outside] = True
        nothing = scores.chain.log_sum(emissions, count, allowed) - total
        yield number, -math.expm1(min(float(nothing), 0.0))


def _own(example: Example, places: Places, widths: int) -> Iterator[tuple[int, int, int]]:
    """The entities that a window has to score: their number, first word there and width."""
    mine = owned(example.windows, example.index, widths)  # (word, width)
    first = example.window.first
    for number, span in enumerate(places):
        if span is None or not first <= span[0] < span[1] <= example.window.end or span[1] - span[0] > widths:
            continue
        word, width = span[0] - first, span[1] - span[0]
        if mine[word, width - 1]:
            yield number, word, width
