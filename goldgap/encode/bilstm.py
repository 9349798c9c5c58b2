"""A BiLSTM over word vectors, learned or given: the encoder of before pretraining, one piece a word."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import chain, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from goldgap.core.reading import read_text
from goldgap.encode.batch import Batch
from goldgap.encode.encoder import WordVectors, shape_embedding

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

Pair = tuple[str, str]
Entry = TypeVar("Entry", str, Pair)

CONFIG, BIGRAMS = "config.json", "bigrams.json"
PADDING, UNKNOWN = "[PAD]", "[UNK]"
BOUNDARY = ""
"""The next word where there is none: at the end of a document, and of each window that a long one is cut into."""
LIMIT = 512
"""Words of a window. An LSTM reads texts of any length, but memory grows with it."""


@dataclass(frozen=True, slots=True)
class BiLSTMConfig:
    """What an encoder is rebuilt from, but for its weights.

    words       entries of the tokenizer that are trained: padding, unknown, those of the training corpus
    unseen      entries behind them that have a given vector and no more: none of them was in the training corpus
    size        of a word vector
    hidden      size of the LSTM's state, in each direction
    dropout     of the word vectors
    lowercase   whether words that differ in case alone share a vector
    freeze      word vectors stay as they are, those that started at random too
    bigrams     read a learned vector of each word and the next one, of the same size, beside that of the word
    pairs       the words and next words that have such a vector, folded as words are; all others share one
    """

    words: int = 2
    unseen: int = 0
    size: int = 100
    hidden: int = 200
    dropout: float = 0.5
    lowercase: bool = True
    shapes: bool = True
    freeze: bool = False
    bigrams: bool = False
    pairs: tuple[Pair, ...] = ()

    @classmethod
    def read(cls, folder: Path) -> BiLSTMConfig:
        config = cls(**json.loads(read_text(folder / CONFIG)))
        if not config.bigrams:
            return config
        return replace(config, pairs=tuple((word, then) for word, then in json.loads(read_text(folder / BIGRAMS))))

    def save(self, folder: Path) -> None:
        values = asdict(replace(self, pairs=()))
        del values["pairs"]
        (folder / CONFIG).write_text(json.dumps(values) + "\n", encoding="utf-8")
        if self.bigrams:
            (folder / BIGRAMS).write_text(json.dumps(self.pairs) + "\n", encoding="utf-8")


class BiLSTMEncoder(nn.Module):
    """Both directions of an LSTM, normalised, under a learned embedding of the word's shape."""

    unseen: Tensor | None

    def __init__(self, config: BiLSTMConfig) -> None:
        super().__init__()
        self.config = config
        self.dimension = 2 * config.hidden
        self.words = nn.Embedding(config.words, config.size, padding_idx=0)
        # Apart, as an optimiser would go through all of them at every step, and decay would shrink them.
        self.register_buffer("unseen", torch.zeros(config.unseen, config.size) if config.unseen else None)
        self.dropout = nn.Dropout(config.dropout)
        width = 2 * config.size if config.bigrams else config.size
        self.lstm = nn.LSTM(width, config.hidden, batch_first=True, bidirectional=True)
        self.shapes = shape_embedding(self.dimension) if config.shapes else None
        self.norm = nn.LayerNorm(self.dimension)
        nn.init.normal_(self.words.weight, std=1 / math.sqrt(config.size))
        self.words.weight.data[0] = 0
        self.words.weight.requires_grad_(not config.freeze)
        self.bigrams = Bigrams(config) if config.bigrams else None

    def pretrained(self) -> list[nn.Parameter]:
        return []

    def piece_limit(self, tokenizer: object) -> int:
        return LIMIT

    def save_config(self, folder: Path) -> None:
        self.config.save(folder)

    def forward(self, batch: Batch) -> WordVectors:
        count, width = batch.pieces.shape
        if count == 0 or width == 0:
            nothing = self.norm.weight.new_zeros(count, width, self.dimension)
            return WordVectors(nothing, nothing, nothing.new_zeros(count, self.dimension))
        vectors = look_up(self.words, self.unseen, batch.pieces)  # (batch, word, size)
        if self.bigrams is not None:
            vectors = torch.cat([vectors, self.bigrams(batch)], dim=-1)  # (batch, word, 2 size)
        states = self.norm(read_both_ways(self.lstm, self.dropout(vectors), batch.words))  # (batch, word, dimension)
        inside = (torch.arange(width) < batch.words.clamp(min=1)[:, None]).to(states).unsqueeze(-1)  # (batch, word, 1)
        whole = (states * inside).sum(1) / inside.sum(1)
        if self.shapes is not None:
            states = states + self.shapes(batch.shapes)
        return WordVectors(states, states, whole)


def read_both_ways(lstm: nn.LSTM, vectors: Tensor, words: Tensor) -> Tensor:
    """What an LSTM makes of texts of so many words.  (batch, word, size) -> (batch, word, 2 hidden)

    In the precision of its weights, whatever the rest is in: not every processor has a half-precise LSTM.
    """
    lengths = words.clamp(min=1).cpu()  # an example without words cannot be packed: one padding is read
    with torch.autocast(vectors.device.type, enabled=False):
        exact = vectors.to(next(lstm.parameters()).dtype)
        packed = pack_padded_sequence(exact, lengths, batch_first=True, enforce_sorted=False)
        return pad_packed_sequence(lstm(packed)[0], batch_first=True, total_length=vectors.shape[1])[0]


def look_up(trained: nn.Embedding, unseen: Tensor | None, ids: Tensor) -> Tensor:
    """Vectors of words; those behind the trained ones are given and stay.  (batch, word) -> (batch, word, size)"""
    count = trained.num_embeddings
    is_trained = ids < count
    vectors: Tensor = trained(ids.where(is_trained, 0))
    return vectors if unseen is None else vectors.where(is_trained[..., None], unseen[(ids - count).clamp(min=0)])


class Bigrams(nn.Module):
    """A learned vector for each word together with the next one; 0 is padding, 1 any pair that is not known."""

    def __init__(self, config: BiLSTMConfig) -> None:
        super().__init__()
        self.lowercase = config.lowercase
        self.ids = {pair: number for number, pair in enumerate(config.pairs, start=2)}
        self.vectors = nn.Embedding(2 + len(config.pairs), config.size, padding_idx=0)
        nn.init.normal_(self.vectors.weight, std=1 / math.sqrt(config.size))
        self.vectors.weight.data[0] = 0

    def forward(self, batch: Batch) -> Tensor:
        """(batch, word, size)"""
        ids = torch.zeros_like(batch.pieces)  # (batch, word), as each word is one piece
        fold = _fold(self.lowercase)
        for row, example in enumerate(batch.examples):
            if len(example.surfaces) != len(example.pieces):
                raise ValueError("an example that does not say what its words look like: make it with make_examples")
            own = [self.ids.get(pair, 1) for pair in pairs_of(list(map(fold, example.surfaces)))]
            ids[row, : len(own)] = torch.tensor(own)
        vectors: Tensor = self.vectors(ids)
        return vectors


def pairs_of(words: Sequence[str]) -> Iterator[Pair]:
    """Each word and the next one.

    >>> list(pairs_of(["New", "York"]))
    [('New', 'York'), ('York', '')]
    """
    return pairwise([*words, BOUNDARY])


def new_bilstm(
    sentences: Iterable[Sequence[str]],
    config: BiLSTMConfig,
    *,
    min_count: int = 2,
    vectors: tuple[list[str], Tensor] | None = None,
) -> tuple[BiLSTMEncoder, PreTrainedTokenizerFast]:
    """A fresh encoder and its tokenizer; the sizes that follow from words and vectors take the place of `config`'s.

    sentences   the words of each document of the training corpus
    min_count   words seen less often are unknown, unless they have a vector, and so are pairs of words; with 1, nothing
                trains the unknown word
    vectors     given words, which are all known whether the corpus has them or not, and their vectors (word, size)
    """
    fold = _fold(config.lowercase)
    row_of = _rows(vectors[0], fold) if vectors is not None else {}
    folded = [list(map(fold, sentence)) for sentence in sentences]
    seen = vocabulary(chain.from_iterable(folded), min_count, always=row_of)
    tokenizer = word_tokenizer([*seen, *row_of], config.lowercase)
    words = len({PADDING, UNKNOWN, *seen})
    pairs = vocabulary(chain.from_iterable(map(pairs_of, folded)), min_count) if config.bigrams else ()
    config = replace(config, words=words, unseen=len(tokenizer) - words, pairs=tuple(pairs))
    if vectors is None:
        return BiLSTMEncoder(config), tokenizer
    table = vectors[1]
    encoder = BiLSTMEncoder(replace(config, size=table.shape[1]))
    weight = torch.randn(len(tokenizer), table.shape[1]) * table.std(correction=0)
    ids = tokenizer.get_vocab()
    weight[[ids[word] for word in row_of]] = table[list(row_of.values())]
    weight[0] = 0  # a file may have a vector for "[PAD]"
    encoder.words.weight.data.copy_(weight[:words])
    if encoder.unseen is not None:
        encoder.unseen.copy_(weight[words:])
    return encoder, tokenizer


def vocabulary(surfaces: Iterable[Entry], min_count: int, *, always: Container[str] = ()) -> list[Entry]:
    """Words, or pairs, seen at least so often, or at all if among `always`: the frequent first, then by the alphabet.

    >>> vocabulary(["b", "c", "a", "b", "c", "d"], 1)
    ['b', 'c', 'a', 'd']
    """
    counts = Counter(surfaces)
    chosen = (word for word, count in counts.items() if count >= min_count or word in always)
    return sorted(chosen, key=lambda word: (-counts[word], word))


def word_tokenizer(words: Iterable[str], lowercase: bool) -> PreTrainedTokenizerFast:
    """A tokenizer that makes one piece of a word whatever its characters, and adds none around a text."""
    from tokenizers import Regex, Tokenizer, models, normalizers
    from transformers import PreTrainedTokenizerFast

    entries = dict.fromkeys([PADDING, UNKNOWN, *map(_fold(lowercase), words)])
    ids = {word: number for number, word in enumerate(entries)}
    tokenizer = Tokenizer(models.WordLevel(ids, unk_token=UNKNOWN))
    # In a text the word "[PAD]" is not padding.
    tokenizer.normalizer = normalizers.Lowercase() if lowercase else normalizers.Replace(Regex(r"\A\[PAD\]\z"), UNKNOWN)
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token=PADDING,
        unk_token=UNKNOWN,
        split_special_tokens=True,  # else "x[UNK]y" were three pieces
    )


def _fold(lowercase: bool) -> Callable[[str], str]:
    """What the tokenizer does to a word before it looks it up."""
    from tokenizers import normalizers

    # str.lower differs: it knows the final sigma.
    return normalizers.Lowercase().normalize_str if lowercase else str


def _rows(words: list[str], fold: Callable[[str], str]) -> dict[str, int]:
    """Each folded word with the row of its vector: that of the same spelling, or else of the first that folds to it."""
    folded = list(map(fold, words))
    row_of: dict[str, int] = {}
    for row in sorted(range(len(words)), key=lambda row: folded[row] != words[row]):
        row_of.setdefault(folded[row], row)
    return row_of
