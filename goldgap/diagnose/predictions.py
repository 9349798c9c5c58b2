"""What a least probability does to the scores of predictions."""

from __future__ import annotations

from goldgap.core.corpus import Corpus
from goldgap.diagnose.need import need
from goldgap.evaluate.scores import evaluate
from goldgap.report.diagnosis import Diagnosis
from goldgap.report.svg import Series


def thresholds(gold: Corpus, predicted: Corpus, *, steps: int = 20) -> Diagnosis:
    """Scores when only entities of at least a probability are kept (004 section 5.1)."""
    need([e for d in predicted for e in d.entities if e.score is not None], "predictions with probabilities")
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
