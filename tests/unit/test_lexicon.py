"""The lexicon: which entries are found where, the tensors made of them, and the files and packages they come from."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from goldgap import Document
from goldgap.core.errors import ConfigError, InputError
from goldgap.corpus.words import words_of
from goldgap.distant.finder import Finder, Hits, Text
from goldgap.encode.batch import Example
from goldgap.encode.lexicon import (
    Lexicon,
    entry_embedding,
    flat_lattice,
    give_vectors,
    jieba_words,
    lattice,
    occurring,
    read_lexicon,
)

BRIDGE = "南京市长江大桥"
BRIDGE_WORDS = ["南京", "南京市", "市长", "长江", "长江大桥", "大桥", "江大桥"]


def example_of(text: str, words: Sequence[tuple[int, int]] | None = None) -> Example:
    own = tuple(words) if words is not None else words_of(Document(text))
    return Example(0, [], 0, own, [], [], tuple(text[a:b] for a, b in own))


def found(lexicon: Lexicon, text: str, words: Sequence[tuple[int, int]] | None = None) -> list[tuple[int, int, str]]:
    return [(first, end, lexicon.words[entry]) for first, end, entry in lexicon.find([example_of(text, words)])[0]]


def brute_force(example: Example, words: Sequence[str], *, fold: bool = False) -> list[tuple[int, int, int]]:
    """Every match in order of (first word, longest first), by trying all spans."""
    compared = [word.casefold() if fold else word for word in words]
    matches = []
    for first in range(len(example.words)):
        spelled, spans = "", []
        for end in range(first + 1, len(example.words) + 1):
            if end > first + 1 and example.words[end - 1][0] != example.words[end - 2][1]:
                spelled += " "
            surface = example.surfaces[end - 1]
            spelled += surface.casefold() if fold else surface
            if spelled in compared:
                spans.append((first, end, compared.index(spelled)))
        matches += spans[::-1]
    return matches


# What is found


def test_entries_are_found_in_order_of_first_word_then_longest_first() -> None:
    assert found(Lexicon(BRIDGE_WORDS), BRIDGE) == [
        (0, 3, "南京市"),
        (0, 2, "南京"),
        (2, 4, "市长"),
        (3, 7, "长江大桥"),
        (3, 5, "长江"),
        (4, 7, "江大桥"),
        (5, 7, "大桥"),
    ]


def test_matches_begin_and_end_with_words() -> None:
    lexicon = Lexicon(["New York", "York", "in"])
    assert found(lexicon, "New York in print, New Yorker") == [(0, 2, "New York"), (1, 2, "York"), (2, 3, "in")]
    assert found(Lexicon(["江大"]), "长江大桥", [(0, 2), (2, 4)]) == []


def test_words_that_touch_are_spelled_without_a_blank() -> None:
    lexicon = Lexicon(["e-mail", "e - mail", "a b", "ab"])
    assert found(lexicon, "e-mail e - mail") == [(0, 3, "e-mail"), (3, 6, "e - mail")]
    assert found(lexicon, "a \n  b ab", [(0, 1), (5, 6), (7, 8), (8, 9)]) == [(0, 2, "a b"), (2, 4, "ab")]


def test_a_single_character_is_an_entry_only_where_blanks_stand_between_words() -> None:
    assert Lexicon(["京", "ア", "a", "京城", "", " "]).words == ("a", "京城")


def test_entries_are_distinct_and_keep_their_order() -> None:
    assert Lexicon(["b", "Ann", "b", "New  York", "New\tYork", "ann"]).words == ("b", "Ann", "New York", "ann")
    assert Lexicon(["b", "Ann", "ann", "B"], fold=True).words == ("b", "Ann")


def test_case_matters_unless_folded() -> None:
    assert found(Lexicon(["Ann Lee"]), "ANN LEE Ann Lee") == [(2, 4, "Ann Lee")]
    assert found(Lexicon(["Ann Lee"], fold=True), "ANN LEE Ann Lee") == [(0, 2, "Ann Lee"), (2, 4, "Ann Lee")]


def test_folding_that_lengthens_a_word_moves_no_match() -> None:
    lexicon = Lexicon(["Strasse", "Oslo", "İzmir"], fold=True)
    assert found(lexicon, "Straße in OSLO, İZMIR Oslo") == [
        (0, 1, "Strasse"),
        (2, 3, "Oslo"),
        (4, 5, "İzmir"),
        (5, 6, "Oslo"),
    ]


def test_there_may_be_no_entry_no_word_and_no_example() -> None:
    assert found(Lexicon([]), BRIDGE) == []
    assert found(Lexicon(BRIDGE_WORDS), "") == []
    assert Lexicon(BRIDGE_WORDS).find([]) == []


@st.composite
def texts_with_words(draw: st.DrawFn) -> Example:
    """Words of few letters, some of which touch."""
    surfaces = draw(st.lists(st.text("abB市長ß", min_size=1, max_size=3), max_size=12))
    words, text = [], ""
    for surface in surfaces:
        text += draw(st.sampled_from(["", " ", "  "]))
        words.append((len(text), len(text) + len(surface)))
        text += surface
    return example_of(text, words)


@settings(derandomize=True, deadline=None, max_examples=60)
@given(
    st.lists(texts_with_words(), max_size=4),
    st.lists(st.text("abB市長ßs ", min_size=1, max_size=6), max_size=40),
    st.booleans(),
)
def test_the_same_is_found_as_by_trying_all_spans(examples: list[Example], words: list[str], fold: bool) -> None:
    lexicon = Lexicon(words, fold=fold)
    assert lexicon.find(examples) == [brute_force(example, lexicon.words, fold=fold) for example in examples]


def test_examples_are_looked_through_in_one_call(monkeypatch: pytest.MonkeyPatch) -> None:
    lexicon, calls = Lexicon(BRIDGE_WORDS), []
    find = Finder.find

    def counted(finder: Finder, texts: Sequence[Text]) -> list[Hits]:
        calls.append(len(texts))
        return find(finder, texts)

    monkeypatch.setattr(Finder, "find", counted)
    lattice([example_of(BRIDGE)] * 3, lexicon)
    flat_lattice([example_of(BRIDGE)] * 4, lexicon)
    assert calls == [3, 4]


def test_only_entries_that_occur_are_kept() -> None:
    documents = [Document("Ann met Bob"), Document(""), Document("BOB")] * 700
    assert occurring(Lexicon(["Bob", "Zed", "Ann", "met Zed"]), documents).words == ("Bob", "Ann")
    kept = occurring(Lexicon(["bob", "Zed"], fold=True), documents[2:3])
    assert (kept.words, kept.fold) == (("bob",), True)
    assert occurring(Lexicon(["Zed"]), documents).words == ()


# The tensors


def test_each_word_has_the_longest_entries_that_contain_it_first() -> None:
    lexicon = Lexicon(BRIDGE_WORDS)
    ids = lattice([example_of(BRIDGE), example_of("江"), example_of("大桥")], lexicon, 3)
    names = [["" if not entry else lexicon.words[entry - 1] for entry in word] for word in ids[0].tolist()]
    assert names == [
        ["南京市", "南京", ""],
        ["南京市", "南京", ""],
        ["南京市", "市长", ""],
        ["长江大桥", "市长", "长江"],
        ["长江大桥", "江大桥", "长江"],
        ["长江大桥", "江大桥", "大桥"],
        ["长江大桥", "江大桥", "大桥"],
    ]
    assert not ids[1].any()
    assert ids[2, :, 0].tolist() == [6, 6, 0, 0, 0, 0, 0]


@settings(derandomize=True, deadline=None, max_examples=50)
@given(st.lists(texts_with_words(), max_size=3), st.integers(1, 4))
def test_lattices_hold_what_trying_all_spans_gives(examples: list[Example], most: int) -> None:
    lexicon = Lexicon(["a", "b", "ab", "a b", "ba", "aa", "市長", "長市", "b市", "a b a", "aab"])
    ids = lattice(examples, lexicon, most)
    flat = flat_lattice(examples, lexicon)
    width = max((len(example.words) for example in examples), default=0)
    assert ids.shape == (len(examples), width, most)
    for row, example in enumerate(examples):
        matches = brute_force(example, lexicon.words)
        for word in range(width):
            own = [match for match in matches if match[0] <= word < match[1]]
            own.sort(key=lambda match: (-(match[1] - match[0]), match[0]))
            assert [entry for entry in ids[row, word].tolist() if entry] == [entry + 1 for _, _, entry in own[:most]]
        items = list(zip(flat.heads[row].tolist(), flat.tails[row].tolist(), flat.mask[row].tolist(), strict=True))
        entries = flat.entries[row].tolist()
        padding = len(entries) - len(matches)
        count = len(example.words)
        assert items[:width] == [(word, word, word < count) for word in range(width)]
        assert items[width:] == [*((a, b - 1, True) for a, b, _ in matches), *[(0, 0, False)] * padding]
        assert entries == [*(entry + 1 for _, _, entry in matches), *[0] * padding]


def test_no_example_is_an_empty_lattice() -> None:
    lexicon = Lexicon(BRIDGE_WORDS)
    assert lattice([], lexicon).shape == (0, 0, 5)
    assert flat_lattice([], lexicon).heads.shape == (0, 0)


# Vectors


def test_entries_take_their_given_vectors_and_others_are_as_large() -> None:
    torch.manual_seed(0)
    names = [f"w{number}" for number in range(300)]
    lexicon = Lexicon(names)
    embedding = entry_embedding(len(lexicon), 20, freeze=False)
    table = torch.randn(102, 20) * 7
    give_vectors(embedding, lexicon, [*names[:100], "zed", "w0"], table)
    assert torch.equal(embedding.weight[1:101], table[:100])
    assert embedding.weight[101:].std().item() == pytest.approx(7, rel=0.1)
    assert not embedding.weight[0].any()


def test_without_case_an_entry_takes_the_vector_of_its_own_spelling_first() -> None:
    words, table = ["NASA", "nasa", "OSLO"], torch.tensor([[1.0], [2.0], [3.0]])
    embedding = entry_embedding(2, 1, freeze=False)
    give_vectors(embedding, Lexicon(["nasa", "Oslo"], fold=True), words, table)
    assert embedding.weight[1:].flatten().tolist() == [2.0, 3.0]
    give_vectors(embedding, Lexicon(["nasa", "Oslo"]), words, table)
    assert embedding.weight[1].item() == 2.0
    assert embedding.weight[2].item() != 3.0


# Files and packages


def test_a_saved_lexicon_is_read_back(tmp_path: Path) -> None:
    for words in (BRIDGE_WORDS, ["New York", "a\u2028b", "e-mail", "é"], []):
        lexicon = Lexicon(words)
        lexicon.save(tmp_path)
        assert Lexicon.read(tmp_path).words == lexicon.words


def test_a_lexicon_has_one_word_a_line(tmp_path: Path) -> None:
    path = tmp_path / "words.txt"
    path.write_bytes("\ufeff长江\r\n\r\n New York \n  \n大桥".encode())
    assert read_lexicon(path) == ["长江", "New York", "大桥"]


def test_a_number_is_a_count_only_where_nearly_every_word_has_one(tmp_path: Path) -> None:
    path = tmp_path / "words.txt"
    path.write_text("上海 28580 ns\n大桥 91\n", encoding="utf-8")
    assert read_lexicon(path) == ["上海", "大桥"]
    path.write_text("Boeing 747\nApollo\nvitamin B 12\n", encoding="utf-8")
    assert read_lexicon(path) == ["Boeing 747", "Apollo", "vitamin B 12"]
    path.write_text("卡拉OK 3 N\n大桥\n" + "上海\t28580\n" * 20, encoding="utf-8")
    assert read_lexicon(path)[:3] == ["卡拉OK", "大桥", "上海"]


def test_a_dictionary_is_a_lexicon_as_a_file_and_as_a_folder(tmp_path: Path) -> None:
    (tmp_path / "terms.tsv").write_text("FILM\t1984\nLOC\tNew York\texact\n", encoding="utf-8")
    assert read_lexicon(tmp_path / "terms.tsv") == ["1984", "New York"]
    (tmp_path / "terms").mkdir()
    (tmp_path / "terms" / "LOC.txt").write_text("New York\n上海\n", encoding="utf-8")
    assert read_lexicon(tmp_path / "terms") == ["New York", "上海"]


@pytest.mark.parametrize(
    ("content", "message"),
    [(b"", ": no word in this lexicon"), (b" \n\n", ": no word in this lexicon"), (b"a\n\xff\n", ":2: byte 2 (0xff)")],
)
def test_what_is_wrong_in_a_lexicon_is_said_with_its_place(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "words.txt"
    path.write_bytes(content)
    with pytest.raises(InputError) as caught:
        read_lexicon(path)
    assert str(caught.value).startswith(f"{path}{message}")


def test_the_words_of_jieba_are_read_without_running_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "jieba").mkdir()
    (tmp_path / "jieba" / "__init__.py").write_text("raise RuntimeError('was imported')")
    (tmp_path / "jieba" / "dict.txt").write_text("AT&T 3 nz\n上海 28580 ns\n大桥 1 n\n", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    assert jieba_words() == ["AT&T", "上海", "大桥"]


def test_without_jieba_it_is_said_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ConfigError, match=r"pip install jieba.*one word a line"):
        jieba_words()
