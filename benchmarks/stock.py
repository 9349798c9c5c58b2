"""Stock token classification on the same encoder and the same batches: what our models are held against."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from goldgap import Corpus
from goldgap.encode.batch import Batch, batch_order
from goldgap.encode.transformer import find_encoder
from goldgap.models.model import Model
from goldgap.models.predict import BATCH_SIZE, TOKEN_BUDGET


def load_stock(labels: int) -> Any:
    """Token classification with BIO tags for so many types, around MiniLM."""
    from transformers import AutoModelForTokenClassification
    from transformers.utils import logging

    logging.set_verbosity_error()
    return AutoModelForTokenClassification.from_pretrained(find_encoder("minilm"), num_labels=2 * labels + 1)


def stock_steps(model: Any, optimiser: torch.optim.Optimizer, batches: list[Batch]) -> None:
    """A training step on each batch."""
    model.train()
    for batch in batches:
        optimiser.zero_grad()
        labels = torch.where(batch.mask.bool(), 0, -100)
        model(input_ids=batch.pieces, attention_mask=batch.mask, labels=labels).loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()


def stock_entities(stock: Any, model: Model, corpus: Corpus) -> list[list[tuple[int, int, int]]]:
    """The batches of one of our models through the stock model; a tag for the first piece of each word, read as BIO."""
    examples = model.examples(corpus.documents)
    lengths = [example.length for example in examples]
    found = []
    with torch.no_grad():
        for indices in batch_order(lengths, batch_size=BATCH_SIZE, token_budget=TOKEN_BUDGET, seed=0, epoch=None):
            batch = model.batch([examples[index] for index in indices])
            logits = stock(input_ids=batch.pieces, attention_mask=batch.mask).logits
            tags = torch.log_softmax(logits, -1).argmax(-1).gather(1, batch.first).tolist()
            for row, example in zip(tags, batch.examples, strict=True):
                found.append(_read_tags(row[: len(example.words)], example.words))
    return found


def _read_tags(tags: list[int], words: tuple[tuple[int, int], ...]) -> list[tuple[int, int, int]]:
    """Tag 2k + 1 begins an entity of type k, 2k + 2 goes on with it."""
    entities: list[tuple[int, int, int]] = []
    before = 0
    for (start, end), tag in zip(words, tags, strict=True):
        if tag and (tag % 2 == 1 or before not in (tag, tag - 1)):
            entities.append((start, end, (tag - 1) // 2))
        elif tag:
            entities[-1] = (entities[-1][0], end, entities[-1][2])
        before = tag
    return entities
