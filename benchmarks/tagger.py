"""A tagger with a CRF against one with a softmax over the tags of each word, and the search for the best tags.

A training step on the same encoder and batches, with 5 and with 17 tags; the best sequences of a batch against a loop
over texts, words and tags.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from typing import Any

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

import torch
from common import finish, median_seconds
from span import load_corpus
from steps import first_steps
from torch import Tensor

from goldgap import Corpus, Document
from goldgap.core.labels import Labels
from goldgap.models.chain import Chain
from goldgap.models.tagset import TagSet
from goldgap.train.compose import recipe_for

TEXTS, WORDS = 64, 40


def with_types(corpus: Corpus, types: int) -> Corpus:
    """The same entities, of so many types."""

    def renamed(document: Document) -> Document:
        entities = [
            entity.__class__(entity.start, entity.end, f"T{(entity.start + number) % types}")
            for number, entity in enumerate(document.entities)
        ]
        return document.replace(entities=tuple(entities))

    return corpus.map(renamed)


def step_ratio(corpus: Corpus, types: int, steps: int, repeats: int) -> float:
    """The time of the same steps with a CRF, over that with a softmax."""
    corpus = with_types(corpus, types)
    contenders: dict[str, Callable[[], object]] = {}
    for method in ("softmax", "crf"):
        recipe = recipe_for(method, {"train": {"batch_size": 16}})
        contenders[method], _ = first_steps(recipe, corpus, steps)
        contenders[method]()
    times = median_seconds(contenders, repeats)
    return times["crf"] / times["softmax"]


def best_by_loop(chain: Chain, emissions: Tensor, words: Tensor) -> list[list[int]]:
    """The best tags of each text, one cell after the other."""
    first, behind, last = (scores.tolist() for scores in chain._scores(emissions))
    every, tags = emissions.tolist(), range(emissions.shape[2])
    found = []
    for scores, length in zip(every, words.tolist(), strict=True):
        alpha = [first[tag] + scores[0][tag] for tag in tags]
        back: list[list[int]] = []
        for word in range(1, length):
            sources = [max(tags, key=lambda before: alpha[before] + behind[before][tag]) for tag in tags]
            alpha = [alpha[sources[tag]] + behind[sources[tag]][tag] + scores[word][tag] for tag in tags]
            back.append(sources)
        tag = max(tags, key=lambda tag: alpha[tag] + last[tag])
        path = [tag]
        for sources in reversed(back):
            path.append(sources[path[-1]])
        found.append(path[::-1])
    return found


def decoding_ratio(types: int, repeats: int) -> float:
    """The time of the loop over that of all texts together, for the same tags."""
    torch.manual_seed(0)
    tagset = TagSet(Labels(tuple(f"T{number}" for number in range(types))), "bioes")
    chain = Chain(tagset.legal, learned=True)
    emissions = torch.randn(TEXTS, WORDS, len(tagset))
    words = torch.randint(WORDS - 4, WORDS + 1, (TEXTS,))  # batches are of texts of like length
    together = chain.best(emissions, words).tolist()
    alone = best_by_loop(chain, emissions, words)
    assert [row[:length] for row, length in zip(together, words.tolist(), strict=True)] == alone
    contenders: dict[str, Callable[[], object]] = {
        "loop": lambda: best_by_loop(chain, emissions, words),
        "together": lambda: chain.best(emissions, words),
    }
    times = median_seconds(contenders, repeats)
    return times["loop"] / times["together"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="under a minute: fewer steps and repeats")
    quick = parser.parse_args().quick
    corpus = load_corpus()
    figures: dict[str, Any] = {}
    print("A training step with a CRF over one with a softmax (at most 1.25):")
    for types in (1, 4):
        tags = 1 + 4 * types
        figures[f"step_{tags}_tags"] = step_ratio(corpus, types, 3 if quick else 15, 3 if quick else 7)
        print(f"  {tags:>2} tags{figures[f'step_{tags}_tags']:8.2f}")
    print("The best tags of 64 texts in a loop, over all together (at least 10):")
    for types in (1, 4):
        tags = 1 + 4 * types
        figures[f"decoding_{tags}_tags"] = decoding_ratio(types, 3 if quick else 7)
        print(f"  {tags:>2} tags{figures[f'decoding_{tags}_tags']:8.1f}")
    finish(figures)


if __name__ == "__main__":
    main()
