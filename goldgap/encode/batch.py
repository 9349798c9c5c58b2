"""Examples and batches: documents as tensors."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from goldgap.core.document import Document, Range
from goldgap.core.notes import Notes
from goldgap.corpus.words import words_of
from goldgap.encode.align import MAX_WORD_PIECES, Aligned, Shape, align, shape_of
from goldgap.encode.windows import Window, paragraphs, windows


@dataclass(frozen=True, slots=True)
class Example:
    """One window of a document: what the encoder reads at once.

    document   index of the document in its corpus
    window     which words of the document these are, and among which windows
    surfaces   what each word looks like, for encoders that look words up
    """

    document: int
    windows: list[Window]
    index: int
    words: tuple[Range, ...]
    pieces: list[list[int]]
    shapes: list[Shape]
    surfaces: tuple[str, ...] = ()

    @property
    def window(self) -> Window:
        return self.windows[self.index]

    @property
    def length(self) -> int:
        """Pieces, without the special ones."""
        return sum(map(len, self.pieces))


class Batch(NamedTuple):
    """Examples padded to one shape.

    pieces, mask     (batch, piece): ids with special pieces around them, and which are not padding
    first, last      (batch, word): where in `pieces` each word begins and ends
    shapes           (batch, word)
    words            (batch,): words of each example
    """

    examples: list[Example]
    pieces: Tensor
    mask: Tensor
    first: Tensor
    last: Tensor
    shapes: Tensor
    words: Tensor


class Special(NamedTuple):
    """The pieces that an encoder wants around a text, and the one it pads with."""

    before: list[int]
    behind: list[int]
    padding: int


def make_examples(
    documents: Sequence[Document], tokenizer: object, *, limit: int, overlap: int, notes: Notes | None = None
) -> Iterator[Example]:
    """Every window of every document; a document without words has none."""
    tokens = [words_of(document) for document in documents]
    surfaces = [[document.text[a:b] for a, b in words] for document, words in zip(documents, tokens, strict=True)]
    for number, (words, aligned) in enumerate(zip(tokens, align(surfaces, tokenizer), strict=True)):
        if notes is not None and aligned.shortened:
            what = f"word of more than {MAX_WORD_PIECES} pieces (read by its two ends)"
            notes.change(what, documents[number].id, count=aligned.shortened)
        cut = windows(list(map(len, aligned.pieces)), limit, overlap, paragraphs(documents[number].text, words))
        yield from _windows_of(number, words, surfaces[number], aligned, cut)


def _windows_of(
    number: int, words: tuple[Range, ...], surfaces: list[str], aligned: Aligned, cut: list[Window]
) -> Iterator[Example]:
    for index, (first, end) in enumerate(cut):
        own = tuple(surfaces[first:end])
        shapes = [shape_of(surface) for surface in own]
        yield Example(number, cut, index, words[first:end], aligned.pieces[first:end], shapes, own)


def collate(examples: Sequence[Example], special: Special) -> Batch:
    """The examples as one batch."""
    words = max((len(example.pieces) for example in examples), default=0)
    length = max((example.length for example in examples), default=0) + len(special.before) + len(special.behind)
    pieces = torch.full((len(examples), length), special.padding)
    mask = torch.zeros(len(examples), length, dtype=torch.long)
    first, last, shapes = (torch.zeros(len(examples), words, dtype=torch.long) for _ in range(3))
    for row, example in enumerate(examples):
        sizes = torch.tensor([len(own) for own in example.pieces])
        ends = sizes.cumsum(0) + len(special.before)
        flat = [*special.before, *(piece for own in example.pieces for piece in own), *special.behind]
        pieces[row, : len(flat)] = torch.tensor(flat)
        mask[row, : len(flat)] = 1
        first[row, : len(sizes)] = ends - sizes
        last[row, : len(sizes)] = ends - 1
        shapes[row, : len(sizes)] = torch.tensor(example.shapes)
    counts = torch.tensor([len(example.pieces) for example in examples], dtype=torch.long)
    return Batch(list(examples), pieces, mask, first, last, shapes, counts)


def batch_order(
    lengths: Sequence[int], *, batch_size: int, token_budget: int, seed: int, epoch: int | None, shuffle: bool = True
) -> list[list[int]]:
    """Which examples stand together, a function of (seed, epoch); without an epoch sorted by length, for prediction.

    Examples of like length share a batch, so that little is padded: shuffled, cut into pools of many batches, sorted
    inside each pool, and the batches shuffled again. Without `shuffle`, the order of the file in every epoch.
    """
    generator = random.Random(f"batches/{seed}/{epoch}")
    order = list(range(len(lengths)))
    if epoch is None:
        return list(_fill(sorted(order, key=lambda index: (lengths[index], index)), lengths, batch_size, token_budget))
    if not shuffle:
        return list(_fill(order, lengths, batch_size, token_budget))
    generator.shuffle(order)
    batches = []
    pool = batch_size * 32
    for start in range(0, len(order), pool):
        chunk = sorted(order[start : start + pool], key=lambda index: lengths[index])
        batches += list(_fill(chunk, lengths, batch_size, token_budget))
    generator.shuffle(batches)
    return batches


def _fill(order: Sequence[int], lengths: Sequence[int], batch_size: int, token_budget: int) -> Iterator[list[int]]:
    batch: list[int] = []
    longest = 0
    for index in order:
        longest = max(longest, lengths[index])
        if batch and (len(batch) == batch_size or longest * (len(batch) + 1) > token_budget):
            yield batch
            batch, longest = [], lengths[index]
        batch.append(index)
    if batch:
        yield batch
