"""LEBERT: entries of a lexicon are mixed into a pretrained encoder between two of its layers."""

from __future__ import annotations

from dataclasses import dataclass
from operator import attrgetter
from threading import get_ident
from typing import Any

import torch
from torch import Tensor, nn

from goldgap.core.errors import ConfigError
from goldgap.encode.batch import Batch
from goldgap.encode.encoder import WordVectors
from goldgap.encode.lexicon import MOST, Lexicon, lattice
from goldgap.encode.transformer import TransformerEncoder
from goldgap.encode.word_attention import AroundEncoder, EntryAttention

_LAYERS = ("encoder.layer", "transformer.layer", "encoder.layers", "layers")
"""Where encoders keep the list of their layers: BERT and most, DistilBERT, BART-like ones, ModernBERT."""


@dataclass(frozen=True, slots=True)
class AdapterConfig:
    """What is rebuilt around the wrapped encoder, but for weights and lexicon.

    size      of an entry's vector
    layer     entries come in behind this layer; 1 is the first
    most      entries that stand for one word at most
    dropout   of entries behind their projection, and of their sum with the layer's output
    fold      whether entries are found in any case
    freeze    entries' vectors stay as they are, those that started at random too
    """

    size: int = 200
    layer: int = 1
    most: int = MOST
    dropout: float = 0.1
    fold: bool = False
    freeze: bool = False


class AdapterEncoder(AroundEncoder):
    """A transformer that reads, behind one layer, LayerNorm(h + z): z the attention over entries that contain a word.

    Each piece of a word gets the word's entries. Special pieces, padding and words that no entry contains have z = 0
    and are normalised as all others are, so that the next layer sees one kind of input. Outside of `forward` the
    wrapped model is as it was.
    """

    CONFIG, FILE = AdapterConfig, "adapter.json"

    def __init__(self, encoder: TransformerEncoder, lexicon: Lexicon, config: AdapterConfig) -> None:
        super().__init__()
        find_layer(encoder.model, config.layer)
        self.encoder, self.lexicon, self.config = encoder, lexicon, config
        self.dimension = encoder.dimension
        self.attention = EntryAttention(
            self.dimension, len(lexicon), config.size, dropout=config.dropout, freeze=config.freeze
        )
        self.dropout = nn.Dropout(config.dropout)
        self.norm = nn.LayerNorm(self.dimension)

    def forward(self, batch: Batch) -> WordVectors:
        entries = lattice(batch.examples, self.lexicon, self.config.most).to(batch.pieces.device)
        ids = at_pieces(entries, batch)
        layer = find_layer(self.encoder.model, self.config.layer)
        thread = get_ident()

        def adapt(_: nn.Module, arguments: object, output: Any) -> Any:
            return self._adapted(output, ids) if get_ident() == thread else None  # another thread has its own

        # Before all other hooks: those by which transformers records the output of each layer shall see the new one.
        hook = layer.register_forward_hook(adapt, prepend=True)
        try:
            return self.encoder(batch)  # type: ignore[no-any-return]
        finally:
            hook.remove()

    def _adapted(self, output: Any, ids: Tensor) -> Any:
        """The layer's output, a tensor or a tuple that begins with one, with entries mixed in."""
        states: Tensor = output[0] if isinstance(output, tuple) else output  # (batch, piece, dimension)
        states = self.norm(self.dropout(states + self.attention(states, ids)))
        return (states, *output[1:]) if isinstance(output, tuple) else states


def find_layer(model: nn.Module, number: int) -> nn.Module:
    """A layer of a model by its number, from 1."""
    for path in _LAYERS:
        try:
            layers = attrgetter(path)(model)
        except AttributeError:
            continue
        if isinstance(layers, nn.ModuleList):
            if not 1 <= number <= len(layers):
                raise ConfigError(f"no layer {number} in this encoder, expected one of 1 to {len(layers)}")
            return layers[number - 1]
    raise ConfigError(
        f"{type(model).__name__} has no list of layers that a lexicon could come in between; choose an encoder like "
        "BERT, or word attention, which stands behind any encoder"
    )


def at_pieces(ids: Tensor, batch: Batch) -> Tensor:
    """What each word has, for its pieces; 0 for pieces of none.  (batch, word, most) -> (batch, piece, most)"""
    width, length = ids.shape[1], batch.pieces.shape[1]
    piece = torch.arange(length, device=ids.device)
    number = torch.arange(1, width + 1, device=ids.device)
    covers = (batch.first[..., None] <= piece) & (piece <= batch.last[..., None])  # (batch, word, piece)
    covers &= (number <= batch.words[:, None])[..., None]
    owner = (covers * number[:, None]).sum(1)  # (batch, piece): the number of its word, 0 of none
    ids = torch.cat([ids.new_zeros(len(ids), 1, ids.shape[2]), ids], 1)
    return ids.gather(1, owner.unsqueeze(-1).expand(-1, -1, ids.shape[2]))
