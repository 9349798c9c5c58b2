"""A tiny encoder, built in-process: two layers of 32 dimensions over the letters and a few words."""

from __future__ import annotations

import string
from pathlib import Path

import torch

WORDS = ["the", "ann", "bob", "paris", "oslo", "lives", "in", "met", "and", "acme", "works", "at", "of", "was", "to"]


def save_tiny_encoder(folder: Path, *, positions: int = 64, mask: bool = False) -> Path:
    """A BERT with random weights and its tokenizer, as a directory like those of the hub; with a mask piece or not."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
    from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

    letters = string.ascii_lowercase + string.digits + string.punctuation
    entries = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *WORDS, *letters, *(f"##{letter}" for letter in letters)]
    more = {"mask_token": "[MASK]"} if mask else {}
    vocabulary = {entry: number for number, entry in enumerate(dict.fromkeys([*entries, *more.values()]))}
    tokenizer = Tokenizer(models.WordPiece(vocab=vocabulary, unk_token="[UNK]", max_input_chars_per_word=20_000))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, unk_token="[UNK]", pad_token="[PAD]", cls_token="[CLS]", sep_token="[SEP]", **more
    )
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=len(vocabulary),
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=64,
        max_position_embeddings=positions,
    )
    model = BertModel(config, add_pooling_layer=False)
    model.save_pretrained(folder)
    fast.save_pretrained(folder)
    lexicon_in(folder).write_text("\n".join(["Ann", "Ann Lee", "Oslo", "in Paris", "Paris"]) + "\n", encoding="utf-8")
    return folder


def lexicon_in(folder: Path) -> Path:
    """The file of words that stand in the sentences of the tests."""
    return folder / "words.txt"
