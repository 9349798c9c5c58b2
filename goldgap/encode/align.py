"""Words to pieces of an encoder's vocabulary, with the first and the last piece of each word."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

MAX_WORD_PIECES = 32
"""A word of more pieces keeps its first and its last half as many: nobody's name is longer."""
MAX_WORD_CHARACTERS = 256
"""The same for characters, before pieces are looked for: that takes quadratic time in the length of a word."""


class Shape(IntEnum):
    """What an uncased encoder does not see of a word. 0 is padding."""

    padding = 0
    lower = 1
    title = 2
    upper = 3
    mixed = 4
    digits = 5
    with_digit = 6
    other = 7


def shape_of(word: str) -> Shape:
    if word.isnumeric():
        return Shape.digits
    if any(character.isdigit() for character in word):
        return Shape.with_digit
    if not any(character.isalpha() for character in word):
        return Shape.other
    if word.islower():
        return Shape.lower
    if word.isupper():
        return Shape.upper if len(word) > 1 else Shape.title
    return (
        Shape.title
        if word[0].isupper() and word[1:].islower()
        else Shape.mixed
        if word != word.lower()
        else Shape.lower
    )


@dataclass(frozen=True, slots=True)
class Aligned:
    """The pieces of each word of a sentence; none is empty."""

    pieces: list[list[int]]
    shortened: int = 0
    """Words of which pieces in the middle were left out."""


def align(sentences: Sequence[Sequence[str]], tokenizer: Any) -> list[Aligned]:
    """Pieces of every word, word by word; a word without any (a control character) becomes the unknown piece."""
    if not sentences:
        return []
    texts = [[_ends(word) for word in words] for words in sentences]
    coded = tokenizer(texts, is_split_into_words=True, add_special_tokens=False)
    aligned = []
    for index, words in enumerate(sentences):
        pieces: list[list[int]] = [[] for _ in words]
        for piece, word in zip(coded["input_ids"][index], coded.word_ids(index), strict=True):
            pieces[word].append(piece)
        shortened = 0
        half = MAX_WORD_PIECES // 2
        for number, own in enumerate(pieces):
            if not own:
                pieces[number] = [tokenizer.unk_token_id]
            elif len(own) > MAX_WORD_PIECES:
                pieces[number] = own[:half] + own[-half:]
                shortened += 1
        aligned.append(Aligned(pieces, shortened))
    return aligned


def _ends(word: str) -> str:
    half = MAX_WORD_CHARACTERS // 2
    return word if len(word) <= MAX_WORD_CHARACTERS else word[:half] + word[-half:]
