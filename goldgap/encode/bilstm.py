"""A BiLSTM over word vectors, learned or given: the encoder of before pretraining, one piece a word."""

from __future__ import annotations

import json
import math
from array import array
from collections import Counter
from collections.abc import Callable, Container, Iterable
from dataclasses import asdict, dataclass, replace
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from goldgap.core.errors import InputError
from goldgap.core.files import read_text
from goldgap.core.notes import Notes
from goldgap.corpus.lines import iterate_lines
from goldgap.encode.batch import Batch
from goldgap.encode.encoder import WordVectors, shape_embedding

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

CONFIG = "config.json"
PADDING, UNKNOWN = "[PAD]", "[UNK]"
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
    """

    words: int = 2
    unseen: int = 0
    size: int = 100
    hidden: int = 200
    dropout: float = 0.5
    lowercase: bool = True
    shapes: bool = True
    freeze: bool = False

    @classmethod
    def read(cls, folder: Path) -> BiLSTMConfig:
        return cls(**json.loads(read_text(folder / CONFIG)))


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
        self.lstm = nn.LSTM(config.size, config.hidden, batch_first=True, bidirectional=True)
        self.shapes = shape_embedding(self.dimension) if config.shapes else None
        self.norm = nn.LayerNorm(self.dimension)
        nn.init.normal_(self.words.weight, std=1 / math.sqrt(config.size))
        self.words.weight.data[0] = 0
        self.words.weight.requires_grad_(not config.freeze)

    def pretrained(self) -> list[nn.Parameter]:
        return []

    def piece_limit(self, tokenizer: object) -> int:
        return LIMIT

    def save_config(self, folder: Path) -> None:
        (folder / CONFIG).write_text(json.dumps(asdict(self.config)) + "\n", encoding="utf-8")

    def forward(self, batch: Batch) -> WordVectors:
        count, width = batch.pieces.shape
        if count == 0 or width == 0:
            nothing = self.norm.weight.new_zeros(count, width, self.dimension)
            return WordVectors(nothing, nothing, nothing.new_zeros(count, self.dimension))
        vectors = self.dropout(self._look_up(batch.pieces))  # (batch, word, size)
        lengths = batch.words.clamp(min=1).cpu()  # an example without words cannot be packed: one padding is read
        packed = pack_padded_sequence(vectors, lengths, batch_first=True, enforce_sorted=False)
        states, _ = pad_packed_sequence(self.lstm(packed)[0], batch_first=True, total_length=width)
        states = self.norm(states)  # (batch, word, dimension)
        inside = (torch.arange(width) < lengths[:, None]).to(states).unsqueeze(-1)  # (batch, word, 1)
        whole = (states * inside).sum(1) / inside.sum(1)
        if self.shapes is not None:
            states = states + self.shapes(batch.shapes)
        return WordVectors(states, states, whole)

    def _look_up(self, ids: Tensor) -> Tensor:
        """(batch, word) -> (batch, word, size)"""
        trained = ids < self.config.words
        vectors: Tensor = self.words(ids.where(trained, 0))
        if self.unseen is None:
            return vectors
        return vectors.where(trained[..., None], self.unseen[(ids - self.config.words).clamp(min=0)])


def new_bilstm(
    surfaces: Iterable[str],
    config: BiLSTMConfig,
    *,
    min_count: int = 2,
    vectors: tuple[list[str], Tensor] | None = None,
) -> tuple[BiLSTMEncoder, PreTrainedTokenizerFast]:
    """A fresh encoder and its tokenizer; the sizes that follow from words and vectors take the place of `config`'s.

    surfaces    every word of the training corpus
    min_count   words seen less often are unknown, unless they have a vector; with 1, nothing trains the unknown word
    vectors     given words, which are all known whether the corpus has them or not, and their vectors (word, size)
    """
    fold = _fold(config.lowercase)
    row_of = _rows(vectors[0], fold) if vectors is not None else {}
    seen = vocabulary(map(fold, surfaces), min_count, always=row_of)
    tokenizer = word_tokenizer([*seen, *row_of], config.lowercase)
    words = len({PADDING, UNKNOWN, *seen})
    config = replace(config, words=words, unseen=len(tokenizer) - words)
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


def vocabulary(surfaces: Iterable[str], min_count: int, *, always: Container[str] = ()) -> list[str]:
    """The words seen at least so often, or at all if among `always`: the most frequent first, then by the alphabet.

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
    return PreTrainedTokenizerFast(  # type: ignore[no-untyped-call]
        tokenizer_object=tokenizer,
        pad_token=PADDING,
        unk_token=UNKNOWN,
        split_special_tokens=True,  # else "x[UNK]y" were three pieces
    )


def read_vectors(path: Path) -> tuple[list[str], Tensor]:
    """Words and their vectors (word, size) from the text format of GloVe and word2vec; of equal words the first counts.

    Words may contain blanks: a line ends in as many numbers as the first one. word2vec writes the number of words and
    of numbers on a line before.
    """
    row_of: dict[str, int] = {}
    values, lines = array("f"), array("L")
    announced = size = 0
    for line, text in enumerate(iterate_lines(path, Notes()), start=1):
        text = text.rstrip(" ")  # word2vec ends lines in a blank
        if line == 1:
            announced, size = _header(text)
        if not text or (line == 1 and announced):
            continue
        try:
            word, vector = _entry(text, size)
        except ValueError as error:
            raise InputError(str(error), path=path, line=line) from None
        row_of.setdefault(word, len(lines))
        values.extend(vector)
        lines.append(line)
    if not lines or announced not in (0, len(lines)):
        expected = f"{announced:,} as line 1 says" if announced else "some"
        raise InputError(f"{len(lines):,} vectors, expected {expected}; is the file whole?", path=path)
    table = torch.frombuffer(values, dtype=torch.float32).view(-1, size)
    infinite = (~table.isfinite()).any(1).nonzero()
    if len(infinite):
        raise InputError("a number that is not finite", path=path, line=lines[int(infinite[0])])
    return list(row_of), table if len(row_of) == len(lines) else table[list(row_of.values())]


def _header(text: str) -> tuple[int, int]:
    """Words and numbers of each that the first line announces; (0, numbers of this line) where it is an entry."""
    fields = text.split(" ")
    if len(fields) == 2 and all(field.isascii() and field.isdecimal() for field in fields):
        return int(fields[0]), int(fields[1])
    return 0, _numbers_behind(text)


def _entry(text: str, size: int) -> tuple[str, array[float]]:
    """A word and its vector; ValueError where a line has not that many numbers, or more."""
    word, *numbers = text.rsplit(" ", size) if size else [text]
    tail = word.rpartition(" ")[2]
    if not numbers or len(numbers) < size or not tail or (tail != word and _is_number(tail)):
        raise ValueError(
            f"a word with {_numbers_behind(text)} numbers, expected {size or 'some'}, all apart by one blank. "
            "Does the word end in a number of its own? Join its parts with _"
        )
    try:
        return word, array("f", list(map(float, numbers)))
    except ValueError:
        wrong = next(field for field in numbers if not _is_number(field))
        raise ValueError(f"{wrong!r} is not a number, expected {size} behind the word") from None


def _numbers_behind(text: str) -> int:
    """Fields at the end of a line that are numbers; the first is a word whatever it looks like."""
    fields = text.split(" ")[1:]
    return sum(1 for _ in takewhile(_is_number, reversed(fields)))


def _is_number(field: str) -> bool:
    try:
        float(field)
    except ValueError:
        return False
    return True


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
