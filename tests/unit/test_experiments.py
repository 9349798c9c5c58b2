"""Experiments and corpora by name: every file that we ship is right, and what is missing is told."""

from __future__ import annotations

import json
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from goldgap import Corpus, Document, Entity
from goldgap.cli.compare import HELPER
from goldgap.cli.reproduce import _folders
from goldgap.compare import contest, datasets
from goldgap.compare.contender import contender
from goldgap.compare.datasets import Dataset, File, dataset, read_dataset, registry
from goldgap.compare.reproduce import Experiment, find_experiment, judged_parts, run_parts
from goldgap.compare.runs import Runs
from goldgap.core.errors import ConfigError, InputError, IntegrityError
from goldgap.core.manifest import sha256
from goldgap.report.experiment import experiment_markdown, experiment_rows
from tests.command import Run
from tests.unit.test_contest import QUALITY, pretend

FOLDER = Path(__file__).parents[2] / "experiments"
NAMES = sorted(path.stem for path in FOLDER.glob("*.toml"))


@pytest.mark.parametrize("name", NAMES)
def test_every_experiment_can_be_run(name: str) -> None:
    experiment = find_experiment(name, FOLDER)
    for row in experiment.rows:
        contender(row.contender)
        contender(row.full or row.contender)
    for part in experiment.parts:
        for corpus in filter(None, (part.corpus, part.full)):
            wanted = {"gold": {"train"}, "distant": {"distant"}, "both": {"train", "distant"}}[part.labels]
            assert wanted | {"dev", "test"} <= dataset(corpus).files.keys()


@pytest.mark.parametrize("name", [name for name in NAMES if name[0].isdecimal()])
def test_every_printed_number_is_a_percentage_with_a_place(name: str) -> None:
    experiment = find_experiment(name, FOLDER)
    corpora = registry()
    for row in experiment.rows:
        for place, value in row.paper.items():
            assert place.split("/")[0] in corpora
            assert 1 < value < 100
    told = {place for row in experiment.rows for place in row.paper}
    asked = {part.place(drop) for part in experiment.parts for drop in part.drop}
    asked |= {part.place(None) for part in experiment.parts if not part.drop}
    assert told <= asked


def test_the_tables_of_the_papers_are_all_there() -> None:
    wanted = {"000": (1, 2, 3, 6, 7, 8), "001": (1, 2, 3), "002": (1, 2, 3, 4, 5, 6, 8), "004": (1, 2, 3, 4, 5)}
    assert {f"{paper}-table-{number}" for paper, numbers in wanted.items() for number in numbers} <= set(NAMES)
    assert {"001-mu", "004-figure-3"} <= set(NAMES)


# Corpora


def sentences(count: int, mark: str) -> Corpus:
    entities = (Entity(0, 3, "PER"), Entity(8, 11, "PER"))
    return Corpus(Document(f"Ann met Bob {mark} {number}", entities, complete=True) for number in range(count))


@pytest.fixture
def known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with one corpus that is known, and one that is not there."""
    folder = tmp_path / "data"
    folder.mkdir()
    files = {}
    for part, count in (("train", 2000), ("distant", 30), ("dev", 600), ("test", 40)):
        path = folder / f"{part}.conll"
        sentences(count, part).write(path)
        files[part] = File(path=path.name, sha256=sha256(path))
    made = {
        "ours": Dataset(what="made up", source="this test", licence="none", files=files),
        "theirs": Dataset(what="elsewhere", source="someone", licence="ask", files={"train": File(path="a.conll")}),
    }
    monkeypatch.setattr(datasets, "registry", lambda: made)
    return folder


def test_bench_scale_is_the_first_sentences(known: Path) -> None:
    cut, whole = read_dataset("ours", known), read_dataset("ours", known, bench=False)
    assert (cut.name, cut.sizes) == ("ours-bench", {"train": 1500, "dev": 500, "test": 40})
    assert (whole.name, whole.sizes) == ("ours", {"train": 2000, "dev": 500, "test": 40})
    assert [d.text for d in cut.train] == [d.text for d in whole.train][:1500]
    assert cut.files == {name: sha256(known / name) for name in ("train.conll", "dev.conll", "test.conll")}


def test_only_the_types_that_are_asked_for_are_read(known: Path) -> None:
    chosen = {"ours": datasets.registry()["ours"].model_copy(update={"types": ["LOC"]})}
    datasets.registry = lambda: chosen  # type: ignore[assignment]  # the fixture puts it back
    assert read_dataset("ours", known).train.entity_count == 0


def test_a_whole_corpus_can_be_cut_and_is_named_by_it(known: Path) -> None:
    data = read_dataset("ours", known, bench=False, first=7)
    assert (data.name, data.sizes) == ("ours-first-7", {"train": 7, "dev": 500, "test": 40})


def test_outside_of_a_list_of_phrases_nothing_is_an_entity(known: Path) -> None:
    (known / "phrases.txt").write_text("met\n", encoding="utf-8")
    files = datasets.registry()["ours"].files | {"phrases": File(path="phrases.txt")}
    chosen = {"ours": datasets.registry()["ours"].model_copy(update={"files": files})}
    datasets.registry = lambda: chosen  # type: ignore[assignment]
    data = read_dataset("ours", known, labels="distant", phrases=True, bench=False)
    assert data.name == "ours-distant-phrases"
    assert data.files.keys() == {"distant.conll", "dev.conll", "test.conll", "phrases.txt"}
    assert all(document.complete for document in data.train)
    assert all(document.text[slice(*document.unknown[0])] == "met" for document in data.train)


def test_the_dictionary_labels_of_the_dev_set_are_scored_as_well(known: Path) -> None:
    (known / "terms.tsv").write_text("PER\tAnn\n", encoding="utf-8")
    files = datasets.registry()["ours"].files | {"dictionary": File(path="terms.tsv")}
    chosen = {"ours": datasets.registry()["ours"].model_copy(update={"files": files})}
    datasets.registry = lambda: chosen  # type: ignore[assignment]
    data = read_dataset("ours", known, distant_dev=True)
    assert data.others.keys() == {"distant dev"}
    assert len(data.others["distant dev"]) == len(data.dev or ())
    assert {d.surface(e) for d in data.others["distant dev"] for e in d.entities} == {"Ann"}


def test_labels_of_a_dictionary_carry_their_source(known: Path) -> None:
    assert {e.source for d in read_dataset("ours", known, labels="distant").train for e in d.entities} == {"dictionary"}
    both = read_dataset("ours", known, labels="both", bench=False)
    assert both.sizes["train"] == 2030
    assert len({document.id for document in both.train}) == 2030
    people, distant = both.train.documents[:2000], both.train.documents[2000:]
    assert all(document.complete is True for document in people)
    assert {e.source for d in people for e in d.entities} == {None}
    assert not any(document.complete for document in distant)
    assert {e.source for d in distant for e in d.entities} == {"dictionary"}


def test_files_that_are_absent_or_altered_are_told(known: Path) -> None:
    with pytest.raises(
        InputError, match=r"a\.conll: the train file of theirs is not there; it comes from someone, ask"
    ):
        read_dataset("theirs", known)
    (known / "dev.conll").write_text("changed", encoding="utf-8")
    assert datasets.registry()["ours"].states(known)["dev"] == "altered"
    with pytest.raises(IntegrityError, match=r"dev\.conll: not the dev file of ours that we know \(sha256"):
        read_dataset("ours", known)
    (known / "dev.conll").unlink()
    assert datasets.registry()["ours"].states(known)["dev"] == "absent"
    with pytest.raises(ConfigError, match="ours"):
        read_dataset("oursx", known)
    with pytest.raises(ConfigError, match="has no distant file"):
        read_dataset("theirs", known, labels="distant")


# Reproducing


def experiment(**changes: Any) -> Experiment:
    values: dict[str, Any] = {
        "paper": "000",
        "table": "Table 9",
        "title": "made up",
        "claim": "uniform is better",
        "baseline": "all",
        "parts": [{"corpus": "ours", "full": "theirs", "drop": [0.5]}, {"corpus": "ours", "full": "ours"}],
        "rows": [
            {"name": "all", "contender": "span", "paper": {"theirs/0.5": 40.0}},
            {"name": "few", "contender": "uniform:policy.ratio=0.3", "paper": {"theirs/0.5": 50.0, "ours": 60.0}},
        ],
    }
    return Experiment(**{**values, **changes})


def run_it(one: Experiment, known: Path, store: Path, **options: Any) -> list[dict[str, Any]]:
    done = run_parts(
        one,
        known,
        Runs(store),
        shared=[],
        watch=lambda *_: nullcontext(lambda _: None),
        stopped=lambda: False,
        **options,
    )
    return [result for _, result in judged_parts(one, done)]


def test_our_numbers_stand_beside_the_papers(known: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done = pretend(monkeypatch, lambda _, recipe: QUALITY[recipe.method])
    results = run_it(experiment(), known, tmp_path)
    assert len(done) == 2 * 2 * 3
    columns, rows = experiment_rows(results, "test")
    masked = ["ours-bench-masked-0.5: test F1", "verdict", "paper, theirs/0.5"]
    assert columns == ["", *masked, "ours-bench: test F1", "verdict", "paper, ours"]
    assert [row[0] for row in rows] == ["all", "few"]
    assert rows[0][2:4] == ["baseline", "40.00"]
    assert rows[0][6] == "-"
    assert rows[1][2:4] == ["better", "50.00"]
    assert rows[1][6] == "60.00"
    page = experiment_markdown(experiment().model_dump(), results)
    assert page.startswith("# 000 Table 9: made up\n")
    assert "Claim: uniform is better." in page
    assert rows[1][1] in page
    _, on_dev = experiment_rows(results, "dev")
    assert on_dev[1][1] == "80.00"


def test_a_row_can_have_its_mean_over_all_parts(known: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def quality(data: Any, recipe: Any) -> float:
        if recipe.method == "uniform" and "masked" not in data.name and recipe.seed:
            raise InputError("made to fail")
        return 0.5 if "masked" in data.name else 0.75

    pretend(monkeypatch, quality)
    results = run_it(experiment(mean=True), known, tmp_path)
    columns, rows = experiment_rows(results, "dev", mean=True)
    assert columns[-1] == "mean dev F1"
    assert [row[-1] for row in rows] == ["62.50", "62.50"]  # of the seeds that came to their end
    results[0]["conditions"][0]["contenders"][0] = {"name": "all", "failed": ["every seed"], "paper": None}
    assert experiment_rows(results, "dev", mean=True)[1][0][-1] == "-"


def test_a_part_has_settings_of_its_own(known: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = set()

    def quality(data: Any, recipe: Any) -> float:
        seen.add((data.name, recipe.train.epochs, recipe.train.batch_size))
        return 0.5

    pretend(monkeypatch, quality)
    own = ["train.epochs=2"]
    parts = [{"corpus": "ours", "full": "ours", "settings": own}, {"corpus": "ours", "full": "ours", "whole": True}]
    run_it(experiment(parts=parts, settings=["train.epochs=3", "train.batch_size=4"]), known, tmp_path)
    assert seen == {("ours-bench", 2, 4), ("ours", 3, 4)}


def test_settings_can_name_files_among_the_corpora(
    known: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = set()
    (known / "words.txt").write_text("one\n", encoding="utf-8")

    def quality(_: Any, recipe: Any) -> float:
        seen.add(recipe.lexicon.file)
        return 0.5

    pretend(monkeypatch, quality)
    run_it(experiment(settings=["lexicon.file={data}/words.txt"]), known, tmp_path)
    assert seen == {str(known / "words.txt")}


def test_parts_of_one_corpus_have_reports_of_their_own() -> None:
    parts = [("ours", None), ("ours", 0.5), ("ours", None), ("ours", None), ("theirs", None)]
    named = _folders([(name, {"conditions": [{"drop": drop}]}) for name, drop in parts])
    assert named == ["ours", "ours-masked-0.5", "ours.2", "ours.3", "theirs"]


def test_the_full_setting_has_the_papers_corpora_and_methods(
    known: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recipes = []

    def quality(_: Any, recipe: Any) -> float:
        recipes.append((recipe.method, recipe.seed))
        return 0.5

    done = pretend(monkeypatch, quality)
    rows = [{"name": "a", "contender": "span"}, {"name": "b", "contender": "uniform", "full": "uniform-paper"}]
    parts = [{"corpus": "theirs", "full": "ours"}]
    run_it(experiment(rows=rows, baseline="a", parts=parts), known, tmp_path, full=True, seeds=1)
    assert recipes == [("span", 0), ("uniform-paper", 0)]
    assert {name for name, _, _ in done} == {"ours"}


def test_an_experiment_that_is_not_there_is_answered_with_those_that_are(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="001-table-1"):
        find_experiment("001-table-9", FOLDER)
    (tmp_path / "odd.toml").write_text('paper = "1"\n', encoding="utf-8")
    with pytest.raises(ConfigError, match=r"odd\.toml"):
        find_experiment("odd", tmp_path)


def test_what_is_there_is_listed(run: Run, known: Path) -> None:
    done = run("datasets", "--data", known)
    assert done.status == 0
    assert "ours" in done.out
    assert "absent" in done.out
    assert run("datasets", "ours", "--data", known).out.count("there") >= 4
    listed = run("reproduce", "--experiments", FOLDER)
    assert all(name in listed.out for name in NAMES)
    assert max(map(len, listed.out.split("\n"))) <= 80


def test_without_data_nothing_is_reproduced(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GOLDGAP_DATA", raising=False)
    call = ("reproduce", "001-table-1", "--experiments", FOLDER, "--runs", tmp_path / "runs")
    done = run(*call)
    assert (done.status, "--data" in done.err) == (2, True)
    done = run(*call, "--data", tmp_path)
    assert done.status == 2
    assert "6b8c9aedd4f4818b44c709791a8403d97c1fdb0467006da076fd94d70df50afc" in done.err
    assert "Balasuriya" in done.err


def test_a_table_is_written(run: Run, known: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pretend(monkeypatch, lambda _, recipe: QUALITY[recipe.method])
    folder = tmp_path / "some"
    folder.mkdir()
    text = """
paper = "000"
table = "Table 9"
title = "made up"
claim = "none"
baseline = "all"
seeds = 1
parts = [{ corpus = "ours", full = "ours" }]
rows = [{ name = "all", contender = "span" }, { name = "few", contender = "uniform" }]
"""
    (folder / "mine.toml").write_text(text, encoding="utf-8")
    call = ("reproduce", "mine", "--experiments", folder, "--data", known, "-o", "mine")
    with monkeypatch.context() as helper:
        helper.setenv(HELPER, "1")
        helper.setattr(contest, "judge", None)
        assert run(*call).status == 0
        assert list(Path("mine").iterdir()) == []
    assert run(*call).status == 0
    assert Path("mine/table.md").read_text(encoding="utf-8").startswith("# 000 Table 9: made up")
    written = {path.name for path in Path("mine/ours-bench").iterdir()}
    assert written == {"comparison.json", "comparison.md", "report.html"}
    assert "goldgap reproduce mine" in Path("mine/ours-bench/report.html").read_text(encoding="utf-8")
    assert len(list((folder / "results").glob("*.json"))) == 2
    assert run(*call).out.count(": kept") == 2
    assert json.loads(next((folder / "results").glob("*span*.json")).read_text(encoding="utf-8"))["method"] == "span"


def test_two_rows_of_one_name_are_refused_before_anything_is_trained(
    known: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = pretend(monkeypatch, lambda _, recipe: QUALITY[recipe.method])
    row = {"name": "all", "contender": "span"}
    with pytest.raises(ConfigError, match="'all' stands twice"):
        run_it(experiment(rows=[row, row]), known, tmp_path)
    assert not done


@pytest.mark.parametrize("folder", ["nowhere", "."])
def test_a_folder_without_experiments_is_told(folder: str, run: Run, tmp_path: Path) -> None:
    for call in (("reproduce",), ("reproduce", "masked")):
        done = run(*call, "--experiments", folder, "--data", ".")
        assert done.status == 2
        assert "no experiments here" in done.err or "there is no experiment 'masked'" in done.err


def test_a_missing_corpus_of_the_last_part_is_told_before_anything_is_trained(
    known: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = pretend(monkeypatch, lambda _, recipe: QUALITY[recipe.method])
    parts = [{"corpus": "ours", "full": "ours"}, {"corpus": "theirs", "full": "theirs"}]
    with pytest.raises((InputError, ConfigError), match="theirs"):
        run_it(experiment(parts=parts), known, tmp_path)
    assert not done


def test_an_experiment_may_claim_nothing_and_need_something(
    known: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pretend(monkeypatch, lambda _, recipe: QUALITY[recipe.method])
    one = experiment(claim="", needs="words/, which a script makes")
    page = experiment_markdown(one.model_dump(), run_it(one, known, tmp_path, seeds=1))
    assert "Claim:" not in page
    assert "\nNeeds words/, which a script makes.\n" in page


def test_what_an_experiment_needs_is_listed_with_it(run: Run) -> None:
    listed = " ".join(run("reproduce", "--experiments", FOLDER).out.split())
    assert "every method on the same data (needs chinese/, which experiments/chinese.py makes)" in listed


@pytest.mark.parametrize("encoder", [[], ["--encoder", "minilm"]])
def test_a_method_that_keeps_its_own_encoder_is_named_where_another_is_asked_for(
    encoder: list[str], run: Run, tmp_path: Path
) -> None:
    asked = ("--experiments", FOLDER, "--runs", tmp_path / "runs", "--data", tmp_path)
    told = run("reproduce", "002-table-4", *asked, *encoder).err
    assert told.count("caution: bilstm-crf keeps its own encoder") == (1 if encoder else 0)
    files = (word for part in ("train", "dev", "test") for word in (f"--{part}", f"{part}.conll"))
    told = run("compare", *files, "--methods", "span,flat:loss.w=3,flat", "-o", "out", *encoder).err
    assert told.count("caution: flat keeps its own encoder") == (1 if encoder else 0)
