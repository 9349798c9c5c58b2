"""A recipe to a model: fresh for training, or empty for the weights of a saved one."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import torch

from goldgap.core.corpus import Corpus
from goldgap.core.labels import Labels
from goldgap.corpus.words import words_of
from goldgap.encode.bilstm import BiLSTMConfig, BiLSTMEncoder, new_bilstm
from goldgap.encode.encoder import Encoder, load_tokenizer
from goldgap.encode.flat import FlatEncoder
from goldgap.encode.names import BILSTM, FLAT
from goldgap.encode.transformer import TransformerEncoder, empty_transformer, load_transformer
from goldgap.encode.vectors import read_vectors
from goldgap.models.bi_encoder import BiEncoder, BiEncoderShape, read_texts
from goldgap.models.model import Model
from goldgap.models.span import SpanHead
from goldgap.models.span_model import SpanModel
from goldgap.models.tagger import Tagger
from goldgap.models.tagset import TagSet
from goldgap.models.types import AtomicTypes, TypeReader, TypeText
from goldgap.train.describe import SHOWN, type_texts
from goldgap.train.hosts import new_flat_for, read_with_lexicon, with_lexicon
from goldgap.train.recipe import EncoderSettings, Recipe


class EncoderKind(NamedTuple):
    """How an encoder comes to be: fresh with its tokenizer, or empty from a folder that a model was saved in."""

    new: Callable[[Recipe, Corpus], tuple[Encoder, Any]]
    empty: Callable[[Recipe, Path], Encoder]


class Parts(NamedTuple):
    """What a model is put together from; `texts` say what each type is, to a bi-encoder that reads them."""

    labels: Labels
    encoder: Any
    tokenizer: Any
    texts: list[list[TypeText]]


def build(recipe: Recipe, corpus: Corpus) -> Model:
    """A fresh model, whose new weights depend on the seed alone."""
    torch.manual_seed(recipe.seed)
    encoder, tokenizer = _kind_of(recipe.encoder).new(recipe, corpus)
    texts = type_texts(recipe, corpus, tokenizer) if _reads_types(recipe) else []
    return _assemble(recipe, Parts(corpus.labels, encoder, tokenizer, texts))


def rebuild(recipe: Recipe, labels: Labels, folder: Path) -> Model:
    """The model of a saved recipe, still without its weights."""
    encoder, texts = _kind_of(recipe.encoder).empty(recipe, folder), read_texts(folder) if _reads_types(recipe) else []
    return _assemble(recipe, Parts(labels, encoder, load_tokenizer(folder), texts))


def _kind_of(settings: EncoderSettings) -> EncoderKind:
    return _LOOK_UP.get(settings.name, _TRANSFORMER)


def _new_bilstm(recipe: Recipe, corpus: Corpus) -> tuple[Encoder, Any]:
    settings = recipe.encoder
    sentences = ([document.text[a:b] for a, b in words_of(document)] for document in corpus)
    vectors = read_vectors(Path(settings.vectors)) if settings.vectors else None
    config = BiLSTMConfig(
        size=settings.size,
        hidden=settings.hidden,
        dropout=settings.dropout,
        lowercase=settings.lowercase,
        shapes=settings.shapes,
        freeze=settings.freeze,
        bigrams=settings.bigrams,
    )
    return new_bilstm(sentences, config, min_count=settings.min_count, vectors=vectors)


def _new_transformer(recipe: Recipe, corpus: Corpus) -> tuple[Encoder, Any]:
    pretrained, tokenizer = load_transformer(recipe.encoder.name)
    torch.manual_seed(recipe.seed)  # loading draws weights as well
    encoder = TransformerEncoder(pretrained, **_transformer(recipe.encoder))
    return encoder if recipe.lexicon.used == "no" else with_lexicon(recipe, encoder, corpus), tokenizer


def _empty_transformer(recipe: Recipe, folder: Path) -> Encoder:
    encoder = TransformerEncoder(empty_transformer(folder), **_transformer(recipe.encoder))
    return encoder if recipe.lexicon.used == "no" else read_with_lexicon(recipe, encoder, folder)


def _transformer(settings: EncoderSettings) -> dict[str, Any]:
    return {"shapes": settings.shapes, "pooling": settings.pooling, "layers": settings.layers}


_LOOK_UP = {
    BILSTM: EncoderKind(_new_bilstm, lambda _, folder: BiLSTMEncoder(BiLSTMConfig.read(folder))),
    FLAT: EncoderKind(new_flat_for, lambda _, folder: FlatEncoder.read(folder)),
}
_TRANSFORMER = EncoderKind(_new_transformer, _empty_transformer)
"""What every other name is, or a folder."""


def _reads_types(recipe: Recipe) -> bool:
    return recipe.model.kind == "bi-encoder" and recipe.bi_encoder.describe != "atomic"


def _assemble(recipe: Recipe, parts: Parts) -> Model:
    return _MODELS[recipe.model.kind](recipe, parts, overlap=recipe.train.overlap, window=recipe.encoder.window)


def _span_model(recipe: Recipe, parts: Parts, **windows: int) -> Model:
    settings = recipe.model
    head = SpanHead(
        parts.encoder.dimension,
        len(parts.labels) + 1,
        head=settings.head,
        max_width=settings.max_width,
        hidden=settings.hidden,
        width_size=settings.width_size,
        dropout=settings.dropout,
        several=settings.several,
        features=settings.features,
    )
    return SpanModel(parts.encoder, head, parts.labels, parts.tokenizer, **windows)


def _tagger(recipe: Recipe, parts: Parts, **windows: int) -> Model:
    tagset = TagSet(parts.labels, recipe.tagger.scheme, none=recipe.two_step.none > 0)
    crf, angle = recipe.loss.name == "crf", recipe.tagger.angle
    dropout = recipe.model.dropout
    return Tagger(parts.encoder, tagset, parts.tokenizer, crf=crf, angle=angle, dropout=dropout, **windows)


def _bi_encoder(recipe: Recipe, parts: Parts, **windows: int) -> Model:
    model, own = recipe.model, recipe.bi_encoder
    shape = BiEncoderShape(
        max_width=model.max_width,
        train_all=own.train_all,
        size=own.size,
        width_size=model.width_size,
        temperature=own.temperature,
        dropout=model.dropout,
        share_projections=own.share_projections,
        thresholds=own.thresholds,
        several=model.several,
    )
    return BiEncoder(parts.encoder, _types(recipe, parts), parts.labels, parts.tokenizer, shape, **windows)


def _types(recipe: Recipe, parts: Parts) -> TypeReader | AtomicTypes:
    options, encoder = recipe.bi_encoder, parts.encoder
    if not parts.texts:
        return AtomicTypes(len(parts.labels), encoder.dimension)
    return TypeReader(
        encoder.model if options.share_encoders else copy.deepcopy(encoder.model),
        parts.texts,
        padding=parts.tokenizer.pad_token_id or 0,
        shared=options.share_encoders,
        draw=SHOWN if options.describe == "prototypes" else 0,
        pooling=options.pooling,
    )


_MODELS: dict[str, Callable[..., Model]] = {"span": _span_model, "tagger": _tagger, "bi-encoder": _bi_encoder}
