"""A long document against its paragraphs read alone.

python experiments/long_document.py MODEL DATA
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from goldgap import Corpus, Document, Recognizer

WORDS = 20_000


def paragraphs(data: Path, sentences: int) -> list[str]:
    """WikiGold's sentences in order, so many to a paragraph, up to 20,000 words."""
    texts = [d.text for name in ("test", "dev", "train_gold") for d in Corpus.read(data / "wikigold" / f"{name}.conll")]
    made, words = [], 0
    for at in range(0, len(texts), sentences):
        made.append(" ".join(texts[at : at + sentences]))
        words += len(made[-1].split())
        if words >= WORDS:
            break
    return made


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("data", type=Path, help="folder of the corpora")
    parser.add_argument("--sentences", type=int, default=8, help="of a paragraph")
    given = parser.parse_args()
    model = Recognizer.load(given.model)
    texts = paragraphs(given.data, given.sentences)
    alone, start = set(), 0
    for document in model.predict([Document(text) for text in texts]):
        alone |= {(start + e.start, start + e.end, e.label) for e in document.entities}
        start += len(document.text) + 2
    (whole,) = model.predict([Document("\n\n".join(texts))])
    together = {entity.key for entity in whole.entities}
    shared = len(alone & together)
    figures = {"alone": len(alone), "together": len(together), "shared": shared, "words": len(whole.text.split())}
    print(
        f"{figures['words']:,} words, {len(texts):,} paragraphs: {len(alone):,} entities alone, {len(together):,} whole"
    )
    print(
        f"{100 * shared / len(alone):.2f} % of those alone, {100 * shared / len(together):.2f} % of those of the whole"
    )
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
