"""The word splitter: what stays whole, what is split, and that it never takes quadratic time."""

from __future__ import annotations

import time

import pytest

from goldgap import Document
from goldgap.corpus.words import split_words, word_spans, words_of, words_touching


def words(text: str) -> list[str]:
    return [text[start:end] for start, end in split_words(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("IL-2 and COVID-19-like", ["IL-2", "and", "COVID-19", "-", "like"]),
        ("I don't; he can’t.", ["I", "don't", ";", "he", "can’t", "."]),
        ("Obama's, James' O’Brien’s", ["Obama", "'s", ",", "James", "'", "O’Brien", "’s"]),
        ("the U.S. and U.S.A., e.g. this", ["the", "U.S.", "and", "U.S.A.", ",", "e.g.", "this"]),
        ("vitamin C. J. Doe", ["vitamin", "C", ".", "J", ".", "Doe"]),
        ("https://a.org/b?c=d, www.x.com.", ["https://a.org/b?c=d", ",", "www.x.com", "."]),
        ("me@x.co.uk @you #MeToo", ["me@x.co.uk", "@you", "#MeToo"]),
        ("$1,234.50 at 12:30, 10%", ["$", "1,234.50", "at", "12:30", ",", "10", "%"]),
        ("Jean-Luc 22-oxa F-16", ["Jean", "-", "Luc", "22", "-", "oxa", "F-16"]),
        ("北京 2008年", ["北", "京", "2008", "年"]),
        ("カメラ", ["カ", "メ", "ラ"]),
        ("서울 사람", ["서울", "사람"]),
        ("cafe\u0301 नमस्ते שָׁלוֹם", ["cafe\u0301", "नमस्ते", "שָׁלוֹם"]),
        ("👩‍👩‍👧 🇫🇷🇩🇪 👍🏽!", ["👩‍👩‍👧", "🇫🇷", "🇩🇪", "👍🏽", "!"]),
        ("a\u00a0b\u3000c\r\nd", ["a", "b", "c", "d"]),
        ("", []),
        (" \n\t", []),
    ],
)
def test_words(text: str, expected: list[str]) -> None:
    assert words(text) == expected


@pytest.mark.parametrize("unit", ["a.", "1.", "a-", "a@", "'s", "1,2:", "#a", "a'", "http://", "é.", "é-1"])
def test_time_grows_in_step_with_the_text(unit: str) -> None:
    def seconds(count: int) -> float:
        times = []
        for _ in range(4):  # the least of them is what the work takes, the rest is what else goes on
            start = time.process_time()
            split_words(unit * count + "x")
            times.append(time.process_time() - start)
        return min(times)

    assert seconds(40_000) < 100 * seconds(2_000), "twenty times the text must not take 400 times as long"


def test_a_document_with_tokens_keeps_them() -> None:
    assert words_of(Document("ab c", tokens=((0, 1), (1, 2), (3, 4)))) == ((0, 1), (1, 2), (3, 4))
    assert words_of(Document("ab c")) == ((0, 2), (3, 4))


def test_a_range_that_cuts_a_word_is_no_span_of_words() -> None:
    assert word_spans(((0, 2), (3, 5)), [(0, 2), (0, 5), (1, 5), (0, 4)]) == [(0, 1), (0, 2), None, None]


def test_words_touching_a_range_are_those_of_a_loop_over_all_words() -> None:
    words = ((0, 2), (2, 3), (5, 8), (9, 10))
    for start in range(12):
        for end in range(start + 1, 13):
            loop = [index for index, (a, b) in enumerate(words) if start < b and a < end]
            assert list(words_touching(words, start, end)) == loop, (start, end)


@pytest.mark.parametrize(
    "word",
    [
        "می\u200cخواهم",  # a zero-width non-joiner inside a Persian word
        "क्\u200dष",  # a zero-width joiner between Devanagari letters
        "葛\U000e0100",  # a variation selector behind a Han character
        "1\ufe0f\u20e3",  # a keycap
        "U.S.A",
        "naïve",
    ],
)
def test_one_word(word: str) -> None:
    assert words(word) == [word]
    assert words(f"x {word} x") == ["x", word, "x"]
