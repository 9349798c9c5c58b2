"""Prediction: long documents against an oracle of loops, bounded memory, and no traces in the model or the process."""

from __future__ import annotations

import random
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import torch

from goldgap import Document, Recognizer
from goldgap.core.errors import InputError
from goldgap.corpus.words import split_words
from goldgap.encode.align import align
from goldgap.encode.encoder import special_pieces
from goldgap.models.span_model import SpanModel
from tests.slow.test_training import SENTENCES, corpus, settings, settings_of
from tests.tiny import WORDS

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def span_model(tiny_encoder: Path) -> Recognizer:
    return Recognizer.train(corpus(), corpus(), method="span", **settings(tiny_encoder))


@pytest.fixture(scope="module")
def bi_encoder(tiny_encoder: Path) -> Recognizer:
    return Recognizer.train(corpus(), corpus(), method="binder", **settings(tiny_encoder, epochs=15))


@pytest.fixture(scope="module")
def tagger(tiny_encoder: Path) -> Recognizer:
    return Recognizer.train(corpus(), corpus(), method="crf", **settings_of("crf", tiny_encoder))


@pytest.fixture(scope="module")
def adapter(tiny_encoder: Path) -> Recognizer:
    return Recognizer.train(corpus(), corpus(), method="lebert", **settings_of("lebert", tiny_encoder))


@pytest.fixture(params=["span_model", "bi_encoder", "tagger", "adapter"])
def model(request: pytest.FixtureRequest) -> Recognizer:
    found: Recognizer = request.getfixturevalue(request.param)
    return found


# Long documents

Span = tuple[int, int]
Found = tuple[int, int, str, float, float]
"""The words of a span, its type, its score, and what comes first where spans overlap."""


def long_text(words: int) -> str:
    generator = random.Random(1)
    text = ""
    while text.count(" ") < words:
        text += generator.choice(SENTENCES)[0] + " "
        if generator.random() < 0.1:  # words of many pieces, so that windows differ
            text += "".join(generator.choices("abcdexyz", k=generator.randint(3, 12))) + " "
    return text.strip()


def cut_by_the_book(sizes: list[int], limit: int, overlap: int) -> list[Span]:
    """Windows of whole words: as many as fit, and the next begins so many words before the end of the last, half of
    that at most; one that holds no further word is none."""
    windows: list[Span] = []
    first = 0
    while True:
        end = first
        while end < len(sizes) and sum(sizes[first : end + 1]) <= limit:
            end += 1
        if all(end > other for _, other in windows):
            windows.append((first, end))
        if end == len(sizes):
            return windows
        first = max(first + 1, end - min(overlap, (end - first) // 2))


def tagged_by_the_book(model: Recognizer, text: str) -> list[Found]:
    """Every entity that a window has alone, where no other window holds the same words farther from its edges."""
    words = split_words(text)
    sizes = [len(own) for own in align([[text[a:b] for a, b in words]], model.model.tokenizer)[0].pieces]
    special = special_pieces(model.model.tokenizer)
    windows = cut_by_the_book(sizes, 64 - len(special.before) - len(special.behind), model.recipe.train.overlap)
    begins, ends = (
        {a: number for number, (a, _) in enumerate(words)},
        {b: number for number, (_, b) in enumerate(words)},
    )

    def distance(window: Span, first: int, end: int) -> int:
        if not window[0] <= first < end <= window[1]:
            return -1
        left = first - window[0] if window[0] > 0 else len(words)
        right = window[1] - end if window[1] < len(words) else len(words)
        return min(left, right)

    found: list[Found] = []
    for index, window in enumerate(windows):
        offset = words[window[0]][0]
        for entity in model(text[offset : words[window[1] - 1][1]]):
            first, end = begins[offset + entity.start], ends[offset + entity.end] + 1
            distances = [distance(other, first, end) for other in windows]
            if distances.index(max(distances)) == index:
                assert entity.score is not None
                found.append((first, end, entity.label, entity.score, entity.score))
    return found


def scored_by_the_book(model: Recognizer, text: str) -> list[Found]:
    """Every span that is called an entity in the window where it is farthest from an edge."""
    words = split_words(text)
    sizes = [len(own) for own in align([[text[a:b] for a, b in words]], model.model.tokenizer)[0].pieces]
    special = special_pieces(model.model.tokenizer)
    limit = 64 - len(special.before) - len(special.behind)  # what the tiny encoder has positions for
    windows = cut_by_the_book(sizes, limit, model.recipe.train.overlap)
    widths = model.recipe.model.max_width
    best: dict[Span, tuple[int, int]] = {}
    for index, (a, b) in enumerate(windows):
        for first in range(a, b):
            for end in range(first + 1, min(first + widths, b) + 1):
                left = first - a if a > 0 else len(words)
                right = b - end if b < len(words) else len(words)
                if (first, end) not in best or min(left, right) > best[first, end][0]:
                    best[first, end] = (min(left, right), index)
    found = []
    for index, (a, b) in enumerate(windows):
        alone = Document(text[words[a][0] : words[b - 1][1]])
        with torch.no_grad():
            scores = model.model(model.model.batch(model.model.examples([alone])))
        probabilities = torch.softmax(scores.logits[0], -1)
        for first in range(a, b):
            for end in range(first + 1, min(first + widths, b) + 1):
                cell = (first - a) * widths + end - first - 1
                row = probabilities[cell]
                kind = int(row.argmax())
                if best[first, end][1] == index and kind > 0:
                    rank = row[kind] if scores.similarity is None else scores.similarity.span[0, cell, kind - 1]
                    found.append((first, end, model.labels.types[kind - 1], float(row[kind]), float(rank)))
    return found


def flat_by_the_book(spans: list[Found]) -> list[Found]:
    taken: set[int] = set()
    chosen = []
    for span in sorted(spans, key=lambda span: (-span[4], span[0], span[1])):
        if taken.isdisjoint(range(span[0], span[1])):
            taken |= set(range(span[0], span[1]))
            chosen.append(span)
    return sorted(chosen)


@pytest.mark.parametrize(("kind", "size", "least"), [
    ("span_model", 20_000, 4_000),
    ("bi_encoder", 2_000, 200),
    ("tagger", 5_000, 1_000),
    ("adapter", 1_000, 150),
])  # fmt: skip
def test_a_long_document_has_the_entities_of_its_windows(
    kind: str, size: int, least: int, request: pytest.FixtureRequest
) -> None:
    model: Recognizer = request.getfixturevalue(kind)
    text = long_text(size)
    words = split_words(text)
    assert len(words) >= size
    by_the_book = tagged_by_the_book if kind in ("tagger", "adapter") else scored_by_the_book
    expected = flat_by_the_book(by_the_book(model, text))
    found = model(text)
    assert [(text[e.start : e.end], e.label) for e in found] == [
        (text[words[first][0] : words[end - 1][1]], label) for first, end, label, _, _ in expected
    ]
    assert [e.start for e in found] == [words[first][0] for first, _, _, _, _ in expected]
    assert [e.score for e in found] == pytest.approx([score for _, _, _, score, _ in expected], abs=1e-4)
    assert len(found) > least


def test_a_long_document_has_the_entities_of_its_paragraphs(model: Recognizer) -> None:
    texts = [long_text(size) for size in (30, 400, 5, 90, 1_000)]
    assert len(model.model.examples([Document("\n\n".join(texts))])) > 15
    start, alone = 0, []
    for text in texts:
        alone += [(start + e.start, start + e.end, e.label, e.score) for e in model(text)]
        start += len(text) + 2
    whole = [(e.start, e.end, e.label, e.score) for e in model("\n\n".join(texts))]
    assert [span[:3] for span in whole] == [span[:3] for span in alone]
    assert [span[3] for span in whole] == pytest.approx([span[3] for span in alone], abs=1e-5)


def test_no_span_is_lost_at_the_edge_of_a_window(span_model: Recognizer) -> None:
    """A model that calls every span an entity: each is found, and once."""
    model = span_model
    everything = Recognizer(model.model, model.recipe, [], "").with_decoding(how="none")
    assert isinstance(model.model, SpanModel)
    head = model.model.head.head.label
    kept = [head.weight.clone(), head.bias.clone()]
    try:
        with torch.no_grad():
            head.weight.zero_()
            head.bias.copy_(torch.tensor([0.0, 1.0, 0.0, 0.0]))
        text = long_text(1_000)
        found = [(e.start, e.end) for e in everything(text)]
    finally:
        with torch.no_grad():
            head.weight.copy_(kept[0])
            head.bias.copy_(kept[1])
    words = split_words(text)
    widths = model.recipe.model.max_width
    spans = [
        (words[first][0], words[last][1])
        for first in range(len(words))
        for last in range(first, min(first + widths, len(words)))
    ]
    assert len(model.model.examples([Document(text)])) > 10
    assert found == sorted(spans)


# Memory

CHILD = """
import sys
from goldgap.cli import main
try:
    main()
finally:
    # Not ru_maxrss: that counts what the parent held, too.
    print(next(line for line in open("/proc/self/status") if line.startswith("VmHWM:")).split()[1])
"""


def peak_of_predicting(model: Path, text: Path) -> int:
    """Kilobytes that `goldgap predict` held at most."""
    command = [sys.executable, "-c", CHILD, "predict", str(model), str(text), "-o", str(text.with_suffix(".jsonl"))]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return int(done.stdout.splitlines()[-1])


def write_sentences(path: Path, size: int) -> None:
    """So many bytes of sentences of ordinary length, one a line."""
    generator = random.Random(0)
    with path.open("w", encoding="utf-8") as handle:
        while handle.tell() < size:
            handle.write(" ".join(generator.choices(WORDS, k=generator.randint(5, 35))) + " .\n")


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="peak memory is read from /proc")
def test_memory_does_not_grow_with_the_file(span_model: Recognizer, tmp_path: Path) -> None:
    """2 and 20 MB are measured by benchmarks/memory.py."""
    span_model.save(tmp_path / "model")
    peaks = []
    for size in (100_000, 1_000_000):
        write_sentences(tmp_path / f"{size}.txt", size)
        peaks.append(peak_of_predicting(tmp_path / "model", tmp_path / f"{size}.txt"))
    assert peaks[1] < 1.05 * peaks[0]


# Traces


def state(model: Recognizer) -> list[object]:
    """All that a call could change."""
    weights = {name: tensor.clone() for name, tensor in model.model.state_dict().items()}
    chance = (torch.get_rng_state().tolist(), random.getstate(), str(np.random.get_state()))
    flags = [module.training for module in model.model.modules()]
    gradients = [(p.grad is None, p.requires_grad) for p in model.model.parameters()]
    modes = (torch.is_grad_enabled(), torch.get_num_threads(), torch.get_default_dtype())
    return [{name: tensor.tolist() for name, tensor in weights.items()}, chance, flags, gradients, modes]


def test_a_model_says_what_it_is_asked(span_model: Recognizer) -> None:
    assert repr(span_model) == f"<Recognizer: span on {span_model.recipe.encoder.name}, types LOC, ORG, PER>"
    with pytest.raises(InputError, match=r"one text is asked about, found a list: predict\(documents\) takes several"):
        span_model(["Ann met Bob"])  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"found 'Ann met Bob': Document\('a text'\) makes one of a text"):
        list(span_model.predict(["Ann met Bob"]))  # type: ignore[list-item]
    with pytest.raises(InputError, match="a Corpus is looked through, found"):
        span_model.suspects("labels.jsonl")  # type: ignore[arg-type]


def test_calling_a_model_leaves_no_trace(model: Recognizer) -> None:
    documents = [*corpus().documents, Document(long_text(200)), Document("")]
    before = state(model)
    first = list(model.predict(documents))
    assert list(model.predict(documents)) == first
    model.suspects(corpus(complete=False))
    model(documents[0].text)
    assert state(model) == before


def test_a_call_that_is_left_early_leaves_no_trace(model: Recognizer) -> None:
    before = state(model)
    stream = model.predict(corpus())
    next(stream)
    assert state(model) == before
    stream.close()  # type: ignore[attr-defined]
    assert state(model) == before


def test_a_model_in_training_goes_on_training_after_a_call(model: Recognizer) -> None:
    model.model.train()
    try:
        found = list(model.predict(corpus()))
        assert all(module.training for module in model.model.modules())
    finally:
        model.model.eval()
    assert list(model.predict(corpus())) == found


def test_eight_threads_find_the_same(model: Recognizer) -> None:
    documents = [*corpus().documents * 5, Document(long_text(300))]
    expected = list(model.predict(documents))
    before = state(model)
    together = threading.Barrier(8)

    def work(number: int) -> bool:
        together.wait(timeout=60)
        return all(list(model.predict(documents)) == expected for _ in range(3))

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(work, range(8))) == [True] * 8
    assert state(model) == before
