"""Scoring: a large evaluation with bootstrap intervals, and the bootstrap against drawing documents one by one."""

from __future__ import annotations

import argparse
import random

import numpy as np
from common import finish, median_seconds, seconds

from goldgap import Corpus, Document, Entity
from goldgap.evaluate.bootstrap import f1_interval
from goldgap.evaluate.counts import Counts
from goldgap.evaluate.scores import evaluate

SAMPLES = 1000


def make_corpora(count: int) -> tuple[Corpus, Corpus]:
    """Gold and predictions over documents of 20 words: a tenth is missed, a quarter of the rest is too long."""
    generator = random.Random(0)
    text = " ".join(["word"] * 20)
    words = tuple((5 * index, 5 * index + 4) for index in range(20))
    gold, predicted = [], []
    for number in range(count):
        true, guessed = [], []
        for first in range(0, 20, 5):
            if generator.random() < 0.6:
                label, last = generator.choice(["PER", "LOC", "ORG", "MISC"]), first + generator.randint(0, 2)
                true.append(Entity(words[first][0], words[last][1], label))
                if generator.random() < 0.9:
                    wrong = generator.random() < 0.25
                    guessed.append(Entity(words[first][0], words[last + wrong][1], label))
        gold.append(Document(text, tuple(true), id=str(number), tokens=words))
        predicted.append(Document(text, tuple(guessed), id=str(number), tokens=words))
    return Corpus(gold), Corpus(predicted)


def by_documents(counts: list[Counts]) -> None:
    """The plain bootstrap: an array of drawn document numbers for each resample."""
    array = np.asarray(counts)
    generator = np.random.default_rng(0)
    for _ in range(SAMPLES):
        array[generator.integers(0, len(array), len(array))].sum(axis=0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="under a minute: a tenth of the documents")
    count = 10_000 if parser.parse_args().quick else 100_000
    gold, predicted = make_corpora(count)
    whole = seconds(lambda: evaluate(gold, predicted, samples=SAMPLES))
    counts = evaluate(gold, predicted, samples=0).strict_counts
    times = median_seconds(
        {"by kinds": lambda: f1_interval(counts, samples=SAMPLES), "by documents": lambda: by_documents(counts)}, 3
    )
    ratio = times["by documents"] / times["by kinds"]
    print(f"{count:,} documents, {gold.entity_count:,} entities, {SAMPLES:,} resamples")
    print(f"all scores and intervals   {whole:8.2f} s")
    print(f"one interval, by kinds     {times['by kinds']:8.3f} s")
    print(f"one interval, by documents {times['by documents']:8.3f} s ({ratio:.0f} times as long)")
    finish({"documents": count, "seconds": whole, "bootstrap_speedup": ratio})


if __name__ == "__main__":
    main()
