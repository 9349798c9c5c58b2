"""The BiLSTM encoder: one piece a word, both directions, and word vectors from a file."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st
from torch import Tensor

from goldgap import Document
from goldgap.encode.align import Shape, align
from goldgap.encode.batch import Batch, Special, collate, make_examples
from goldgap.encode.bilstm import (
    BOUNDARY,
    LIMIT,
    BiLSTMConfig,
    BiLSTMEncoder,
    look_up,
    new_bilstm,
    pairs_of,
    vocabulary,
    word_tokenizer,
)
from goldgap.encode.encoder import special_pieces
from goldgap.encode.vectors import read_vectors
from tests.tiny import WORDS

TINY = BiLSTMConfig(size=6, hidden=5, dropout=0.0)
PAIRED = replace(TINY, bigrams=True)
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
    encoder, tokenizer = new_bilstm([WORDS], config, min_count=1)
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


# The encoder


@pytest.mark.parametrize("config", [TINY, PAIRED])
def test_alone_in_a_batch_and_padded_give_the_same_vectors(config: BiLSTMConfig) -> None:
    for text, one in zip(TEXTS, encode(TEXTS, config), strict=True):
        (alone,) = encode([text], config)
        assert torch.allclose(alone, one, atol=1e-5)


@pytest.mark.parametrize("config", [TINY, PAIRED])
def test_permuting_the_batch_permutes_the_vectors(config: BiLSTMConfig) -> None:
    for one, other in zip(encode(TEXTS, config), reversed(encode(TEXTS[::-1], config)), strict=True):
        assert torch.allclose(one, other, atol=1e-6)


@pytest.mark.parametrize("config", [TINY, PAIRED])
def test_what_stands_in_the_padding_does_not_matter(config: BiLSTMConfig) -> None:
    encoder, tokenizer = fresh(config)
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


@pytest.mark.parametrize("config", [TINY, replace(TINY, shapes=False), PAIRED])
def test_every_parameter_gets_a_gradient(config: BiLSTMConfig) -> None:
    encoder, tokenizer = fresh(config)
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


@pytest.mark.parametrize("config", [TINY, PAIRED])
def test_examples_without_words_are_let_through(config: BiLSTMConfig) -> None:
    encoder, tokenizer = fresh(config)
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
    encoder, tokenizer = new_bilstm([WORDS], replace(TINY, freeze=True), vectors=given_vectors)
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
    return look_up(encoder.words, encoder.unseen, torch.tensor(aligned.pieces)).squeeze(1)


def test_the_vocabulary_is_ordered_by_frequency_then_alphabet() -> None:
    surfaces = ["b", "a", "c", "a", "b", "d", "é", "Z"]
    assert vocabulary(surfaces, 1) == vocabulary(surfaces[::-1], 1) == ["a", "b", "Z", "c", "d", "é"]
    assert vocabulary(surfaces, 2) == ["a", "b"]
    assert vocabulary(surfaces, 2, always={"d", "e"}) == ["a", "b", "d"]


def test_words_of_the_file_join_those_of_the_corpus() -> None:
    table = torch.arange(12.0).view(4, 3)
    encoder, tokenizer = new_bilstm([["Ann", "ann", "met", "Oslo"]], TINY, vectors=(["oslo", "zed", "ann", "."], table))
    assert torch.equal(rows(encoder, tokenizer, ["Oslo", "Zed", "Ann", "."]), table)
    assert (encoder.config.words, encoder.config.unseen, encoder.config.size, len(tokenizer)) == (4, 2, 3, 6)
    assert tokenizer.convert_ids_to_tokens(list(range(6))) == ["[PAD]", "[UNK]", "ann", "oslo", "zed", "."]


def test_words_without_a_given_vector_are_as_large_as_the_given_ones() -> None:
    torch.manual_seed(0)
    table = torch.randn(50, 20) * 7
    names = [f"w{number}" for number in range(200)]
    encoder, tokenizer = new_bilstm([names], TINY, min_count=1, vectors=(names[:50], table))
    assert rows(encoder, tokenizer, names[50:]).std().item() == pytest.approx(7, rel=0.1)


def test_a_single_number_is_vectors_enough() -> None:
    encoder, _ = new_bilstm([["b"]], TINY, min_count=1, vectors=(["a"], torch.ones(1, 1)))
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
        new_bilstm([["a"]], config)[0],
        new_bilstm([["a"]], config, vectors=(["[PAD]", "a"], torch.ones(2, 3)))[0],
    ):
        assert not encoder.words.weight[0].any()


@pytest.mark.parametrize("freeze", [True, False])
def test_only_seen_words_move_and_none_when_frozen(freeze: bool) -> None:
    torch.manual_seed(0)
    given_vectors = (["ann", "zed", "tom"], torch.randn(3, 4))
    encoder, tokenizer = new_bilstm([["Ann", "met"]], replace(TINY, freeze=freeze), vectors=given_vectors)
    before = rows(encoder, tokenizer, ["ann", "zed", "tom"]).detach().clone()
    optimiser = torch.optim.AdamW(encoder.parameters(), lr=0.1, weight_decay=0.1)
    (encoder(batch_of(["Ann met Zed"], tokenizer)).start ** 3).sum().backward()
    optimiser.step()
    moved = (rows(encoder, tokenizer, ["ann", "zed", "tom"]) != before).any(1)
    assert moved.tolist() == [not freeze, False, False]
    assert not encoder.words.weight[0].any()


def test_vectors_of_a_file_reach_the_encoder(tmp_path: Path) -> None:
    path = tmp_path / "vectors.txt"
    path.write_text("ann 1 2\nzed 3 4\n", encoding="utf-8")
    encoder, tokenizer = new_bilstm([["Ann"]], TINY, vectors=read_vectors(path))
    assert rows(encoder, tokenizer, ["Zed", "Ann"]).tolist() == [[3, 4], [1, 2]]


# Pairs of words

ANN = ["Ann", "met", "Bob", "ann", "met", "Oslo", "bob"]


def test_each_word_is_paired_with_the_next_and_the_last_with_none() -> None:
    assert list(pairs_of(["a", "b", "a"])) == [("a", "b"), ("b", "a"), ("a", BOUNDARY)]
    assert list(pairs_of([])) == []


def test_pairs_seen_often_enough_are_known() -> None:
    encoder, _ = new_bilstm([ANN, ["met", "Ann"], ["Met", "Bob"], ["Bob"]], PAIRED)
    assert encoder.config.pairs == (("bob", ""), ("ann", "met"), ("met", "bob"))
    assert encoder.bigrams is not None
    assert encoder.bigrams.vectors.weight.shape == (5, 6)
    encoder, _ = new_bilstm([ANN, ["met", "Ann"]], replace(PAIRED, lowercase=False), min_count=1)
    assert {("Ann", "met"), ("ann", "met"), ("met", "Ann"), ("Ann", "")} < set(encoder.config.pairs)
    assert ("Ann", "Ann") not in encoder.config.pairs
    assert new_bilstm([ANN], TINY, min_count=1)[0].config.pairs == ()


def pair_vectors(texts: list[str], config: BiLSTMConfig = PAIRED) -> tuple[BiLSTMEncoder, Tensor]:
    """An encoder that has seen ANN, and what it looks up for the pairs of texts (text, word, size)."""
    torch.manual_seed(0)
    encoder, tokenizer = new_bilstm([ANN], config, min_count=1)
    assert encoder.bigrams is not None
    return encoder, encoder.bigrams(batch_of(texts, tokenizer))


def test_pairs_are_looked_up_by_this_word_and_the_next() -> None:
    encoder, found = pair_vectors(["ANN met bob", "Oslo Ann", "met"])
    assert encoder.bigrams is not None
    weight = encoder.bigrams.vectors.weight
    row = {pair: number for number, pair in enumerate(encoder.config.pairs, start=2)}
    boundary = row["bob", ""]
    expected = [[row["ann", "met"], row["met", "bob"], boundary], [1, 1, 0], [1, 0, 0]]
    assert torch.equal(found, weight[torch.tensor(expected)])
    assert not weight[0].any()
    assert all(weight[1:].any(1))


def test_pairs_keep_their_case_where_words_do() -> None:
    encoder, found = pair_vectors(["Ann met", "ann met", "ANN met"], replace(PAIRED, lowercase=False))
    assert encoder.bigrams is not None
    assert not torch.equal(found[0, 0], found[1, 0])
    assert torch.equal(found[2, 0], encoder.bigrams.vectors.weight[1])


def test_a_known_pair_changes_what_the_lstm_reads() -> None:
    encoder, tokenizer = fresh(PAIRED)
    batch = batch_of(["the ann", "ann the"], tokenizer)  # WORDS has "the ann" and not "ann the"
    before = encoder(batch).start
    assert encoder.bigrams is not None
    encoder.bigrams.vectors.weight.data[2:] += 1
    changed = (encoder(batch).start != before).any(2).any(1)
    assert changed.tolist() == [True, False]


def test_dropout_falls_on_pairs_too() -> None:
    encoder, tokenizer = fresh(replace(PAIRED, dropout=0.5))
    encoder.train().words.weight.data.zero_()
    batch = batch_of(TEXTS, tokenizer)
    assert not torch.equal(encoder(batch).start, encoder(batch).start)


def test_the_last_pair_of_a_window_has_no_next_word() -> None:
    torch.manual_seed(0)
    encoder, tokenizer = new_bilstm([["Ann", "met", "Bob"] * 3, ["met"]], PAIRED, min_count=1)
    document = Document("Ann met Bob Ann met Bob")
    examples = list(make_examples([document], tokenizer, limit=5, overlap=2))
    assert [example.surfaces[-1] for example in examples] == ["met", "Bob"]
    assert encoder.bigrams is not None
    found = encoder.bigrams(collate(examples, special_pieces(tokenizer)))
    row = {pair: number for number, pair in enumerate(encoder.config.pairs, start=2)}
    assert torch.equal(found[0, 4], encoder.bigrams.vectors.weight[row["met", BOUNDARY]])
    assert torch.equal(found[0, 1], encoder.bigrams.vectors.weight[row["met", "bob"]])


def test_pairs_are_as_long_as_the_given_vectors_and_learn_though_those_are_frozen() -> None:
    given_vectors = (["ann", "met"], torch.randn(2, 4))
    encoder, tokenizer = new_bilstm([ANN], replace(PAIRED, freeze=True), min_count=1, vectors=given_vectors)
    assert encoder.bigrams is not None
    assert encoder.bigrams.vectors.weight.shape[1] == 4
    (encoder(batch_of(["Ann met Bob"], tokenizer)).start ** 3).sum().backward()
    gradient = encoder.bigrams.vectors.weight.grad
    assert gradient is not None
    assert gradient.any()
    assert encoder.words.weight.grad is None


def test_pairs_of_any_characters_are_rebuilt(tmp_path: Path) -> None:
    words = ["a b", '"', "\\", "\n", "👩‍👩‍👧", "\u2028", "İ", "[PAD]"]
    torch.manual_seed(0)
    encoder, tokenizer = new_bilstm([words, words[::-1]], PAIRED, min_count=1)
    encoder.save_config(tmp_path)
    config = BiLSTMConfig.read(tmp_path)
    assert config == encoder.config
    rebuilt = BiLSTMEncoder(config)
    rebuilt.load_state_dict(encoder.state_dict())
    examples = list(make_examples([Document('a İ" 👩‍👩‍👧 [PAD]')], tokenizer, limit=LIMIT, overlap=4))
    examples.append(replace(examples[0], pieces=[[1]] * 8, shapes=[Shape.lower] * 8, surfaces=tuple(words)))
    batch = collate(examples, special_pieces(tokenizer))
    assert torch.equal(rebuilt.eval()(batch).start, encoder.eval()(batch).start)


def test_an_encoder_without_pairs_saves_none_and_one_of_before_is_read(tmp_path: Path) -> None:
    BiLSTMEncoder(TINY).save_config(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["config.json"]
    assert BiLSTMConfig.read(tmp_path) == TINY
    before = {"words": 2, "unseen": 0, "size": 6, "hidden": 5, "dropout": 0.0, "lowercase": True, "shapes": True}
    (tmp_path / "config.json").write_text(json.dumps({**before, "freeze": False}), encoding="utf-8")
    assert BiLSTMConfig.read(tmp_path) == TINY


def test_examples_that_do_not_say_what_their_words_look_like_are_refused() -> None:
    encoder, tokenizer = fresh(PAIRED)
    batch = batch_of(["Ann met Bob"], tokenizer)
    with pytest.raises(ValueError, match="does not say what its words look like"):
        encoder(batch._replace(examples=[replace(batch.examples[0], surfaces=())]))


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
