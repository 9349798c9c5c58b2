"""The papers' diagnostics, each from real data or real runs."""

from __future__ import annotations

import json
import statistics
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from goldgap.compare.runs import Run, late_entries, missampled_share
from goldgap.compare.sampling import sample_epochs
from goldgap.core.corpus import Corpus
from goldgap.core.errors import InputError
from goldgap.distant.mask import mask
from goldgap.evaluate.scores import evaluate
from goldgap.evaluate.sparsity import (
    by_length,
    coverage,
    coverage_bound,
    expected_missampling,
    guarantee,
    guarantee_bound,
    sentences_of,
)
from goldgap.report.diagnosis import Diagnosis
from goldgap.report.svg import COLOURS, Series
from goldgap.unknown.uniform import Uniform

mean = statistics.mean


def sparsity(corpus: Corpus) -> Diagnosis:
    """Entities of a sentence against the root of its words (001 Fig. 3)."""
    sentences = sentences_of(corpus)
    _need(sentences, "sentences with words")
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
    _need([sentence for sentence in sentences if sentence.missing], "masked entities; mask the corpus first")
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
    _need(corpus.entity_count, "entities to mask")
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


def recorded_missampling(runs: Sequence[Run]) -> Diagnosis:
    """Masked entities among the negatives of each method, by epoch (001 Fig. 5), with the effective sample size."""
    groups = _by_method(runs)
    series, rows = [], []
    for name, group in groups.items():
        together = zip(*(run.metrics for run in group), strict=False)
        points = [(entries[0]["epoch"], 100 * missampled_share(entries)) for entries in together]
        late = late_entries(group)
        rate = 100 * missampled_share(late)
        effective = [entry["effective"] for entry in late if "effective" in entry]
        series.append(Series(name, points))
        rows.append(
            (
                name,
                str(len(group)),
                f"{points[0][1]:.3f} %",
                f"{rate:.3f} %",
                f"{mean(effective):.1f}" if effective else "-",
            )
        )
    lowest = min(rows, key=lambda row: float(row[3].split()[0]))
    return Diagnosis(
        "Masked entities among the negatives of each epoch",
        f"Over the last half of the epochs, {lowest[0]} takes the fewest masked entities for negatives: {lowest[3]}.",
        ("method", "runs", "first epoch", "last half", "effective sample size"),
        rows,
        series,
        x="epoch",
        y="masked entities among the negatives, %",
    )


def over_epochs(runs: Sequence[Run]) -> Diagnosis:
    """Dev F1 of each method over the epochs, mean over the seeds (001 Fig. 6, 004 Fig. 2)."""
    groups = _by_method(runs)
    series, rows = [], []
    for name, group in groups.items():
        together = [
            (entries[0]["epoch"], [100 * entry["f1"] for entry in entries])
            for entries in zip(*(run.metrics for run in group), strict=False)
        ]
        best = max(together, key=lambda item: mean(item[1]))
        series.append(
            Series(name, [(epoch, mean(values)) for epoch, values in together], [(min(v), max(v)) for _, v in together])
        )
        rows.append((name, str(len(group)), f"{mean(best[1]):.2f}", f"{best[0]:g}", f"{mean(together[-1][1]):.2f}"))
    first = max(rows, key=lambda row: float(row[2]))
    return Diagnosis(
        "Dev F1 over the epochs",
        f"{first[0]} is best, at epoch {first[3]} with a mean dev F1 of {first[2]}.",
        ("method", "runs", "best mean F1", "at epoch", "last epoch"),
        rows,
        series,
        x="epoch",
        y="dev F1, %",
    )


def selection(runs: Sequence[Run]) -> Diagnosis:
    """Test F1 of the epoch that each dev set would have chosen, of the last, and of the best there was."""
    runs = [run for run in runs if run.history]
    _need(runs, "runs that scored further documents at every evaluation (distant_dev in an experiment)")
    names = [name for name in runs[0].history[0]["others"] if name != "test"]

    def on(name: str) -> Callable[[Mapping[str, Any]], float]:
        return lambda entry: float(entry["others"][name]["f1"])

    test = on("test")
    ways: dict[str, Callable[[Mapping[str, Any]], float]] = {
        "dev": lambda entry: float(entry["f1"]),
        **{name: on(name) for name in names},
        "last epoch": lambda entry: float(entry["step"]),
        "best on test": test,
    }
    rows, series = [], []
    for method, group in _by_method(runs).items():
        scores = {way: mean(100 * test(max(run.history, key=rank)) for run in group) for way, rank in ways.items()}
        rows.append((method, str(len(group)), *(f"{score:.2f}" for score in scores.values())))
        together = zip(*(run.history for run in group), strict=False)
        series.append(
            Series(
                method, [(entries[0]["epoch"], mean(100 * test(entry) for entry in entries)) for entries in together]
            )
        )
    cost = [float(row[2]) - float(row[3]) for row in rows]
    return Diagnosis(
        "Test F1 of the epoch that is chosen on each set",
        f"Chosen on {names[0]} instead of the dev set, the methods lose {mean(cost):.2f} F1 on average.",
        ("method", "runs", *ways),
        rows,
        series,
        x="epoch",
        y="test F1, %",
    )


def fit(entries: Sequence[Mapping[str, Any]]) -> Diagnosis:
    """Precision and recall on training and dev documents over the epochs (000 Fig. 2)."""
    complete = bool(entries) and all("train" in entry and "f1" in entry for entry in entries)
    _need(complete, "a record with training and dev scores in each entry")
    columns = [("train", "precision"), ("train", "recall"), ("dev", "precision"), ("dev", "recall")]
    lines: dict[str, list[tuple[float, float]]] = {f"{part} {name}": [] for part, name in columns}
    rows = []
    for entry in entries:
        values = [100 * (entry["train"] if part == "train" else entry)[name] for part, name in columns]
        for line, value in zip(lines.values(), values, strict=True):
            line.append((entry["epoch"], value))
        rows.append((f"{entry['epoch']:g}", *(f"{value:.2f}" for value in values)))
    best = max(entries, key=lambda entry: float(entry["f1"]))
    return Diagnosis(
        "Precision and recall while it learns",
        f"Best on dev at epoch {best['epoch']:g} (F1 {100 * best['f1']:.2f}); there, recall on the training documents "
        f"is {100 * best['train']['recall']:.2f}, at the end {100 * entries[-1]['train']['recall']:.2f}.",
        ("epoch", *lines),
        rows,
        [Series(name, points) for name, points in lines.items()],
        x="epoch",
        y="%",
        limits=(0, 100),
    )


def traces(names: Sequence[str], records: Mapping[str, Sequence[Mapping[str, Any]]]) -> Diagnosis:
    """The probability of being an entity that chosen spans have over the epochs, under each run (004 Figs. 4-7)."""
    lines: dict[tuple[int, str], list[tuple[float, float]]] = {}
    rows = []
    for run, entries in records.items():
        followed = [len(entry.get("followed", ())) for entry in entries]
        _need(followed and min(followed) == len(names), f"a record that followed {len(names)} spans in {run}")
        for index, name in enumerate(names):
            points = [(entry["epoch"], entry["followed"][index]) for entry in entries]
            lines[index, run] = points
            rows.append((name, run, *(f"{points[at][1]:.3f}" for at in (0, len(points) // 2, -1))))

    def apart(index: int) -> float:
        """How far a span's last probabilities lie from each other."""
        ends = [lines[index, run][-1][1] for run in records]
        return max(ends) - min(ends)

    shown = sorted(range(len(names)), key=apart, reverse=True)[: max(1, COLOURS // len(records))]
    series = [Series(f"{names[index]} ({run})", lines[index, run]) for index in sorted(shown) for run in records]
    drawn = "" if len(shown) == len(names) else f"; the {len(shown)} that end farthest apart are drawn"
    return Diagnosis(
        "How likely spans are to be an entity, while a model learns",
        f"{len(names)} spans under {len(records)} runs{drawn}.",
        ("span", "run", "first", "middle", "last"),
        rows,
        series,
        x="epoch",
        y="probability of an entity",
        limits=(0, 1),
    )


def thresholds(gold: Corpus, predicted: Corpus, *, steps: int = 20) -> Diagnosis:
    """Scores when only entities of at least a probability are kept (004 section 5.1)."""
    _need([e for d in predicted for e in d.entities if e.score is not None], "predictions with probabilities")
    rows = []
    lines: dict[str, list[tuple[float, float]]] = {"precision": [], "recall": [], "F1": []}
    for step in range(steps):
        least = step / steps
        kept = predicted.map(
            lambda d, least=least: d.replace(entities=tuple(e for e in d.entities if (e.score or 0.0) >= least))  # type: ignore[misc]
        )
        score = evaluate(gold, kept, samples=0).strict.micro
        values = (score.precision, score.recall, score.f1)
        for line, value in zip(lines.values(), values, strict=True):
            line.append((least, 100 * value))
        rows.append((f"{least:.2f}", *(f"{100 * value:.2f}" for value in values)))
    at, best = max(lines["F1"], key=lambda point: point[1])
    return Diagnosis(
        "Scores against the least probability of an entity",
        f"F1 is {lines['F1'][0][1]:.2f} without a threshold, and at most {best:.2f}, at {at:g}; a threshold chosen "
        "here flatters itself on these documents.",
        ("least probability", "precision", "recall", "F1"),
        rows,
        [Series(name, points) for name, points in lines.items()],
        x="least probability of an entity",
        y="%",
    )


def _by_method(runs: Sequence[Run]) -> dict[str, list[Run]]:
    _need(runs, "runs")
    data = sorted({run.name for run in runs})
    if len(data) > 1:
        raise InputError(f"runs on different data: {', '.join(data)}; give those of one")
    groups: dict[str, list[Run]] = {}
    for run in runs:
        groups.setdefault(run.method, []).append(run)
    for method, own in groups.items():
        if len({json.dumps(run.settings, sort_keys=True) for run in own}) > 1:
            raise InputError(f"runs of {method} with different settings; give those that differ in their seed alone")
    return groups


def _need(what: object, expected: str) -> None:
    if not what:
        raise InputError(f"nothing to diagnose: expected {expected}")
