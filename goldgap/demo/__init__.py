"""The bundled corpus: 760 sentences written for this project, and a dictionary with gaps and errors."""

from __future__ import annotations

from pathlib import Path

FOLDER = Path(__file__).parent
TRAIN, DEV, TEST = (FOLDER / f"{split}.jsonl" for split in ("train", "dev", "test"))
DICTIONARY = FOLDER / "dictionary.tsv"
