"""Dictionary matching: against spaCy's PhraseMatcher, at a million terms, and over growing text.

Building, tokenising and matching all count. Both sides look for the same terms in any case, and keep overlapping
matches; on the cases where their ideas of a word agree (blanks on both sides) the matches must be the same.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from common import finish, median_seconds, peak_megabytes, real_texts, seconds

from goldgap import Dictionary, Document
from goldgap.distant.dictionary import Entry
from goldgap.distant.matcher import Matcher
from goldgap.distant.rules import MatchRules

TERMS = 80_000
MANY_TERMS = 1_000_000
RULES = MatchRules(case="fold")


def make_terms(texts: list[str], count: int, *, seed: int = 0) -> list[str]:
    """Names of one to four words of letters: a quarter from the text, the rest put together from its vocabulary."""
    generator = random.Random(seed)
    words = [word for text in texts for word in text.split() if word.isalpha() and len(word) > 3]
    vocabulary = sorted(set(words))
    terms: dict[str, None] = {}
    chunks = [text.split() for text in texts]
    while len(terms) < count // 4:
        chunk = generator.choice(chunks)
        start = generator.randrange(len(chunk))
        phrase = chunk[start : start + generator.randint(1, 4)]
        if all(word.isalpha() for word in phrase) and len(phrase[0]) > 3 and len(phrase[-1]) > 3:
            terms[" ".join(phrase).lower()] = None
    while len(terms) < count:
        terms[" ".join(generator.choices(vocabulary, k=generator.randint(2, 3))).lower()] = None
    return list(terms)


def ours(terms: list[str], texts: list[str]) -> list[list[tuple[int, int]]]:
    matcher = Matcher(Dictionary(Entry("X", term) for term in terms), RULES)
    return [[(start, end) for start, end, _ in matches] for matches in matcher.find(map(Document, texts))]


def spacys(terms: list[str], texts: list[str]) -> list[list[tuple[int, int]]]:
    import spacy
    from spacy.matcher import PhraseMatcher

    language = spacy.blank("en")
    tokenizer: Any = language.tokenizer
    matcher = PhraseMatcher(language.vocab, attr="LOWER")
    matcher.add("X", list(tokenizer.pipe(terms)))
    found = []
    for document in tokenizer.pipe(texts):
        spans = matcher(document, as_spans=True)
        found.append([(span.start_char, span.end_char) for span in spans])
    return found


def shared_cases(texts: list[str], found: Iterable[list[tuple[int, int]]]) -> set[tuple[int, int, int]]:
    """Matches with a blank or the end of the text on both sides, where every tokeniser sees a boundary."""
    return {
        (number, start, end)
        for number, matches in enumerate(found)
        for start, end in matches
        if f" {texts[number]} "[start] == " " == f" {texts[number]} "[end + 1]
    }


def against_spacy(texts: list[str], terms: list[str], repeats: int) -> dict[str, float]:
    one, other = ours(terms, texts), spacys(terms, texts)
    mine, theirs = shared_cases(texts, one), shared_cases(texts, other)
    times = median_seconds({"goldgap": lambda: ours(terms, texts), "spaCy": lambda: spacys(terms, texts)}, repeats)
    print(f"{len(terms):,} terms, {sum(map(len, texts)) / 1e6:.2f} MB of text, {len(texts):,} documents")
    print(f"{'':<22}{'seconds':>9}{'matches':>11}{'shared cases':>14}")
    print(f"{'goldgap':<22}{times['goldgap']:>9.2f}{sum(map(len, one)):>11,}{len(mine):>14,}")
    print(f"{'spaCy PhraseMatcher':<22}{times['spaCy']:>9.2f}{sum(map(len, other)):>11,}{len(theirs):>14,}")
    ratio = times["spaCy"] / times["goldgap"]
    print(f"{ratio:.1f} times as fast; {len(mine ^ theirs):,} of the shared cases differ\n")
    return {"speedup": ratio, "shared_cases": len(mine), "shared_cases_that_differ": len(mine ^ theirs)}


def many_terms(count: int, size: int) -> dict[str, float]:
    """Build and scan with a large dictionary, and the memory of doing so, in a process of its own."""
    texts = real_texts(size)
    terms = make_terms(texts, count)
    before = peak_megabytes()
    made: list[Matcher] = []
    build = seconds(lambda: made.append(Matcher(Dictionary(Entry("X", term) for term in terms), RULES)))
    scan = seconds(lambda: list(made[0].find(map(Document, texts))))
    print(f"{count:,} terms: built in {build:.1f} s, {sum(map(len, texts)) / 1e6:.1f} MB scanned in {scan:.2f} s")
    print(f"peak memory {peak_megabytes():,.0f} MB, of which {before:,.0f} MB before building\n")
    return {"build_seconds": build, "scan_seconds": scan, "peak_megabytes": peak_megabytes()}


def growth(texts: list[str], terms: list[str], repeats: int) -> float:
    """Time for twice the text over time for the text."""
    matcher = Matcher(Dictionary(Entry("X", term) for term in terms), RULES)
    documents = [Document(text) for text in texts]
    times = median_seconds(
        {
            "n": lambda: list(matcher.find(documents)),
            "2n": lambda: list(matcher.find(documents + documents)),
            "one document": lambda: list(matcher.find([Document(" ".join(texts))])),
            "one document of 2n": lambda: list(matcher.find([Document(" ".join(texts + texts))])),
        },
        repeats,
    )
    many, single = times["2n"] / times["n"], times["one document of 2n"] / times["one document"]
    print(f"scanning twice the text takes {many:.2f} times as long in documents, {single:.2f} times in one piece")
    return max(many, single)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="under a minute: fewer terms, less text")
    parser.add_argument("--many", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.many:
        finish(many_terms(arguments.many, 2_000_000))
        return
    size, count, many, repeats = (300_000, 10_000, 100_000, 3) if arguments.quick else (2_200_000, TERMS, MANY_TERMS, 3)
    texts = real_texts(size)
    terms = make_terms(texts, count)
    figures = against_spacy(texts, terms, repeats)
    command = [sys.executable, str(Path(__file__)), "--many", str(many)]
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.rstrip().split("\n")
    print("\n".join(lines[:-1]))
    figures["growth_for_twice_the_text"] = growth(texts, terms, repeats)
    finish(figures | {f"many_terms_{key}": value for key, value in json.loads(lines[-1]).items()})


if __name__ == "__main__":
    main()
