"""The uniform sampler without a model: what it draws from a corpus with gaps, epoch after epoch."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from goldgap.core.corpus import Corpus
from goldgap.core.notes import Notes
from goldgap.core.progress import Progress
from goldgap.corpus.words import words_of
from goldgap.encode.align import Shape
from goldgap.encode.batch import Example
from goldgap.encode.windows import Window
from goldgap.models.states import BatchStates, Knowledge, stack, states_of
from goldgap.unknown import Cells
from goldgap.unknown.uniform import Uniform


class Sampled(NamedTuple):
    """What was drawn over all epochs.

    kept, missampled   cells, and those among them that are masked entities
    clean              (sentence,): the share of epochs in which no masked entity was drawn from it
    """

    kept: int
    missampled: int
    clean: Tensor

    @property
    def rate(self) -> float:
        return self.missampled / self.kept if self.kept else 0.0


def sample_epochs(corpus: Corpus, policy: Uniform, *, max_width: int, epochs: int, seed: int = 0) -> Sampled:
    """Draws from every sentence that has words, all that is not annotated being unknown."""
    known, words = _states(corpus, max_width)
    count, size = known.unknown.shape
    dropped = known.dropped if known.dropped is not None else torch.zeros_like(known.unknown)
    cells = Cells(torch.zeros(count, size, 1), known.labels, known.unknown, words, torch.arange(count))
    kept, missampled, clean = 0, 0, torch.zeros(count)
    for epoch in range(epochs):
        generator = torch.Generator().manual_seed(seed * 1_000_003 + epoch)  # of which 32 bits count
        keep = policy(cells, Progress(epoch, epochs, epoch, epochs), generator)  # (sentence, cell)
        hit = keep & dropped
        kept += int(keep.sum())
        missampled += int(hit.sum())
        clean += ~hit.any(1)
    return Sampled(kept, missampled, clean / max(epochs, 1))


def _states(corpus: Corpus, max_width: int) -> tuple[BatchStates, Tensor]:
    """The states of every sentence, and its number of words."""
    knowledge = Knowledge(corpus.labels, max_width, flat=True, certain_negatives=False)
    found, lengths = [], []
    for number, document in enumerate(corpus):
        words = words_of(document)
        if words:
            example = Example(number, [Window(0, len(words))], 0, words, [[1]] * len(words), [Shape.lower] * len(words))
            found.append(states_of(example, document, knowledge, Notes()))
            lengths.append(len(words))
    return stack(found), torch.tensor(lengths)
