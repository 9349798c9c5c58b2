"""What the kept runs of 003 Table 1 find of the entities that lie inside another, nested and decoded flat."""

from __future__ import annotations

import argparse
from pathlib import Path

from goldgap import Corpus, Document, Entity
from goldgap.compare.datasets import read_dataset
from goldgap.compare.runs import Run
from goldgap.evaluate.scores import evaluate


def flat(document: Document) -> Document:
    """The likeliest of entities that overlap."""
    kept: list[Entity] = []
    for one in sorted(document.entities, key=lambda entity: (-(entity.score or 0), entity.start, entity.end)):
        if all(one.end <= other.start or other.end <= one.start for other in kept):
            kept.append(one)
    return document.replace(entities=tuple(kept))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path, help="folder of the corpora")
    folder = parser.parse_args().data
    test = read_dataset("genia", folder, bench=False, first=3000).test
    for path in sorted((Path(__file__).parent / "results").glob("genia-first-3000_*.json")):
        run = Run.read(path)
        found = run.predicted(test)
        for how, corpus in (("nested", found), ("flat", Corpus(map(flat, found)))):
            score = evaluate(test, corpus, samples=0)
            share, recall = score.inner.tp / score.inner.gold, score.strict.micro.recall
            print(
                f"{run.method}, seed {run.seed}, {how}: F1 {100 * score.strict.micro.f1:.2f}, inside another "
                f"{score.inner.tp} of {score.inner.gold} ({100 * share:.1f} %, {share / recall:.3f} of the recall of all)"
            )


if __name__ == "__main__":
    main()
