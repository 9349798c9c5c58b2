"""FLAT (Li et al. 2020): one transformer over the words of a text and the entries of a lexicon found in it."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from goldgap.core.errors import ConfigError
from goldgap.core.reading import read_text
from goldgap.encode.batch import Batch
from goldgap.encode.bilstm import BiLSTMConfig, look_up, new_bilstm
from goldgap.encode.device import precise
from goldgap.encode.encoder import WordVectors, shape_embedding
from goldgap.encode.lexicon import Lexicon, entry_embedding, flat_lattice, give_vectors

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

CONFIG = "config.json"
LIMIT = 256
"""Words of a window: memory grows with the square of items."""


@dataclass(frozen=True, slots=True)
class FlatConfig:
    """What an encoder is rebuilt from, but for its weights and its lexicon.

    words                  entries of the tokenizer that are trained: padding, unknown, those of the training corpus
    unseen                 entries behind them that have a given vector and no more
    size, entry_size       of the vector of a word, of an entry of the lexicon
    hidden, heads          size of the transformer, and the heads that share it
    widen                  how many times larger its feed-forward is inside
    dropout                of the vectors of words and entries
    residual_dropout       of what attention and feed-forward add
    feed_forward_dropout   inside the feed-forward
    output_dropout         of the vectors that come out
    lowercase              whether words that differ in case alone share a vector
    fold                   whether entries are found in any case
    freeze                 vectors of words and entries stay as they are, those that started at random too
    freeze_entries         those of entries alone do
    """

    words: int = 2
    unseen: int = 0
    size: int = 50
    entry_size: int = 50
    hidden: int = 160
    heads: int = 8
    layers: int = 1
    widen: int = 3
    dropout: float = 0.5
    residual_dropout: float = 0.3
    feed_forward_dropout: float = 0.15
    output_dropout: float = 0.3
    lowercase: bool = True
    shapes: bool = True
    fold: bool = False
    freeze: bool = False
    freeze_entries: bool = False

    @classmethod
    def read(cls, folder: Path) -> FlatConfig:
        return cls(**json.loads(read_text(folder / CONFIG)))


class FlatEncoder(nn.Module):
    """Words and entries as items of one transformer that sees where each begins and ends; words come out of it.

    The vector for the whole text is the mean over its words, 0 without any.
    """

    unseen: Tensor | None

    def __init__(self, lexicon: Lexicon, config: FlatConfig) -> None:
        super().__init__()
        if config.hidden % config.heads or config.hidden % 2:
            raise ConfigError(f"a hidden size of {config.hidden}, expected a multiple of 2 and of {config.heads} heads")
        self.lexicon, self.config = lexicon, config
        self.dimension = config.hidden
        self.words = nn.Embedding(config.words, config.size, padding_idx=0)
        # Apart, as an optimiser would go through all of them at every step, and decay would shrink them.
        self.register_buffer("unseen", torch.zeros(config.unseen, config.size) if config.unseen else None)
        self.entries = entry_embedding(len(lexicon), config.entry_size, freeze=config.freeze or config.freeze_entries)
        self.from_words = nn.Linear(config.size, config.hidden)
        self.from_entries = nn.Linear(config.entry_size, config.hidden)
        self.positions = RelativePositions(config.hidden)
        self.layers = nn.ModuleList(FlatLayer(config) for _ in range(config.layers))
        self.dropout, self.output_dropout = nn.Dropout(config.dropout), nn.Dropout(config.output_dropout)
        self.shapes = shape_embedding(self.dimension) if config.shapes else None
        nn.init.normal_(self.words.weight, std=1 / math.sqrt(config.size))
        self.words.weight.data[0] = 0
        self.words.weight.requires_grad_(not config.freeze)

    @classmethod
    def read(cls, folder: Path) -> FlatEncoder:
        """What `save_config` wrote, still without its weights."""
        config = FlatConfig.read(folder)
        return cls(Lexicon.read(folder, fold=config.fold), config)

    def pretrained(self) -> list[nn.Parameter]:
        return []

    def piece_limit(self, tokenizer: object) -> int:
        return LIMIT

    def save_config(self, folder: Path) -> None:
        (folder / CONFIG).write_text(json.dumps(asdict(self.config)) + "\n", encoding="utf-8")
        self.lexicon.save(folder)

    def forward(self, batch: Batch) -> WordVectors:
        count, width = batch.pieces.shape
        if count == 0 or width == 0:
            nothing = self.from_words.weight.new_zeros(count, width, self.dimension)
            return WordVectors(nothing, nothing, nothing.new_zeros(count, self.dimension))
        found = flat_lattice(batch.examples, self.lexicon)
        entries, heads, tails, mask = (column.to(batch.pieces.device) for column in found)
        items = torch.cat(
            [
                self.from_words(self.dropout(look_up(self.words, self.unseen, batch.pieces))),
                self.from_entries(self.dropout(self.entries(entries))),
            ],
            1,
        )  # (batch, item, hidden)
        relations, index = self.positions(heads, tails)
        for layer in self.layers:
            items = layer(items, relations, index, mask)
        states = self.output_dropout(items[:, :width])  # (batch, word, hidden)
        inside = mask[:, :width].to(states).unsqueeze(-1)
        whole = (states * inside).sum(1) / inside.sum(1).clamp(min=1)
        if self.shapes is not None:
            states = states + self.shapes(batch.shapes)
        return WordVectors(states, states, whole)


class RelativePositions(nn.Module):
    """How two items lie to each other: ReLU(W [p(hh); p(ht); p(th); p(tt)]), p the sinusoids of a distance (eq. 8).

    The four distances between heads and tails follow from that of the heads and the lengths of both items, of which
    few kinds occur: each is computed once, from one table for each of the four parts of W.
    """

    def __init__(self, hidden: int) -> None:
        super().__init__()
        self.fuse = nn.Linear(4 * hidden, hidden)

    def forward(self, heads: Tensor, tails: Tensor) -> tuple[Tensor, Tensor]:
        """(batch, item), (batch, item) -> relations (relation, hidden), which of them holds (batch, item, item)"""
        distances, index = _relations(heads, tails)
        farthest = int(distances.abs().max())
        hidden, weight = self.fuse.out_features, self.fuse.weight
        waves = sinusoids(torch.arange(-farthest, farthest + 1, device=weight.device), hidden).to(weight)
        tables = (waves @ part.T for part in weight.chunk(4, 1))  # each (2 farthest + 1, hidden)
        fused = sum(table[column + farthest] for table, column in zip(tables, distances, strict=True))
        return torch.relu(fused + self.fuse.bias), index


def _relations(heads: Tensor, tails: Tensor) -> tuple[Tensor, Tensor]:
    """The distances hh, ht, th, tt of every relation that occurs (4, relation), and where (batch, item, item)."""
    extents, kind = torch.unique(tails - heads, return_inverse=True)
    reach, kinds = int(tails.max()), len(extents)
    shift = heads[:, :, None] - heads[:, None] + reach  # (batch, item, item)
    code = (shift * kinds + kind[:, :, None]) * kinds + kind[:, None]
    occurs = torch.zeros((2 * reach + 1) * kinds * kinds, dtype=torch.bool, device=code.device)
    occurs[code] = True
    used = occurs.nonzero().squeeze(1)
    head = used // (kinds * kinds) - reach
    own, other = extents[used // kinds % kinds], extents[used % kinds]
    distances = torch.stack([head, head - other, head + own, head + own - other])
    return distances, (occurs.cumsum(0) - 1)[code]


def sinusoids(positions: Tensor, size: int) -> Tensor:
    """Sines, then cosines, of waves that grow longer (eq. 9, 10).  (position,) -> (position, size)"""
    half = size // 2
    rates = torch.exp(precise(torch.arange(half, device=positions.device)) * (-math.log(10_000) / half))
    angles = precise(positions)[:, None] * rates
    return torch.cat([angles.sin(), angles.cos()], 1)


class FlatLayer(nn.Module):
    """Self-attention with relative positions as in Transformer-XL, then a feed-forward, each added and normalised.

    content, place   what is added to a query before it meets keys, and before it meets positions. They take the place
                     of the query's bias, and are vectors as that is; one of keys or positions would change nothing.
    """

    def __init__(self, config: FlatConfig) -> None:
        super().__init__()
        hidden, self.heads = config.hidden, config.heads
        self.query, self.key, self.value, self.position = (nn.Linear(hidden, hidden, bias=False) for _ in range(4))
        self.content, self.place = (nn.Parameter(torch.zeros(hidden)) for _ in range(2))
        self.out = nn.Linear(hidden, hidden)
        self.feed_forward = nn.Sequential(
            nn.Linear(hidden, config.widen * hidden),
            nn.ReLU(),
            nn.Dropout(config.feed_forward_dropout),
            nn.Linear(config.widen * hidden, hidden),
        )
        self.attention_norm, self.feed_forward_norm = nn.LayerNorm(hidden), nn.LayerNorm(hidden)
        self.dropout = nn.Dropout(config.residual_dropout)

    def forward(self, items: Tensor, relations: Tensor, index: Tensor, mask: Tensor) -> Tensor:
        """(batch, item, hidden), (relation, hidden), (batch, item, item), (batch, item) -> (batch, item, hidden)"""
        items = self.attention_norm(items + self.dropout(self._attend(items, relations, index, mask)))
        return self.feed_forward_norm(items + self.dropout(self.feed_forward(items)))  # type: ignore[no-any-return]

    def _attend(self, items: Tensor, relations: Tensor, index: Tensor, mask: Tensor) -> Tensor:
        query, key, value, position = (
            layer(read).unflatten(-1, (self.heads, -1))  # (batch, item, head, size); position (relation, head, size)
            for layer, read in zip(
                (self.query, self.key, self.value, self.position), (items, items, items, relations), strict=True
            )
        )
        content, place = (vector.view(self.heads, -1) for vector in (self.content, self.place))
        scores = torch.einsum("bihd,bjhd->bhij", query + content, key)
        # One product with every relation, of which each pair picks its own: faster than to look up position[index].
        by_relation = torch.einsum("bihd,rhd->bhir", query + place, position)
        scores = scores + by_relation.gather(3, index[:, None].expand(-1, self.heads, -1, -1))
        scores = scores / math.sqrt(query.shape[-1])
        scores = scores.masked_fill(~mask[:, None, None], torch.finfo(scores.dtype).min)
        mixed = torch.einsum("bhij,bjhd->bihd", torch.softmax(scores, -1), value)
        return self.out(mixed.flatten(2))  # type: ignore[no-any-return]


def new_flat(
    sentences: Iterable[Sequence[str]],
    lexicon: Lexicon,
    config: FlatConfig,
    *,
    min_count: int = 2,
    vectors: tuple[list[str], Tensor] | None = None,
    entry_vectors: tuple[list[str], Tensor] | None = None,
) -> tuple[FlatEncoder, PreTrainedTokenizerFast]:
    """A fresh encoder and its tokenizer; what follows from words, lexicon and vectors takes `config`'s place.

    sentences      the words of each document of the training corpus
    min_count      words seen less often are unknown, unless they have a vector; with 1, nothing trains the unknown word
    vectors        given words, which are all known whether the corpus has them or not, and their vectors (word, size)
    entry_vectors   the same for the lexicon: of these only entries count

    Given vectors are made as long as learned ones begin: attention without a norm before it drowns in longer ones.
    """
    # Words and their vectors are those that a BiLSTM would have.
    like = BiLSTMConfig(size=config.size, hidden=1, lowercase=config.lowercase, shapes=False, freeze=config.freeze)
    given, tokenizer = new_bilstm(sentences, like, min_count=min_count, vectors=vectors and _of_length_one(*vectors))
    size = {name: getattr(given.config, name) for name in ("words", "unseen", "size")}
    entry_size = config.entry_size if entry_vectors is None else entry_vectors[1].shape[1]
    encoder = FlatEncoder(lexicon, replace(config, **size, entry_size=entry_size, fold=lexicon.fold))
    encoder.words.weight.data.copy_(given.words.weight)
    if encoder.unseen is not None and given.unseen is not None:
        encoder.unseen.copy_(given.unseen)
    if entry_vectors is not None:
        give_vectors(encoder.entries, lexicon, *_of_length_one(*entry_vectors))
    return encoder, tokenizer


def _of_length_one(words: list[str], table: Tensor) -> tuple[list[str], Tensor]:
    return words, nn.functional.normalize(table, dim=1)
