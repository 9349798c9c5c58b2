"""The command line: what it writes, prints and returns, run in-process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest
from rich.table import Table

from goldgap import Corpus, Dictionary, Document, Entity, Recognizer, __version__
from goldgap.cli.options import Reading
from goldgap.cli.show import table
from goldgap.core.document import MODEL
from goldgap.core.errors import InputError
from goldgap.demo import DEV, DICTIONARY, TEST
from goldgap.distant.dictionary import Entry
from goldgap.distant.mask import mask
from goldgap.encode import transformer
from goldgap.evaluate.scores import evaluate
from goldgap.train.methods import METHODS
from tests.command import Run
from tests.tiny import save_tiny_encoder


def test_annotate_writes_labels_and_says_what_to_think_of_them(run: Run, tmp_path: Path) -> None:
    result = run("annotate", DEV, "-d", DICTIONARY, "-o", "labels.jsonl", "--gold", DEV)
    labels = Corpus.read(tmp_path / "labels.jsonl")
    assert result.status == 0
    assert {entity.source for document in labels for entity in document.entities} == {"dictionary"}
    for part in (
        "entries used",
        "entries that never match",
        "95 % interval",
        f"{labels.entity_count:,} labels written",
    ):
        assert part in result.out


def test_annotate_says_that_its_labels_are_not_complete(run: Run, tmp_path: Path) -> None:
    (tmp_path / "terms.tsv").write_text("PER\tAnn\n", encoding="utf-8")
    documents = [Document("Ann", complete=True), Document("Bo", complete=frozenset({"PER"})), Document("Al")]
    Corpus(documents).write(tmp_path / "some.jsonl")
    told = "2 documents of the input were complete, which labels from a dictionary are not"
    assert told in " ".join(run("annotate", "some.jsonl", "-d", "terms.tsv", "-o", "out.jsonl").out.split())
    assert not any(document.complete for document in Corpus.read(tmp_path / "out.jsonl"))
    assert "were complete" not in run("annotate", "out.jsonl", "-d", "terms.tsv", "-o", "again.jsonl").out


def test_tables_fit_into_80_columns(run: Run) -> None:
    for call in (["check", DEV, TEST, "-d", DICTIONARY], ["evaluate", DEV, DEV], ["evaluate", "--help"]):
        lines = run(*call).out.split("\n")
        assert max(map(len, lines)) <= 80


def test_a_dictionary_of_very_many_types_is_shown_by_the_first_hundred(run: Run, tmp_path: Path) -> None:
    (tmp_path / "terms.tsv").write_text("".join(f"name {n}\tChemical\n" for n in range(150)), encoding="utf-8")
    (tmp_path / "raw.txt").write_text("Chemical plants\n", encoding="utf-8")
    shown = run("annotate", "raw.txt", "-d", "terms.tsv", "-o", "out.jsonl").out
    assert "... and 50 further types" in shown
    assert len(shown.split("\n")) < 150
    assert shown.index("are the columns exchanged?") < shown.index("--ambiguous")
    rows = json.loads(run("check", "raw.txt", "-d", "terms.tsv", "--json").out)["dictionary"]["table"]
    assert len(rows) == 150


def test_convert_there_and_back_keeps_words_and_entities(run: Run, tmp_path: Path) -> None:
    assert run("convert", DEV, "dev.bmes", "--to-scheme", "bmes").status == 0
    assert run("convert", "dev.bmes", "dev.jsonl").status == 0
    before, after = Corpus.read(DEV), Corpus.read(tmp_path / "dev.jsonl")
    surfaces = [[(d.surface(e).replace(" ", ""), e.label) for e in d.entities] for d in before]
    assert [[(d.surface(e).replace(" ", ""), e.label) for e in d.entities] for d in after] == surfaces


def test_a_link_to_what_is_read_is_not_written_over(run: Run, tmp_path: Path) -> None:
    (tmp_path / "terms").mkdir()
    (tmp_path / "terms" / "PER.txt").write_text("Ann\n", encoding="utf-8")
    (tmp_path / "raw.txt").write_text("Ann met Bo\n", encoding="utf-8")
    (tmp_path / "link.jsonl").symlink_to(tmp_path / "terms" / "PER.txt")
    assert run("annotate", "raw.txt", "-d", "terms/PER.txt", "-o", "link.jsonl").status == 2
    assert run("annotate", "raw.txt", "-d", "terms", "-o", "terms/PER.txt").status == 2
    assert (tmp_path / "terms" / "PER.txt").read_text(encoding="utf-8") == "Ann\n"
    assert run("annotate", "raw.txt", "-d", "terms", "-o", "labels.jsonl").status == 0
    assert run("annotate", "raw.txt", "-d", "terms", "-o", "labels.jsonl").status == 0  # what is not read is replaced


def test_datasets_are_listed_without_their_folder(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GOLDGAP_DATA", raising=False)
    result = run("datasets")
    assert result.status == 0
    assert "wikigold" in result.out
    assert "--data" in result.out


def test_exchanged_columns_of_a_dictionary_are_guessed(run: Run, tmp_path: Path) -> None:
    (tmp_path / "raw.txt").write_text("Ann met Bo\n", encoding="utf-8")
    (tmp_path / "terms.tsv").write_text("Ann\tPER\nBo\tPER\n", encoding="utf-8")
    assert "columns exchanged" in " ".join(run("annotate", "raw.txt", "-d", "terms.tsv", "-o", "l.jsonl").out.split())


def test_mask_keeps_what_it_dropped(run: Run, tmp_path: Path) -> None:
    assert run("mask", DEV, "-o", "m.jsonl", "--drop", "0.5", "--mode", "exact").status == 0
    gold, masked = Corpus.read(DEV), Corpus.read(tmp_path / "m.jsonl")
    assert masked.entity_count == gold.entity_count // 2
    for whole, holed in zip(gold, masked, strict=True):
        assert {e.key for e in holed.entities + holed.dropped} == {e.key for e in whole.entities}
        assert holed.complete is False


def test_mask_into_a_token_file_puts_the_dropped_beside_it_and_not_into_it(run: Run, tmp_path: Path) -> None:
    run("mask", DEV, "-o", "m.conll", "--drop", "0.5")
    masked, beside = Corpus.read(tmp_path / "m.conll"), Corpus.read(tmp_path / "m.conll.dropped.jsonl")
    assert masked.entity_count == beside.entity_count
    assert masked.entity_count + sum(len(d.dropped) for d in beside) == Corpus.read(DEV).entity_count


@pytest.mark.parametrize("name", ["m.ann", "m.conll"])
def test_a_mask_that_is_refused_leaves_what_an_earlier_one_dropped(name: str, run: Run, tmp_path: Path) -> None:
    assert run("mask", DEV, "-o", name, "--drop", "0.5").status == 0
    before = (beside := tmp_path / f"{name}.dropped.jsonl").read_bytes()
    # A folder of brat's that exists; ids are lost in a token file.
    assert run("mask", DEV, "-o", name, "--drop", "0.5", "--seed", "1", "--strict").status == 2
    assert beside.read_bytes() == before


def test_evaluate_json_has_the_promised_keys(run: Run) -> None:
    values = json.loads(run("evaluate", DEV, DEV, "--json", "--samples", "50").out)
    keys = {"precision", "recall", "f1", "tp", "predicted", "gold", "per_type", "interval"}
    for match in ("strict", "start", "end", "loose", "tokens"):
        assert keys <= values[match].keys()
    assert (values["strict"]["f1"], values["strict"]["interval"]) == (1.0, [1.0, 1.0])
    assert values["errors"]["missed"] == 0


def test_evaluate_against_other_predictions_gives_a_verdict(run: Run) -> None:
    run("annotate", DEV, "-d", DICTIONARY, "-o", "labels.jsonl")
    result = run("evaluate", DEV, DEV, "--against", "labels.jsonl")
    assert result.out.rstrip().endswith("better")
    values = json.loads(run("evaluate", DEV, "labels.jsonl", "--against", DEV, "--json").out)
    assert values["against"]["verdict"] == "worse"


def test_a_handful_of_documents_decides_nothing(run: Run) -> None:
    gold = Corpus(Document(f"Ann met Bo {number}", (Entity(0, 3, "PER"),), id=str(number)) for number in range(29))
    gold.write("gold.jsonl")
    gold.map(lambda one: one.replace(entities=())).write("nothing.jsonl")
    result = run("evaluate", "gold.jsonl", "gold.jsonl", "--against", "nothing.jsonl", "--html", "page.html")
    assert "F1 +100.00 (" in result.out
    assert "undecided: too few documents" in result.out
    assert "29 documents: too few" in result.out
    page = Path("page.html").read_text(encoding="utf-8")
    assert "undecided: too few documents" in page
    assert "29 documents: too few" in page


def test_evaluate_refuses_files_of_different_documents(run: Run) -> None:
    result = run("evaluate", DEV, TEST)
    assert result.status == 2
    assert "both files must hold the same documents" in result.err


def test_check_finds_sentences_in_two_splits(run: Run) -> None:
    assert "documents that also stand in" in run("check", DEV, DEV).out
    values = json.loads(run("check", DEV, TEST, "--json", "-d", DICTIONARY).out)
    assert values["corpus"]["facts"]["documents"] == str(len(Corpus.read(DEV)))
    assert {row["type"] for row in values["dictionary"]["table"]} == {"PER", "ORG", "LOC", "PRODUCT"}


def test_strict_turns_a_repair_into_an_error(run: Run, tmp_path: Path) -> None:
    (tmp_path / "slip.conll").write_text("a\tB-X\nb\tO\nc\tI-X\n", encoding="utf-8")
    told = run("check", "slip.conll")
    assert (told.status, "inside tag with no entity open" in told.err) == (0, True)
    refused = run("check", "slip.conll", "--strict")
    assert (refused.status, "slip.conll:3" in refused.err) == (2, True)


def test_an_option_that_does_not_exist_is_status_2(run: Run) -> None:
    assert run("convert", "a", "b", "--nonsense").status == 2


@pytest.mark.slow
def test_demo_says_where_its_report_is_and_can_be_repeated(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    instead_of_minilm = save_tiny_encoder(tmp_path / "encoder", positions=256)
    monkeypatch.setattr(transformer, "find_encoder", lambda name: str(instead_of_minilm))
    assert run("demo", "-o", "out", "--epochs", "1").status == 0
    result = run("demo", "-o", "out", "--epochs", "1")
    assert result.status == 0
    assert "report: out/report.md" in result.out
    assert max(map(len, result.out.split("\n"))) <= 80
    report = (tmp_path / "out" / "report.md").read_text(encoding="utf-8")
    assert "| all |" in report
    for method in ("span", "default"):
        assert Recognizer.load(tmp_path / "out" / f"model-{method}").recipe.method == method
    scores = json.loads((tmp_path / "out" / "quality.json").read_text(encoding="utf-8"))["test"]
    assert list(scores) == ["dictionary alone", "span", "default"]
    assert (tmp_path / "out" / "suspects.jsonl").is_file()


@pytest.fixture
def no_training(monkeypatch: pytest.MonkeyPatch) -> None:
    """The demo stops where it would train."""

    def stop(*_: object) -> None:
        raise InputError("enough")

    monkeypatch.setattr(sys.modules["goldgap.cli.demo"], "_trained", stop)


@pytest.mark.parametrize("name", ["labels.jsonl", "quality.json", "suspects.jsonl", "report.md", "model-span"])
@pytest.mark.usefixtures("no_training")
def test_the_demo_writes_over_nothing_that_it_did_not_write(name: str, run: Run, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(b"mine \xff\n")
    result = run("demo", "-o", ".")
    assert (result.status, f"it holds {name}, which no demo wrote" in result.err) == (2, True)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {name: b"mine \xff\n"}


@pytest.mark.usefixtures("no_training")
def test_the_demo_goes_where_it_was_before_though_it_was_stopped(run: Run, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine", encoding="utf-8")
    for _ in range(2):
        assert run("demo", "-o", ".").err == "goldgap: enough\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["labels.jsonl", "notes.txt", "report.md"]


@pytest.mark.parametrize("name", ["out", "out.xyz"])
def test_an_output_of_no_format_is_told_which_there_are(name: str, run: Run, tmp_path: Path) -> None:
    (tmp_path / "raw.txt").write_text("Ann\n", encoding="utf-8")
    (tmp_path / "terms.tsv").write_text("PER\tAnn\n", encoding="utf-8")
    for call in (("annotate", "raw.txt", "-d", "terms.tsv"), ("mask", "raw.txt", "--drop", "0.5")):
        told = run(*call, "-o", name).err
        assert "belongs to no format" in told
        assert "--format" not in told
        assert "name it .jsonl, .conll, .ann or .pubtator" in told


def test_methods_explains_every_one_in_80_columns(run: Run) -> None:
    result = run("methods")
    assert (result.status, result.err) == (0, "")
    names = [line.split()[0] for line in result.out.splitlines() if line[:1].strip()]
    assert set(METHODS) <= set(names)
    assert max(map(len, result.out.splitlines())) <= 80


def test_methods_as_json_have_their_settings(run: Run) -> None:
    values = json.loads(run("methods", "--json").out)
    assert list(values) == list(METHODS)
    assert all(value.keys() == {"what", "needs", "when", "settings"} for value in values.values())
    assert all(value["settings"]["policy"]["name"] for value in values.values())


def entities(*ranges: tuple[int, int, str]) -> str:
    items = [{"start": start, "end": end, "label": label} for start, end, label in ranges]
    return json.dumps({"id": "1", "text": "Ann met Bo in Rome", "entities": items}) + "\n"


SCORES = """\
Entities (same range and type)
               precision  recall     F1  gold  predicted
LOC                 0.00    0.00   0.00     1          0
ORG                 0.00    0.00   0.00     0          1
PER                50.00   50.00  50.00     2          2
all (micro)        33.33   33.33  33.33     3          3
mean of types                     16.67
95 % interval of F1: 33.33 to 33.33 (10 resamples of 1 document: too few)

Words (each word of an entity counts)
               precision  recall     F1  gold  predicted
LOC                 0.00    0.00   0.00     1          0
ORG                 0.00    0.00   0.00     0          1
PER                66.67  100.00  80.00     2          3
all (micro)        50.00   66.67  57.14     3          4
mean of types                     26.67

Other ways to match
        precision  recall     F1
strict      33.33   33.33  33.33
start       33.33   33.33  33.33
end         66.67   66.67  66.67
loose       66.67   66.67  66.67

F1 of each type
     strict  start     end   loose
LOC    0.00   0.00    0.00    0.00
ORG    0.00   0.00    0.00    0.00
PER   50.00  50.00  100.00  100.00

Errors
right range, wrong type  0
right type, wrong range  1
overlap, both wrong      0
missed                   1
spurious                 1

Types (gold in rows)
            ORG  PER  (missed)
LOC           0    0         1
PER           0    2         0
(spurious)    1    0         -
"""


def test_evaluate_prints_every_table(run: Run, tmp_path: Path) -> None:
    gold, predicted = tmp_path / "gold.jsonl", tmp_path / "predicted.jsonl"
    gold.write_text(entities((0, 3, "PER"), (8, 10, "PER"), (14, 18, "LOC")), encoding="utf-8")
    predicted.write_text(entities((0, 3, "PER"), (4, 10, "PER"), (11, 13, "ORG")), encoding="utf-8")
    printed = run("evaluate", gold, predicted, "--samples", "10").out
    assert "".join(f"{line.rstrip()}\n" for line in printed.splitlines()) == SCORES
    for how in ([], ["--json"]):
        assert "interval" not in run("evaluate", gold, predicted, "--samples", "0", *how).out


def test_evaluate_without_any_entity_prints_no_table_of_types(run: Run, tmp_path: Path) -> None:
    (tmp_path / "none.jsonl").write_text(entities(), encoding="utf-8")
    result = run("evaluate", "none.jsonl", "none.jsonl")
    assert (result.status, "missed" in result.out, "Types" in result.out) == (0, True, False)


@pytest.mark.parametrize(("labels", "dots"), [("ABCDE", False), ("ABCDEF", True)])
def test_findings_show_five_examples_and_dots_for_the_rest(run: Run, tmp_path: Path, labels: str, dots: bool) -> None:
    (tmp_path / "once.jsonl").write_text(
        entities(*((at, at + 1, label) for at, label in enumerate(labels))), encoding="utf-8"
    )
    shown = run("check", "once.jsonl").out.split("types that occur once: ")[1].splitlines()
    assert shown[:7] == [
        str(len(labels)),
        *(f"  {label}" for label in "ABCDE"),
        "  ..." if dots else "  -> a slip of the pen? nothing can be learned from one example",
    ]


def test_check_lines_up_its_facts_and_says_when_all_is_well(run: Run, tmp_path: Path) -> None:
    (tmp_path / "sound.jsonl").write_text(entities((0, 3, "PER"), (8, 10, "PER")), encoding="utf-8")
    result = run("check", "sound.jsonl")
    assert [line.rstrip() for line in result.out.splitlines()] == [
        "documents                 1",
        "words                     5 (5.0 a document)",
        "entities                  2 (2.00 a document)",
        "documents without entity  0 (0.0 %)",
        "completely annotated      0 documents; elsewhere the rest is unknown",
        "",
        "type  entities  surfaces  words  widest",
        "PER          2         2   1.00       1",
        "",
        "nothing suspicious found",
    ]
    assert result.err == ""


def test_repairs_are_told_on_the_error_channel_with_file_count_and_place(run: Run, tmp_path: Path) -> None:
    (tmp_path / "slip.conll").write_text("a\tB-X\nb\tO\nc\tI-X\n", encoding="utf-8")
    told = run("convert", "slip.conll", "out.jsonl").err.splitlines()
    assert told[0] == "while reading slip.conll:"
    assert told[1].startswith("  1 x ")
    assert told[1].endswith("(slip.conll:3)")


def test_columns_and_separator_reach_the_reader(run: Run, tmp_path: Path) -> None:
    (tmp_path / "odd.conll").write_text("B-PER|x|Ann\nO|x|met\n", encoding="utf-8")
    options = ("--separator", "|", "--token-column", "2", "--label-column", "0", "--join", "none")
    assert run("convert", "odd.conll", "out.jsonl", *options).status == 0
    document = Corpus.read(tmp_path / "out.jsonl")[0]
    assert (document.text, [entity.key for entity in document.entities]) == ("Annmet", [(0, 3, "PER")])


def test_rule_and_scheme_reach_the_reader(run: Run, tmp_path: Path) -> None:
    (tmp_path / "slip.conll").write_text("a\tI-X\nb\tO\nc\tB-X\n", encoding="utf-8")
    counts = {}
    for options in ((), ("--rule", "strict"), ("--scheme", "iob1", "--rule", "strict")):
        run("convert", "slip.conll", "out.jsonl", *options)
        counts[options] = [e.start for e in Corpus.read(tmp_path / "out.jsonl")[0].entities]
    assert list(counts.values()) == [[0, 4], [4], [0]]


def test_a_bad_place_is_left_out_when_asked(run: Run, tmp_path: Path) -> None:
    (tmp_path / "bad.jsonl").write_text('{"id": "a", "text": "x"}\n{"id": "b"\n', encoding="utf-8")
    assert run("convert", "bad.jsonl", "out.jsonl").status == 2
    assert run("convert", "bad.jsonl", "out.jsonl", "--on-error", "skip").status == 0
    assert [document.id for document in Corpus.read(tmp_path / "out.jsonl")] == ["a"]


def test_version_is_that_of_the_package(run: Run) -> None:
    assert run("--version").out == f"goldgap {__version__}\n"


def test_help_of_a_command_groups_the_options_of_reading(run: Run) -> None:
    printed = run("convert", "-h").out
    panel = printed[printed.index("How the input is read") :]
    for option in ("--format", "--on-error", "--rule", "--scheme", "--separator", "--join", "--strict"):
        assert option in panel
    assert "--to-scheme" not in panel


def test_an_error_is_one_line_that_begins_with_the_name_of_the_program(run: Run) -> None:
    result = run("check", "nowhere.jsonl")
    assert (result.status, result.out) == (2, "")
    assert result.err.startswith("goldgap: nowhere.jsonl: ")
    assert result.err.count("\n") == 1


@pytest.mark.parametrize(("choice", "status"), [("error", 2), ("repair", 0)])
def test_bytes_that_are_not_utf8_are_repaired_when_asked(run: Run, tmp_path: Path, choice: str, status: int) -> None:
    (tmp_path / "latin.conll").write_bytes(b"caf\xe9\tO\n")
    assert run("convert", "latin.conll", "out.jsonl", "--on-error", choice).status == status
    assert (tmp_path / "out.jsonl").exists() is (status == 0)


def test_waiting_threads_rest_unless_the_user_says_otherwise(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_WAIT_POLICY", "ACTIVE")
    run("--version")
    assert os.environ["OMP_WAIT_POLICY"] == "ACTIVE"
    monkeypatch.delenv("OMP_WAIT_POLICY")
    run("--version")
    assert os.environ["OMP_WAIT_POLICY"] == "PASSIVE"


def test_labels_and_paths_are_printed_as_they_are(run: Run, tmp_path: Path) -> None:
    odd = '{"text": "a", "entities": [{"start": 0, "end": 1, "label": "[/b] :cat:"}]}\n'
    (tmp_path / "x[old].jsonl").write_text(odd, encoding="utf-8")
    assert "[/b] :cat:" in run("evaluate", "x[old].jsonl", "x[old].jsonl").out
    assert run("convert", "x[old].jsonl", "y[bold].jsonl").out.rstrip().endswith("y[bold].jsonl")


def test_a_paired_test_without_resamples_is_refused(run: Run) -> None:
    result = run("evaluate", DEV, DEV, "--against", DEV, "--samples", "0")
    assert (result.status, "--samples" in result.err) == (2, True)


def test_strict_refuses_to_write_what_the_format_cannot_hold(run: Run, tmp_path: Path) -> None:
    entities = '[{"start": 0, "end": 3, "label": "X"}, {"start": 0, "end": 1, "label": "X"}]'
    (tmp_path / "n.jsonl").write_text('{"text": "a b", "entities": ' + entities + "}\n", encoding="utf-8")
    assert run("convert", "n.jsonl", "n.conll", "--strict").status == 2
    assert not (tmp_path / "n.conll").exists()
    assert run("convert", "n.jsonl", "n.conll").status == 0


def test_a_mask_that_cannot_be_written_leaves_nothing_behind(run: Run, tmp_path: Path) -> None:
    assert run("mask", DEV, "-o", "m.xyz", "--drop", "0.5").status == 2
    assert run("mask", DEV, "-o", "m.conll", "--drop", "0.5", "--strict").status == 2  # ids are lost in a token file
    assert list(tmp_path.iterdir()) == []


def test_strict_holds_for_what_annotate_writes(run: Run, tmp_path: Path) -> None:
    assert run("annotate", DEV, "-d", DICTIONARY, "-o", "labels.conll", "--strict").status == 2
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["out.conll", "out.pubtator", "folder"])
def test_who_made_an_entity_and_how_sure_it_is_are_not_lost_in_silence(name: str, tmp_path: Path) -> None:
    entities = (Entity(0, 3, "PER", score=0.7, source="dictionary"), Entity(8, 11, "PER"))
    written = Corpus([Document("Ann met Bob", entities)]).write(
        tmp_path / name, format="brat" if name == "folder" else None
    )
    lines = "\n".join(written.lines())
    assert "1 x entity not made by a person, which" in lines
    assert "1 x probability of an entity, which" in lines
    with pytest.raises(InputError, match="not made by a person"):
        Corpus([Document("Ann met Bob", entities)]).write(tmp_path / "strict.conll", strict=True)


def test_two_training_files_that_number_from_one_are_told_apart(tmp_path: Path) -> None:
    for name in ("a.conll", "b.conll"):
        (tmp_path / name).write_text("Ann\tB-PER\nmet\tO\n\nBob\tI-PER\nmet\tO\n", encoding="utf-8")
    reading = Reading(strict=False, on_error="error", rule="lenient")
    both = reading.read_training([tmp_path / "a.conll"], [tmp_path / "b.conll"])
    assert [document.id for document in both] == ["a.conll:1", "a.conll:2", "b.conll:1", "b.conll:2"]
    twice = reading.read_training([tmp_path / "a.conll"] * 2, [])
    assert [document.id for document in twice] == ["1:1", "1:2", "2:1", "2:2"]
    assert [document.complete for document in both] == [False, False, True, True]
    assert any("2 x " in line for line in both.notes.lines())  # of both files
    evaluate(both, both)


def test_calls_that_ended_in_a_traceback_are_told(run: Run, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x", encoding="utf-8")
    for call, told in (
        (("demo", "-o", "file"), "a file stands where a folder is to be made"),
        (("convert", "file", "out.xyz", "--format", "text"), "`convert --to` another"),
    ):
        result = run(*call)
        assert (result.status, told in result.err) == (2, True), result.err
    assert run("evaluate", "file", "file", "--format", "text", "--seed", "-1").status == 2


def test_a_terminal_that_lacks_a_letter_is_no_reason_to_fail(tmp_path: Path) -> None:
    (tmp_path / "terms.tsv").write_text("地名\t上海\n", encoding="utf-8")
    (tmp_path / "raw.txt").write_text("他去上海。\n", encoding="utf-8")
    call = [sys.executable, "-m", "goldgap", "annotate", "raw.txt", "-d", "terms.tsv", "-o", "out.jsonl"]
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = subprocess.run(call, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "\\u5730\\u540d" in done.stdout


@pytest.mark.parametrize("words", [["methods"], ["--help"], ["--version"]])
def test_a_full_disk_behind_the_output_is_told_in_one_line(words: list[str]) -> None:
    with open("/dev/full", "w") as full:
        call = [sys.executable, "-m", "goldgap", *words]
        done = subprocess.run(call, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    told = "goldgap: what was to be shown could not be written: No space left on device\n"
    assert (done.returncode, done.stderr) == (1, told)


@pytest.mark.parametrize(
    "where", ["check {}", "annotate raw.txt -d {} -o out.jsonl", "evaluate raw.txt {} --format text"]
)
def test_a_name_that_no_system_opens_is_told(where: str, run: Run, tmp_path: Path) -> None:
    (tmp_path / "raw.txt").write_text("Ann\n", encoding="utf-8")
    done = run(*where.format("a" * 300 + ".jsonl").split())
    assert (done.status, done.err.count("\n"), "File name too long" in done.err) == (2, 1, True)


def test_confusions_of_many_types_fit_into_a_terminal(run: Run, tmp_path: Path) -> None:
    names = [f"type-number-{number}" for number in range(18)]
    gold = [Document("Ann", (Entity(0, 3, name),), id=name) for name in names]
    other = [one.replace(entities=(Entity(0, 3, name),)) for one, name in zip(gold, names[1:] + names[:1], strict=True)]
    Corpus(gold).write(tmp_path / "gold.jsonl")
    Corpus(other).write(tmp_path / "found.jsonl")
    result = run("evaluate", "gold.jsonl", "found.jsonl", "--samples", "0")
    assert result.status == 0
    assert "Types confused most" in result.out
    assert "type-number-0 " in result.out.partition("Types confused most")[2]
    assert "…" not in result.out.partition("Types confused most")[2]


def test_a_table_that_is_too_wide_is_not_made(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    widths = []

    def noted(columns: Sequence[str], rows: Iterable[Sequence[str]], **options: Any) -> Table:
        widths.append(len(columns))
        return table(columns, rows, **options)

    monkeypatch.setattr("goldgap.cli.show.table", noted)
    documents = [Document("Ann", (Entity(0, 3, f"T{number}"),), id=str(number)) for number in range(200)]
    Corpus(documents).write(tmp_path / "gold.jsonl")
    result = run("evaluate", "gold.jsonl", "gold.jsonl", "--samples", "0")
    assert (result.status, "Types confused most" in result.out, max(widths) < 80) == (0, True, True)


def test_two_documents_of_one_name_cannot_be_written_as_brat(tmp_path: Path) -> None:
    twice = Corpus([Document("a", id="one"), Document("b", id="one")])
    with pytest.raises(InputError, match="two documents have the id 'one'"):
        twice.write(tmp_path / "folder", format="brat")
    assert not (tmp_path / "folder").exists()


def test_a_corpus_is_told_of_without_its_folder(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GOLDGAP_DATA", raising=False)
    done = run("datasets", "wikigold")
    assert (done.status, "CC-BY" in done.out, "not looked for" in done.out) == (0, True, True)
    assert "there is no corpus 'nope'" in run("datasets", "nope").err


def test_a_scheme_that_does_not_exist_is_refused_whatever_is_written(run: Run, tmp_path: Path) -> None:
    Corpus([Document("Ann")]).write(tmp_path / "a.jsonl")
    done = run("convert", tmp_path / "a.jsonl", tmp_path / "b.jsonl", "--to-scheme", "nonsense")
    assert (done.status, "there is no tag scheme" in done.err) == (2, True)


def test_a_scheme_that_does_not_exist_is_refused_whatever_is_read(run: Run, tmp_path: Path) -> None:
    done = run("check", DEV, "--scheme", "nonsense")
    assert (done.status, "there is no tag scheme" in done.err) == (2, True)


def test_scores_that_mean_nothing_are_cautioned_against(run: Run, tmp_path: Path) -> None:
    Corpus([Document("Ann", (Entity(0, 3, "PER"),))]).write("gold.jsonl")
    Corpus([Document("Ann", (Entity(0, 3, "PER", 0.9, MODEL),))]).write("found.jsonl")
    Corpus([Document("Ann")]).write("bare.jsonl")
    assert run("evaluate", "gold.jsonl", "found.jsonl").err == ""
    exchanged = run("evaluate", "found.jsonl", "gold.jsonl")
    assert (exchanged.status, "no person made any annotation of found.jsonl; the gold" in exchanged.err) == (0, True)
    assert "caution: bare.jsonl has no entity" in run("evaluate", "bare.jsonl", "found.jsonl").err
    assert "caution: bare.jsonl has no entity" in run("evaluate", "gold.jsonl", "bare.jsonl").err
    by_dictionary = Document("Ann", (Entity(0, 3, "PER", source="dictionary"),))
    Corpus([by_dictionary]).write("labels.jsonl")
    assert "no person made any annotation of labels.jsonl" in run("evaluate", "labels.jsonl", "labels.jsonl").err
    (tmp_path / "holes.conll").write_text("Ann B-PER\n\nBob UNK\n", encoding="utf-8")
    assert "by their own account 1 documents of holes.conll" in run("evaluate", "holes.conll", "holes.conll").err
    Corpus([Document("Ann", complete=frozenset({"PER"}))]).write("some.jsonl")
    assert "by their own account 1 documents of some.jsonl" in run("evaluate", "some.jsonl", "found.jsonl").err


def test_exchanged_arguments_are_told(run: Run, tmp_path: Path) -> None:
    Corpus([Document("Ann", (Entity(0, 3, "PER"),))]).write("gold.jsonl")
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "manifest.json").write_text("{}", encoding="utf-8")
    exchanged = run("evaluate", "model", "gold.jsonl")
    assert (exchanged.status, "it looks like a model" in exchanged.err) == (2, True)
    swapped = run("predict", "gold.jsonl", "model", "-o", "found.jsonl")
    assert (swapped.status, "a file, expected the folder that goldgap train wrote; the model comes" in swapped.err) == (
        2,
        True,
    )


def test_what_is_neither_predictions_nor_a_model_is_told(run: Run, tmp_path: Path) -> None:
    Corpus([Document("Ann", (Entity(0, 3, "PER"),))]).write("gold.jsonl")
    (tmp_path / "empty").mkdir()
    for name, found in (("nosuch", "no such file or folder"), ("empty", "it has neither .ann files nor a manifest")):
        done = run("evaluate", "gold.jsonl", name)
        assert (done.status, done.err.startswith(f"goldgap: {name}: {found}")) == (2, True)
        assert "comes first" not in done.err


def test_a_token_file_of_other_spacing_is_told_as_one(run: Run, tmp_path: Path) -> None:
    Corpus([Document("Ann met Bob.", (Entity(0, 3, "PER"),), id="1")]).write("gold.jsonl")
    run("convert", "gold.jsonl", "rows.conll")
    for call in (("gold.jsonl", "rows.conll"), ("gold.jsonl", "gold.jsonl", "--against", "rows.conll")):
        told = run("evaluate", *call).err
        assert told.startswith("goldgap: gold.jsonl, rows.conll: document '1' has different texts")
        assert "a token file keeps neither ids nor spacing" in told


def test_a_folder_of_brat_is_read_as_one_beside_a_file_of_a_named_format(run: Run, tmp_path: Path) -> None:
    (gold := tmp_path / "gold.txt").write_text("Ann B-PER\n", encoding="utf-8")
    Corpus.read(gold, format="conll").write(tmp_path / "found", format="brat")
    assert run("evaluate", gold, tmp_path / "found", "--format", "conll", "--samples", "0").status == 0


def test_documents_that_are_left_out_are_not_counted_as_written(run: Run, tmp_path: Path) -> None:
    Corpus([Document("Ann"), Document(" ")]).write("two.jsonl")
    for name in ("two.conll", "two.txt"):
        assert f"1 documents written to {name}" in run("convert", "two.jsonl", name).out


def test_what_strict_refuses_to_write_is_told_with_the_format_that_holds_it(run: Run, tmp_path: Path) -> None:
    told = run("annotate", DEV, "-d", DICTIONARY, "-o", "labels.conll", "--strict").err
    assert "Write .jsonl, which holds everything, or leave out --strict" in told


def test_what_two_files_disagree_about_names_both(run: Run, tmp_path: Path) -> None:
    Corpus([Document("Ann", id="a")]).write("one.jsonl")
    Corpus([Document("Bob", (Entity(0, 3, "PER", 0.9),), id="b")]).write("two.jsonl")
    for call in (("evaluate", "one.jsonl", "two.jsonl"), ("diagnose", "threshold", "one.jsonl", "two.jsonl")):
        assert run(*call).err.splitlines()[-1].startswith("goldgap: one.jsonl, two.jsonl: no prediction for 1 of 1")


FILE: Any = "labels.jsonl"


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda: Corpus([FILE]), "a corpus is made of documents, found 'labels.jsonl': Document('a text')"),
        (lambda: Dictionary([FILE]), "a dictionary is made of entries, found 'labels.jsonl': Entry('LOC', 'Elbe')"),
        (lambda: Dictionary([Entry("LOC", "Elbe")]).annotate(FILE), "a Corpus is labelled, found 'labels.jsonl'"),
        (lambda: Recognizer.train(FILE), "the training documents are a Corpus, found 'labels.jsonl': Corpus.read"),
        (lambda: Recognizer.train(Corpus([]), FILE), "the dev documents are a Corpus, found 'labels.jsonl'"),
        (lambda: evaluate(FILE, Corpus([])), "the gold is a Corpus, found 'labels.jsonl': Corpus([document, ...])"),
        (lambda: evaluate(Corpus([]), FILE), "what is scored is a Corpus, found 'labels.jsonl'"),
        (lambda: mask(FILE, 0.5), "a Corpus is masked, found 'labels.jsonl': Corpus.read"),
        (lambda: Corpus.read(DEV, token_column="0"), "token_column is '0', expected the number of a column, 0 for the"),
    ],
)
def test_calls_with_something_else_say_what_is_taken(call: Callable[[], object], told: str) -> None:
    with pytest.raises(InputError) as refused:
        call()
    assert told in str(refused.value)


@pytest.mark.parametrize("name", [".", "/", ""])
def test_a_place_without_a_name_cannot_be_written_to(name: str, run: Run, tmp_path: Path) -> None:
    Corpus([Document("Ann met Bob", (Entity(0, 3, "PER"),))]).write("train.jsonl")
    for call in (("train", "--train", "train.jsonl"), ("mask", "train.jsonl", "--drop", "0.5")):
        done = run(*call, "-o", name)
        assert (done.status, "expected the name of a" in done.err) == (2, True)


def test_a_model_under_a_name_that_is_no_text_is_refused_before_the_training(run: Run, tmp_path: Path) -> None:
    Corpus([Document("Ann met Bob", (Entity(0, 3, "PER"),))]).write("train.jsonl")
    odd = os.fsdecode(b"model-\xff")
    done = run("train", "--train", "train.jsonl", "-o", odd)
    assert (done.status, "name is not UTF-8" in done.err) == (2, True)
    assert [path.name for path in tmp_path.iterdir()] == ["train.jsonl"]
    (tmp_path / odd).mkdir()
    with pytest.raises(InputError, match="not UTF-8"):
        Recognizer.load(tmp_path / odd)


@pytest.mark.parametrize(
    "names", [("--html", "a", "--record", "a"), ("--record", "model"), ("--html", "model.unfinished")]
)
def test_no_output_of_a_training_is_written_twice(names: tuple[str, ...], run: Run, tmp_path: Path) -> None:
    Corpus([Document("Ann met Bob", (Entity(0, 3, "PER"),))]).write("train.jsonl")
    done = run("train", "--train", "train.jsonl", "-o", "model", *names)
    assert (done.status, "is written twice by this call" in done.err) == (2, True)


@pytest.mark.parametrize(
    ("error", "status"), [(MemoryError(), 1), (RuntimeError("DefaultCPUAllocator: can't allocate memory"), 1)]
)
def test_a_machine_without_memory_is_told(
    error: Exception, status: int, run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr("goldgap.distant.mask.mask", fail)
    Corpus([Document("Ann", (Entity(0, 3, "PER"),))]).write("gold.jsonl")
    done = run("mask", "gold.jsonl", "-o", "masked.jsonl", "--drop", "0.5")
    assert (done.status, "out of memory; train with a smaller" in done.err) == (status, True)
