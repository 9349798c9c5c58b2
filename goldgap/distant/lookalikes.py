"""Entries that stand in a text in other characters, which look alike: hyphens, apostrophes, composed accents."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable

from goldgap.core.corpus import Corpus
from goldgap.core.document import Document, Range
from goldgap.corpus.inspect import place
from goldgap.distant.dictionary import Dictionary, Entry, normal_surface
from goldgap.distant.matcher import Matcher
from goldgap.distant.rules import MatchRules

_PLAIN = str.maketrans(
    {
        **dict.fromkeys("\u2010\u2011\u2012\u2013\u2212", "-"),
        **dict.fromkeys("\u2018\u2019\u02bc\u2032", "'"),
        **dict.fromkeys("\u00ad\u200b"),  # a soft hyphen and a blank without width are not to be seen
    }
)


def lookalikes(corpus: Corpus, entries: Iterable[Entry], rules: MatchRules) -> dict[Entry, str]:
    """Of entries that stand nowhere in a corpus those that do when both are in plain characters, each with a place."""
    alike = {entry: entry._replace(surface=surface) for entry in entries if (surface := _surface(entry))}
    dictionary = Dictionary(alike.values())
    documents = [_in_plain(document) for document in corpus]
    if all(entry == made for entry, made in alike.items()):
        documents = [made for made, document in zip(documents, corpus, strict=True) if made.text != document.text]
    found: dict[Entry, str] = {}
    if documents and alike:
        for document, matches in zip(documents, Matcher(dictionary, rules).find(documents), strict=True):
            for start, end, number in matches:
                found.setdefault(dictionary.entries[number], place(document, start, end))
    return {entry: found[made] for entry, made in alike.items() if made in found}


def plain(text: str) -> str:
    """
    >>> plain("Alzheimer’s, non‐small, ＩＬ－２")
    "Alzheimer's, non-small, IL-2"
    """
    return text if text.isascii() else unicodedata.normalize("NFKC", text.translate(_PLAIN))


def _surface(entry: Entry) -> str:
    return normal_surface(plain(entry.surface))


def _in_plain(document: Document) -> Document:
    """A document's text, and its words where it has them, in plain characters."""
    if document.tokens is None or document.text.isascii():
        return Document(plain(document.text), id=document.id, tokens=document.tokens)
    text, at = "", 0
    tokens: list[Range] = []
    for start, end in document.tokens:
        text += plain(document.text[at:start])
        begin, at = len(text), end
        text += plain(document.text[start:end])
        if len(text) > begin:
            tokens.append((begin, len(text)))
    return Document(text + plain(document.text[at:]), id=document.id, tokens=tuple(tokens))
