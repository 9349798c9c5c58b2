"""goldgap annotate: labels from a dictionary."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from goldgap.cli.options import Output, Reading, check_annotated, of_files, with_reading

if TYPE_CHECKING:
    from goldgap import Corpus
    from goldgap.evaluate.scores import Evaluation


class CaseChoice(StrEnum):
    smart = "smart"
    exact = "exact"
    fold = "fold"


class AmbiguousChoice(StrEnum):
    first = "first"
    drop = "drop"
    all = "all"


@with_reading
def annotate(
    text: Annotated[Path, typer.Argument(help="Raw text or a corpus; annotations in it are replaced.")],
    dictionary: Annotated[
        Path,
        typer.Option(
            "--dictionary",
            "-d",
            help="LABEL<TAB>surface lines, or a folder of LABEL.txt; with a last column exact or fold if wanted.",
        ),
    ],
    output: Output,
    phrases: Annotated[
        Path | None,
        typer.Option(help="All that could be an entity, one a line: what is none of it is known not to be one."),
    ] = None,
    gold: Annotated[Path | None, typer.Option(help="The same documents, annotated: score the labels.")] = None,
    case: Annotated[
        CaseChoice, typer.Option(help="smart: short and all-upper entries exactly, others in any case.")
    ] = CaseChoice.smart,
    ambiguous: Annotated[
        AmbiguousChoice, typer.Option(help="A match with several types gets the first, none or all.")
    ] = AmbiguousChoice.first,
    overlapping: Annotated[bool, typer.Option("--overlapping", help="Keep overlapping matches too.")] = False,
    plurals: Annotated[bool, typer.Option("--plurals", help="Match regular English plurals too.")] = False,
    *,
    reading: Reading,
) -> None:
    """Label a text with a dictionary, and say how far the labels can be trusted.

    Example: goldgap annotate raw.txt --dictionary terms.tsv -o labels.jsonl
    """
    from goldgap.cli.show import out, show_check, show_notes, show_quality
    from goldgap.distant.annotate import annotate as label
    from goldgap.distant.audit import audit
    from goldgap.distant.dictionary import Dictionary
    from goldgap.distant.phrases import leave_open, read_phrases
    from goldgap.distant.rules import MatchRules

    check_annotated(output, text, dictionary, phrases, gold)
    terms = Dictionary.read(dictionary)
    corpus = reading.read(text)
    judge = None if gold is None else (gold, reading.read(gold))
    rules = MatchRules(case=case.value, ambiguous=ambiguous.value, overlapping=overlapping, plurals=plurals)
    labelled = label(corpus, terms, rules)
    quality = None if judge is None else _quality(*judge, text, labelled.corpus)
    written = labelled.corpus
    if phrases is not None:
        written = leave_open(written, read_phrases(phrases), labelled.usage.passed_over)
    show_notes(written.write(output, strict=reading.strict), f"while writing {output}")
    _tell_replaced(corpus)
    show_check(audit(labelled, terms))
    if quality is not None:
        out.print()
        show_quality(quality)
    out.print(f"\n{labelled.corpus.entity_count:,} labels written to {output}", soft_wrap=True)
    if phrases is not None:
        places = sum(len(document.unknown) for document in written)
        out.print(f"{places:,} places that could be an entity are unknown, all others are known not to be one")


def _quality(gold: Path, judge: Corpus, text: Path, labelled: Corpus) -> Evaluation:
    """How good the labels are."""
    from goldgap.evaluate.scores import evaluate

    with of_files(gold, text):
        return evaluate(judge, labelled)


def _tell_replaced(corpus: Corpus) -> None:
    """What the input said that the labels do not."""
    from goldgap.cli.show import out

    if corpus.entity_count:
        out.print(f"{corpus.entity_count:,} annotations of the input were replaced")
    if complete := sum(bool(document.complete) for document in corpus):
        out.print(f"{complete:,} documents of the input were complete, which labels from a dictionary are not")
