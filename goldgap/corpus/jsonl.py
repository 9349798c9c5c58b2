"""JSONL: one document a line, with character offsets, or with words and word indices (last inclusive)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from goldgap.core.corpus import LIKE_A_NUMBER, Format, ReadOptions, WriteOptions, formats
from goldgap.core.document import Document, Entity, Range, Rejected
from goldgap.core.errors import CorpusError, InputError
from goldgap.core.notes import Notes
from goldgap.core.reading import read_line_blocks
from goldgap.core.writing import write_atomic
from goldgap.corpus.conll import joiner
from goldgap.corpus.lines import Ids, iterate_lines

_KEYS = {"id", "text", "entities", "tokens", "complete", "rejected", "unknown", "dropped"}
_OTHERS = ("spans", "labels", "label", "ner", "ner_tags", "annotations")
"""Where other tools keep annotations."""
_ENTITY_KEYS = {"start", "end", "label", "score", "source"}
_REJECTED_KEYS = {"start", "end", "label"}


def read(path: Path, options: ReadOptions, notes: Notes) -> Iterator[Document]:
    """One document a line; blank lines are passed over."""
    ids = Ids(lambda: _stated_numbers(path))
    for number, line in enumerate(iterate_lines(path, notes, repair=options.on_error == "repair"), 1):
        if not line.strip():
            continue
        try:
            values = _parse(line)
            document = _document(values, notes, where=f"{path}:{number}", join=options.join)
            if not document.id:
                document = document.replace(id=ids.number(number))
            ids.claim(document.id, number)
        except InputError as error:
            if options.on_error == "error":
                raise CorpusError(error.message, path=path, line=number) from None
            notes.change("malformed document (left out)", f"{path}:{number}: {error.message}")
        else:
            yield document


def write(documents: Iterable[Document], path: Path, options: WriteOptions, notes: Notes) -> None:
    """Everything a document holds; keys without a value are left out."""
    ids = Ids()
    with write_atomic(path) as handle:
        for line, document in enumerate(documents, 1):
            ids.claim(document.id, line)
            handle.write(to_line(document))


formats.add("jsonl", Format((".jsonl",), read, write))


def to_line(document: Document) -> str:
    """The document as a line of a file."""
    return json.dumps(to_json(document), ensure_ascii=False) + "\n"


def to_json(document: Document) -> dict[str, Any]:
    """The document as plain values, in the shape of the outward contract."""
    values: dict[str, Any] = {"id": document.id, "text": document.text}
    values["entities"] = [_entity_values(entity) for entity in document.entities]
    if document.tokens is not None:
        values["tokens"] = [list(token) for token in document.tokens]
    if document.complete:
        values["complete"] = True if document.complete is True else sorted(document.complete)
    if document.rejected:
        values["rejected"] = [
            {"start": r.start, "end": r.end} | ({} if r.label is None else {"label": r.label})
            for r in document.rejected
        ]
    if document.unknown:
        values["unknown"] = [list(item) for item in document.unknown]
    if document.dropped:
        values["dropped"] = [_entity_values(entity) for entity in document.dropped]
    return values


def _entity_values(entity: Entity) -> dict[str, Any]:
    values: dict[str, Any] = {"start": entity.start, "end": entity.end, "label": entity.label}
    if entity.score is not None:
        values["score"] = entity.score
    if entity.source is not None:
        values["source"] = entity.source
    return values


def _parse(line: str) -> dict[str, Any]:
    """A JSON object without what json.loads lets pass: NaN, repeated keys, lone surrogates."""
    try:
        values = json.loads(line, object_pairs_hook=_unique_keys, parse_constant=_no_constant)
    except RecursionError:
        raise InputError("JSON nested too deeply") from None
    except ValueError as error:
        raise InputError(f"not JSON: {error}; expected one object a line") from None
    if not isinstance(values, dict):
        raise InputError(f"a JSON {type(values).__name__}, expected one object a line")
    return values


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) != len(pairs):
        raise InputError("a key stands twice in one object")
    return values


def _no_constant(name: str) -> None:
    raise InputError(f"{name} is not a JSON number")


def _stated_numbers(path: Path) -> set[str]:
    """The ids in a file that a number could be taken for."""
    found: set[str] = set()
    for block in read_line_blocks(path):
        for line in block.splitlines() if b'"id"' in block else ():
            if b'"id"' in line:
                with suppress(InputError):  # told when the line is read
                    name = str(_parse(line.decode(errors="replace")).get("id"))
                    found.update([name] if LIKE_A_NUMBER.fullmatch(name) else [])
    return found


def _document(values: dict[str, Any], notes: Notes, *, where: str, join: str) -> Document:
    if values.get("entities") is None:
        for key in _OTHERS:
            if values.get(key) and isinstance(values[key], list):
                raise InputError(
                    f'"{key}", which goldgap does not read, and no "entities"; expected "entities": '
                    '[{"start": 0, "end": 5, "label": "PER"}] with offsets of characters'
                )
    for key in sorted(values.keys() - _KEYS):
        notes.change(f"key {key!r} is not one of goldgap's (not kept)", where)
    identity = "" if values.get("id") is None else values["id"]
    if not isinstance(identity, str | int) or isinstance(identity, bool):
        raise InputError(f"id {identity!r} is neither a string nor a whole number")
    words = values.get("tokens")
    if words is not None and not isinstance(words, list):
        raise InputError(f'"tokens" is a {type(words).__name__}, expected a list')
    tokens: tuple[Range, ...] | None
    if isinstance(values.get("text"), str):
        text = _encodable(values["text"])
        tokens = None if words is None else tuple(_range(word, '"tokens"') for word in words)
        items = _list(values, "entities")
        entities = tuple(_entity(item) for item in items)
        for key in sorted({key for item in items for key in item} - _ENTITY_KEYS):
            notes.change(f"key {key!r} of an entity is not one of goldgap's (not kept)", where)
        for name, known in (("rejected", _REJECTED_KEYS), ("dropped", _ENTITY_KEYS)):
            spans = [item for item in _list(values, name) if isinstance(item, dict)]
            for key in sorted({key for item in spans for key in item} - known):
                notes.change(f"key {key!r} of a {name} span is not one of goldgap's (not kept)", where)
    elif "text" not in values and words is not None:
        if not all(isinstance(word, str) and word for word in words):
            raise InputError('without "text", "tokens" must be a list of non-empty strings')
        text, tokens = joiner(join)([_encodable(word) for word in words])
        entities = tuple(_word_entity(item, tokens) for item in _list(values, "entities"))
    else:
        raise InputError('expected a string "text", or a list of strings "tokens"')
    return Document(
        text,
        entities,
        id=_encodable(str(identity)),
        tokens=tokens,
        complete=_complete(values.get("complete", False)),
        rejected=tuple(_rejected(item) for item in _list(values, "rejected")),
        unknown=tuple(_range(item, '"unknown"') for item in _list(values, "unknown")),
        dropped=tuple(_entity(item) for item in _list(values, "dropped")),
    )


def _list(values: dict[str, Any], key: str) -> list[Any]:
    found = values.get(key)
    if found is None:
        return []
    if not isinstance(found, list):
        raise InputError(f'"{key}" is a {type(found).__name__}, expected a list')
    return found


def _entity(item: Any) -> Entity:
    if not isinstance(item, dict):
        raise InputError(
            f'entity {item!r}, expected {{"start": 0, "end": 5, "label": "PER"}} with offsets of characters'
        )
    start, end = _offsets(item)
    label, source = item.get("label"), item.get("source")
    if not isinstance(label, str):
        what = "the label is not a string" if "label" in item else "it has no label; the key for its type is `label`"
        raise InputError(f"entity {item!r}: {what}")
    if source is not None and not isinstance(source, str):
        raise InputError(f"entity {item!r}: the source is not a string")
    return Entity(start, end, _encodable(label), _score(item), source and _encodable(source))


def _score(item: dict[str, Any]) -> float | None:
    score = item.get("score")
    if score is None:
        return None
    if not isinstance(score, int | float) or isinstance(score, bool):
        raise InputError(f"entity {item!r}: the score is not a number")
    try:
        return float(score)
    except OverflowError:
        raise InputError("a score beyond 1e308: it is not a finite number") from None


def _word_entity(item: Any, tokens: tuple[Range, ...]) -> Entity:
    if not (isinstance(item, list) and len(item) == 3 and isinstance(item[2], str)):
        raise InputError(f'entity {item!r}, expected [first, last, "LABEL"] with indices of words, last inclusive')
    first, last = _range(item[:2], "entities")
    if not 0 <= first <= last < len(tokens):
        raise InputError(f"entity {item!r} lies outside the {len(tokens)} words, or its first word behind its last")
    return Entity(tokens[first][0], tokens[last][1], _encodable(item[2]))


def _rejected(item: Any) -> Rejected:
    if not isinstance(item, dict) or not isinstance(item.get("label", ""), str | None):
        raise InputError(f'rejected {item!r}, expected {{"start": 0, "end": 5}} and perhaps a "label"')
    label = item.get("label")
    return Rejected(*_offsets(item), None if label is None else _encodable(label))


def _offsets(item: dict[str, Any]) -> Range:
    return _range([item.get("start"), item.get("end")], "offsets")


def _range(item: Any, what: str) -> Range:
    if not (isinstance(item, list) and len(item) == 2 and all(type(number) is int for number in item)):
        raise InputError(f"{what}: {item!r}, expected a pair of whole numbers")
    return item[0], item[1]


def _complete(value: Any) -> bool | frozenset[str]:
    if value is None or isinstance(value, bool):
        return bool(value)
    if isinstance(value, list) and all(isinstance(name, str) for name in value):
        return frozenset(map(_encodable, value)) or False
    raise InputError(f'"complete" is {value!r}, expected true, false or a list of types')


def _encodable(text: str) -> str:
    """The text, unless it holds half of a surrogate pair, which no file and no tokenizer takes."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise InputError(f"a lone surrogate at character {error.start}: not valid Unicode") from None
    return text
