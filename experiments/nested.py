"""What the kept runs of 003 Table 1 find of the entities that lie inside another, nested and decoded flat."""

from __future__ import annotations

import argparse
from pathlib import Path

from goldgap import Corpus, Document
from goldgap.compare.datasets import read_dataset
from goldgap.compare.runs import Run
from goldgap.decode import Candidate, decode
from goldgap.evaluate.scores import evaluate


def flat(document: Document) -> Document:
    """The likeliest of entities that overlap."""
    found = [Candidate(one.start, one.end, n, one.score or 0.0, 0.0) for n, one in enumerate(document.entities)]
    return document.replace(entities=tuple(document.entities[one.label] for one in decode(found, "greedy")))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path, help="folder of the corpora")
    folder = parser.parse_args().data
    test = read_dataset("genia", folder, bench=False, first=3000).test
    for path in sorted((Path(__file__).parent / "results").glob("genia-first-3000_*.json")):
        run = Run.read(path)
        found, epochs = run.predicted(test), run.recipe["train"]["epochs"]
        for how, corpus in (("nested", found), ("flat", Corpus(map(flat, found)))):
            score = evaluate(test, corpus, samples=0)
            share, recall = score.inner.tp / score.inner.gold, score.strict.micro.recall
            print(
                f"{run.method}, {epochs} epochs, seed {run.seed}, {how}: F1 {100 * score.strict.micro.f1:.2f}, inside "
                f"another {score.inner.tp} of {score.inner.gold} ({100 * share:.1f} %, {share / recall:.3f} of all)"
            )


if __name__ == "__main__":
    main()
