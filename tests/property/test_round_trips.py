"""Round trips: what a format can hold comes back from it unchanged."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import groupby, pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from goldgap.core.config import read_toml, to_toml
from goldgap.core.corpus import Corpus
from goldgap.core.document import Document, Entity, Range, Rejected, label_problem
from goldgap.core.errors import InputError
from goldgap.corpus.tags import SCHEMES, Span, spans_to_tags, tags_to_spans
from goldgap.corpus.words import split_words, word_spans
from goldgap.distant.rules import MatchRules

PROFILE = settings(derandomize=True, deadline=None, max_examples=60, database=None)
FEWER = settings(PROFILE, max_examples=30)
"""Where drawing an example is most of the time."""

PIECES = [
    *("a", "Bc", "0", "x-y", "IL-2", "don't", "U.S.", "1,234.5", "#tag", "|", '"', "\\", ",", ";", "-", "'s"),
    *("😀", "👨\u200d👩\u200d👧", "👍🏽", "🇩🇪", "❤\ufe0f", "e\u0301", "น้ำ", "中", "国", "が", "か\u3099", "カ", "한국"),
    *("שלום", "مرحبا", "\u200f", "\u202e", "\u200b", "\ufeff", "\ufffd", "http://a.b/c", "a@b.org", "ﬁ", "İ"),
    *(" ", "  ", "\u00a0", "\u3000", "\u2028", "\u0085", "\x0b", "\x1c"),
]
LINE_ENDS = ["\n", "\r\n", "\r"]
CHARACTERS = st.characters(exclude_categories=["Cs"], exclude_characters="\0\r\n\t")


@pytest.fixture(autouse=True, scope="module")
def _no_waiting_for_the_disk() -> Iterator[None]:
    """Files that live for a millisecond need not outlast a power cut, and waiting for that is most of the time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("os.fsync", lambda descriptor: None)
        yield


def texts(*more: str, min_size: int = 0) -> st.SearchStrategy[str]:
    """Texts of pieces and of any characters, without NUL, tab and line ends unless given in `more`."""
    pieces = st.sampled_from([*PIECES, *more]) | CHARACTERS
    return st.lists(pieces, min_size=min_size, max_size=12).map("".join)


LABELS = st.sampled_from(["PER", "cell-type", "first name", "细胞", "O", "B-X", "a|b"])
ONE_WORD_LABELS = st.sampled_from(["PER", "cell-type", "细胞", "O", "UNK", "B-X"])
FINITE = st.floats(allow_nan=False, allow_infinity=False)


@st.composite
def ranges(draw: st.DrawFn, length: int) -> Range:
    start = draw(st.integers(0, length - 1))
    return start, draw(st.integers(start + 1, length))


@st.composite
def separate_ranges(draw: st.DrawFn, length: int) -> tuple[Range, ...]:
    """Ranges in order that share nothing but their ends."""
    cuts = sorted(draw(st.lists(st.integers(0, length), unique=True, max_size=8)))
    return tuple(pair for pair in pairwise(cuts) if draw(st.booleans()))


@st.composite
def entities_in(draw: st.DrawFn, text: str, labels: st.SearchStrategy[str]) -> tuple[Entity, ...]:
    if not text:
        return ()
    places = draw(st.lists(ranges(len(text)), max_size=4))
    return tuple(Entity(start, end, draw(labels)) for start, end in places)


@st.composite
def full_documents(draw: st.DrawFn, number: int) -> Document:
    """Documents that make use of everything a document can hold."""
    text = draw(texts("\n", "\r\n", "\r", "\t", "\0"))
    length = len(text)
    extra = st.tuples(st.none() | FINITE, st.none() | st.sampled_from(["", "dictionary", "Åsa"]))

    def entities() -> tuple[Entity, ...]:
        return tuple(Entity(e.start, e.end, e.label, *draw(extra)) for e in draw(entities_in(text, LABELS)))

    places = draw(st.lists(ranges(length), max_size=2)) if text else []
    return Document(
        text,
        entities(),
        id=f"{draw(texts(*LINE_ENDS))}{number}",
        tokens=draw(st.none() | separate_ranges(length)),
        complete=draw(st.booleans() | st.frozensets(LABELS, min_size=1)),
        rejected=tuple(Rejected(*place, draw(st.none() | LABELS)) for place in places),
        unknown=draw(separate_ranges(length)),
        dropped=entities(),
    )


@st.composite
def tagged_documents(draw: st.DrawFn) -> Document:
    """Documents of words; every word is part of an entity, known not to be one, or unknown, also under an entity."""
    cell = texts(min_size=1).filter(lambda word: word not in ("", "-DOCSTART-") and word[0] != "\ufeff")
    words = draw(st.lists(cell, min_size=1, max_size=6))
    text, tokens = "", []
    for word in words:
        text += draw(st.sampled_from(["", " ", "\n", ", ", "…"])) if text else ""
        tokens.append((len(text), len(text) + len(word)))
        text += word
    spans = draw(separate_ranges(len(words)))
    entities = tuple(Entity(tokens[first][0], tokens[end - 1][1], draw(ONE_WORD_LABELS)) for first, end in spans)
    unknown = [draw(st.booleans()) for _ in words]
    return Document(text, entities, tokens=tuple(tokens), complete=True, unknown=runs_of(unknown, tokens))


def runs_of(chosen: Sequence[bool], tokens: Sequence[Range]) -> tuple[Range, ...]:
    """The ranges that chosen words beside each other cover."""
    runs = [list(run) for one, run in groupby(range(len(tokens)), key=chosen.__getitem__) if one]
    return tuple((tokens[run[0]][0], tokens[run[-1]][1]) for run in runs)


@st.composite
def several(draw: st.DrawFn, kind: st.SearchStrategy[Document]) -> list[Document]:
    """Documents numbered from 1, as a reader without ids numbers them."""
    return [document.replace(id=str(n)) for n, document in enumerate(draw(st.lists(kind, min_size=1, max_size=3)), 1)]


@contextmanager
def written(
    documents: Sequence[Document], name: str, *, format: str | None = None, scheme: str = "bio"
) -> Iterator[Corpus]:
    """What is read again after the documents were written to a file or folder of that name."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        Corpus(documents).write(path, format=format, scheme=scheme)
        yield Corpus.read(path, format=format)


def in_words(document: Document, places: Sequence[Range]) -> list[Range | None]:
    return word_spans(document.tokens or (), list(places))


@settings(FEWER)
@given(st.data())
def test_jsonl_holds_everything(data: st.DataObject) -> None:
    documents = [data.draw(full_documents(number)) for number in range(data.draw(st.integers(1, 3)))]
    with written(documents, "corpus.jsonl") as corpus:
        assert corpus.documents == documents
        assert corpus.notes.changes == {}


@pytest.mark.parametrize("scheme", SCHEMES)
@settings(FEWER)
@given(documents=several(tagged_documents()))
def test_token_file_holds_words_and_entities_in_every_scheme(scheme: str, documents: list[Document]) -> None:
    with written(documents, "corpus.conll", scheme=scheme) as corpus:
        assert [document.words for document in corpus] == [document.words for document in documents]
        for back, document in zip(corpus, documents, strict=True):
            assert [e.label for e in back.entities] == [e.label for e in document.entities]
            assert in_words(back, [(e.start, e.end) for e in back.entities]) == in_words(
                document, [(e.start, e.end) for e in document.entities]
            )
        assert corpus.notes.changes == {}


def unknown_beside_entities(document: Document) -> tuple[Range, ...]:
    """The unknown words that no entity covers: of those under one, the entity says enough."""
    tokens = document.tokens or ()

    def within(ranges: Iterable[Range], token: Range) -> bool:
        return any(start <= token[0] and token[1] <= end for start, end in ranges)

    covered = [(entity.start, entity.end) for entity in document.entities]
    return runs_of([within(document.unknown, one) and not within(covered, one) for one in tokens], tokens)


@settings(PROFILE)
@given(documents=several(tagged_documents()))
def test_token_file_holds_the_unknown_regions_or_what_it_cannot_hold_is_told(documents: list[Document]) -> None:
    expected = list(map(unknown_beside_entities, documents))
    with tempfile.TemporaryDirectory() as folder:
        notes = Corpus(documents).write(path := Path(folder) / "corpus.conll")
        told = [tally.count for what, tally in notes.changes.items() if "complete document" in what]
        assert told == ([] if any(expected) else [len(documents)]), "without UNK, O says nothing"
        for back, document, unknown in zip(Corpus.read(path), documents, expected, strict=True):
            assert back.complete is any(expected)
            assert in_words(back, back.unknown) == in_words(document, unknown)


@settings(FEWER)
@given(documents=several(tagged_documents()))
def test_characters_outside_of_words_are_lost_in_a_token_file_and_counted(documents: list[Document]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        notes = Corpus(documents).write(Path(folder) / "corpus.conll")
    lost = 0
    for document in documents:
        covered = {at for start, end in document.tokens or () for at in range(start, end)}
        lost += sum(at not in covered and not sign.isspace() for at, sign in enumerate(document.text))
    assert [tally.count for what, tally in notes.changes.items() if "outside of words" in what] == [lost] * (lost > 0)


@settings(FEWER)
@given(st.data())
def test_token_file_marks_all_words_unknown_where_one_document_has_unknown_words_and_another_no_knowledge(
    data: st.DataObject,
) -> None:
    partly = Document("a b", tokens=((0, 1), (2, 3)), complete=True, unknown=((2, 3),), id="1")
    nothing = data.draw(tagged_documents()).replace(complete=False, unknown=(), id="2")
    with written([partly, nothing], "corpus.conll") as corpus:
        inside = {
            i for e in nothing.entities for i, (a, b) in enumerate(nothing.tokens or ()) if e.start <= a < b <= e.end
        }
        hidden = {i for a, b in corpus[1].unknown for i, (s, e) in enumerate(corpus[1].tokens or ()) if a <= s < e <= b}
        assert hidden == set(range(len(nothing.words))) - inside


@settings(FEWER)
@given(st.data())
def test_brat_holds_text_and_entities(data: st.DataObject) -> None:
    documents = []
    for number in range(data.draw(st.integers(1, 3))):
        text = data.draw(texts("\n", "\r\n", "\r", "\t").filter(lambda text: not text.startswith("\ufeff")))
        documents.append(Document(text, data.draw(entities_in(text, ONE_WORD_LABELS)), id=f"d{number}.é x"))
    with written(documents, "folder", format="brat") as corpus:
        assert corpus.documents == documents
        assert corpus.notes.changes == {}


@settings(FEWER)
@given(st.data())
def test_pubtator_holds_title_and_abstract_and_entities(data: st.DataObject) -> None:
    documents = []
    for number in range(data.draw(st.integers(1, 3))):
        title, abstract = data.draw(texts("\t")), data.draw(st.none() | texts("\t", min_size=1).filter(bool))
        text = title if abstract is None else f"{title}\n{abstract}"
        documents.append(Document(text, data.draw(entities_in(text, LABELS)), id=f"PMC{number}é"))
    with written(documents, "corpus.pubtator") as corpus:
        assert corpus.documents == documents
        assert corpus.notes.changes == {}


@settings(PROFILE)
@given(st.lists(texts("\t").filter(lambda text: text.strip() and text[0] != "\ufeff"), min_size=1, max_size=4))
def test_raw_text_holds_one_text_a_line(lines: list[str]) -> None:
    documents = [Document(line, id=str(number)) for number, line in enumerate(lines, 1)]
    with written(documents, "corpus.txt") as corpus:
        assert corpus.documents == documents


@pytest.mark.parametrize(
    ("name", "format"),
    [("corpus.conll", "conll"), ("corpus.txt", "text"), ("corpus.pubtator", "pubtator"), ("folder", "brat")],
)
def test_nul_which_no_text_file_holds_is_written_as_a_blank_and_counted(name: str, format: str, tmp_path: Path) -> None:
    document = Document("a\0b", (Entity(0, 3, "X"),), id="1", tokens=((0, 3),))
    notes = Corpus([document]).write(tmp_path / name, format=format)
    assert [tally.count for what, tally in notes.changes.items() if "NUL" in what] == [1]
    assert [back.text for back in Corpus.read(tmp_path / name, format=format)] == ["a b"]


@pytest.mark.parametrize(("format", "id"), [("brat", "a/b"), ("brat", ".hidden"), ("pubtator", "a|b")])
def test_id_that_a_format_cannot_hold_is_refused_and_nothing_is_written(format: str, id: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"write \.jsonl instead"):
        Corpus([Document("a", id=id)]).write(tmp_path / "out", format=format)
    assert list(tmp_path.iterdir()) == []


def test_ids_that_could_not_be_read_again_are_not_written(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="the id '1' was given on line 1 already"):
        Corpus([Document("a", id="1"), Document("b", id="1")]).write(tmp_path / "out.jsonl")
    assert list(tmp_path.iterdir()) == []
    Corpus([Document("a"), Document("b")]).write(tmp_path / "out.jsonl")
    assert [document.id for document in Corpus.read(tmp_path / "out.jsonl")] == ["1", "2"]


@pytest.mark.parametrize("rule", ["lenient", "strict"])
@pytest.mark.parametrize("scheme", SCHEMES)
@settings(PROFILE)
@given(st.data())
def test_spans_come_back_from_tags(scheme: str, rule: str, data: st.DataObject) -> None:
    length = data.draw(st.integers(1, 12))
    spans = [Span(*place, data.draw(ONE_WORD_LABELS)) for place in data.draw(separate_ranges(length))]
    parsed = tags_to_spans(spans_to_tags(length, spans, scheme=scheme), scheme=scheme, rule=rule)  # type: ignore[arg-type]
    assert parsed.spans == spans
    assert parsed.ill_formed == []


@settings(PROFILE)
@given(texts("\n", "\r\n", "\r", "\t", "\0"))
def test_words_are_in_order_and_do_not_overlap(text: str) -> None:
    flat = [offset for word in split_words(text) for offset in word]
    assert flat == sorted(flat)
    assert all(start < end for start, end in split_words(text))


@settings(PROFILE)
@given(texts("\n", "\r\n", "\r", "\t", "\0"))
def test_words_are_all_characters_but_white_space(text: str) -> None:
    covered = [index for start, end in split_words(text) for index in range(start, end)]
    assert covered == [index for index, character in enumerate(text) if not character.isspace()]


@settings(PROFILE)
@given(texts("\n", "\r\n", "\r", "\t", "\0"))
def test_words_are_tokens_that_a_document_takes_with_their_surfaces(text: str) -> None:
    words = split_words(text)
    assert Document(text, tokens=tuple(words)).words == [text[start:end] for start, end in words]


@settings(PROFILE)
@given(st.lists(st.sampled_from([*"中国北京がカ漢字々𠮷", "abc", "12", " ", "😀", "，", "-", "'s"]), max_size=12))
def test_chinese_and_japanese_are_one_character_a_word(pieces: list[str]) -> None:
    text = "".join(pieces)
    words = [text[start:end] for start, end in split_words(text)]
    assert [word for word in words if any(sign in "中国北京がカ漢字々𠮷" for sign in word)] == [
        sign for sign in text if sign in "中国北京がカ漢字々𠮷"
    ]


def test_a_label_without_problem_is_a_label_that_jsonl_holds() -> None:
    accepted = 0

    @settings(PROFILE)
    @given(texts(min_size=1))
    def check(label: str) -> None:
        nonlocal accepted
        if label_problem(label) is None:
            document = Document("a", (Entity(0, 1, label),), id="1")
            with written([document], "corpus.jsonl") as corpus:
                assert corpus.documents == [document]
            accepted += 1

    check()
    assert accepted >= 10


@settings(PROFILE)
@given(
    st.builds(
        MatchRules,
        case=st.sampled_from(["exact", "fold", "smart"]),
        overlapping=st.booleans(),
        ambiguous=st.sampled_from(["first", "drop", "all"]),
        plurals=st.booleans(),
    )
)
def test_settings_come_back_from_toml(rules: MatchRules) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rules.toml"
        path.write_text(to_toml(rules), encoding="utf-8")
        assert read_toml(MatchRules, path) == rules
