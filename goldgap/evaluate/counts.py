"""Counting predictions against gold, per document and type: sets of entities, free of order, nested or not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import Literal, NamedTuple

from goldgap.core.corpus import Corpus
from goldgap.core.document import Document
from goldgap.core.errors import InputError
from goldgap.corpus.words import words_of, words_touching

Key = tuple[int, int, str]
Match = Literal["strict", "start", "end", "loose"]
MATCHES: tuple[Match, ...] = ("strict", "start", "end", "loose")


class Counts(NamedTuple):
    """Matched pairs, predicted entities, gold entities."""

    tp: int = 0
    predicted: int = 0
    gold: int = 0


class Pair(NamedTuple):
    """The gold and the predicted entities of one document, without repeats."""

    gold: frozenset[Key]
    predicted: frozenset[Key]


TypeCounts = dict[str, Counts]
"""Counts of one document, by type."""
_OF_TOKEN_FILES = "a token file keeps neither ids nor spacing, so compare with what it was made from"


def pair_up(gold: Corpus, predicted: Corpus) -> list[tuple[Document, Document]]:
    """Each gold document with the prediction of the same id; both corpora must hold the same documents.

    Where ids differ and the texts are the same one by one, one corpus was numbered anew: they are paired in order.
    """
    for corpus in (gold, predicted):
        corpus.require_own_ids("documents")
    by_id = {document.id: document for document in predicted}
    missing = [document.id for document in gold if document.id not in by_id]
    extra = by_id.keys() - {document.id for document in gold}
    if (missing or extra) and [one.text for one in gold] == [one.text for one in predicted]:
        return list(zip(gold, predicted, strict=True))  # one of the two was numbered anew
    if missing or extra:
        listed = ", ".join(repr(name) for name in (missing or sorted(extra))[:3])
        side = "no prediction for" if missing else "predictions for other documents:"
        count = f"{len(missing)} of {len(gold)} documents" if missing else str(len(extra))
        raise InputError(f"{side} {count} (ids {listed}); both files must hold the same documents; {_OF_TOKEN_FILES}")
    pairs = [(document, by_id[document.id]) for document in gold]
    for one, other in pairs:
        if one.text != other.text:
            at = next((i for i, (a, b) in enumerate(zip(one.text, other.text, strict=False)) if a != b), None)
            where = (
                "in length"
                if at is None
                else f"at character {at}: {one.text[at : at + 20]!r}, {other.text[at : at + 20]!r}"
            )
            hint = f"; {_OF_TOKEN_FILES}" if "".join(one.text.split()) == "".join(other.text.split()) else ""
            raise InputError(f"document {one.id!r} has different texts in the two files: they differ {where}{hint}")
    return pairs


def keys(document: Document) -> frozenset[Key]:
    return frozenset(entity.key for entity in document.entities)


def token_keys(document: Document, words: Sequence[tuple[int, int]]) -> frozenset[Key]:
    """One key for each word and each type of an entity that touches it: token-level scores are scores of these."""
    return frozenset(
        (*words[index], entity.label)
        for entity in document.entities
        for index in words_touching(words, entity.start, entity.end)
    )


def entity_pairs(documents: Iterable[tuple[Document, Document]]) -> list[Pair]:
    return [Pair(keys(gold), keys(predicted)) for gold, predicted in documents]


def token_pairs(documents: Iterable[tuple[Document, Document]]) -> list[Pair]:
    """The same as pairs of words and types; the words are the gold document's."""
    pairs = []
    for gold, predicted in documents:
        words = words_of(gold)
        pairs.append(Pair(token_keys(gold, words), token_keys(predicted, words)))
    return pairs


def inner(entities: frozenset[Key]) -> frozenset[Key]:
    """The entities that lie inside another one with a larger range."""
    inside, reach = set(), -1
    for start, end in sorted({key[:2] for key in entities}, key=lambda own: (own[0], -own[1])):
        if end <= reach:  # what came before begins no later and ends no earlier
            inside.add((start, end))
        reach = max(reach, end)
    return frozenset(key for key in entities if key[:2] in inside)


def by_type(pair: Pair) -> dict[str, tuple[list[Key], list[Key]]]:
    """Gold and predicted entities of each type that occurs."""
    groups: dict[str, tuple[list[Key], list[Key]]] = {}
    for side, entities in enumerate(pair):
        for entity in entities:
            groups.setdefault(entity[2], ([], []))[side].append(entity)
    return groups


def count(groups: dict[str, tuple[list[Key], list[Key]]], match: Match) -> TypeCounts:
    """Counts by type of one document.

    strict: same start, end and type. start, end: same type and that boundary (003 Table 8). loose: same type and at
    least one common character, each entity in at most one pair.
    """
    matched = _MATCHED[match]
    return {
        label: Counts(matched(gold, predicted), len(predicted), len(gold))
        for label, (gold, predicted) in groups.items()
    }


def _common(part: Callable[[Key], Hashable]) -> Callable[[list[Key], list[Key]], int]:
    def matched(gold: list[Key], predicted: list[Key]) -> int:
        ours, theirs = list(map(part, gold)), list(map(part, predicted))
        if len(set(ours)) == len(ours):
            return len(set(ours).intersection(theirs))
        return (Counter(ours) & Counter(theirs)).total()

    return matched


def _exact(gold: list[Key], predicted: list[Key]) -> int:
    return len(set(gold).intersection(predicted))


def _loose(gold: list[Key], predicted: list[Key]) -> int:
    """The most pairs of overlapping entities in which each entity stands once."""
    if len(gold) == len(predicted) == _exact(gold, predicted):
        return len(gold)
    return sum(_most_pairs(*group) for group in touching(gold, predicted))


def touching(gold: Iterable[Key], predicted: Iterable[Key]) -> Iterator[tuple[list[Key], list[Key]]]:
    """Groups of entities that hang together by overlaps; entities of different groups have nothing in common."""
    group: tuple[list[Key], list[Key]] = ([], [])
    reach = 0
    for entity, side in sorted([(entity, 0) for entity in gold] + [(entity, 1) for entity in predicted]):
        if entity[0] >= reach:
            yield group
            group = ([], [])
        group[side].append(entity)
        reach = max(reach, entity[1])
    yield group


def _most_pairs(gold: list[Key], predicted: list[Key]) -> int:
    """Size of the largest matching between overlapping entities, by augmenting paths found breadth first."""
    partners = [[i for i, g in enumerate(gold) if g[0] < p[1] and p[0] < g[1]] for p in predicted]
    taken_by: dict[int, int] = {}  # gold -> predicted
    holds: dict[int, int] = {}  # predicted -> gold
    for root in range(len(predicted)):
        came_from: dict[int, int] = {}  # gold -> predicted that reached it
        queue = [root]
        for one in queue:
            for other in partners[one]:
                if other not in came_from:
                    came_from[other] = one
                    if other in taken_by:
                        queue.append(taken_by[other])
                        continue
                    step: int | None = other
                    while step is not None:  # turn the path around
                        mover = came_from[step]
                        given_up = holds.get(mover)
                        taken_by[step], holds[mover] = mover, step
                        step = given_up
                    break
            else:
                continue
            break
    return len(holds)


_MATCHED: dict[Match, Callable[[list[Key], list[Key]], int]] = {
    "strict": _exact,
    "start": _common(lambda key: key[0]),
    "end": _common(lambda key: key[1]),
    "loose": _loose,
}
