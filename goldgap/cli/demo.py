"""goldgap demo: the whole story on the bundled corpus."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def demo(
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for what the demo writes.")] = Path(
        "demo-output"
    ),
) -> None:
    """Label the bundled corpus with its dictionary and score the labels against the gold.

    Example: goldgap demo -o demo-output
    """
    import json

    from goldgap import Corpus
    from goldgap.cli.show import out, show_check, show_quality
    from goldgap.core.files import write_atomic
    from goldgap.demo import DICTIONARY, TRAIN
    from goldgap.distant.annotate import annotate
    from goldgap.distant.audit import audit
    from goldgap.distant.dictionary import Dictionary
    from goldgap.distant.rules import MatchRules
    from goldgap.evaluate.scores import evaluate
    from goldgap.report.labels import label_report

    gold, terms = Corpus.read(TRAIN), Dictionary.read(DICTIONARY)
    out.print(f"1. Raw text and a term list: {len(gold):,} sentences, {len(terms):,} terms", style="bold")
    labelled = annotate(gold, terms, MatchRules())
    checked = audit(labelled, terms)
    out.print("\n2. Labels from the dictionary, and what is suspicious about it", style="bold")
    show_check(checked)
    out.print("\n3. How good the labels are, against the gold", style="bold")
    quality = evaluate(gold, labelled.corpus)
    show_quality(quality)
    output.mkdir(parents=True, exist_ok=True)
    labelled.corpus.write(output / "labels.jsonl")
    with write_atomic(output / "quality.json") as handle:
        json.dump({"quality": quality.to_json(), "dictionary": checked.to_json()}, handle, indent=1)
    with write_atomic(output / "report.md") as handle:
        handle.write(label_report(checked, quality))
    out.print(f"\nlabels: {output / 'labels.jsonl'}\nscores: {output / 'quality.json'}", soft_wrap=True)
    out.print(f"report: {output / 'report.md'}", style="bold", soft_wrap=True)
