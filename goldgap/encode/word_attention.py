"""BERT+Word: an encoder's vector of each word beside those of the lexicon's entries that contain it, under a BiLSTM."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Self

import torch
from torch import Tensor, nn

from goldgap.core.reading import read_text
from goldgap.encode.batch import Batch
from goldgap.encode.bilstm import read_both_ways
from goldgap.encode.encoder import Encoder, WordVectors
from goldgap.encode.lexicon import MOST, Lexicon, entry_embedding, give_vectors, lattice

Vectors = tuple[list[str], Tensor]
"""Words and their vectors (word, size)."""


@dataclass(frozen=True, slots=True)
class WordAttentionConfig:
    """What is rebuilt around the wrapped encoder, but for weights and lexicon.

    size      of an entry's vector
    hidden    size of the LSTM's state, in each direction
    most      entries that stand for one word at most
    dropout   of entries behind their projection, and of what the LSTM reads
    fold      whether entries are found in any case
    freeze    entries' vectors stay as they are, those that started at random too
    """

    size: int = 200
    hidden: int = 300
    most: int = MOST
    dropout: float = 0.5
    fold: bool = False
    freeze: bool = False


class EntryAttention(nn.Module):
    """Vectors of a lexicon's entries, weighed by how well they fit the state that they belong to (LEBERT, 2021).

    dimension   of a state
    entries     of the lexicon
    size        of an entry's vector
    """

    def __init__(self, dimension: int, entries: int, size: int, *, dropout: float, freeze: bool) -> None:
        super().__init__()
        self.entries = entry_embedding(entries, size, freeze=freeze)
        self.inner = nn.Linear(size, dimension)
        self.outer = nn.Linear(dimension, dimension)
        self.bilinear = nn.Parameter(torch.randn(dimension, dimension) * 0.02)
        self.dropout = nn.Dropout(dropout)

    def forward(self, states: Tensor, ids: Tensor) -> Tensor:
        """(batch, item, dimension), (batch, item, most) -> (batch, item, dimension), 0 where all ids are 0"""
        distinct, place = torch.unique(ids, return_inverse=True)
        projected = self.outer(torch.tanh(self.inner(self.entries(distinct))))  # (distinct, dimension)
        vectors = self.dropout(projected[place])  # (batch, item, most, dimension)
        scores = torch.einsum("bid,bimd->bim", states @ self.bilinear, vectors)
        scores = scores.masked_fill(ids == 0, torch.finfo(scores.dtype).min)
        weights = torch.softmax(scores, -1) * (ids > 0)
        return torch.einsum("bim,bimd->bid", weights, vectors)


class AroundEncoder(nn.Module):
    """What encoders that add a lexicon to another one have in common.

    CONFIG, FILE   the type of their settings, and where these are saved
    """

    CONFIG: ClassVar[type]
    FILE: ClassVar[str]

    encoder: Any
    lexicon: Lexicon
    config: Any
    attention: EntryAttention

    @classmethod
    def new(cls, encoder: Encoder, lexicon: Lexicon, config: Any, *, entry_vectors: Vectors | None = None) -> Self:
        """A fresh one around an encoder; what follows from the lexicon and from given vectors takes `config`'s place.

        entry_vectors   words, of which those in the lexicon count, and their vectors (word, size)
        """
        size = config.size if entry_vectors is None else entry_vectors[1].shape[1]
        made = cls(encoder, lexicon, replace(config, fold=lexicon.fold, size=size))
        if entry_vectors is not None:
            give_vectors(made.attention.entries, lexicon, *entry_vectors)
        return made

    @classmethod
    def read(cls, folder: Path, encoder: Encoder) -> Self:
        """What `save_config` wrote, around the same encoder, still without its weights."""
        config = cls.CONFIG(**json.loads(read_text(folder / cls.FILE)))
        return cls(encoder, Lexicon.read(folder, fold=config.fold), config)

    def pretrained(self) -> list[nn.Parameter]:
        found: list[nn.Parameter] = self.encoder.pretrained()
        return found

    def piece_limit(self, tokenizer: Any) -> int:
        return int(self.encoder.piece_limit(tokenizer))

    def save_config(self, folder: Path) -> None:
        self.encoder.save_config(folder)
        (folder / self.FILE).write_text(json.dumps(asdict(self.config)) + "\n", encoding="utf-8")
        self.lexicon.save(folder)


class WordAttentionEncoder(AroundEncoder):
    """A BiLSTM over [h; z]: h an encoder's vector of a word, z the attention over the entries that contain it.

    h is the mean of what the encoder gives for the start and for the end of a span: they differ for words of several
    pieces alone. The vector for the whole text is the mean over words, 0 without any, as the encoder's own has another
    size.
    """

    CONFIG, FILE = WordAttentionConfig, "word_attention.json"

    def __init__(self, encoder: Encoder, lexicon: Lexicon, config: WordAttentionConfig) -> None:
        super().__init__()
        self.encoder, self.lexicon, self.config = encoder, lexicon, config
        self.dimension = 2 * config.hidden
        inner = encoder.dimension
        self.attention = EntryAttention(inner, len(lexicon), config.size, dropout=config.dropout, freeze=config.freeze)
        self.dropout = nn.Dropout(config.dropout)
        self.lstm = nn.LSTM(2 * inner, config.hidden, batch_first=True, bidirectional=True)

    def forward(self, batch: Batch) -> WordVectors:
        count, width = batch.first.shape
        if count == 0 or width == 0:
            nothing = self.attention.bilinear.new_zeros(count, width, self.dimension)
            return WordVectors(nothing, nothing, nothing.new_zeros(count, self.dimension))
        inner = self.encoder(batch)
        states = (inner.start + inner.end) / 2  # (batch, word, inner dimension)
        ids = lattice(batch.examples, self.lexicon, self.config.most).to(states.device)
        entries = self.attention(states, ids)
        read = self._read(self.dropout(torch.cat([states, entries], -1)), batch.words)  # (batch, word, dimension)
        whole = read.sum(1) / batch.words.clamp(min=1).unsqueeze(-1)
        return WordVectors(read, read, whole)

    def _read(self, vectors: Tensor, words: Tensor) -> Tensor:
        """What the LSTM makes of vectors, 0 in the padding.  (batch, word, size) -> (batch, word, dimension)"""
        states = read_both_ways(self.lstm, vectors, words)
        return states * (words > 0).to(states)[:, None, None]
