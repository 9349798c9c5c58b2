"""Encoders that read a lexicon: word attention, the adapter and FLAT, against the same formulas written as loops."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from goldgap import Document
from goldgap.core.errors import ConfigError
from goldgap.encode.adapter import AdapterConfig, AdapterEncoder
from goldgap.encode.batch import Batch, Example, collate, make_examples
from goldgap.encode.bilstm import look_up
from goldgap.encode.encoder import Encoder, WordVectors, load_tokenizer, special_pieces
from goldgap.encode.flat import LIMIT, FlatConfig, FlatEncoder, new_flat
from goldgap.encode.lexicon import Lexicon
from goldgap.encode.transformer import TransformerEncoder, empty_transformer, load_transformer
from goldgap.encode.windows import Window
from goldgap.encode.word_attention import (
    EntryAttention,
    WordAttentionConfig,
    WordAttentionEncoder,
)
from tests.tiny import WORDS

ENTRIES = [
    "Ann",
    "Ann met",
    "met zed",
    "zed",
    "Acme works",
    "works",
    "in Oslo",
    "Ann met zed in",
    "长江",
    "市长",
    "长江大桥",
]
TEXTS = ["Ann met zed in Oslo", "Paris", "the Acme works of ann", "南京市长江大桥", "zebra"]
"""With entries that overlap, words of several pieces, a text without any match, Chinese."""

Built = tuple[Any, Any]
"""An encoder and its tokenizer."""


def randomise(encoder: nn.Module) -> None:
    """Other numbers than those a fresh encoder begins with, in double precision."""
    encoder.double().eval()
    generator = torch.Generator().manual_seed(1)
    for name, parameter in encoder.named_parameters():
        noise = torch.randn(parameter.shape, generator=generator, dtype=torch.float64)
        parameter.data = parameter.data + 0.3 * noise
        if name.endswith(("entries.weight", "flat.words.weight", "shapes.weight")):
            parameter.data[0] = 0


def transformer(folder: Path, **options: Any) -> tuple[TransformerEncoder, Any]:
    torch.manual_seed(0)
    model, tokenizer = load_transformer(str(folder))
    return TransformerEncoder(model, **options), tokenizer


def word_attention(folder: Path, entries: Sequence[str] = ENTRIES) -> Built:
    inner, tokenizer = transformer(folder)
    config = WordAttentionConfig(size=6, hidden=5, most=3, dropout=0.4)
    encoder = WordAttentionEncoder.new(inner, Lexicon(entries), config)
    randomise(encoder)
    return encoder, tokenizer


def adapter(folder: Path, entries: Sequence[str] = ENTRIES, **options: Any) -> Built:
    inner, tokenizer = transformer(folder, **options)
    encoder = AdapterEncoder.new(inner, Lexicon(entries), AdapterConfig(size=6, most=3, dropout=0.4))
    randomise(encoder)
    return encoder, tokenizer


def flat(folder: Path | None = None, entries: Sequence[str] = ENTRIES) -> Built:
    torch.manual_seed(0)
    config = FlatConfig(size=5, entry_size=6, hidden=8, heads=2, layers=2)
    given_words = (["oslo", "zebra", "江"], torch.randn(3, 5))
    encoder, tokenizer = new_flat([WORDS, "南京市长江"], Lexicon(entries), config, min_count=1, vectors=given_words)
    randomise(encoder)
    return encoder, tokenizer


HOSTS: dict[str, Callable[..., Built]] = {"word attention": word_attention, "adapter": adapter, "flat": flat}
every_host = pytest.mark.parametrize("host", HOSTS.values(), ids=HOSTS)


def examples_of(texts: Sequence[str], tokenizer: Any) -> list[Example]:
    return list(make_examples([Document(text) for text in texts], tokenizer, limit=60, overlap=4))


def batch_of(texts: Sequence[str], tokenizer: Any) -> Batch:
    return collate(examples_of(texts, tokenizer), special_pieces(tokenizer))


def own_words(out: WordVectors, batch: Batch) -> list[Tensor]:
    """(word, dimension) of each example, start and end beside each other."""
    both = torch.cat([out.start, out.end], -1)
    return [both[row, :count] for row, count in enumerate(batch.words.tolist())]


# The formulas as loops


def matches(example: Example, entries: Sequence[str]) -> list[tuple[int, int, int]]:
    """(first, last, id) of every entry, in order of (first, longest first)."""
    found = []
    for first in range(len(example.words)):
        for last in reversed(range(first, len(example.words))):
            offset, text = example.words[first][0], [" "] * (example.words[last][1] - example.words[first][0])
            for (a, b), surface in zip(example.words[first : last + 1], example.surfaces[first:], strict=False):
                text[a - offset : b - offset] = surface
            if "".join(text) in entries:
                found.append((first, last, entries.index("".join(text)) + 1))
    return found


def containing(example: Example, entries: Sequence[str], word: int, most: int) -> list[int]:
    found = [match for match in matches(example, entries) if match[0] <= word <= match[1]]
    return [entry for _, _, entry in sorted(found, key=lambda match: (match[0] - match[1], match[0]))][:most]


def attention_loop(attention: EntryAttention, state: Tensor, ids: Sequence[int]) -> Tensor:
    vectors, scores = [], []
    for number in ids:
        inner = torch.tanh(attention.inner.weight @ attention.entries.weight[number] + attention.inner.bias)
        vectors.append(attention.outer.weight @ inner + attention.outer.bias)
        scores.append((state @ attention.bilinear @ vectors[-1]).exp())
    mixed = torch.zeros_like(state)
    for vector, score in zip(vectors, scores, strict=True):
        mixed = mixed + vector * score / torch.stack(scores).sum()
    return mixed


def lstm_loop(lstm: nn.LSTM, vectors: list[Tensor], suffix: str) -> list[Tensor]:
    read, carry, weights = torch.zeros(lstm.hidden_size).double(), torch.zeros(lstm.hidden_size).double(), lstm
    states = []
    for vector in vectors:
        gates = getattr(weights, f"weight_ih_l0{suffix}") @ vector + getattr(weights, f"bias_ih_l0{suffix}")
        gates = gates + getattr(weights, f"weight_hh_l0{suffix}") @ read + getattr(weights, f"bias_hh_l0{suffix}")
        enter, forget, new, out = gates.chunk(4)
        carry = forget.sigmoid() * carry + enter.sigmoid() * new.tanh()
        read = out.sigmoid() * carry.tanh()
        states.append(read)
    return states


def normalised(norm: nn.LayerNorm, vector: Tensor) -> Tensor:
    centred = vector - vector.mean()
    return centred / ((centred**2).mean() + norm.eps).sqrt() * norm.weight + norm.bias


def word_attention_loop(encoder: WordAttentionEncoder, batch: Batch) -> tuple[Tensor, Tensor]:
    (example,) = batch.examples
    inner: WordVectors = encoder.encoder(batch)
    read = []
    for word in range(len(example.words)):
        state = (inner.start[0, word] + inner.end[0, word]) / 2
        ids = containing(example, ENTRIES, word, encoder.config.most)
        read.append(torch.cat([state, attention_loop(encoder.attention, state, ids)]))
    forward = lstm_loop(encoder.lstm, read, "")
    backward = lstm_loop(encoder.lstm, read[::-1], "_reverse")[::-1]
    states = torch.stack([torch.cat(pair) for pair in zip(forward, backward, strict=True)])
    return torch.cat([states, states], -1), states.mean(0)


def adapter_loop(encoder: AdapterEncoder, batch: Batch) -> tuple[Tensor, Tensor]:
    (example,) = batch.examples
    model: Any = encoder.encoder.model
    states = model.encoder.layer[0](model.embeddings(batch.pieces))[0]  # (piece, dimension)
    words: list[int | None] = [None, *(word for word, own in enumerate(example.pieces) for _ in own), None]
    adapted = []
    for state, word in zip(states, words, strict=True):
        ids = [] if word is None else containing(example, ENTRIES, word, encoder.config.most)
        adapted.append(normalised(encoder.norm, state + attention_loop(encoder.attention, state, ids)))
    states = encoder.encoder.norm(model.encoder.layer[1](torch.stack(adapted)[None])[0])
    assert encoder.encoder.shapes is not None
    shapes = encoder.encoder.shapes(batch.shapes[0])
    return torch.cat([states[batch.first[0]] + shapes, states[batch.last[0]] + shapes], -1), states[0]


def wave(distance: int, size: int) -> Tensor:
    angles = [distance * 10_000 ** (-2 * index / size) for index in range(size // 2)]
    return torch.tensor([*map(math.sin, angles), *map(math.cos, angles)], dtype=torch.float64)


def flat_loop(encoder: FlatEncoder, batch: Batch) -> tuple[Tensor, Tensor]:
    (example,) = batch.examples
    items, places = [], []
    for word, (piece,) in enumerate(example.pieces):
        assert encoder.unseen is not None
        vector = torch.cat([encoder.words.weight, encoder.unseen])[piece]
        items.append(encoder.from_words(vector))
        places.append((word, word))
    for first, last, number in matches(example, ENTRIES):
        items.append(encoder.from_entries(encoder.entries.weight[number]))
        places.append((first, last))
    size = encoder.dimension
    for layer in encoder.layers:
        made = []
        for item, (head, tail) in zip(items, places, strict=True):
            relations = []
            for h, t in places:
                distances = torch.cat([wave(distance, size) for distance in (head - h, head - t, tail - h, tail - t)])
                relations.append(torch.relu(encoder.positions.fuse(distances)))
            made.append(flat_layer_loop(layer, item, items, relations))
        items = made
    states = torch.stack(items[: len(example.pieces)])
    assert encoder.shapes is not None
    shown = states + encoder.shapes(batch.shapes[0])
    return torch.cat([shown, shown], -1), states.mean(0)


def flat_layer_loop(layer: Any, item: Tensor, items: list[Tensor], relations: list[Tensor]) -> Tensor:
    size = len(item) // layer.heads
    mixed = []
    for head in range(layer.heads):
        own = slice(head * size, (head + 1) * size)
        query = (layer.query.weight @ item)[own]
        scores = []
        for other, relation in zip(items, relations, strict=True):
            score = (query + layer.content[own]) @ (layer.key.weight @ other)[own]
            score = score + (query + layer.place[own]) @ (layer.position.weight @ relation)[own]
            scores.append((score / math.sqrt(size)).exp())
        values = [(layer.value.weight @ other)[own] for other in items]
        total = torch.stack(scores).sum()
        mixed.append(torch.stack([score / total * value for score, value in zip(scores, values, strict=True)]).sum(0))
    item = normalised(layer.attention_norm, item + layer.out(torch.cat(mixed)))
    first, _, _, second = layer.feed_forward
    inner = (first.weight @ item + first.bias).clamp(min=0)
    return normalised(layer.feed_forward_norm, item + second.weight @ inner + second.bias)


LOOPS: dict[str, Callable[[Any, Batch], tuple[Tensor, Tensor]]] = {
    "word attention": word_attention_loop,
    "adapter": adapter_loop,
    "flat": flat_loop,
}


@pytest.mark.parametrize("name", HOSTS)
def test_outputs_and_gradients_are_those_of_the_loops(tiny_encoder: Path, name: str) -> None:
    encoder, tokenizer = HOSTS[name](tiny_encoder)
    batch = batch_of(TEXTS, tokenizer)
    out = encoder(batch)
    batched, wholes = own_words(out, batch), out.whole
    expected = [LOOPS[name](encoder, batch_of([text], tokenizer)) for text in TEXTS]
    for got, whole, (wanted, wanted_whole) in zip(batched, wholes, expected, strict=True):
        assert torch.allclose(got, wanted, atol=1e-10, rtol=0)
        assert torch.allclose(whole, wanted_whole, atol=1e-10, rtol=0)
    parameters = dict(encoder.named_parameters())
    got_gradients = gradients(zip(batched, wholes, strict=True), parameters)
    wanted_gradients = gradients(expected, parameters)
    for key in parameters:
        assert torch.allclose(got_gradients[key], wanted_gradients[key], atol=1e-9, rtol=1e-9), key
        assert got_gradients[key].any(), key


def gradients(outputs: Any, parameters: dict[str, nn.Parameter]) -> dict[str, Tensor]:
    loss = torch.stack([(words.sin() ** 3).sum() + (whole.cos() ** 3).sum() for words, whole in outputs]).sum()
    found = torch.autograd.grad(loss, list(parameters.values()), allow_unused=True, materialize_grads=True)
    return dict(zip(parameters, found, strict=True))


# What holds for each of them


@every_host
def test_padding_and_neighbours_change_nothing(tiny_encoder: Path, host: Callable[..., Built]) -> None:
    encoder, tokenizer = host(tiny_encoder)
    batch = batch_of(TEXTS, tokenizer)
    out = encoder(batch)
    for row, text in enumerate(TEXTS):
        alone = encoder(batch_of([text], tokenizer))
        assert torch.allclose(alone.start[0], own_words(out, batch)[row][:, : encoder.dimension], atol=1e-12)
        assert torch.allclose(alone.whole[0], out.whole[row], atol=1e-12)


@every_host
def test_what_stands_in_the_padding_does_not_matter(tiny_encoder: Path, host: Callable[..., Built]) -> None:
    encoder, tokenizer = host(tiny_encoder)
    batch = batch_of(TEXTS, tokenizer)
    before = own_words(encoder(batch), batch)
    batch.pieces[batch.mask == 0] = 3
    for row, count in enumerate(batch.words.tolist()):
        batch.shapes[row, count:] = 2
        batch.first[row, count:], batch.last[row, count:] = 1, 2
    after = own_words(encoder(batch), batch)
    assert all(torch.equal(one, other) for one, other in zip(before, after, strict=True))


@every_host
def test_the_batch_is_not_modified(tiny_encoder: Path, host: Callable[..., Built]) -> None:
    encoder, tokenizer = host(tiny_encoder)
    batch, untouched = batch_of(TEXTS, tokenizer), batch_of(TEXTS, tokenizer)
    encoder(batch)
    assert all(torch.equal(a, b) for a, b in zip(batch[1:], untouched[1:], strict=True))


@every_host
def test_entries_matter_where_they_match_and_nowhere_else(tiny_encoder: Path, host: Callable[..., Built]) -> None:
    encoder, tokenizer = host(tiny_encoder)
    batch = batch_of(TEXTS, tokenizer)
    before = own_words(encoder(batch), batch)
    embedding = encoder.entries if isinstance(encoder, FlatEncoder) else encoder.attention.entries
    embedding.weight.data[1:] += 1
    after = own_words(encoder(batch), batch)
    assert [not torch.equal(a, b) for a, b in zip(before, after, strict=True)] == [True, False, True, True, False]


@every_host
def test_an_example_without_words_is_let_through(tiny_encoder: Path, host: Callable[..., Built]) -> None:
    encoder, tokenizer = host(tiny_encoder)
    special = special_pieces(tokenizer)
    nothing = Example(0, [Window(0, 0)], 0, (), [], [], ())
    some = examples_of(TEXTS[:1], tokenizer)
    alone, beside = encoder(collate(some, special)), encoder(collate([nothing, *some], special))
    assert torch.allclose(alone.start[0], beside.start[1], atol=1e-12)
    assert beside.start.isfinite().all()
    assert beside.whole.isfinite().all()
    beside.start.sum().backward()
    assert all(p.grad is None or p.grad.isfinite().all() for p in encoder.parameters())
    out = encoder(collate([nothing], special))
    assert (out.start.shape, out.whole.shape) == ((1, 0, encoder.dimension), (1, encoder.dimension))
    if not isinstance(encoder, AdapterEncoder):  # transformers know no batch without texts
        assert encoder(collate([], special)).start.shape == (0, 0, encoder.dimension)


@every_host
def test_the_order_of_the_lexicon_does_not_matter(tiny_encoder: Path, host: Callable[..., Built]) -> None:
    encoder, tokenizer = host(tiny_encoder)
    other, _ = host(tiny_encoder, ENTRIES[::-1])
    weights = encoder.state_dict()
    key = next(name for name in weights if name.endswith("entries.weight"))
    weights[key] = torch.cat([weights[key][:1], weights[key][1:].flip(0)])
    other.load_state_dict(weights)
    batch = batch_of(TEXTS, tokenizer)
    assert torch.allclose(encoder(batch).start, other(batch).start, atol=1e-12)


@every_host
def test_an_empty_lexicon_is_allowed(tiny_encoder: Path, tmp_path: Path, host: Callable[..., Built]) -> None:
    encoder, tokenizer = host(tiny_encoder, [])
    encoder.save_config(tmp_path)
    assert len(Lexicon.read(tmp_path)) == 0
    assert encoder(batch_of(TEXTS, tokenizer)).start.isfinite().all()


@every_host
def test_a_saved_encoder_is_rebuilt(tiny_encoder: Path, tmp_path: Path, host: Callable[..., Built]) -> None:
    encoder, tokenizer = host(tiny_encoder)
    encoder.save_config(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    rebuilt: Any
    if isinstance(encoder, FlatEncoder):
        rebuilt = FlatEncoder.read(tmp_path)
    else:
        rebuilt = type(encoder).read(tmp_path, TransformerEncoder(empty_transformer(tmp_path)))
    rebuilt.double().eval().load_state_dict(encoder.state_dict())
    assert rebuilt.config == encoder.config
    one, other = encoder(batch_of(TEXTS, tokenizer)), rebuilt(batch_of(TEXTS, load_tokenizer(tmp_path)))
    assert all(torch.equal(a, b) for a, b in zip(one, other, strict=True))


@every_host
def test_each_dropout_falls_in_training_alone(tiny_encoder: Path, host: Callable[..., Built]) -> None:
    encoder, tokenizer = host(tiny_encoder)
    batch = batch_of(TEXTS, tokenizer)
    still = encoder(batch).start
    assert torch.equal(encoder(batch).start, still)
    own = {
        name: part for name, part in encoder.named_modules() if isinstance(part, nn.Dropout) and "model." not in name
    }
    assert own
    for name, dropout in own.items():
        dropout.train()
        assert not torch.allclose(encoder(batch).start, still), name
        dropout.eval()


@every_host
def test_a_copy_is_an_encoder_of_its_own(tiny_encoder: Path, host: Callable[..., Built]) -> None:
    encoder, tokenizer = host(tiny_encoder)
    batch = batch_of(TEXTS, tokenizer)
    other = copy.deepcopy(encoder)
    before = encoder(batch).start
    for parameter in other.parameters():
        parameter.data += 0.1
    assert torch.equal(encoder(batch).start, before)
    assert not torch.allclose(other(batch).start, before)


@every_host
def test_each_is_an_encoder_with_new_and_pretrained_parameters(tiny_encoder: Path, host: Callable[..., Built]) -> None:
    encoder, tokenizer = host(tiny_encoder)
    as_any_other: Encoder = encoder
    pretrained = {id(parameter) for parameter in as_any_other.pretrained()}
    inside = {id(p) for name, p in encoder.named_parameters() if name.startswith("encoder.model.")}
    assert pretrained == inside
    assert as_any_other.piece_limit(tokenizer) == (LIMIT if isinstance(encoder, FlatEncoder) else 62)
    assert len(encoder.state_dict()) == len({value.data_ptr() for value in encoder.state_dict().values()})


@pytest.mark.parametrize("freeze", [True, False])
def test_frozen_entries_get_no_gradient(tiny_encoder: Path, freeze: bool) -> None:
    inner, _ = transformer(tiny_encoder)
    lexicon = Lexicon(ENTRIES)
    attending = WordAttentionEncoder.new(inner, lexicon, WordAttentionConfig(freeze=freeze))
    adapting = AdapterEncoder.new(inner, lexicon, AdapterConfig(freeze=freeze))
    flattened, _ = new_flat([WORDS], lexicon, FlatConfig(freeze=freeze))
    frozen = [attending.attention.entries, adapting.attention.entries, flattened.entries, flattened.words]
    assert [embedding.weight.requires_grad for embedding in frozen] == [not freeze] * 4
    learned, _ = new_flat([WORDS], lexicon, FlatConfig(freeze_entries=freeze))
    assert learned.words.weight.requires_grad
    assert learned.entries.weight.requires_grad is not freeze


def test_given_vectors_set_sizes_and_entries(tiny_encoder: Path) -> None:
    inner, _ = transformer(tiny_encoder)
    lexicon = Lexicon(["Zed", "长江", "Ann"], fold=True)
    vectors = (["长江", "ann", "nobody"], torch.arange(21.0).view(3, 7))
    attending = WordAttentionEncoder.new(inner, lexicon, WordAttentionConfig(hidden=5), entry_vectors=vectors)
    adapting = AdapterEncoder.new(inner, lexicon, AdapterConfig(), entry_vectors=vectors)
    flattened, tokenizer = new_flat(
        [["Ann"]], lexicon, FlatConfig(), entry_vectors=vectors, vectors=vectors, min_count=1
    )
    of_length_one = vectors[1][:2] / vectors[1][:2].norm(dim=1, keepdim=True)
    for embedding in (attending.attention.entries, adapting.attention.entries, flattened.entries):
        expected = of_length_one if embedding is flattened.entries else vectors[1][:2]
        assert torch.allclose(embedding.weight[2:], expected)
        assert not embedding.weight[0].any()
    assert (attending.config.size, adapting.config.size, flattened.config.entry_size) == (7, 7, 7)
    assert attending.config.fold
    assert adapting.config.fold
    assert flattened.config.fold
    ids = torch.tensor([tokenizer.convert_tokens_to_ids(["长江", "ann"])])
    assert torch.allclose(look_up(flattened.words, flattened.unseen, ids)[0], of_length_one)


# The adapter


def other_models() -> dict[str, nn.Module]:
    """One tiny encoder of each family that keeps or returns its layers in another way."""
    from transformers import (
        BertConfig,
        BertModel,
        DistilBertConfig,
        DistilBertModel,
        ElectraConfig,
        ElectraModel,
        MPNetConfig,
        MPNetModel,
        RoFormerConfig,
        RoFormerModel,
    )

    shape: dict[str, Any] = {"vocab_size": 120, "hidden_size": 8, "num_hidden_layers": 3, "num_attention_heads": 2}
    shape |= {"intermediate_size": 16, "max_position_embeddings": 64}
    torch.manual_seed(0)
    distil = DistilBertConfig(vocab_size=120, dim=8, n_layers=3, n_heads=2, hidden_dim=16, max_position_embeddings=64)
    made: list[Any] = [
        BertModel(BertConfig(**shape)),
        RoFormerModel(RoFormerConfig(**shape)),
        MPNetModel(MPNetConfig(**shape)),
        ElectraModel(ElectraConfig(embedding_size=8, **shape)),
        DistilBertModel(distil),
    ]
    return {type(model).__name__: model for model in made}


def record_inputs(layer: nn.Module) -> list[Tensor]:
    """What a layer reads from now on."""
    read: list[Tensor] = []
    layer.register_forward_pre_hook(lambda module, given: read.append(given[0]))
    return read


@pytest.mark.parametrize("layer", [1, 2])
def test_the_next_layer_of_any_model_reads_the_adapted_states(tiny_encoder: Path, layer: int) -> None:
    tokenizer = load_tokenizer(tiny_encoder)
    batch = batch_of(["Ann met zed in Oslo"], tokenizer)
    for name, model in other_models().items():
        encoder = AdapterEncoder.new(TransformerEncoder(model), Lexicon(ENTRIES), AdapterConfig(size=6, layer=layer))
        randomise(encoder)
        with torch.no_grad():
            plain = model(batch.pieces, output_hidden_states=True).hidden_states[layer]
            layers: Any = model.transformer if hasattr(model, "transformer") else model.encoder
            inputs = record_inputs(layers.layer[layer])
            encoder(batch)
            (read,) = inputs
        (example,) = batch.examples
        words = [None, *(word for word, own in enumerate(example.pieces) for _ in own), None]
        for piece, word in enumerate(words):
            ids = [] if word is None else containing(example, ENTRIES, word, 5)
            mixed = plain[0, piece] + attention_loop(encoder.attention, plain[0, piece], ids)
            assert torch.allclose(read[0, piece], normalised(encoder.norm, mixed), atol=1e-10), (name, piece)


def test_dropout_falls_before_the_adapter_normalises(tiny_encoder: Path) -> None:
    inner, tokenizer = transformer(tiny_encoder)
    encoder = AdapterEncoder.new(inner, Lexicon(ENTRIES), AdapterConfig(dropout=0.4)).train()
    model: Any = inner.model.eval()
    inputs = record_inputs(model.encoder.layer[1])
    encoder(batch_of(TEXTS, tokenizer))
    assert inputs[0].mean(-1).abs().max() < 1e-5


def test_a_model_without_a_list_of_layers_is_refused() -> None:
    from transformers import AlbertConfig, AlbertModel

    config = AlbertConfig(vocab_size=50, embedding_size=8, hidden_size=8, num_attention_heads=2, intermediate_size=8)
    with pytest.raises(ConfigError, match="AlbertModel has no list of layers"):
        AdapterEncoder.new(TransformerEncoder(AlbertModel(config)), Lexicon(ENTRIES), AdapterConfig())


@pytest.mark.parametrize("layer", [0, 3])
def test_a_layer_that_is_not_there_is_refused(tiny_encoder: Path, layer: int) -> None:
    inner, _ = transformer(tiny_encoder)
    with pytest.raises(ConfigError, match=f"no layer {layer} in this encoder, expected one of 1 to 2"):
        AdapterEncoder.new(inner, Lexicon(ENTRIES), AdapterConfig(layer=layer))


def test_a_mix_of_layers_sees_the_adapted_one_at_every_call(tiny_encoder: Path) -> None:
    encoder, tokenizer = adapter(tiny_encoder, layers="mix")
    encoder.encoder.mix.data = torch.tensor([-99.0, 0.0, -99.0]).double()  # the first layer alone
    batch = batch_of(TEXTS[:1], tokenizer)
    model = encoder.encoder.model
    state = model.encoder.layer[0](model.embeddings(batch.pieces))[0, 1]
    mixed = state + attention_loop(encoder.attention, state, containing(batch.examples[0], ENTRIES, 0, 3))
    expected = normalised(encoder.encoder.norm, normalised(encoder.norm, mixed))
    for _ in range(2):
        assert torch.allclose(encoder(batch).start[0, 0] - encoder.encoder.shapes(batch.shapes)[0, 0], expected)


def test_the_wrapped_model_is_as_it_was_outside_of_the_adapter(tiny_encoder: Path) -> None:
    encoder, tokenizer = adapter(tiny_encoder)
    batch = batch_of(TEXTS, tokenizer)
    before = encoder.encoder(batch).start
    assert not torch.allclose(encoder(batch).start, before)
    with pytest.raises(IndexError):
        encoder(batch._replace(pieces=batch.pieces + 1000))
    assert torch.equal(encoder.encoder(batch).start, before)


# FLAT


def test_heads_must_share_the_hidden_size() -> None:
    with pytest.raises(ConfigError, match="a hidden size of 12, expected a multiple of 2 and of 8 heads"):
        FlatEncoder(Lexicon([]), FlatConfig(hidden=12))


def test_what_is_added_to_queries_is_a_vector_as_biases_are() -> None:
    """An optimiser decays what has more dimensions."""
    encoder, _ = flat()
    added = [layer.content for layer in encoder.layers] + [layer.place for layer in encoder.layers]
    assert [parameter.dim() for parameter in added] == [1] * len(added)


def test_relations_are_few_though_pairs_are_many() -> None:
    encoder, tokenizer = flat()
    batch = batch_of([" ".join(["Ann met zed in Oslo"] * 10)] * 4, tokenizer)
    items = 50 + 60
    heads = torch.arange(50).repeat(4, 1)
    relations, index = encoder.positions(heads, heads)
    assert (relations.shape[0], index.shape) == (99, (4, 50, 50))
    seen: list[int] = []
    encoder.positions.register_forward_hook(lambda module, given, out: seen.extend([len(out[0]), out[1].shape[1]]))
    encoder(batch)
    assert seen[1] == items
    assert seen[0] < items**2 / 10


def test_a_long_document_becomes_windows_of_flat() -> None:
    encoder, tokenizer = flat()
    document = Document(" ".join(["Ann met Bob in Oslo"] * 60))
    made = list(make_examples([document], tokenizer, limit=encoder.piece_limit(tokenizer), overlap=24))
    assert [len(example.pieces) for example in made] == [256, 68]


def test_words_given_and_seen_are_known_to_flat() -> None:
    config = replace(FlatConfig(), hidden=8)
    given_words = (["zed"], torch.ones(1, 3))
    encoder, tokenizer = new_flat([["Ann", "met"], ["Ann"]], Lexicon([]), config, min_count=1, vectors=given_words)
    assert (encoder.config.words, encoder.config.unseen, encoder.config.size, len(tokenizer)) == (4, 1, 3, 5)


def test_dropout_of_flat_falls_on_all_that_comes_in_is_added_and_goes_out() -> None:
    encoder, tokenizer = flat()
    rates: list[float] = []
    for part in encoder.modules():
        if isinstance(part, nn.Dropout):
            part.register_forward_hook(lambda module, given, out: rates.append(module.p))
    encoder(batch_of(TEXTS, tokenizer))
    config = encoder.config
    layer = [config.residual_dropout, config.feed_forward_dropout, config.residual_dropout]
    assert rates == [config.dropout, config.dropout, *layer, *layer, config.output_dropout]
