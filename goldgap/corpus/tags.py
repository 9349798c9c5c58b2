"""Tag schemes: BIO (IOB2), IOB1, BIOES, BMES and BILOU to spans and back. The only tag parser.

Spans are half-open ranges of words. An ill-formed sequence has no single meaning, so the rule is an argument:
lenient is what conlleval does (every tag that cannot continue an entity opens one), strict takes only what the scheme
allows and leaves the rest out. Both report each ill-formed place.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from goldgap.core.corpus import TagRule
from goldgap.core.document import label_problem
from goldgap.core.errors import InputError
from goldgap.core.registry import unknown_name

OUTSIDE = "O"
UNKNOWN = "UNK"

_LETTERS = {"bio": "BI", "iob1": "BI", "bioes": "BIES", "bmes": "BMES", "bilou": "BILU"}
"""The letters of each scheme for begin, inside, end, single. The order is the order of detection."""
SCHEMES = tuple(_LETTERS)
_NORMAL = {"B": "B", "I": "I", "M": "I", "E": "E", "L": "E", "S": "S", "U": "S"}
"""Every letter as its role in BIOES."""


class Span(NamedTuple):
    """Words first..end-1 carry the label."""

    first: int
    end: int
    label: str


class Parsed(NamedTuple):
    """The spans of one sentence, and its ill-formed places as (word, what is wrong)."""

    spans: list[Span]
    ill_formed: list[tuple[int, str]]


def split_tag(tag: str) -> tuple[str, str]:
    """Letter and label of a tag: ("B", "PER") for B-PER, ("O", "") for O and UNK."""
    if tag in (OUTSIDE, UNKNOWN):
        return "O", ""
    letter, dash, label = tag.partition("-")
    if letter not in _NORMAL or not dash:
        raise InputError(
            f"the tag {tag!r} is neither O nor UNK nor one of {'-, '.join(_NORMAL)}- with a type; "
            "is the label column right? Choose it with --label-column"
        )
    if problem := label_problem(label):
        raise InputError(f"the tag {tag!r} has no valid type: {problem}")
    return letter, label


def detect(sentences: Iterable[Sequence[str]]) -> str:
    """The scheme that a file's tags are in.

    Letters decide, except between BIO and IOB1: in IOB1 an entity opens with I-, and B- stands only where two
    entities of one type touch.
    """
    letters: set[str] = set()
    opening_inside = needless_begin = 0
    for tags in sentences:
        before = ("O", "")
        for tag in tags:
            letter, label = split_tag(tag)
            letters.add(letter)
            if letter in "BI":
                touches = before[0] != "O" and before[1] == label
                opening_inside += letter == "I" and not touches
                needless_begin += letter == "B" and not touches
            before = (letter, label)
    letters.discard("O")
    if letters <= {"B", "I"}:
        return "iob1" if opening_inside and not needless_begin else "bio"
    for scheme, known in _LETTERS.items():
        if letters <= set(known):
            return scheme
    raise InputError(
        f"the tags begin with {', '.join(sorted(letters))}, which is no scheme ({', '.join(SCHEMES)}); are two schemes "
        "mixed? name one with --scheme, and the first tag that does not belong is shown with its line"
    )


def tags_to_spans(tags: Sequence[str], *, scheme: str = "bio", rule: TagRule = "lenient") -> Parsed:
    """The entities of one sentence.

    >>> tags_to_spans(["B-PER", "I-PER", "O", "I-LOC"]).spans
    [Span(first=0, end=2, label='PER'), Span(first=3, end=4, label='LOC')]
    >>> tags_to_spans(["B-PER", "I-PER", "O", "I-LOC"], rule="strict").spans
    [Span(first=0, end=2, label='PER')]
    """
    letters = letters_of(scheme)
    parts = [split_tag(tag) for tag in tags]
    if (index := first_foreign(parts, scheme)) is not None:
        raise InputError(f"the tag {tags[index]!r} is not of the scheme {scheme}; give the right one with --scheme")
    roles = [(_NORMAL.get(letter, "O"), label) for letter, label in parts]
    closes = "E" in (_NORMAL[letter] for letter in letters)
    ill_formed = _ill_formed(roles, scheme, closes)
    if rule == "strict":
        return Parsed(_strict_spans(roles, scheme, closes), ill_formed)
    return Parsed(_lenient_spans(roles), ill_formed)


def spans_to_tags(length: int, spans: Iterable[Span | tuple[int, int, str]], *, scheme: str = "bio") -> list[str]:
    """The tags of a sentence of `length` words; spans must not share a word."""
    letters = letters_of(scheme)
    begin, inside = letters[0], letters[1]
    end, single = (letters[2], letters[3]) if len(letters) == 4 else (inside, begin)
    tags = [OUTSIDE] * length
    for first, stop, label in sorted(spans):
        if not 0 <= first < stop <= length:
            raise InputError(f"the span {first}..{stop} is empty or lies outside a sentence of {length} words")
        if any(tag != OUTSIDE for tag in tags[first:stop]):
            raise InputError(f"two spans share a word at {first}..{stop}; tags hold no nested entities")
        if scheme == "iob1":
            touches = first > 0 and tags[first - 1] in (f"B-{label}", f"I-{label}")
            tags[first:stop] = [f"{'B' if touches else 'I'}-{label}"] + [f"I-{label}"] * (stop - first - 1)
        elif stop - first == 1:
            tags[first] = f"{single}-{label}"
        else:
            tags[first:stop] = [f"{begin}-{label}", *[f"{inside}-{label}"] * (stop - first - 2), f"{end}-{label}"]
    return tags


def first_foreign(parts: Sequence[tuple[str, str]], scheme: str) -> int | None:
    """The first word whose (letter, label) does not belong to the scheme."""
    known = letters_of(scheme) + OUTSIDE
    return next((index for index, (letter, _) in enumerate(parts) if letter not in known), None)


def letters_of(scheme: str) -> str:
    """The letters of a scheme for begin, inside, end, single."""
    if scheme not in _LETTERS:
        raise InputError(unknown_name("tag scheme", scheme, SCHEMES))
    return _LETTERS[scheme]


def _lenient_spans(roles: list[tuple[str, str]]) -> list[Span]:
    """The chunk rules of conlleval, which hold for every scheme."""
    spans: list[Span] = []
    first, before = -1, ("O", "")
    for index, (role, label) in enumerate([*roles, ("O", "")]):
        if first >= 0 and (before[0] in "ES" or role in "BSO" or label != before[1]):
            spans.append(Span(first, index, before[1]))
            first = -1
        if first < 0 and role != "O":
            first = index
        before = (role, label)
    return spans


def _strict_spans(roles: list[tuple[str, str]], scheme: str, closes: bool) -> list[Span]:
    spans: list[Span] = []
    index = 0
    while index < len(roles):
        role, label = roles[index]
        first, index = index, index + 1
        if not _opens(roles, first, scheme):
            continue
        if role == "S":
            spans.append(Span(first, index, label))
            continue
        while index < len(roles) and roles[index] == ("I", label):
            index += 1
        if not closes:
            spans.append(Span(first, index, label))
        elif index < len(roles) and roles[index] == ("E", label):
            index += 1
            spans.append(Span(first, index, label))
    return spans


def _opens(roles: list[tuple[str, str]], index: int, scheme: str) -> bool:
    """Whether the scheme allows an entity to open at this word."""
    role, label = roles[index]
    if scheme != "iob1":
        return role in "BS"
    touches = index > 0 and roles[index - 1][1] == label
    return (role == "I" and not touches) or (role == "B" and touches)


def _ill_formed(roles: list[tuple[str, str]], scheme: str, closes: bool) -> list[tuple[int, str]]:
    found: list[tuple[int, str]] = []
    before = ("O", "")
    for index, (role, label) in enumerate([*roles, ("O", "")]):
        inside = before[0] != "O" if not closes else before[0] in "BI"
        continues = role in "IE" and inside and before[1] == label
        if closes and inside and not continues:
            found.append((index - 1, "entity without an end tag"))
        if role in "IE" and not continues and scheme != "iob1":
            found.append(
                (
                    index,
                    "inside tag of another type than the entity before it"
                    if inside
                    else "inside tag with no entity open",
                )
            )
        if scheme == "iob1" and role == "B" and before[1] != label:
            found.append((index, "B- tag where no entity of its type is open before it (IOB1)"))
        before = (role, label)
    return found
