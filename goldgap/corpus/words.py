"""Words of raw text, with exact offsets.

One character a word in Chinese and Japanese. Kept whole: IL-2, don't, U.S., 1,234.5, URLs, e-mail addresses, hashtags,
mentions, emoji with their modifiers. Split: a hyphen between letters (Selegiline-induced), the possessive 's.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from functools import cache
from operator import itemgetter

from goldgap.core.document import Document, Range

CJK = (
    "\u2e80-\u2fd5\u3005-\u3007\u3021-\u3029\u3038-\u303b\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uf900-\ufaff\uff66-\uff9f\U0001b000-\U0001b2ff\U00020000-\U0003ffff"
)
"""Han, Hiragana and Katakana as a character class: scripts written without spaces between words."""
_EMOJI = "\u2600-\u27bf\u2b00-\u2bff\U0001f000-\U0001faff"
_SKIN = "\U0001f3fb-\U0001f3ff"
_FLAG = "\U0001f1e6-\U0001f1ff"


def split_words(text: str) -> list[Range]:
    """Ranges of the words of a text, in order; white space belongs to none.

    >>> [text[s:e] for text in ["Obama's IL-2-like U.S. e-mail"] for s, e in split_words(text)]
    ['Obama', "'s", 'IL-2', '-', 'like', 'U.S.', 'e', '-', 'mail']
    """
    pattern = _ascii_pattern() if text.isascii() else _unicode_pattern()
    return [match.span() for match in pattern.finditer(text)]


def words_of(document: Document) -> tuple[Range, ...]:
    """The document's own words, or those of the splitter for raw text."""
    return document.tokens if document.tokens is not None else tuple(split_words(document.text))


def word_spans(words: tuple[Range, ...], ranges: list[Range]) -> list[Range | None]:
    """Each range of characters as a half-open range of words; None where it cuts through a word."""
    first = {start: index for index, (start, _) in enumerate(words)}
    last = {end: index + 1 for index, (_, end) in enumerate(words)}
    spans: list[Range | None] = []
    for start, end in ranges:
        a, b = first.get(start), last.get(end)
        spans.append(None if a is None or b is None else (a, b))
    return spans


def words_touching(words: Sequence[Range], start: int, end: int) -> range:
    """Indices of the words that have a character in common with a range."""
    first = bisect_right(words, start, key=itemgetter(1))
    return range(first, bisect_left(words, end, key=itemgetter(0)))


@cache
def _ascii_pattern() -> re.Pattern[str]:
    return _pattern("A-Za-z", "A-Za-z0-9_", "")


@cache
def _unicode_pattern() -> re.Pattern[str]:
    letters = rf"[^\W\d_{CJK}]"
    return _pattern(letters, rf"[^\W{CJK}]", _marks())


def _pattern(letters: str, wordly: str, marks: str) -> re.Pattern[str]:
    """The splitter as one expression; alternatives are tried in order.

    letters, wordly: classes of letters, and of letters, digits and underscore; marks: content of the class of marks.
    """
    letter = letters if letters.startswith("[") else f"[{letters}]"
    word = wordly if wordly.startswith("[") else f"[{wordly}]"
    tail = f"[{marks}]*" if marks else ""
    run = f"(?:{word}{tail})+" if marks else f"{word}+"
    emoji = rf"(?:[{_FLAG}]{{2}}|[{_EMOJI}][\ufe0f{_SKIN}]*(?:\u200d[{_EMOJI}][\ufe0f{_SKIN}]*)*)"
    return re.compile(
        "|".join(
            [
                # Most words: nothing but letters, then a blank. First only for speed; the others would agree.
                rf"{letter}+(?=[ ,;)\n])",
                r"(?:https?://|www\.)[^\s<>\"]*[^\s<>\".,;:!?)\]'’]",
                rf"[#@]{run}",
                r"[A-Za-z0-9][\w.+-]{0,63}@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+",
                # U.S., e.g.: at least two single letters with a dot each; "vitamin C." keeps its full stop apart.
                rf"(?<!{word})(?:{letter}{tail}\.){{2,}}(?:{letter}(?!{word}))?",
                r"\d+(?:[.,:]\d+){1,9}(?!\w)",
                # Possessive: the s belongs to the apostrophe, the name stands alone.
                r"['’][sS](?!\w)",
                # A word; apostrophes join letters (don't), but not a final 's; hyphens join it to digits.
                rf"{run}(?:['’](?![sS](?!{word})){letter}{tail}(?:{word}{tail})*|-\d{tail}(?:{word}{tail})*)*",
                *([rf"[{CJK}]{tail}", emoji] if marks else []),
                rf"\S{tail}",
            ]
        )
    )


@cache
def _marks() -> str:
    """Combining marks, joiners and variation selectors as the content of a character class."""
    codes = [code for code in range(0x300, 0x1F000) if unicodedata.category(chr(code)) in ("Mn", "Mc", "Me")]
    codes += [0x200C, 0x200D, *range(0xE0100, 0xE01F0)]
    ranges: list[list[int]] = []
    for code in codes:
        if ranges and code == ranges[-1][1] + 1:
            ranges[-1][1] = code
        else:
            ranges.append([code, code])
    return "".join(f"{chr(a)}-{chr(b)}" for a, b in ranges)
