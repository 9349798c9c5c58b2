"""A recipe to a model: fresh for training, or empty for the weights of a saved one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from goldgap.core.corpus import Corpus
from goldgap.core.labels import Labels
from goldgap.corpus.words import words_of
from goldgap.encode.bilstm import BiLSTMConfig, BiLSTMEncoder, new_bilstm, read_vectors
from goldgap.encode.encoder import BILSTM, Encoder, load_tokenizer
from goldgap.encode.transformer import TransformerEncoder, empty_transformer, load_transformer
from goldgap.models.span import SpanHead
from goldgap.models.span_model import SpanModel
from goldgap.train.recipe import EncoderSettings, Recipe


def build(recipe: Recipe, corpus: Corpus) -> SpanModel:
    """A fresh model, whose new weights depend on the seed alone."""
    settings = recipe.encoder
    torch.manual_seed(recipe.seed)
    encoder: Encoder
    if settings.name == BILSTM:
        surfaces = (document.text[a:b] for document in corpus for a, b in words_of(document))
        vectors = read_vectors(Path(settings.vectors)) if settings.vectors else None
        encoder, tokenizer = new_bilstm(surfaces, _bilstm(settings), min_count=settings.min_count, vectors=vectors)
    else:
        pretrained, tokenizer = load_transformer(settings.name)
        torch.manual_seed(recipe.seed)  # loading draws weights as well
        encoder = TransformerEncoder(pretrained, **_transformer(settings))
    return _assemble(recipe, corpus.labels, encoder, tokenizer)


def rebuild(recipe: Recipe, labels: Labels, folder: Path) -> SpanModel:
    """The model of a saved recipe, still without its weights."""
    tokenizer = load_tokenizer(folder)
    encoder: Encoder
    if recipe.encoder.name == BILSTM:
        encoder = BiLSTMEncoder(BiLSTMConfig.read(folder))
    else:
        encoder = TransformerEncoder(empty_transformer(folder), **_transformer(recipe.encoder))
    return _assemble(recipe, labels, encoder, tokenizer)


def _assemble(recipe: Recipe, labels: Labels, encoder: Encoder, tokenizer: Any) -> SpanModel:
    settings = recipe.model
    head = SpanHead(
        encoder.dimension,
        len(labels) + 1,
        head=settings.head,
        max_width=settings.max_width,
        hidden=settings.hidden,
        width_size=settings.width_size,
        dropout=settings.dropout,
        several=settings.several,
        features=settings.features,
    )
    return SpanModel(encoder, head, labels, tokenizer, overlap=recipe.train.overlap, window=recipe.encoder.window)


def _transformer(settings: EncoderSettings) -> dict[str, Any]:
    return {"shapes": settings.shapes, "pooling": settings.pooling, "layers": settings.layers}


def _bilstm(settings: EncoderSettings) -> BiLSTMConfig:
    return BiLSTMConfig(size=settings.size, hidden=settings.hidden, shapes=settings.shapes, freeze=settings.freeze)
