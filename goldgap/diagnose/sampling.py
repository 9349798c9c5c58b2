"""The uniform sampler without a model: what it draws from a corpus with gaps, epoch after epoch."""

from __future__ import annotations

from collections.abc import Sequence
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
from goldgap.models.states import Knowledge, States, stack, states_of
from goldgap.unknown import Cells
from goldgap.unknown.uniform import Uniform

CELLS = 1 << 26
"""Spans, padding included, that are drawn from at once."""


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
    found = _states(corpus, max_width)
    parts = [(own, _sample([found[index] for index in own], policy, epochs, seed)) for own in _together(found)]
    clean = torch.zeros(len(found))
    for own, drawn in parts:
        clean[own] = drawn.clean
    return Sampled(sum(drawn.kept for _, drawn in parts), sum(drawn.missampled for _, drawn in parts), clean)


def _sample(states: Sequence[States], policy: Uniform, epochs: int, seed: int) -> Sampled:
    """The draws from sentences that are padded to the longest."""
    known, words = stack(states), torch.tensor([len(one.labels) for one in states])
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


def _together(states: Sequence[States]) -> list[list[int]]:
    """All sentences, or where one is so long that the others' padding would not fit, those of like length together."""
    longest = max((one.labels.numel() for one in states), default=0)
    if longest * len(states) <= CELLS:
        return [list(range(len(states)))] if states else []
    groups: list[list[int]] = []
    for index in sorted(range(len(states)), key=lambda index: -states[index].labels.numel()):
        if not groups or states[groups[-1][0]].labels.numel() * (len(groups[-1]) + 1) > CELLS:
            groups.append([])
        groups[-1].append(index)
    return groups


def _states(corpus: Corpus, max_width: int) -> list[States]:
    """The states of every sentence that has words."""
    knowledge = Knowledge(corpus.labels, max_width, flat=True, certain_negatives=False)
    found = []
    for number, document in enumerate(corpus):
        if words := words_of(document):
            example = Example(number, [Window(0, len(words))], 0, words, [[1]] * len(words), [Shape.lower] * len(words))
            found.append(states_of(example, document, knowledge, Notes()))
    return found
