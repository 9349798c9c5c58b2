"""What the benchmarks share: timing, real text, and the last line of JSON."""

from __future__ import annotations

import json
import os
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from goldgap import Corpus
from goldgap.demo import TRAIN

DATA = Path(os.environ.get("GOLDGAP_DATA", Path(__file__).parents[2] / "shared" / "data"))
CORPORA = ("bc5cdr/train_gold.tsv", "bc5cdr/dev.tsv", "bc5cdr/test.tsv", "ncbi_disease/train_gold.tsv")


def real_texts(size: int, *, length: int = 1500) -> list[str]:
    """At least `size` characters of abstracts in pieces of about `length`; of the demo corpus when they are absent."""
    names = [DATA / name for name in CORPORA if (DATA / name).exists()] or [TRAIN]
    sentences = [document.text for name in names for document in Corpus.read(name)]
    texts: list[str] = []
    piece: list[str] = []
    total = 0
    while total < size:
        for sentence in sentences:
            piece.append(sentence)
            if sum(map(len, piece)) >= length:
                texts.append(" ".join(piece))
                total += len(texts[-1])
                piece = []
            if total >= size:
                break
    return texts


def seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def median_seconds(contenders: dict[str, Callable[[], object]], repeats: int) -> dict[str, float]:
    """Median time of each, run in turn so that a slow moment of the machine hits all of them."""
    times: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(repeats):
        for name, work in contenders.items():
            times[name].append(seconds(work))
    return {name: statistics.median(values) for name, values in times.items()}


def peak_megabytes() -> float:
    """The most memory that this process ever held; ru_maxrss would count what its parent held, too."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    line = next(line for line in status.split("\n") if line.startswith("VmHWM:"))
    return int(line.split()[1]) / 1024


def finish(figures: dict[str, Any]) -> None:
    """The figures as one JSON object, the last line of every benchmark."""
    print(json.dumps({key: round(value, 4) if isinstance(value, float) else value for key, value in figures.items()}))
