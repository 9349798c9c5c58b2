"""What is in a corpus, what is suspicious, what a model would lose."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence

from goldgap.core.corpus import Corpus
from goldgap.core.document import Document, Entity, Range
from goldgap.core.findings import Check, Finding
from goldgap.corpus.words import word_spans, words_of

WIDE = 10
"""Entities of more words than this are out of reach of a span model with its usual limit."""
COLUMNS = ("type", "entities", "surfaces", "words", "widest")


def inspect(corpus: Corpus, others: Sequence[tuple[str, Corpus]] = ()) -> Check:
    """Counts by type, and every finding about the corpus itself; `others` are further splits, by name."""
    words = [words_of(document) for document in corpus]
    widths, cut, wide = _widths(corpus, words)
    findings = [
        Finding.of(
            "entities that begin or end inside a word", cut, "move the offsets, or give the corpus its own tokens"
        ),
        Finding.of(
            f"entities of more than {WIDE} words",
            wide,
            "a span model never finds them: check them, or train with --set model.max_width=N (train.overlap as well)",
        ),
        _edges(corpus),
        _nested(corpus),
        _twice(corpus),
        _contradicted(corpus),
        _never_seen(corpus),
        _rare_labels(corpus),
        _several_types(corpus),
        Finding.of(
            "documents with the same text as an earlier one",
            list(_duplicates(corpus)),
            "repeats count twice in scores; remove them unless they are meant",
        ),
        *(
            Finding.of(
                f"documents that also stand in {name}",
                list(_duplicates(corpus, other)),
                "a score on text that was trained on says nothing; remove them from one side",
            )
            for name, other in others
        ),
        *(
            Finding(
                what,
                tally.count,
                tuple(tally.examples),
                "decided while reading; --strict makes it an error",
                tally.count > len(tally.examples),
            )
            for what, tally in corpus.notes.changes.items()
        ),
    ]
    return Check(
        _facts(corpus, words), COLUMNS, _rows(corpus, widths), [finding for finding in findings if finding.count]
    )


def place(document: Document, start: int, end: int, *, context: int = 20) -> str:
    """A range in its context, with the id of the document."""
    before, after = document.text[max(0, start - context) : start], document.text[end : end + context]
    return f"{document.id}: " + " ".join(f"{before}[{document.text[start:end]}]{after}".split())


def without_spaces(text: str) -> str:
    """What a text is known by: formats and tokenizers differ in the white space they leave."""
    return "".join(text.split())


def contradicted(document: Document) -> list[Entity]:
    """The entities of a document whose very span is rejected, for their type or for all."""
    rejected = {(item.start, item.end, item.label) for item in document.rejected}
    return [one for one in document.entities if rejected & {one.key, (one.start, one.end, None)}]


def _facts(corpus: Corpus, words: list[tuple[Range, ...]]) -> dict[str, str]:
    count, total = max(len(corpus), 1), sum(map(len, words))
    without = sum(not document.entities for document in corpus)
    facts = {
        "documents": f"{len(corpus):,}",
        "words": f"{total:,} ({total / count:.1f} a document)",
        "entities": f"{corpus.entity_count:,} ({corpus.entity_count / count:.2f} a document)",
        "documents without entity": f"{without:,} ({100 * without / count:.1f} %)",
        "completely annotated": _completeness(corpus),
    }
    if rejected := sum(len(document.rejected) for document in corpus):
        facts["rejected spans"] = f"{rejected:,}"
    dropped = sum(len(document.dropped) for document in corpus)
    if dropped:
        facts["dropped by mask"] = f"{dropped:,}"
    return facts | corpus.notes.facts


def _completeness(corpus: Corpus) -> str:
    """How many documents are completely annotated, and in what sense."""
    whole = sum(document.complete is True and not document.unknown for document in corpus)
    marked = sum(document.complete is True and bool(document.unknown) for document in corpus)
    some = [document.complete for document in corpus if isinstance(document.complete, frozenset) and document.complete]
    told = [f"{whole:,} documents"]
    if some:
        told.append(f"{len(some):,} for some types ({', '.join(sorted(frozenset().union(*some)))})")
    if marked:
        told.append(f"{marked:,} but for places marked as unknown")
    return f"{', '.join(told)}; elsewhere the rest is unknown"


def _widths(corpus: Corpus, words: list[tuple[Range, ...]]) -> tuple[dict[str, list[int]], list[str], list[str]]:
    """Widths in words by type; the entities that cut through a word; those that are too wide."""
    widths: dict[str, list[int]] = defaultdict(list)
    cut, wide = [], []
    for document, tokens in zip(corpus, words, strict=True):
        spans = word_spans(tokens, [(entity.start, entity.end) for entity in document.entities])
        for entity, span in zip(document.entities, spans, strict=True):
            if span is None:
                cut.append(place(document, entity.start, entity.end))
                continue
            widths[entity.label].append(span[1] - span[0])
            if span[1] - span[0] > WIDE:
                wide.append(place(document, entity.start, entity.end))
    return widths, cut, wide


def _rows(corpus: Corpus, widths: dict[str, list[int]]) -> list[tuple[str, ...]]:
    surfaces: dict[str, set[str]] = defaultdict(set)
    counts: Counter[str] = Counter()
    for document in corpus:
        for entity in document.entities:
            counts[entity.label] += 1
            surfaces[entity.label].add(document.surface(entity))
    rows: list[tuple[str, ...]] = []
    for label, count in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
        here = widths.get(label, [])
        mean = f"{sum(here) / len(here):.2f}" if here else "-"
        rows.append((label, f"{count:,}", f"{len(surfaces[label]):,}", mean, str(max(here, default=0))))
    return rows


def _edges(corpus: Corpus) -> Finding:
    loose = [
        place(document, entity.start, entity.end)
        for document, entity in _entities(corpus)
        if document.surface(entity) != document.surface(entity).strip()
    ]
    return Finding.of("entities with white space at an edge", loose, "trim the offsets")


def _nested(corpus: Corpus) -> Finding:
    inside = [
        place(document, entity.start, entity.end) for document in corpus for entity in _overlapping(document.entities)
    ]
    return Finding.of(
        "entities that overlap another one", inside, "fine for nested corpora; token files and flat decoding lose them"
    )


def _overlapping(entities: Iterable[Entity]) -> Iterator[Entity]:
    """Every entity that begins before an earlier or wider one ends."""
    reach = 0
    unique = {entity.key: entity for entity in entities}.values()
    for entity in sorted(unique, key=lambda entity: (entity.start, -entity.end)):
        if entity.start < reach:
            yield entity
        reach = max(reach, entity.end)


def _twice(corpus: Corpus) -> Finding:
    twice = [
        place(document, *key[:2])
        for document in corpus
        for key, count in Counter(entity.key for entity in document.entities).items()
        if count > 1
    ]
    return Finding.of("entities that stand twice in their document", twice, "scores count them once")


def _contradicted(corpus: Corpus) -> Finding:
    both = [
        f"{place(document, *entity.key[:2])}: {entity.label}"
        for document in corpus
        for entity in contradicted(document)
    ]
    return Finding.of(
        "spans both annotated and rejected", both, "the annotation counts: remove it, or the rejection, by who is right"
    )


def _never_seen(corpus: Corpus) -> Finding:
    counts = Counter(
        label for document in corpus if isinstance(document.complete, frozenset) for label in document.complete
    )
    seen = {entity.label for _, entity in _entities(corpus)}
    unseen = [f"{label}: {count:,} documents" for label, count in sorted(counts.items()) if label not in seen]
    return Finding.of(
        "types that documents are complete for and no entity has",
        unseen,
        "a slip of the pen? a model gets such a type as well; right where there is none of it in this file",
    )


def _rare_labels(corpus: Corpus) -> Finding:
    counts = Counter(entity.label for _, entity in _entities(corpus))
    once = sorted(label for label, count in counts.items() if count == 1)
    return Finding.of("types that occur once", once, "a slip of the pen? nothing can be learned from one example")


def _several_types(corpus: Corpus) -> Finding:
    types: dict[str, Counter[str]] = defaultdict(Counter)
    for document, entity in _entities(corpus):
        types[document.surface(entity)][entity.label] += 1
    mixed = [(surface, counts) for surface, counts in types.items() if len(counts) > 1]
    mixed.sort(key=lambda item: (-item[1].total(), item[0]))
    told = [
        f"{surface}: " + ", ".join(f"{label} {count:,}" for label, count in c.most_common()) for surface, c in mixed
    ]
    return Finding.of("surfaces of several types", told, "right for some names; the rarer type is often a slip")


def _duplicates(corpus: Corpus, other: Corpus | None = None) -> Iterator[str]:
    """Documents whose text stands in `other`, or earlier in the corpus itself, whatever its white space."""
    first = {without_spaces(document.text): document.id for document in other or ()}
    for document in corpus:
        text = without_spaces(document.text)
        if text in first:
            yield f"{document.id} = {first[text]}: {document.text[:50]}"
        elif other is None:
            first[text] = document.id


def _entities(corpus: Corpus) -> Iterator[tuple[Document, Entity]]:
    for document in corpus:
        for entity in document.entities:
            yield document, entity
