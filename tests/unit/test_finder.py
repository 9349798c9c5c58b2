"""The substring finder: hashes may lie and long texts may be cut, the answer stays the same."""

from __future__ import annotations

import random

import numpy as np
import pytest

from goldgap.distant import finder as module
from goldgap.distant.finder import Finder, Text

WORDS = ["alpha", "beta", "be", "gamma", "a", "alphabet", "beta-gamma"]


def random_text(words: int, seed: int) -> str:
    generator = random.Random(seed)
    return " ".join(generator.choices(WORDS, k=words))


def columns(finder: Finder, text: Text) -> list[tuple[int, int, int, bool]]:
    return list(zip(*finder.find([text])[0], strict=True))


def test_hits_come_in_order_of_begin_and_longest_first() -> None:
    found = columns(Finder(["be", "be ta", "ta"]), Text("be ta"))
    assert found == [(0, 5, 1, True), (0, 2, 0, True), (3, 5, 2, True)]


def test_texts_of_one_batch_do_not_run_into_each_other() -> None:
    hits = Finder(["a b", "b", "b a"]).find([Text("x a"), Text(""), Text("b a")])
    assert [list(zip(hit.begins, hit.ends, strict=True)) for hit in hits] == [[], [], [(0, 3), (0, 1)]]


def test_runs_of_ascii_letters_and_digits_are_not_cut_unless_edges_are_given() -> None:
    finder = Finder(["il2", "il", "2"])
    assert columns(finder, Text("il2")) == [(0, 3, 0, True)]
    edges = Text("il2", np.array([0, 2]), np.array([2, 3]))
    assert [hit[:3] for hit in columns(finder, edges)] == [(0, 3, 0), (0, 2, 1), (2, 3, 2)]


def test_equal_hashes_are_not_taken_for_equal_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_BASES", (1,))  # the hash is now the sum of the characters: anagrams collide
    assert columns(Finder(["listen"]), Text("silent listen")) == [(7, 13, 0, True)]


def test_patterns_with_equal_hashes_change_the_base(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_BASES", (1, 0x9E3779B97F4A7C15))
    assert [hit[2] for hit in columns(Finder(["listen", "silent"]), Text("silent listen"))] == [1, 0]


def test_patterns_that_differ_in_nul_characters_alone_are_told_apart() -> None:
    found = columns(Finder(["be\0", "be", "\0be"]), Text("be be\0 \0be"))
    assert [(begin, end, pattern) for begin, end, pattern, _ in found if (begin, end) in {(0, 2), (3, 6), (7, 10)}] == [
        (0, 2, 1),
        (3, 6, 0),
        (7, 10, 2),
    ]


def test_equal_patterns_are_refused() -> None:
    with pytest.raises(ValueError, match="equal"):
        Finder(["x", "x"])


@pytest.mark.parametrize("with_edges", [False, True])
def test_a_long_text_is_cut_without_losing_or_doubling_a_hit(monkeypatch: pytest.MonkeyPatch, with_edges: bool) -> None:
    text = random_text(400, seed=1)
    patterns = [*WORDS, "alpha beta gamma", "gamma be alpha be", "a a"]
    begins = np.array([0, *(i + 1 for i, c in enumerate(text) if c == " ")])
    ends = np.array([*(i for i, c in enumerate(text) if c == " "), len(text)])
    given = Text(text, begins, ends) if with_edges else Text(text)
    whole = columns(Finder(patterns), given)
    for size in (7, 50, 333):
        monkeypatch.setattr(module, "BATCH", size)
        assert columns(Finder(patterns), given) == whole
    assert len(whole) > 400


def test_no_pattern_at_all_finds_nothing_in_an_empty_text() -> None:
    assert columns(Finder(["x"]), Text("")) == []


def test_patterns_may_be_hashed_in_several_portions(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = columns(Finder(WORDS), Text(random_text(100, seed=2)))
    monkeypatch.setattr(module, "_TOGETHER", 3)
    assert columns(Finder(WORDS), Text(random_text(100, seed=2))) == whole
