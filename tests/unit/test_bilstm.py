"""The BiLSTM encoder: one piece a word, both directions, and word vectors from a file."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st
from torch import Tensor

from goldgap import Document
from goldgap.core.errors import InputError
from goldgap.encode.align import align
from goldgap.encode.batch import Batch, Special, collate, make_examples
from goldgap.encode.bilstm import (
    LIMIT,
    BiLSTMConfig,
    BiLSTMEncoder,
    new_bilstm,
    read_vectors,
    vocabulary,
    word_tokenizer,
)
from goldgap.encode.encoder import special_pieces
from tests.tiny import WORDS

TINY = BiLSTMConfig(size=6, hidden=5, dropout=0.0)
TEXTS = ["Ann met Bob", "Paris", "the works of Acme in Oslo and Paris lives"]
ODD = [
    "New York",
    "U.S.",
    "e-mail",
    "👩‍👩‍👧",
    "x" * 10_000,
    "\xa0",
    "a\xa0b",
    " ",
    "",
    "x[UNK]y",
    "[PAD]",
    "\u200b",
    "\n",
]


def fresh(config: BiLSTMConfig = TINY) -> tuple[BiLSTMEncoder, Any]:
    """An encoder over the tiny words, the same at each call."""
    torch.manual_seed(0)
    encoder, tokenizer = new_bilstm(WORDS, config, min_count=1)
    return encoder.eval(), tokenizer


def batch_of(texts: list[str], tokenizer: Any) -> Batch:
    examples = list(make_examples([Document(text) for text in texts], tokenizer, limit=LIMIT, overlap=4))
    return collate(examples, special_pieces(tokenizer))


def encode(texts: list[str], config: BiLSTMConfig = TINY) -> list[Tensor]:
    """Word vectors of each text, all encoded in one batch."""
    encoder, tokenizer = fresh(config)
    batch = batch_of(texts, tokenizer)
    with torch.no_grad():
        out = encoder(batch)
    assert out.start is out.end
    assert out.start.shape[2] == encoder.dimension == 2 * config.hidden
    return [out.start[row, :count] for row, count in enumerate(batch.words.tolist())]


def vectors_file(folder: Path, content: str | bytes) -> Path:
    path = folder / "vectors.txt"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


# The encoder


def test_alone_in_a_batch_and_padded_give_the_same_vectors() -> None:
    for text, one in zip(TEXTS, encode(TEXTS), strict=True):
        (alone,) = encode([text])
        assert torch.allclose(alone, one, atol=1e-5)


def test_permuting_the_batch_permutes_the_vectors() -> None:
    for one, other in zip(encode(TEXTS), reversed(encode(TEXTS[::-1])), strict=True):
        assert torch.allclose(one, other, atol=1e-6)


def test_what_stands_in_the_padding_does_not_matter() -> None:
    encoder, tokenizer = fresh()
    batch = batch_of(TEXTS, tokenizer)
    before = encoder(batch).start
    for row, count in enumerate(batch.words.tolist()):
        batch.pieces[row, count:] = 3
        batch.shapes[row, count:] = 2
    after = encoder(batch).start
    for row, count in enumerate(batch.words.tolist()):
        assert torch.equal(before[row, :count], after[row, :count])


def test_the_batch_is_not_modified() -> None:
    encoder, tokenizer = fresh()
    batch, untouched = batch_of(TEXTS, tokenizer), batch_of(TEXTS, tokenizer)
    encoder(batch)
    assert all(torch.equal(a, b) for a, b in zip(batch[1:], untouched[1:], strict=True))


def test_the_first_word_sees_the_last_and_the_last_the_first() -> None:
    sentence, other_end, other_start = encode(["Ann met Bob in Oslo", "Ann met Bob in Paris", "Acme met Bob in Oslo"])
    assert not torch.allclose(sentence[0], other_end[0], atol=1e-6)
    assert not torch.allclose(sentence[-1], other_start[-1], atol=1e-6)


def test_case_reaches_a_lowercasing_encoder_through_the_shape_alone() -> None:
    upper, lower = encode(["Ann", "ann"])
    assert not torch.allclose(upper, lower)
    upper, lower = encode(["Ann", "ann"], replace(TINY, shapes=False))
    assert torch.equal(upper, lower)


@pytest.mark.parametrize("shapes", [True, False])
def test_every_parameter_gets_a_gradient(shapes: bool) -> None:
    encoder, tokenizer = fresh(replace(TINY, shapes=shapes))
    encoder.train()
    (encoder(batch_of(TEXTS, tokenizer)).start ** 3).sum().backward()
    gradients = {name: parameter.grad for name, parameter in encoder.named_parameters()}
    assert [name for name, gradient in gradients.items() if gradient is None or not gradient.any()] == []


def test_dropout_falls_on_word_vectors_in_training_alone() -> None:
    encoder, tokenizer = fresh(replace(TINY, dropout=0.5))
    batch = batch_of(TEXTS, tokenizer)
    assert torch.equal(encoder(batch).start, encoder(batch).start)
    encoder.train()
    assert not torch.equal(encoder(batch).start, encoder(batch).start)


def test_examples_without_words_are_let_through() -> None:
    encoder, tokenizer = fresh()
    full = batch_of(["Ann met Bob"], tokenizer)
    none = full._replace(words=torch.tensor([0]))
    assert encoder(none).start.isfinite().all()
    empty = full._replace(pieces=full.pieces[:, :0], shapes=full.shapes[:, :0], words=torch.tensor([0]))
    assert encoder(empty).start.shape == (1, 0, encoder.dimension)
    assert encoder(collate([], special_pieces(tokenizer))).start.shape == (0, 0, encoder.dimension)


def test_a_long_document_becomes_windows() -> None:
    encoder, tokenizer = fresh()
    document = Document(" ".join(["Ann met Bob in Oslo"] * 300))
    examples = list(make_examples([document], tokenizer, limit=encoder.piece_limit(tokenizer), overlap=24))
    assert [len(example.pieces) for example in examples] == [512, 512, 512, 36]


def test_an_encoder_is_rebuilt_from_its_config_and_its_weights(tmp_path: Path) -> None:
    torch.manual_seed(0)
    given_vectors = (["ann", "zed"], torch.randn(2, 4))
    encoder, tokenizer = new_bilstm(WORDS, replace(TINY, freeze=True), vectors=given_vectors)
    encoder.save_config(tmp_path)
    rebuilt = BiLSTMEncoder(BiLSTMConfig.read(tmp_path))
    rebuilt.load_state_dict(encoder.state_dict())
    batch = batch_of(["Ann met Zed"], tokenizer)
    assert torch.equal(rebuilt.eval()(batch).start, encoder.eval()(batch).start)
    assert [p.requires_grad for p in rebuilt.parameters()] == [p.requires_grad for p in encoder.parameters()]


# Words and their vectors


def rows(encoder: BiLSTMEncoder, tokenizer: Any, words: list[str]) -> Tensor:
    """What the encoder looks up for each word."""
    (aligned,) = align([words], tokenizer)
    return encoder._look_up(torch.tensor(aligned.pieces)).squeeze(1)


def test_the_vocabulary_is_ordered_by_frequency_then_alphabet() -> None:
    surfaces = ["b", "a", "c", "a", "b", "d", "é", "Z"]
    assert vocabulary(surfaces, 1) == vocabulary(surfaces[::-1], 1) == ["a", "b", "Z", "c", "d", "é"]
    assert vocabulary(surfaces, 2) == ["a", "b"]
    assert vocabulary(surfaces, 2, always={"d", "e"}) == ["a", "b", "d"]


def test_words_of_the_file_join_those_of_the_corpus() -> None:
    table = torch.arange(12.0).view(4, 3)
    encoder, tokenizer = new_bilstm(["Ann", "ann", "met", "Oslo"], TINY, vectors=(["oslo", "zed", "ann", "."], table))
    assert torch.equal(rows(encoder, tokenizer, ["Oslo", "Zed", "Ann", "."]), table)
    assert (encoder.config.words, encoder.config.unseen, encoder.config.size, len(tokenizer)) == (4, 2, 3, 6)
    assert tokenizer.convert_ids_to_tokens(list(range(6))) == ["[PAD]", "[UNK]", "ann", "oslo", "zed", "."]


def test_words_without_a_given_vector_are_as_large_as_the_given_ones() -> None:
    torch.manual_seed(0)
    table = torch.randn(50, 20) * 7
    names = [f"w{number}" for number in range(200)]
    encoder, tokenizer = new_bilstm(names, TINY, min_count=1, vectors=(names[:50], table))
    assert rows(encoder, tokenizer, names[50:]).std().item() == pytest.approx(7, rel=0.1)


def test_a_single_number_is_vectors_enough() -> None:
    encoder, _ = new_bilstm(["b"], TINY, min_count=1, vectors=(["a"], torch.ones(1, 1)))
    assert encoder.words.weight.isfinite().all()


def test_the_random_start_follows_the_seed() -> None:
    (first, _), (second, _) = fresh(), fresh()
    assert torch.equal(first.words.weight, second.words.weight)


def test_a_word_in_the_same_case_lends_its_vector_before_others() -> None:
    table = torch.tensor([[1.0], [2.0], [3.0], [4.0]])
    encoder, tokenizer = new_bilstm([], TINY, vectors=(["NASA", "Nasa", "Apple", "apple"], table))
    assert rows(encoder, tokenizer, ["APPLE", "nasa"]).tolist() == [[4.0], [1.0]]
    encoder, tokenizer = new_bilstm([], replace(TINY, lowercase=False), vectors=(["Apple", "apple"], table[:2]))
    assert rows(encoder, tokenizer, ["Apple", "apple"]).tolist() == [[1.0], [2.0]]


@pytest.mark.parametrize("lowercase", [True, False])
def test_padding_has_no_vector_though_a_file_gives_one(lowercase: bool) -> None:
    config = replace(TINY, lowercase=lowercase)
    for encoder in (
        new_bilstm(["a"], config)[0],
        new_bilstm(["a"], config, vectors=(["[PAD]", "a"], torch.ones(2, 3)))[0],
    ):
        assert not encoder.words.weight[0].any()


@pytest.mark.parametrize("freeze", [True, False])
def test_only_seen_words_move_and_none_when_frozen(freeze: bool) -> None:
    torch.manual_seed(0)
    given_vectors = (["ann", "zed", "tom"], torch.randn(3, 4))
    encoder, tokenizer = new_bilstm(["Ann", "met"], replace(TINY, freeze=freeze), vectors=given_vectors)
    before = rows(encoder, tokenizer, ["ann", "zed", "tom"]).detach().clone()
    optimiser = torch.optim.AdamW(encoder.parameters(), lr=0.1, weight_decay=0.1)
    (encoder(batch_of(["Ann met Zed"], tokenizer)).start ** 3).sum().backward()
    optimiser.step()
    moved = (rows(encoder, tokenizer, ["ann", "zed", "tom"]) != before).any(1)
    assert moved.tolist() == [not freeze, False, False]
    assert not encoder.words.weight[0].any()


# The tokenizer


@settings(derandomize=True, deadline=None, max_examples=60)
@given(st.lists(st.text(max_size=12), max_size=6), st.lists(st.text(max_size=12), max_size=3), st.booleans())
@example(ODD, [], True)
@example(ODD, ODD, True)
@example(ODD, ["a"], False)
def test_every_word_is_one_piece_and_no_word_is_padding(words: list[str], known: list[str], lowercase: bool) -> None:
    (aligned,) = align([words], word_tokenizer(known, lowercase))
    assert [len(own) for own in aligned.pieces] == [1] * len(words)
    assert [0] not in aligned.pieces
    assert aligned.shortened == 0


@settings(derandomize=True, deadline=None, max_examples=60)
@given(st.text(min_size=1, max_size=12).filter(lambda word: word not in ("[PAD]", "[UNK]")), st.booleans())
@example("ΟΔΟΣ", True)
@example("İstanbul", True)
def test_a_known_word_is_found_again(word: str, lowercase: bool) -> None:
    (aligned,) = align([[word, word + "x"]], word_tokenizer([word], lowercase))
    assert aligned.pieces == [[2], [1]]


def test_words_that_differ_in_case_share_an_entry_when_lowercased() -> None:
    tokenizer = word_tokenizer(["The", "the", "THE", "cat"], lowercase=True)
    assert tokenizer.get_vocab() == {"[PAD]": 0, "[UNK]": 1, "the": 2, "cat": 3}


@pytest.mark.parametrize("known", [["a"], ["b"]])
def test_nothing_stands_around_a_text(known: list[str]) -> None:
    assert special_pieces(word_tokenizer(known, lowercase=True)) == Special([], [], 0)


@pytest.mark.parametrize("lowercase", [True, False])
def test_a_saved_tokenizer_gives_the_same_ids(tmp_path: Path, lowercase: bool) -> None:
    from transformers import AutoTokenizer

    tokenizer = word_tokenizer(["Ann", "New York", "\xa0", "ann", "e-mail"], lowercase)
    tokenizer.save_pretrained(tmp_path)
    # A model's own config.json lies beside it.
    BiLSTMEncoder(TINY).save_config(tmp_path)
    loaded = AutoTokenizer.from_pretrained(tmp_path, use_fast=True, add_prefix_space=True)
    words = ["Ann", "ann", "ANN", "zed", *ODD]
    assert align([words], loaded) == align([words], tokenizer)
    assert special_pieces(loaded) == special_pieces(tokenizer)
    assert (len(loaded), loaded.is_fast, loaded.unk_token_id) == (len(tokenizer), True, 1)


# The file of vectors


@pytest.mark.parametrize(
    "content",
    [
        "the 0.5 -1\n. . . 2 3e-1\n\xa0 0 1\n",
        "3 2\nthe 0.5 -1\n. . . 2 3e-1\n\xa0 0 1\n",
        "\ufeffthe 0.5 -1 \r\n. . . 2 3e-1 \r\n\xa0 0 1 \r\n\r\n",
        "the 0.5 -1\n. . . 2 3e-1\nthe 7 7\n\xa0 0 1",
    ],
    ids=["glove", "word2vec", "windows", "duplicate"],
)
def test_vectors_are_read(tmp_path: Path, content: str) -> None:
    words, table = read_vectors(vectors_file(tmp_path, content))
    assert words == ["the", ". . .", "\xa0"]
    assert torch.equal(table, torch.tensor([[0.5, -1], [2, 0.3], [0, 1]]))


def test_the_first_word_may_have_blanks_too(tmp_path: Path) -> None:
    words, table = read_vectors(vectors_file(tmp_path, ". . 1 2\n10 3 4\n"))
    assert (words, table.tolist()) == ([". .", "10"], [[1, 2], [3, 4]])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("a 1 2\nb 1\n", ":2: a word with 1 numbers, expected 2"),
        ("a 1 2\nb 1 2 3\n", ":2: a word with 3 numbers, expected 2"),
        ("a 1 2\n\nb\n", ":3: a word with 0 numbers, expected 2"),
        ("2 3\na 1 2\n", ":2: a word with 2 numbers, expected 3"),
        ("a 1 2\nb c 2\n", ":2: 'c' is not a number, expected 2"),
        ("a 1 x 2\nb 1 2 3\n", ":2: a word with 3 numbers, expected 1"),
        ("a 1 2\nb 1  2\n", ":2: a word with 1 numbers, expected 2, all apart by one blank"),
        ("a 1 2\nb  1 2\n", ":2: a word with 2 numbers, expected 2, all apart by one blank"),
        ("a 1 2\n 1 2\n", ":2: a word with 2 numbers, expected 2, all apart by one blank"),
        ("a\t1\t2\n", ":1: a word with 0 numbers, expected some"),
        ("a 1 2\na 1 nan\n", ":2: a number that is not finite"),
        ("a 1 2\n\nb inf 2\n", ":3: a number that is not finite"),
        ("a 1 2\nb 1e39 2\n", ":2: a number that is not finite"),
        ("3 2\na 1 2\nb 1 2\n", ": 2 vectors, expected 3 as line 1 says"),
        ("", ": 0 vectors, expected some"),
        (b"a 1 2\n\xff 1 2\n", ":2: byte 6 (0xff) is not UTF-8"),
    ],
)
def test_what_is_wrong_in_a_file_of_vectors_is_said_with_its_line(
    tmp_path: Path, content: str | bytes, message: str
) -> None:
    path = vectors_file(tmp_path, content)
    with pytest.raises(InputError) as caught:
        read_vectors(path)
    assert str(caught.value).startswith(f"{path}{message}")


def test_a_file_that_is_not_there_is_an_input_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        read_vectors(tmp_path / "none.txt")


def test_vectors_of_a_file_reach_the_encoder(tmp_path: Path) -> None:
    encoder, tokenizer = new_bilstm(["Ann"], TINY, vectors=read_vectors(vectors_file(tmp_path, "ann 1 2\nzed 3 4\n")))
    assert rows(encoder, tokenizer, ["Zed", "Ann"]).tolist() == [[3, 4], [1, 2]]
