"""The command line: what it writes, prints and returns, run in-process."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from goldgap import Corpus
from goldgap.cli import main
from goldgap.demo import DEV, DICTIONARY, TEST

Run = Callable[..., "Result"]


class Result:
    def __init__(self, status: int, out: str, err: str) -> None:
        self.status, self.out, self.err = status, out, err


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Run:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")

    def call(*arguments: object) -> Result:
        monkeypatch.setattr(sys, "argv", ["goldgap", *map(str, arguments)])
        with pytest.raises(SystemExit) as stopped:
            main()
        captured = capsys.readouterr()
        return Result(int(stopped.value.code or 0), captured.out, captured.err)

    return call


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


def test_tables_fit_into_80_columns(run: Run) -> None:
    for call in (["check", DEV, TEST, "-d", DICTIONARY], ["evaluate", DEV, DEV], ["evaluate", "--help"]):
        lines = run(*call).out.split("\n")
        assert max(map(len, lines)) <= 80


def test_convert_there_and_back_keeps_words_and_entities(run: Run, tmp_path: Path) -> None:
    assert run("convert", DEV, "dev.bmes", "--to-scheme", "bmes").status == 0
    assert run("convert", "dev.bmes", "dev.jsonl").status == 0
    before, after = Corpus.read(DEV), Corpus.read(tmp_path / "dev.jsonl")
    surfaces = [[(d.surface(e).replace(" ", ""), e.label) for e in d.entities] for d in before]
    assert [[(d.surface(e).replace(" ", ""), e.label) for e in d.entities] for d in after] == surfaces


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


def test_demo_says_where_its_report_is(run: Run, tmp_path: Path) -> None:
    result = run("demo", "-o", "out")
    assert result.status == 0
    assert "report: out/report.md" in result.out
    report = (tmp_path / "out" / "report.md").read_text(encoding="utf-8")
    assert "| all |" in report
    assert run("demo", "-o", "out").status == 0


def test_version(run: Run) -> None:
    assert run("--version").out.startswith("goldgap ")
