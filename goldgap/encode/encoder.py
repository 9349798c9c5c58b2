"""What every encoder offers, and the files of a tokenizer."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple, Protocol

from torch import Tensor, nn

from goldgap.encode.align import Shape
from goldgap.encode.batch import Batch, Special


class WordVectors(NamedTuple):
    """The vector that stands for a word at the start of a span, and at its end, and one for the text as a whole.

    start, end   (batch, word, dimension)
    whole        (batch, dimension)
    """

    start: Tensor
    end: Tensor
    whole: Tensor


class Encoder(Protocol):
    """A module that gives a vector to every word of a batch."""

    dimension: int

    def __call__(self, batch: Batch) -> WordVectors: ...

    def pretrained(self) -> list[nn.Parameter]:
        """The parameters that learn at the encoder's rate; all others are new."""

    def piece_limit(self, tokenizer: Any) -> int:
        """Pieces of a text that fit into one window beside the special ones."""

    def save_config(self, folder: Path) -> None:
        """Write what an empty encoder of the same shape is built from."""


def shape_embedding(dimension: int) -> nn.Embedding:
    """A small vector for each shape of a word, none for padding."""
    embedding = nn.Embedding(len(Shape), dimension, padding_idx=0)
    nn.init.normal_(embedding.weight, std=0.1)
    embedding.weight.data[0] = 0
    return embedding


def load_tokenizer(place: str | Path) -> Any:
    """The fast tokenizer in a directory, or of a name on the hub."""
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(place, use_fast=True, add_prefix_space=True, trust_remote_code=False)
    tokenizer.model_max_length = 10**9  # long texts are cut into windows here: no warning that they are too long
    return tokenizer


def special_pieces(tokenizer: Any) -> Special:
    """What the tokenizer puts around one text."""
    coded = tokenizer("a", return_special_tokens_mask=True)
    pieces, special = coded["input_ids"], coded["special_tokens_mask"]
    text = [index for index, is_special in enumerate(special) if not is_special]
    padding = tokenizer.pad_token_id if tokenizer.pad_token_id is not None else 0
    return Special(pieces[: text[0]], pieces[text[-1] + 1 :], padding)
