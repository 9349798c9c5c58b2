"""Encoders that read a lexicon beside the text: made for a recipe, or rebuilt from a folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from goldgap.core.corpus import Corpus
from goldgap.core.errors import ConfigError, InputError
from goldgap.corpus.words import words_of
from goldgap.encode.adapter import AdapterConfig, AdapterEncoder
from goldgap.encode.encoder import Encoder
from goldgap.encode.flat import FlatConfig, FlatEncoder, new_flat
from goldgap.encode.lexicon import Lexicon, jieba_words, occurring, read_lexicon
from goldgap.encode.transformer import TransformerEncoder
from goldgap.encode.vectors import read_vectors
from goldgap.encode.word_attention import Vectors, WordAttentionConfig, WordAttentionEncoder
from goldgap.train.recipe import Recipe


def lexicon_for(recipe: Recipe, corpus: Corpus) -> tuple[Lexicon, Vectors | None]:
    """The lexicon of a recipe, and given vectors of its words.

    Without given vectors it has the entries that stand in the corpus, as the vectors of others would never be learned;
    with them, the entries that have one.
    """
    options = recipe.lexicon
    vectors = read_vectors(Path(options.vectors)) if options.vectors else None
    words = read_lexicon(Path(options.file)) if options.file else _general_words(corpus)
    if options.file and options.jieba:
        words += jieba_words()
    if vectors is None:
        made, why = occurring(Lexicon(words, fold=True), corpus.documents), "stands in the training files"
    else:
        known = Lexicon(vectors[0], fold=True)
        spelled = {known.spell(word) for word in known.words}
        made = Lexicon((word for word in words if known.spell(word) in spelled), fold=True)
        why = f"has a vector in {options.vectors}"
    if not len(made):
        raise InputError(
            f"none of the {len(words):,} words of the lexicon {why}; expected one a line, as they stand in the text",
            path=Path(options.file) if options.file else None,
        )
    return made, vectors


def _general_words(corpus: Corpus) -> list[str]:
    """The words of jieba, for text that has no blanks between words.

    The annotated entities would not do: each would be found where it is annotated, which teaches that whatever is found
    is an entity.
    """
    if not _is_unspaced(corpus):
        raise ConfigError("no lexicon: name a file with one word a line, or a dictionary, with lexicon.file=FILE")
    return jieba_words()


def _is_unspaced(corpus: Corpus) -> bool:
    """Whether most words touch the next."""
    touching = total = 0
    for document in corpus:
        words = words_of(document)
        total += max(len(words) - 1, 0)
        touching += sum(words[index][1] == words[index + 1][0] for index in range(len(words) - 1))
    return 2 * touching > total


def new_flat_for(recipe: Recipe, corpus: Corpus) -> tuple[FlatEncoder, Any]:
    """A fresh FLAT and its tokenizer; given vectors of the lexicon stay as they are."""
    own = recipe.encoder
    lexicon, entry_vectors = lexicon_for(recipe, corpus)
    sentences = ([document.text[a:b] for a, b in words_of(document)] for document in corpus)
    config = FlatConfig(
        size=own.size,
        entry_size=recipe.lexicon.size,
        hidden=own.hidden,
        dropout=own.dropout,
        lowercase=own.lowercase,
        shapes=own.shapes,
        freeze=own.freeze,
        freeze_entries=entry_vectors is not None,
    )
    vectors = read_vectors(Path(own.vectors)) if own.vectors else None
    return new_flat(sentences, lexicon, config, min_count=own.min_count, vectors=vectors, entry_vectors=entry_vectors)


def with_lexicon(recipe: Recipe, encoder: TransformerEncoder, corpus: Corpus) -> Encoder:
    """The encoder with the lexicon of the recipe around it or inside; given vectors stay as they are."""
    options = recipe.lexicon
    lexicon, vectors = lexicon_for(recipe, corpus)
    shared: dict[str, Any] = {"size": options.size, "most": options.most, "freeze": vectors is not None}
    if options.used == "attention":
        config = WordAttentionConfig(**shared, hidden=options.hidden, dropout=recipe.model.dropout)
        return WordAttentionEncoder.new(encoder, lexicon, config, entry_vectors=vectors)
    inside = AdapterConfig(**shared, layer=options.layer, dropout=recipe.model.dropout)
    return AdapterEncoder.new(encoder, lexicon, inside, entry_vectors=vectors)


def read_with_lexicon(recipe: Recipe, encoder: TransformerEncoder, folder: Path) -> Encoder:
    """The same around an empty encoder, from what its `save_config` wrote."""
    return (WordAttentionEncoder if recipe.lexicon.used == "attention" else AdapterEncoder).read(folder, encoder)
