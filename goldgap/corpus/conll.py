"""CoNLL-style files: one token a line, its tag in a column, a blank line between sentences."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, NamedTuple

from goldgap.core.corpus import Format, ReadOptions, WriteOptions, formats
from goldgap.core.document import Document, Entity, Range
from goldgap.core.errors import CorpusError, InputError
from goldgap.core.notes import Notes
from goldgap.core.reading import BLOCK
from goldgap.core.writing import write_atomic
from goldgap.corpus.lines import Ids, keep_mark, read_lines
from goldgap.corpus.lost import EMPTY, HOLDS_ALL, count_unsaid
from goldgap.corpus.tags import (
    OUTSIDE,
    UNKNOWN,
    Span,
    detect,
    first_foreign,
    letters_of,
    spans_to_tags,
    split_tag,
    tags_to_spans,
)
from goldgap.corpus.words import CJK, word_spans, words_of, words_touching

_DOCSTART = "-DOCSTART-"
_UNDECIDED = "\0"  # no token and no label holds it
_IS_CJK = re.compile(f"[{CJK}]")
_BY_CHARACTER = 0.9
"""Share of single characters among the words of a file that is split into characters; 0.5 where it is into words."""
_Joiner = Callable[[list[str]], tuple[str, tuple[Range, ...]]]
_ID_COMMENT = re.compile(r"#\s*(?:sent_)?id\s*=\s*(.*\S)")


@dataclass(slots=True)
class _Sentence:
    """Rows of one sentence before its tags are understood; tags[i] holds several in a cell with several labels."""

    id: str | None = None
    id_line: int = 0
    lines: list[int] = field(default_factory=list)
    words: list[str] = field(default_factory=list)
    tags: list[list[str]] = field(default_factory=list)


class _Layout(NamedTuple):
    """The line of the first row, the string between columns (None: runs of blanks and tabs), how many there are."""

    first_row: int
    separator: str | None
    columns: int


def read(path: Path, options: ReadOptions, notes: Notes) -> list[Document]:
    """One document a sentence."""
    lines = read_lines(path, notes, repair=options.on_error == "repair")
    layout = _layout(lines, options, notes)
    sentences = list(_sentences(path, lines, layout, options, notes))
    if layout.columns > 2 and options.token_column == 0 and _is_numbered(sentences):
        raise CorpusError(
            "the first column counts the words of each sentence (1, 2, 3), expected the words themselves; "
            "say where they are: --token-column 1",
            path=path,
            line=layout.first_row,
        )
    scheme = _scheme(path, sentences, options, notes)
    join = _joiner(sentences, options.join, notes)
    knows_unknown = any(cell == [UNKNOWN] for sentence in sentences for cell in sentence.tags)
    if knows_unknown:
        notes.fact("the tag UNK", "is used: O means known not to be an entity, UNK unknown")
    documents = []
    ids = Ids(lambda: {sentence.id for sentence in sentences if sentence.id})
    before: _Sentence | None = None
    for number, sentence in enumerate(sentences, 1):
        spans = _spans(path, sentence, before, scheme, options, notes)
        before = sentence
        text, tokens = join(sentence.words)
        entities = tuple(Entity(tokens[first][0], tokens[end - 1][1], label) for first, end, label in spans)
        line = sentence.id_line or sentence.lines[0]
        try:
            name = ids.claim(sentence.id or ids.number(number), line)
        except InputError as error:
            if options.on_error == "error":
                raise CorpusError(error.message, path=path, line=line) from None
            notes.change("sentence of an id that was given before (left out)", f"{path}:{line}: {error.message}")
            continue
        document = Document(text, entities, id=name, tokens=tokens)
        if knows_unknown:
            document = document.replace(complete=True, unknown=_unknown_ranges(sentence, tokens))
        documents.append(document)
    return documents


def write(documents: Iterable[Document], path: Path, options: WriteOptions, notes: Notes) -> None:
    """token<TAB>tag; what tags cannot hold (nested entities, parts of words) is left out and counted.

    Whether a word of which nothing is known gets O or UNK depends on all documents: the tag is _UNDECIDED in a draft
    beside the file until the last one is written.
    """
    with_unknown = False
    unsaid = Notes()
    with (
        write_atomic(path) as handle,
        TemporaryFile("w+", dir=Path(handle.name).parent, encoding="utf-8", newline="\n") as draft,
    ):
        number = 0
        for document in documents:
            tags = _write_sentence(document, draft, options.scheme, notes)
            if not tags:
                continue
            number += 1
            with_unknown = with_unknown or (bool(document.unknown) and _UNDECIDED in tags)
            if document.dropped or document.rejected:
                notes.change("dropped or rejected spans, which a token file cannot hold (left out)", document.id)
            count_unsaid(document, "a token file", notes)
            if document.id != str(number):
                notes.change("document id, which is not written into a token file (numbered anew)", document.id)
            if document.complete is True:
                unsaid.change("complete document: a token file says so only when it is read as such", document.id)
            elif document.complete:
                notes.change("document complete for some types, which a token file cannot say (left out)", document.id)
        if not with_unknown:
            notes.merge(unsaid)
        if options.strict:
            notes.refuse_changes(HOLDS_ALL)
        draft.seek(0)
        part = keep_mark(draft.read(BLOCK))
        while part:
            handle.write(part.replace(_UNDECIDED, UNKNOWN if with_unknown else OUTSIDE))
            part = draft.read(BLOCK)


formats.add("conll", Format((".conll", ".tsv", ".bio", ".iob", ".bmes"), read, write))


# Reading


def _sentences(
    path: Path, lines: list[str], layout: _Layout, options: ReadOptions, notes: Notes
) -> Iterator[_Sentence]:
    """Sentences with at least one token; malformed rows as `on_error` says."""
    sentence: _Sentence | None = None
    bad = False
    for number, line in enumerate([*lines, ""], 1):
        if not line.strip(" \t"):
            if sentence and sentence.words and not bad:
                yield sentence
            sentence, bad = None, False
            continue
        sentence = sentence or _Sentence()
        cells = _cells(line, layout.separator)
        if not sentence.words and _is_comment(line, cells, layout):
            if named := _ID_COMMENT.fullmatch(line.strip()):
                sentence.id, sentence.id_line = named[1], number
            continue
        if cells[0] == _DOCSTART and not sentence.words and not _is_tag(cells[-1], but=OUTSIDE):
            continue
        try:
            _add_row(sentence, cells, line, layout, options)
        except InputError as error:
            if options.on_error == "error":
                raise CorpusError(error.message, path=path, line=number) from None
            if not bad:
                notes.change("sentence with a malformed row (left out)", f"{path}:{number}: {error.message}")
            bad = True
            continue
        sentence.lines.append(number)
        if len(sentence.tags[-1]) > 1:
            notes.change("several labels in one cell (all kept)", f"{path}:{number}")


def _add_row(sentence: _Sentence, cells: list[str], line: str, layout: _Layout, options: ReadOptions) -> None:
    columns = layout.columns
    if len(cells) != columns:
        raise InputError(
            f"{_count(len(cells), 'column')}, expected {columns} as on line {layout.first_row}. "
            f"{_way_out(line, layout.separator)}"
        )
    try:
        word, cell = cells[options.token_column], cells[options.label_column]
    except IndexError:
        raise InputError(
            f"{_count(columns, 'column')}, but the token is wanted from column {options.token_column} "
            f"and the tag from column {options.label_column}; choose with --token-column and --label-column"
        ) from None
    if columns == 1:
        raise InputError("one column, expected a token and a tag; is the separator right? Use --separator")
    if not word:
        raise InputError("an empty token, expected one before the separator")
    tags = [cell]
    if "," in cell and all("-" in part and _is_tag(part) for part in cell.split(",")):
        if options.on_error != "repair":
            raise InputError(f"several labels in one cell, {cell!r}; keep them all with --on-error repair")
        tags = cell.split(",")
    for tag in tags:
        split_tag(tag)
    sentence.words.append(word)
    sentence.tags.append(tags)


def _way_out(line: str, separator: str | None) -> str:
    """What to do about a row of another number of columns than the first."""
    if separator is None:
        todo = "Use --separator tab" if "\t" in line else "Separate the columns by tabs"
        return f"Is a token containing a space? {todo}"
    if separator not in line:
        named = "tabs" if separator == "\t" else repr(separator)
        return f"Columns are separated by {named} there, and not here"
    return "Is a cell missing, or one too many?"


def _is_numbered(sentences: list[_Sentence]) -> bool:
    """Whether the words of every sentence are 1, 2, 3 and so on, and some sentence has several."""
    return any(len(sentence.words) > 1 for sentence in sentences) and all(
        word == str(number) for sentence in sentences for number, word in enumerate(sentence.words, 1)
    )


def _layout(lines: list[str], options: ReadOptions, notes: Notes) -> _Layout:
    rows = [(number, line) for number, line in enumerate(lines, 1) if line.strip(" \t") and _DOCSTART not in line]
    number, line = next((row for row in rows if not row[1].startswith("#")), rows[0] if rows else (1, ""))
    if options.separator is not None:
        separator = {"tab": "\t", "space": None}.get(options.separator, options.separator)
    else:
        separator = "\t" if "\t" in line else None
        notes.fact("columns", "separated by blanks" if separator is None else "separated by tabs")
    return _Layout(number, separator, len(_cells(line, separator)))


def _cells(line: str, separator: str | None) -> list[str]:
    # Not str.split(): it would break at NBSP, U+3000 and two dozen other characters that occur inside tokens.
    return line.split(separator) if separator is not None else re.split(r"[ \t]+", line.strip(" \t"))


def _is_comment(line: str, cells: list[str], layout: _Layout) -> bool:
    """A line before the first token of a sentence that begins with # and is not a row: '#<TAB>O' is the token #.

    Blanks stand inside comments too: where they part columns, and in ids, the last cell decides.
    """
    if not line.startswith("#") or len(cells) != layout.columns:
        return line.startswith("#")
    may_be = layout.separator is None or _ID_COMMENT.fullmatch(line.strip()) is not None
    return may_be and not _is_tag(cells[-1])


def _is_tag(cell: str, *, but: str | None = None) -> bool:
    try:
        split_tag(cell)
    except InputError:
        return False
    return cell != but


def _scheme(path: Path, sentences: list[_Sentence], options: ReadOptions, notes: Notes) -> str:
    try:
        if options.scheme is None:
            scheme = detect([tag for cell in sentence.tags for tag in cell] for sentence in sentences)
        else:
            scheme = options.scheme
            letters_of(scheme)  # refuses an unknown name
    except InputError as error:
        raise CorpusError(error.message, path=path) from None
    notes.fact("tag scheme", f"{scheme}, {'detected' if options.scheme is None else 'as given'}, {options.rule} rule")
    return scheme


def _spans(
    path: Path, sentence: _Sentence, before: _Sentence | None, scheme: str, options: ReadOptions, notes: Notes
) -> list[Span]:
    spans: list[Span] = []
    for tags in _layers(sentence):
        try:
            parsed = tags_to_spans(tags, scheme=scheme, rule=options.rule)
        except InputError as error:
            line = sentence.lines[first_foreign([split_tag(tag) for tag in tags], scheme) or 0]
            raise CorpusError(error.message, path=path, line=line) from None
        spans += parsed.spans
        for index, what in parsed.ill_formed:
            goes_on = index == 0 and what.startswith("inside tag")
            if goes_on and before is not None and _same_type(before.tags[-1], tags[0]):
                what = "entity that goes on over a sentence break"
            done = "kept as an entity of its own" if options.rule == "lenient" else "left out by the strict rule"
            notes.change(f"{what} ({done})", f"{path}:{sentence.lines[index]}")
    return sorted(spans)


def _layers(sentence: _Sentence) -> Iterator[list[str]]:
    """The tags of a sentence, or one sequence a type where some cells hold several labels."""
    if all(len(cell) == 1 for cell in sentence.tags):
        yield [cell[0] for cell in sentence.tags]
        return
    for label in sorted({split_tag(tag)[1] for cell in sentence.tags for tag in cell} - {""}):
        yield [next((tag for tag in cell if split_tag(tag)[1] == label), OUTSIDE) for cell in sentence.tags]


def _same_type(last: list[str], first: str) -> bool:
    return split_tag(first)[1] in {split_tag(tag)[1] for tag in last} - {""}


def _unknown_ranges(sentence: _Sentence, tokens: Sequence[Range]) -> tuple[Range, ...]:
    """Runs of UNK tokens, merged."""
    runs = []
    for is_unknown, group in groupby(range(len(tokens)), key=lambda index: sentence.tags[index] == [UNKNOWN]):
        indices = list(group)
        if is_unknown:
            runs.append((tokens[indices[0]][0], tokens[indices[-1]][1]))
    return tuple(runs)


def _joiner(sentences: list[_Sentence], join: str, notes: Notes) -> _Joiner:
    """How the words of a file become texts."""
    if join == "auto" and _by_character(sentences):
        notes.fact("words joined", "without blanks between single characters (see --join)")
        return lambda words: _join(words, _none_between_characters)
    told = {"auto": "by blanks, none between CJK (see --join)", "space": "by blanks", "none": "without blanks"}
    notes.fact("words joined", told[join])
    return joiner(join)


def _by_character(sentences: list[_Sentence]) -> bool:
    """Whether the file is split into characters, but for a name or number here and there."""
    words = [word for sentence in sentences for word in sentence.words]
    single = sum(len(word) == 1 for word in words)
    return single >= _BY_CHARACTER * len(words) and any(_IS_CJK.search(word) for word in words)


def joiner(join: str) -> _Joiner:
    """How the words of one text are joined: by a blank, or by none, or (auto) by one but where two CJK ones meet."""
    between = {"auto": _none_between_cjk, "space": lambda before, after: " ", "none": lambda before, after: ""}
    return lambda words: _join(words, between[join])


def _none_between_cjk(before: str, after: str) -> str:
    return "" if _IS_CJK.match(before[-1]) and _IS_CJK.match(after[0]) else " "


def _none_between_characters(before: str, after: str) -> str:
    return "" if len(before) == len(after) == 1 else _none_between_cjk(before, after)


def _join(words: list[str], between: Callable[[str, str], str]) -> tuple[str, tuple[Range, ...]]:
    """The text that the words make, and the range of each in it."""
    parts: list[str] = []
    ranges: list[Range] = []
    at = 0
    for index, word in enumerate(words):
        if index:
            gap = between(words[index - 1], word)
            parts.append(gap)
            at += len(gap)
        parts.append(word)
        ranges.append((at, at + len(word)))
        at += len(word)
    return "".join(parts), tuple(ranges)


# Writing


def _write_sentence(document: Document, draft: IO[str], scheme: str, notes: Notes) -> list[str]:
    """The tags of the words that were written."""
    words = words_of(document)
    spans = _representable(document, words, notes)
    tags = _leave_undecided(document, words, spans_to_tags(len(words), spans, scheme=scheme))
    rows = [f"{_cell(document, word, notes)}\t{tag}\n" for word, tag in zip(words, tags, strict=True)]
    if not rows:
        notes.change(EMPTY, document.id)
        return []
    if lost := _outside_of_words(document):
        notes.change("characters outside of words (left out)", document.id, count=lost)
    if rows[0].startswith(f"{_DOCSTART}\t") and tags[0] in (OUTSIDE, _UNDECIDED):
        notes.change(f"first word {_DOCSTART}, which is passed over when it is read", document.id)
    draft.write("".join(rows) + "\n")
    return tags


def _outside_of_words(document: Document) -> int:
    """How many characters but white space belong to none of the document's own words."""
    if document.tokens is None:  # the words of the splitter are all that is no white space
        return 0
    at = lost = 0
    for start, end in (*document.tokens, (len(document.text),) * 2):
        lost += sum(map(len, document.text[at:start].split()))
        at = end
    return lost


def _representable(document: Document, words: tuple[Range, ...], notes: Notes) -> list[Span]:
    """The entities as spans of words, the widest where several overlap, and the first of several types of one span."""
    ranges = word_spans(words, [(entity.start, entity.end) for entity in document.entities])
    spans: list[Span] = []
    for entity, span in zip(document.entities, ranges, strict=True):
        if span is None:
            notes.change("entity that begins or ends inside a word (left out)", document.id)
        else:
            spans.append(Span(*span, entity.label))
    taken = [False] * len(words)
    kept = []
    for widest in sorted(dict.fromkeys(spans), key=lambda span: (span.first - span.end, span.first)):
        if any(taken[widest.first : widest.end]):
            lost = f"{document.id}: {widest.label}"
            notes.change("nested or overlapping entity, which tags cannot hold (left out)", lost)
        else:
            taken[widest.first : widest.end] = [True] * (widest.end - widest.first)
            kept.append(widest)
    return kept


def _leave_undecided(document: Document, words: tuple[Range, ...], tags: list[str]) -> list[str]:
    """The tags, without O where nothing is known."""
    if document.complete is not True:
        return [_UNDECIDED if tag == OUTSIDE else tag for tag in tags]
    hidden = {index for start, end in document.unknown for index in words_touching(words, start, end)}
    return [_UNDECIDED if tag == OUTSIDE and index in hidden else tag for index, tag in enumerate(tags)]


def _cell(document: Document, token: Range, notes: Notes) -> str:
    """A token as it can stand in a column."""
    word = document.text[slice(*token)]
    plain = re.sub(r"[\t\r\n\0]", " ", word)
    if plain != word:
        notes.change("tab, line end or NUL inside a token (written as a blank)", document.id)
    return plain


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
