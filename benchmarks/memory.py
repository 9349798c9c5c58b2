"""Prediction: the most memory that `goldgap predict` holds on a small and on a ten times larger file of sentences."""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

from common import finish, real_texts, seconds

from goldgap import Corpus, Recognizer
from goldgap.demo import TRAIN

CHILD = """
import sys
sys.path.insert(0, sys.argv.pop(1))
from common import peak_megabytes
from goldgap.cli import main
try:
    main()
finally:
    print(peak_megabytes())
"""


def peak_of_predicting(model: Path, text: Path) -> float:
    """Megabytes that the command held at most, in a process of its own."""
    output = text.with_suffix(".jsonl")
    command = [str(Path(__file__).parent), "predict", str(model), str(text), "-o", str(output)]
    done = subprocess.run([sys.executable, "-c", CHILD, *command], capture_output=True, text=True, check=True)
    return float(done.stdout.splitlines()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="under a minute: a tenth of the text")
    small = 200_000 if parser.parse_args().quick else 2_000_000
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        trained = Recognizer.train(
            Corpus.read(TRAIN), select_on="none", encoder={"name": "bilstm"}, train={"epochs": 1}
        )
        trained.save(folder / "model")
        text = folder / "text.txt"
        peaks: list[float] = []
        for size in (small, 10 * small):
            lines = (line.replace("\n", " ") for line in real_texts(size, length=150))
            text.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
            taken = seconds(lambda: peaks.append(peak_of_predicting(folder / "model", text)))
            print(f"{size / 1e6:6.1f} MB of text: {peaks[-1]:6.0f} MB of memory, {taken:6.1f} s")
    print(f"ten times the text takes {peaks[1] / peaks[0]:.3f} times the memory")
    finish({"bytes": small, "megabytes": peaks[0], "megabytes_of_tenfold": peaks[1], "growth": peaks[1] / peaks[0] - 1})


if __name__ == "__main__":
    main()
