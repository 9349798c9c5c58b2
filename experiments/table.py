"""Write docs/results.md from the results that were kept.

python experiments/table.py
"""

from __future__ import annotations

import statistics
import sys
from collections import defaultdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from goldgap.compare.runs import Run

HERE = Path(__file__).parent
TITLES = {
    "wikigold-masked-0.7": "WikiGold, 70 % of the training mentions masked",
    "wikigold-masked-0.5": "WikiGold, 50 % of the training mentions masked",
    "wikigold": "WikiGold, nothing masked",
    "ncbi-bench": "NCBI disease, nothing masked, bench scale",
    "bc5cdr-distant": "BC5CDR with the labels of its dictionary",
    "bc5cdr-distant-bench": "BC5CDR with the labels of its dictionary, bench scale",
}
ORDER = ("span", "uniform", "weighted", "top-neg", "nrces")
HEAD = """\
# Results

Written by `python experiments/table.py` from `experiments/results`, where each run has its full recipe, the hash of its
data files and of the code, every evaluation and the test scores with their interval. To repeat a run that is there,
remove its file first.

Encoder MiniLM, 6 epochs, one recipe for all corpora; the epoch with the best F1 on the clean dev set (at most 500
sentences of it) is tested once. Mask and training share a seed. Scores are in percent, of entities with the same range
and type. With one seed there is no claim.
"""


def load() -> dict[str, dict[str, list[Run]]]:
    found: dict[str, dict[str, list[Run]]] = defaultdict(lambda: defaultdict(list))
    for file in sorted((HERE / "results").glob("*.json")):
        run = Run.read(file)
        found[run.name][run.method].append(run)
    return found


def missampling(run: Run) -> float:
    """Masked entities among the drawn negatives, over the last half of the epochs."""
    late = run.metrics[len(run.metrics) // 2 :]
    missampled, kept = (float(sum(entry[name] for entry in late)) for name in ("missampled", "kept"))
    return 100 * missampled / max(kept, 1.0)


def table(corpus: str, methods: dict[str, list[Run]]) -> str:
    masked = "masked" in corpus
    columns = ["method", "F1 of each seed", "mean F1", "precision", "recall", "best dev F1"]
    columns += ["missampled, last half"] if masked else []
    lines = [f"| {' | '.join(columns)} |", "|" + "---|" * len(columns)]
    for method in sorted(
        methods, key=lambda name: (name not in ORDER, ORDER.index(name) if name in ORDER else 0, name)
    ):
        runs = sorted(methods[method], key=lambda run: run.seed)
        mean = {name: statistics.mean(100 * run.scores[name] for run in runs) for name in ("f1", "precision", "recall")}
        dev = statistics.mean(100 * run.dev_f1 for run in runs)
        cells = [method, ", ".join(f"{100 * run.scores['f1']:.2f}" for run in runs), f"**{mean['f1']:.2f}**"]
        cells += [f"{mean['precision']:.2f}", f"{mean['recall']:.2f}", f"{dev:.2f}"]
        cells += [f"{statistics.mean(map(missampling, runs)):.3f} %"] if masked else []
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def page() -> str:
    parts = [HEAD]
    results = load()
    for corpus in [*TITLES, *sorted(set(results) - set(TITLES))]:
        if corpus not in results:
            continue
        any_run = next(iter(results[corpus].values()))[0]
        seeds = sorted({str(run.seed) for runs in results[corpus].values() for run in runs})
        methods = ",".join(method for method in ORDER if method in results[corpus])
        scale = ", ".join(f"{count:,} {name}" for name, count in any_run.sizes.items())
        parts.append(f"## {TITLES.get(corpus, corpus)}\n\n{scale} sentences.\n")
        parts.append(table(corpus, results[corpus]) + "\n")
        command = f"python experiments/run.py {corpus} --methods {methods} --seeds {','.join(seeds)}"
        hashes = "\n".join(f"{digest[:16]}...  {name}" for name, digest in any_run.files.items())
        parts.append(f"```text\n{command}\n{hashes}\n```\n")
    return "\n".join(parts)


if __name__ == "__main__":
    (HERE.parent / "docs" / "results.md").write_text(page(), encoding="utf-8")
