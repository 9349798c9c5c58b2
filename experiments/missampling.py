"""How often the uniform sampler takes a masked entity for a negative, against what is expected (METHODS section 2).

No model: sampler-only epochs on masked WikiGold, certain negatives off.

python experiments/missampling.py --epochs 500
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import torch

from experiments.corpora import splits
from goldgap import Corpus
from goldgap.core.notes import Notes
from goldgap.core.progress import Progress
from goldgap.corpus.words import words_of
from goldgap.encode.align import Shape
from goldgap.encode.batch import Example
from goldgap.encode.windows import Window
from goldgap.models.states import BatchStates, Knowledge, stack, states_of
from goldgap.unknown import Cells
from goldgap.unknown.uniform import Uniform, sample_size


def states(corpus: Corpus, max_width: int) -> tuple[BatchStates, torch.Tensor]:
    """The states of every sentence and its number of words."""
    knowledge = Knowledge(corpus.labels, max_width, flat=True, certain_negatives=False)
    found = []
    for number, document in enumerate(corpus):
        words = words_of(document)
        example = Example(number, [Window(0, len(words))], 0, words, [[1]] * len(words), [Shape.lower] * len(words))
        found.append(states_of(example, document, knowledge, Notes()))
    return stack(found), torch.tensor([len(words_of(document)) for document in corpus])


def expected(known: BatchStates, words: torch.Tensor, ratio: float) -> float:
    """The share of masked entities among the draws: each sentence's own share, by what is drawn from it."""
    assert known.dropped is not None
    candidates = known.unknown.sum(1)
    drawn = torch.minimum(sample_size(words, ratio, "ceil"), candidates).double()
    share = (known.unknown & known.dropped).sum(1) / candidates.clamp(min=1)
    return float((drawn * share).sum() / drawn.sum())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--epochs", type=int, default=500)
    parser.add_argument("--drop", type=float, default=0.7)
    parser.add_argument("--width", type=int, default=10)
    given = parser.parse_args()
    data = splits(f"wikigold-masked-{given.drop}", 0)
    known, words = states(data.train, given.width)
    assert known.dropped is not None
    policy = Uniform()
    count, size = known.unknown.shape
    cells = Cells(torch.zeros(count, size, 1), known.labels, known.unknown, words, torch.arange(count))
    kept = missampled = 0
    for epoch in range(given.epochs):
        keep = policy(cells, Progress(epoch, given.epochs, epoch, given.epochs), torch.Generator().manual_seed(epoch))
        kept += int(keep.sum())
        missampled += int((keep & known.dropped).sum())
    wanted = expected(known, words, policy.ratio)
    seen = missampled / kept
    figures = {"epochs": given.epochs, "drawn": kept, "missampled": missampled, "rate": seen, "expected": wanted}
    print(f"{given.epochs} epochs: {missampled:,} of {kept:,} drawn were masked entities")
    print(f"rate {100 * seen:.4f} %, expected {100 * wanted:.4f} %: ratio {seen / wanted:.4f}")
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
