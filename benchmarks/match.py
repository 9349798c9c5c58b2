"""Dictionary matching: against spaCy's PhraseMatcher and an automaton, at a million terms, and over growing text.

Building, tokenising and matching all count. Both sides look for the same terms in any case, and keep overlapping
matches; on the cases where their ideas of a word agree (blanks on both sides) the matches must be the same.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from common import finish, median_seconds, peak_megabytes, real_texts, seconds

from goldgap import Dictionary, Document
from goldgap.distant.dictionary import Entry
from goldgap.distant.matcher import Matcher
from goldgap.distant.rules import MatchRules

TERMS = 80_000
SIZE = 2_200_000
MANY_TERMS = 1_000_000
COMMON = 500
IN_TEXT = 20_000
RULES = MatchRules(case="fold")


def make_terms(texts: list[str], count: int, *, common: int = COMMON, seed: int = 0) -> list[str]:
    """Names of one to four words, none of them among the commonest of the text: some stand in the text, the others are
    put together from its vocabulary."""
    generator = random.Random(seed)
    chunks = [text.lower().split() for text in texts]
    frequency = Counter(word for chunk in chunks for word in chunk)
    left_out = {word for word, _ in frequency.most_common(common)}
    vocabulary = sorted(word for word in frequency if word.isalpha() and word not in left_out)
    terms: dict[str, None] = {}
    while len(terms) < min(count // 4, IN_TEXT):
        chunk = generator.choice(chunks)
        start = generator.randrange(len(chunk))
        phrase = chunk[start : start + generator.randint(1, 4)]
        if all(word.isalpha() for word in phrase) and not left_out.intersection((phrase[0], phrase[-1])):
            terms[" ".join(phrase)] = None
    while len(terms) < count:
        terms[" ".join(generator.choices(vocabulary, k=generator.randint(2, 3)))] = None
    return list(terms)


def ours(terms: list[str], texts: list[str]) -> list[list[tuple[int, int]]]:
    matcher = Matcher(Dictionary(Entry("X", term) for term in terms), RULES)
    return [[(start, end) for start, end, _ in matches] for matches in matcher.find(map(Document, texts))]


def automaton(terms: list[str], texts: list[str]) -> list[list[tuple[int, int]]]:
    """Aho-Corasick over the folded text, then a filter for word boundaries."""
    import ahocorasick_rs

    built = ahocorasick_rs.AhoCorasick(
        [term.casefold() for term in terms], implementation=ahocorasick_rs.Implementation.ContiguousNFA
    )
    found = []
    for text in texts:
        folded = f" {text.casefold()} "
        found.append(
            [
                (start - 1, end - 1)
                for _, start, end in built.find_matches_as_indexes(folded, overlapping=True)
                if not (folded[start - 1].isalnum() or folded[end].isalnum())
            ]
        )
    return found


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


def shared_cases(
    texts: list[str], terms: list[str], found: Iterable[list[tuple[int, int]]]
) -> set[tuple[int, int, int]]:
    """Matches between blanks or ends of the text, where every tokeniser sees a boundary, that read like a term.

    spaCy takes "cannot" apart, so it also finds that term in "can not".
    """
    known = set(terms)
    return {
        (number, start, end)
        for number, matches in enumerate(found)
        for start, end in matches
        if f" {texts[number]} "[start] == " " == f" {texts[number]} "[end + 1]
        and texts[number][start:end].lower() in known
    }


def timed(name: str, size: int, count: int, common: int) -> float:
    """Seconds that one contender needs for everything, in this process."""
    texts = real_texts(size)
    terms = make_terms(texts, count, common=common)
    contender = CONTENDERS[name]
    contender(terms[:10], texts[:1])  # imports are not counted
    return seconds(lambda: contender(terms, texts))


def in_fresh_process(*options: str) -> dict[str, float]:
    """The figures that this script prints when it is called with these options."""
    command = [sys.executable, str(Path(__file__)), *options]
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.rstrip().split("\n")
    print("".join(f"{line}\n" for line in lines[:-1]), end="")
    figures: dict[str, float] = json.loads(lines[-1])
    return figures


CONTENDERS = {"goldgap": ours, "ahocorasick_rs": automaton, "spaCy PhraseMatcher": spacys}


def contest(size: int, count: int, common: int, repeats: int) -> dict[str, float]:
    """Time and matches of each; every timing in a process of its own, so that none cleans up after another."""
    texts = real_texts(size)
    terms = make_terms(texts, count, common=common)
    found = {name: contender(terms, texts) for name, contender in CONTENDERS.items()}
    shared = {name: shared_cases(texts, terms, matches) for name, matches in found.items()}
    times: dict[str, list[float]] = {name: [] for name in CONTENDERS}
    for _ in range(repeats):
        for name, values in times.items():
            values.append(in_fresh_process("--contender", name, str(size), str(count), str(common))["seconds"])
    median = {name: statistics.median(values) for name, values in times.items()}
    print(f"{count:,} terms, {sum(map(len, texts)) / 1e6:.2f} MB of text, {len(texts):,} documents")
    print(f"{'':<22}{'seconds':>9}{'matches':>11}{'shared cases':>14}")
    for name, seconds_needed in median.items():
        print(f"{name:<22}{seconds_needed:>9.2f}{sum(map(len, found[name])):>11,}{len(shared[name]):>14,}")
    speedup = median["spaCy PhraseMatcher"] / median["goldgap"]
    differ = len(shared["goldgap"] ^ shared["spaCy PhraseMatcher"])
    print(f"goldgap is {speedup:.1f} times as fast as spaCy; {differ:,} of the shared cases differ\n")
    return {
        "speedup_over_spacy": speedup,
        "speedup_over_automaton": median["ahocorasick_rs"] / median["goldgap"],
        "shared_cases": len(shared["goldgap"]),
        "shared_cases_that_differ": differ,
    }


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
    parser.add_argument(
        "--common",
        type=int,
        default=COMMON,
        help="commonest words that no term begins or ends with; 0: the hardest case",
    )
    parser.add_argument("--contender", nargs=4, help=argparse.SUPPRESS)
    parser.add_argument("--many", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.contender:
        name, size, count, common = arguments.contender
        finish({"seconds": timed(name, int(size), int(count), int(common))})
        return
    if arguments.many:
        finish(many_terms(arguments.many, SIZE))
        return
    size, count, many = (300_000, 10_000, 100_000) if arguments.quick else (SIZE, TERMS, MANY_TERMS)
    figures = contest(size, count, arguments.common, repeats=3 if arguments.quick else 5)
    large = in_fresh_process("--many", str(many))
    texts = real_texts(size)
    figures["growth_for_twice_the_text"] = growth(texts, make_terms(texts, count), repeats=5)
    finish(figures | {f"many_terms_{key}": value for key, value in large.items()})


if __name__ == "__main__":
    main()
