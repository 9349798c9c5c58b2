"""What the types of a corpus are, in texts that a type encoder can read."""

from __future__ import annotations

import random
import re
import tomllib
from collections.abc import Container, Iterator, Sequence
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

from goldgap.core.corpus import Corpus
from goldgap.core.document import Document, Entity
from goldgap.core.errors import ConfigError, InputError
from goldgap.core.labels import Labels
from goldgap.core.registry import unknown_name
from goldgap.corpus.words import word_spans, words_of
from goldgap.encode.align import align
from goldgap.encode.encoder import special_pieces
from goldgap.models.types import TypeText
from goldgap.train.recipe import Recipe, TypeSettings

LONGEST = 64
"""Pieces of a text about a type; a description is rarely longer than a sentence."""
PROTOTYPES, SHOWN = 50, 3
"""Sentences with a mention of each type that are drawn from in training, and that stand for the type after it."""
_HUMP = re.compile(r"(?<=[A-Za-z][a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z]\w)")
"""Where a capital begins a word: behind a small letter, or behind capitals and before more than an s of the plural."""


@cache
def known_descriptions() -> dict[str, str]:
    """Descriptions of the types of common corpora, by name in lower case."""
    return tomllib.loads(Path(__file__).with_name("descriptions.toml").read_text(encoding="utf-8"))


def described(recipe: Recipe, labels: Labels, of_dev: Container[str] = ()) -> dict[str, TypeSettings]:
    """A description for every type: the one that was given, one that we know, or its name.

    of_dev   types that the dev set has, which can have been held out of the training files
    """
    for name in recipe.types:
        if name not in labels and name not in of_dev:
            raise ConfigError(f"types.{name}: {unknown_name('type in the training files', name, labels)}")
    if recipe.bi_encoder.describe in ("atomic", "prototypes"):
        if recipe.types:
            raise ConfigError(
                f"bi_encoder.describe = {recipe.bi_encoder.describe}: descriptions are not read; leave types out, or "
                "set it to text"
            )
        return {}
    return {label: recipe.types.get(label) or _description(recipe, label) for label in labels}


def _description(recipe: Recipe, label: str) -> TypeSettings:
    options = recipe.bi_encoder
    if options.describe == "text":
        if (known := known_descriptions().get(label.lower())) is not None:
            return TypeSettings(description=known)
        if options.fallback == "refuse":
            raise ConfigError(
                f"no description of the type {label}: write one in types.{label}.description, or allow its name with "
                "bi_encoder.fallback=name"
            )
    return TypeSettings(description=name_in_words(label))


def name_in_words(label: str) -> str:
    """A type's name as words.

    >>> name_in_words("cell_line"), name_in_words("WorkOfArt"), name_in_words("DNA"), name_in_words("IOError")
    ('cell line', 'work of art', 'DNA', 'IO error')
    """
    words = _HUMP.sub(" ", re.sub(r"[\W_]+", " ", label)).split()
    # What has a capital behind its first letter, as mRNA, is not a word but a sign.
    return " ".join(word.lower() if word[1:].islower() else word for word in words) or label


def texts_of(descriptions: Sequence[str], tokenizer: Any) -> list[TypeText]:
    """Descriptions as pieces, each cut to a bearable length; the vector of the first piece stands for it."""
    coded = tokenizer([" ".join(text.split()) for text in descriptions], truncation=True, max_length=LONGEST)
    return [TypeText(list(pieces), 0) for pieces in coded["input_ids"]]


def type_texts(recipe: Recipe, corpus: Corpus, tokenizer: Any) -> list[list[TypeText]]:
    """The texts of every type of a corpus, in the order of its labels."""
    if recipe.bi_encoder.describe == "prototypes":
        return _prototypes(corpus, tokenizer, recipe.seed)
    return [texts_of(recipe.types[label].descriptions, tokenizer) for label in corpus.labels]


def _prototypes(corpus: Corpus, tokenizer: Any, seed: int) -> list[list[TypeText]]:
    """Sentences with a mention between two markers; that of the first marker stands for the type (003 Table 5)."""
    if tokenizer.mask_token_id is None:
        raise InputError("the tokenizer has no mask piece to mark a mention with: set bi_encoder.describe=text")
    mentions: dict[str, list[tuple[Document, Entity]]] = {label: [] for label in corpus.labels}
    for document in corpus:
        for entity in document.entities:
            mentions[entity.label].append((document, entity))
    texts = []
    for label, found in mentions.items():
        random.Random(f"prototypes/{seed}/{label}").shuffle(found)
        own = list(islice(_marked(found, tokenizer), PROTOTYPES))
        if not own:
            raise InputError(f"no mention of the type {label} to show: set bi_encoder.describe=text")
        texts.append(own)
    return texts


def _marked(mentions: Sequence[tuple[Document, Entity]], tokenizer: Any) -> Iterator[TypeText]:
    special, marker = special_pieces(tokenizer), tokenizer.mask_token_id
    room = LONGEST - len(special.before) - len(special.behind) - 2
    for document, entity in mentions:
        words = words_of(document)
        (span,) = word_spans(words, [(entity.start, entity.end)])
        if span is None:
            continue
        (aligned,) = align([[document.text[a:b] for a, b in words]], tokenizer)
        before = [piece for own in aligned.pieces[: span[0]] for piece in own]
        inside = [piece for own in aligned.pieces[span[0] : span[1]] for piece in own][:room]
        behind = [piece for own in aligned.pieces[span[1] :] for piece in own]
        half = (room - len(inside)) // 2
        before = before[max(0, len(before) - max(half, room - len(inside) - len(behind))) :]
        behind = behind[: room - len(inside) - len(before)]
        pieces = [*special.before, *before, marker, *inside, marker, *behind, *special.behind]
        yield TypeText(pieces, len(special.before) + len(before))
