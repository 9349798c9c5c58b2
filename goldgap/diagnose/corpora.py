"""How sparse the entities of a corpus are, and what drawing negatives uniformly from it does (001)."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from goldgap.core.corpus import Corpus
from goldgap.diagnose.need import need
from goldgap.diagnose.sampling import sample_epochs
from goldgap.diagnose.sparsity import (
    by_length,
    coverage,
    coverage_bound,
    expected_missampling,
    guarantee,
    guarantee_bound,
    sentences_of,
)
from goldgap.distant.mask import mask
from goldgap.report.diagnosis import Diagnosis
from goldgap.report.svg import Series
from goldgap.unknown.uniform import Uniform

mean = statistics.mean


def sparsity(corpus: Corpus) -> Diagnosis:
    """Entities of a sentence against the root of its words (001 Fig. 3)."""
    sentences = sentences_of(corpus)
    need(sentences, "sentences with words")
    dense = sum(not sentence.sparse for sentence in sentences)
    bins = by_length(sentences)
    rows = [
        (
            f"{one.low} to {one.high}",
            f"{len(one.sentences):,}",
            f"{mean(sentence.entities for sentence in one.sentences):.2f}",
            f"{mean(sentence.words**0.5 for sentence in one.sentences):.2f}",
            f"{100 * mean(not sentence.sparse for sentence in one.sentences):.2f} %",
        )
        for one in bins
    ]
    return Diagnosis(
        "Entities of a sentence, and the root of its words",
        f"{dense:,} of {len(sentences):,} sentences ({100 * dense / len(sentences):.2f} %) have more entities than the "
        "root of their words.",
        ("words", "sentences", "entities", "root of words", "with more"),
        rows,
        [
            Series("entities", [(one.middle, mean(s.entities for s in one.sentences)) for one in bins]),
            Series("root of the words", [(one.middle, mean(s.words**0.5 for s in one.sentences)) for one in bins]),
        ],
        x="words of the sentence",
        y="entities",
    )


def promises(corpus: Corpus, *, ratio: float, max_width: int, epochs: int, seed: int = 0) -> Diagnosis:
    """The probability that no missing entity is drawn from a sentence: its bound, and as sampled (001 eq. 6-13)."""
    sentences = sentences_of(corpus, max_width)
    need([sentence for sentence in sentences if sentence.missing], "masked entities; mask the corpus first")
    clean = sample_epochs(corpus, Uniform(ratio=ratio), max_width=max_width, epochs=epochs, seed=seed).clean.tolist()
    measured = dict(zip(map(id, sentences), clean, strict=True))
    bins = by_length(sentences)
    rows, lines = [], {"exact": [], "sampled": [], "bound": []}  # type: ignore[var-annotated]
    for one in bins:
        exact = mean(guarantee(sentence, ratio, max_width) for sentence in one.sentences)
        sampled = mean(measured[id(sentence)] for sentence in one.sentences)
        bound = mean(guarantee_bound(sentence.words, ratio) for sentence in one.sentences)
        covered = mean(coverage(sentence, ratio, max_width) for sentence in one.sentences)
        covered_bound = mean(coverage_bound(sentence.words) for sentence in one.sentences)
        for line, value in zip(lines.values(), (exact, sampled, bound), strict=True):
            line.append((one.middle, 100 * value))
        values = (exact, sampled, bound, covered, covered_bound)
        rows.append(
            (f"{one.low} to {one.high}", f"{len(one.sentences):,}", *(f"{100 * value:.2f} %" for value in values))
        )
    worst = max(abs(a - b) for (_, a), (_, b) in zip(lines["exact"], lines["sampled"], strict=True))
    return Diagnosis(
        "Sentences from which no missing entity is drawn",
        f"Drawn {epochs:,} times with {ratio:g} spans a word{f' of up to {max_width} words' if max_width else ''}, the "
        f"share is nowhere farther than {worst:.2f} points from what is expected.",
        ("words", "sentences", "expected", "sampled", "bound", "negatives drawn", "bound of it"),
        rows,
        [Series(name, points) for name, points in lines.items()],
        x="words of the sentence",
        y="sentences without a missing entity, %",
    )


def missampling(
    corpus: Corpus, drops: Sequence[float], *, seeds: int, ratio: float, max_width: int, epochs: int
) -> Diagnosis:
    """How often the uniform sampler takes a masked entity for a negative, over masks and draws (001 Fig. 4)."""
    need(corpus.entity_count, "entities to mask")
    rows, points, band, wanted = [], [], [], []
    for drop in drops:
        rates, expected = [], []
        for seed in range(seeds):
            masked = mask(corpus, drop, seed=seed)
            drawn = sample_epochs(masked, Uniform(ratio=ratio), max_width=max_width, epochs=epochs, seed=seed)
            rates.append(100 * drawn.rate)
            expected.append(100 * expected_missampling(sentences_of(masked, max_width), ratio, max_width))
        spread = statistics.stdev(rates) if seeds > 1 else 0.0
        points.append((drop, mean(rates)))
        band.append((min(rates), max(rates)))
        wanted.append((drop, mean(expected)))
        off = mean(rates) / mean(expected) if mean(expected) else 1.0
        rows.append((f"{drop:g}", f"{mean(rates):.4f} %", f"{spread:.4f}", f"{mean(expected):.4f} %", f"{off:.4f}"))
    return Diagnosis(
        "Masked entities among uniformly drawn negatives",
        f"{seeds} masks with {epochs:,} epochs of draws each; at {drops[-1]:g} masked, {points[-1][1]:.3f} % of the "
        f"draws are entities, where {wanted[-1][1]:.3f} % are expected.",
        ("masked", "rate", "deviation", "expected", "ratio"),
        rows,
        [Series("drawn", points, band), Series("expected", wanted)],
        x="share of the annotations masked",
        y="masked entities among the draws, %",
    )
