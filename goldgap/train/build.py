"""A recipe to a model: fresh for training, or empty for the weights of a saved one."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

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


def build(recipe: Recipe, corpus: Corpus) -> Model:
    """A fresh model, whose new weights depend on the seed alone."""
    settings = recipe.encoder
    torch.manual_seed(recipe.seed)
    encoder: Encoder
    if settings.name == BILSTM:
        sentences = ([document.text[a:b] for a, b in words_of(document)] for document in corpus)
        vectors = read_vectors(Path(settings.vectors)) if settings.vectors else None
        encoder, tokenizer = new_bilstm(sentences, _bilstm(settings), min_count=settings.min_count, vectors=vectors)
    elif settings.name == FLAT:
        encoder, tokenizer = new_flat_for(recipe, corpus)
    else:
        pretrained, tokenizer = load_transformer(settings.name)
        torch.manual_seed(recipe.seed)  # loading draws weights as well
        encoder = inner = TransformerEncoder(pretrained, **_transformer(settings))
        if recipe.lexicon.used != "no":
            encoder = with_lexicon(recipe, inner, corpus)
    texts = type_texts(recipe, corpus, tokenizer) if _reads_types(recipe) else []
    return _assemble(recipe, corpus.labels, encoder, tokenizer, texts)


def rebuild(recipe: Recipe, labels: Labels, folder: Path) -> Model:
    """The model of a saved recipe, still without its weights."""
    tokenizer = load_tokenizer(folder)
    encoder: Encoder
    if recipe.encoder.name == BILSTM:
        encoder = BiLSTMEncoder(BiLSTMConfig.read(folder))
    elif recipe.encoder.name == FLAT:
        encoder = FlatEncoder.read(folder)
    else:
        encoder = inner = TransformerEncoder(empty_transformer(folder), **_transformer(recipe.encoder))
        if recipe.lexicon.used != "no":
            encoder = read_with_lexicon(recipe, inner, folder)
    return _assemble(recipe, labels, encoder, tokenizer, read_texts(folder) if _reads_types(recipe) else [])


def _reads_types(recipe: Recipe) -> bool:
    return recipe.model.kind == "bi-encoder" and recipe.bi_encoder.describe != "atomic"


def _assemble(recipe: Recipe, labels: Labels, encoder: Encoder, tokenizer: Any, texts: list[list[TypeText]]) -> Model:
    """The model around an encoder; `texts` say what each type is, to a bi-encoder that reads them."""
    settings, windows = recipe.model, {"overlap": recipe.train.overlap, "window": recipe.encoder.window}
    if settings.kind == "bi-encoder":
        return BiEncoder(
            encoder, _types(recipe, labels, encoder, tokenizer, texts), labels, tokenizer, _shape(recipe), **windows
        )
    if settings.kind == "tagger":
        tagset = TagSet(labels, recipe.tagger.scheme, none=recipe.two_step.none > 0)
        crf, angle = recipe.loss.name == "crf", recipe.tagger.angle
        return Tagger(encoder, tagset, tokenizer, crf=crf, angle=angle, dropout=settings.dropout, **windows)
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
    return SpanModel(encoder, head, labels, tokenizer, **windows)


def _types(
    recipe: Recipe, labels: Labels, encoder: Any, tokenizer: Any, texts: list[list[TypeText]]
) -> TypeReader | AtomicTypes:
    options = recipe.bi_encoder
    if not texts:
        return AtomicTypes(len(labels), encoder.dimension)
    return TypeReader(
        encoder.model if options.share_encoders else copy.deepcopy(encoder.model),
        texts,
        padding=tokenizer.pad_token_id or 0,
        shared=options.share_encoders,
        draw=SHOWN if options.describe == "prototypes" else 0,
        pooling=options.pooling,
    )


def _shape(recipe: Recipe) -> BiEncoderShape:
    model, own = recipe.model, recipe.bi_encoder
    return BiEncoderShape(
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


def _transformer(settings: EncoderSettings) -> dict[str, Any]:
    return {"shapes": settings.shapes, "pooling": settings.pooling, "layers": settings.layers}


def _bilstm(settings: EncoderSettings) -> BiLSTMConfig:
    return BiLSTMConfig(
        size=settings.size,
        hidden=settings.hidden,
        dropout=settings.dropout,
        lowercase=settings.lowercase,
        shapes=settings.shapes,
        freeze=settings.freeze,
        bigrams=settings.bigrams,
    )
