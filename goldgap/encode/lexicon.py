"""A lexicon: words of a language, found in examples, for encoders that read them beside the words of a text."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from goldgap.core.document import Document
from goldgap.core.errors import ConfigError, InputError
from goldgap.core.notes import Notes
from goldgap.corpus.lines import iterate_lines
from goldgap.corpus.words import CJK, words_of
from goldgap.distant.dictionary import Dictionary
from goldgap.distant.finder import Finder, Hits, Positions, Text
from goldgap.encode.batch import Example
from goldgap.encode.packaged import jieba_list

LEXICON = "lexicon.txt"
MOST = 5
"""Entries that stand for one word at most, as in LEBERT."""
_ONE_CHARACTER = re.compile(f"[{CJK}]")
_COUNT = re.compile(r"[ \t]+\d+(?:[ \t]+[A-Za-z]+)?$")
_NEARLY_ALL = 0.9
_TOGETHER = 1 << 10
"""Documents that are looked through together."""


class Match(NamedTuple):
    """Words first..end-1 of an example spell an entry of the lexicon."""

    first: int
    end: int
    entry: int


class Lexicon:
    """Entries that differ from each other, ready to be found where words begin and end.

    A single character of Chinese or Japanese is no entry: where no blanks stand between words it is a word of the text
    already. Any other entry may be a single word, of one character too.

    words   the entries, in the order given; runs of white space are one blank
    fold    whether case does not matter; of entries that differ in case alone the first is kept
    """

    def __init__(self, words: Iterable[str], *, fold: bool = False) -> None:
        self.fold = fold
        spelled: dict[str, str] = {}
        for word in words:
            entry = " ".join(word.split())
            if entry and not _ONE_CHARACTER.fullmatch(entry):
                spelled.setdefault(self.spell(entry), entry)
        self.words = tuple(spelled.values())
        self._finder = Finder(list(spelled))

    def __len__(self) -> int:
        return len(self.words)

    @classmethod
    def read(cls, folder: Path, *, fold: bool = False) -> Lexicon:
        """The lexicon that `save` wrote."""
        return cls(iterate_lines(folder / LEXICON, Notes()), fold=fold)

    def save(self, folder: Path) -> None:
        (folder / LEXICON).write_text("".join(f"{word}\n" for word in self.words), encoding="utf-8", newline="\n")

    def spell(self, surface: str) -> str:
        """A surface as it is compared."""
        return surface.casefold() if self.fold else surface

    def find(self, examples: Sequence[Example]) -> list[list[Match]]:
        """Every entry in each example, in order of (first word, longest first)."""
        spelled = list(map(self._spelled, examples))
        found = self._finder.find([Text(*text) for text in spelled])
        return [_in_words(begins, ends, hits) for (_, begins, ends), hits in zip(spelled, found, strict=True)]

    def _spelled(self, example: Example) -> tuple[str, Positions, Positions]:
        """The words of an example with a blank between those that do not touch, and where each begins and ends."""
        parts, begins, ends = [], [], []
        at, behind = 0, None
        for (start, end), surface in zip(example.words, example.surfaces, strict=True):
            if behind is not None and start != behind:
                parts.append(" ")
                at += 1
            parts.append(self.spell(surface))
            begins.append(at)
            at += len(parts[-1])
            ends.append(at)
            behind = end
        return "".join(parts), np.array(begins, dtype=np.int64), np.array(ends, dtype=np.int64)


def _in_words(begins: Positions, ends: Positions, hits: Hits) -> list[Match]:
    first, last = np.searchsorted(begins, hits.begins).tolist(), np.searchsorted(ends, hits.ends).tolist()
    return [Match(a, b + 1, entry) for a, b, entry in zip(first, last, hits.patterns, strict=True)]


def occurring(lexicon: Lexicon, documents: Sequence[Document]) -> Lexicon:
    """The entries that stand in some document: without given vectors, others would be random for ever."""
    found: set[int] = set()
    for start in range(0, len(documents), _TOGETHER):
        some = list(map(_unpieced, documents[start : start + _TOGETHER]))
        found.update(match.entry for matches in lexicon.find(some) for match in matches)
    return Lexicon((lexicon.words[entry] for entry in sorted(found)), fold=lexicon.fold)


def _unpieced(document: Document) -> Example:
    """A document as one example, of which only the words are told."""
    words = words_of(document)
    return Example(0, [], 0, words, [], [], tuple(document.text[a:b] for a, b in words))


def read_lexicon(path: Path) -> list[str]:
    """The words of a file, one a line, or the surfaces of a dictionary: a folder, or lines of type, tab, surface.

    Where nearly all words have a number behind them, as in jieba's lists, it is no part of the word.
    """
    if path.is_dir():
        return [entry.surface for entry in Dictionary.read(path)]
    lines = [line.strip() for line in iterate_lines(path, Notes()) if line.strip()]
    counted = sum(_COUNT.search(line) is not None for line in lines) > _NEARLY_ALL * len(lines)
    words = [word for line in lines if (word := _entry(line, counted=counted))]
    if not words:
        raise InputError("no word in this lexicon, expected one a line; is the file whole?", path=path)
    return words


def _entry(line: str, *, counted: bool) -> str:
    """
    >>> [_entry(line, counted=False) for line in ("Boeing 747", "LOC\\tNew York\\texact", "FILM\\t1984")]
    ['Boeing 747', 'New York', '1984']
    >>> [_entry(line, counted=True) for line in ("上海 28580 ns", "上海\\t28580", "大桥")]
    ['上海', '上海', '大桥']
    """
    if counted:
        return _COUNT.sub("", line)
    first, tab, rest = line.partition("\t")
    return rest.split("\t")[0].strip() if tab else first


def jieba_words() -> list[str]:
    """The words that the package jieba brings along; the package itself is not run."""
    path = jieba_list()
    if path is None:
        raise ConfigError(
            "the words of jieba are asked for, but it is not installed; install it (pip install jieba), or name a file "
            "with one word a line with lexicon.file=FILE"
        )
    return read_lexicon(path)


def lattice(examples: Sequence[Example], lexicon: Lexicon, most: int = MOST) -> Tensor:
    """The entries that contain each word, at most so many: the longest first, then those that begin first.

    -> (batch, word, most): the number of an entry plus 1, 0 where there is none
    """
    width = max((len(example.words) for example in examples), default=0)
    rows = []
    for matches in lexicon.find(examples):
        own: list[list[int]] = [[] for _ in range(width)]
        for first, end, entry in sorted(matches, key=lambda match: (match.first - match.end, match.first)):
            for word in own[first:end]:
                if len(word) < most:
                    word.append(entry + 1)
        rows.append([word + [0] * (most - len(word)) for word in own])
    return torch.tensor(rows, dtype=torch.long).view(len(examples), width, most)


class FlatLattice(NamedTuple):
    """The words of each example, and behind them the entries found in it, as items with a first and a last word.

    entries   (batch, entry): the number of each found entry plus 1, 0 for padding
    heads     (batch, item): the first word of each item; items are all words with their padding, then all entries
    tails     (batch, item): the last word of each item, which for a word is itself
    mask      (batch, item): which are not padding
    """

    entries: Tensor
    heads: Tensor
    tails: Tensor
    mask: Tensor


def flat_lattice(examples: Sequence[Example], lexicon: Lexicon) -> FlatLattice:
    """The lattice of FLAT (Li et al. 2020, section 3.1), with every entry that was found."""
    found = lexicon.find(examples)
    width = max((len(example.words) for example in examples), default=0)
    most = max(map(len, found), default=0)
    entries = torch.zeros(len(examples), most, dtype=torch.long)
    heads, tails = (torch.arange(width).repeat(len(examples), 1) for _ in range(2))
    heads, tails = (nn.functional.pad(positions, (0, most)) for positions in (heads, tails))
    mask = torch.zeros(len(examples), width + most, dtype=torch.bool)
    for row, (example, matches) in enumerate(zip(examples, found, strict=True)):
        mask[row, : len(example.words)] = True
        if matches:
            first, end, entry = torch.tensor(matches).T
            own = slice(width, width + len(matches))
            entries[row, : len(matches)] = entry + 1
            heads[row, own], tails[row, own], mask[row, own] = first, end - 1, True
    return FlatLattice(entries, heads, tails, mask)


def entry_embedding(entries: int, size: int, *, freeze: bool) -> nn.Embedding:
    """A random vector for each entry of a lexicon, at its number plus 1; 0 is none."""
    embedding = nn.Embedding(entries + 1, size, padding_idx=0)
    nn.init.normal_(embedding.weight, std=1 / math.sqrt(size))
    embedding.weight.data[0] = 0
    embedding.weight.requires_grad_(not freeze)
    return embedding


def give_vectors(embedding: nn.Embedding, lexicon: Lexicon, words: Sequence[str], table: Tensor) -> None:
    """Put given vectors (word, size) in; entries without one get a random one as large as the given are.

    In a lexicon without case an entry takes the vector of its own spelling, or else of the first that differs in case.
    """
    rows: dict[str, int] = {}
    folded: dict[str, int] = {}
    for row, word in enumerate(words):
        rows.setdefault(word, row)
        folded.setdefault(lexicon.spell(word), row)
    chosen = [rows.get(entry, folded.get(lexicon.spell(entry), -1)) for entry in lexicon.words]
    row_of = torch.tensor([-1, *chosen])  # (entries + 1,)
    weight = torch.randn_like(embedding.weight) * table.std(correction=0)
    weight[row_of >= 0] = table[row_of[row_of >= 0]].to(weight)
    weight[0] = 0
    embedding.weight.data.copy_(weight)
