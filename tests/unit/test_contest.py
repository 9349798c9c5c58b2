"""Comparisons, with trainings that are made up: which runs there are, what is said of them."""

from __future__ import annotations

import json
import random
import statistics
import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from goldgap import Corpus, Document, Entity
from goldgap.cli.compare import HELPER
from goldgap.cli.show import show_contest
from goldgap.compare import contest as contest_module
from goldgap.compare import runs
from goldgap.compare.contender import contender, variants
from goldgap.compare.contest import Contest, cautions_on, compare
from goldgap.compare.identity import code_hash
from goldgap.compare.runs import Data, Found, Run, Runs, Slot
from goldgap.core.errors import ConfigError, InputError, RunError
from goldgap.evaluate.bootstrap import TOO_FEW, holm
from goldgap.evaluate.scores import evaluate
from goldgap.report.experiment import experiment_rows
from goldgap.train.loop import Stopped
from goldgap.train.place import held
from goldgap.train.recipe import Recipe
from tests.command import Run as Command

QUALITY = {"span": 0.5, "uniform": 0.8, "weighted": 0.8, "top-neg": 0.3}
"""How many of the entities each method finds."""


def sentences(count: int, text: str = "Ann met Bob in Oslo") -> Corpus:
    entities = (Entity(0, 3, "PER"), Entity(8, 11, "PER"), Entity(15, 19, "LOC"))
    return Corpus(Document(f"{text} {number}", entities) for number in range(count))


def data() -> Data:
    return Data(
        "made-up", sentences(20, "Ann met Bob at Acme"), sentences(5, "Ann saw Bob in Rome"), sentences(200), {}
    )


Trainer = Callable[[Data, Recipe], float]


@pytest.fixture
def trained(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str, int]]:
    """The runs that were trained, in order: data, method, seed."""
    return pretend(monkeypatch, lambda _, recipe: QUALITY[recipe.method])


def pretend(monkeypatch: pytest.MonkeyPatch, quality: Trainer) -> list[tuple[str, str, int]]:
    done: list[tuple[str, str, int]] = []

    def train(slot: Slot, observe: Any, stopped: Callable[[], bool]) -> Run:
        if stopped():
            raise Stopped("asked")
        given, recipe = slot.data, slot.recipe
        found = quality(given, recipe)
        done.append((given.name, recipe.method, recipe.seed))
        chance = random.Random(f"{recipe.method}/{recipe.seed}")
        predictions: list[Found] = [
            [(e.start, e.end, e.label, 0.9) for e in document.entities if chance.random() < found]
            for document in given.test
        ]
        run = Run(
            key=slot.key,
            name=given.name,
            method=recipe.method,
            seed=recipe.seed,
            select_on="clean dev",
            files=given.files,
            data=slot.hashes,
            sizes=given.sizes,
            recipe=recipe.model_dump(mode="json"),
            code=code_hash(recipe),
            seconds=2.0,
            scores={},
            metrics=[{"epoch": 1, "f1": found, "precision": 1.0, "recall": found, "kept": 10, "missampled": 0}],
            predictions=predictions,
        )
        scores = evaluate(given.test, run.predicted(given.test)).strict.to_json()
        run.scores.update(scores)
        return run

    monkeypatch.setattr(runs, "_train", train)
    return done


def contest(*names: str, seeds: int = 3, **options: Any) -> Contest:
    return Contest(
        [contender(name) for name in names], list(range(seeds)), options.pop("baseline", names[0]), **options
    )


def rows(result: dict[str, Any], index: int = 0) -> dict[str, dict[str, Any]]:
    return {row["name"]: row for row in result["conditions"][index]["contenders"]}


def test_every_method_is_trained_with_every_seed_once(tmp_path: Path, trained: list[tuple[str, str, int]]) -> None:
    store = Runs(tmp_path)
    first = compare(contest("span", "uniform"), data(), store)
    assert sorted(trained) == sorted(("made-up", name, seed) for name in ("span", "uniform") for seed in range(3))
    assert compare(contest("span", "uniform"), data(), store) == first
    compare(contest("span", "uniform", "top-neg"), data(), store)
    assert trained[6:] == [("made-up", "top-neg", seed) for seed in range(3)]


def test_what_decides_a_run_is_asked_once_a_run(
    tmp_path: Path, trained: list[tuple[str, str, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def note(name: str, place: object) -> None:
        real = getattr(place, name)

        def call(*arguments: Any) -> Any:
            asked.append(name)
            return real(*arguments)

        monkeypatch.setattr(place, name, call)

    for name, place in (("key_of", runs), ("split", runs), ("read", Run), ("hashes_for", Data)):
        note(name, place)
    compare(contest("span", "uniform", seeds=2), data(), Runs(tmp_path))
    assert Counter(asked) == {"key_of": 4, "split": 4, "hashes_for": 4}
    asked.clear()
    compare(contest("span", "uniform", seeds=2), data(), Runs(tmp_path))
    assert Counter(asked) == {"key_of": 4, "split": 4, "hashes_for": 4, "read": 4}
    assert len(trained) == 4


def test_a_run_that_another_process_is_at_is_waited_for_and_asked_for_once(
    tmp_path: Path, trained: list[tuple[str, str, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Runs(tmp_path)
    here, there = (store.slot(replace(data(), name=name), contender("uniform").recipe(0)) for name in ("made-up", "x"))
    asked: list[Recipe] = []
    key = Data.key

    def note(given: Data, recipe: Recipe, *rest: Any) -> str:
        asked.append(recipe)
        return key(given, recipe, *rest)

    monkeypatch.setattr(Data, "key", note)
    here.work.mkdir(parents=True)
    with ExitStack() as busy:
        busy.enter_context(held(here.work))

        def sleep(_: float) -> None:
            there.train()
            busy.close()

        monkeypatch.setattr(time, "sleep", sleep)
        result = compare(contest("span", "uniform", seeds=1), data(), store)
    assert trained == [("made-up", "span", 0), ("x", "uniform", 0)]
    assert rows(result)["uniform"]["runs"][0]["key"] == here.key
    assert [one.method for one in asked] == ["span", "uniform"]


def test_means_and_verdicts(tmp_path: Path, trained: list[tuple[str, str, int]]) -> None:
    result = rows(compare(contest("span", "uniform", "weighted", "top-neg"), data(), Runs(tmp_path)))
    assert "against" not in result["span"]
    assert result["uniform"]["against"]["verdict"] == "better"
    assert result["top-neg"]["against"]["verdict"] == "worse"
    for name, row in result.items():
        scores = [run["f1"] for run in row["runs"]]
        assert row["f1"] == pytest.approx(statistics.mean(scores))
        assert row["sd"] == pytest.approx(statistics.stdev(scores))
        assert row["interval"][0] < row["f1"] < row["interval"][1]
        assert row["dev_f1"] == QUALITY[name]
        assert row["per_type"].keys() == {"LOC", "PER"}
        assert row["recall"] == pytest.approx(QUALITY[name], abs=0.05)
        assert row["precision"] == 1.0
    gain = result["uniform"]["f1"] - result["span"]["f1"]
    assert result["uniform"]["against"]["difference"] == pytest.approx(gain)
    assert 1 <= sum(row["best_share"] for row in result.values()) < 1.05  # two that are as good are both the best


def test_methods_that_do_as_well_are_undecided(tmp_path: Path, trained: list[tuple[str, str, int]]) -> None:
    result = rows(compare(contest("uniform", "weighted"), data(), Runs(tmp_path)))
    assert result["weighted"]["against"]["verdict"] == "undecided"


def test_with_fewer_than_three_seeds_nothing_is_claimed(tmp_path: Path, trained: list[tuple[str, str, int]]) -> None:
    result = rows(compare(contest("span", "uniform", seeds=2), data(), Runs(tmp_path)))
    assert result["uniform"]["against"]["p_value"] < 0.01
    assert result["uniform"]["against"]["verdict"] == "undecided"
    assert rows(compare(contest("span", "uniform", seeds=1), data(), Runs(tmp_path)))["span"]["sd"] is None


def test_p_values_are_adjusted_for_the_number_of_tests(tmp_path: Path, trained: list[tuple[str, str, int]]) -> None:
    result = rows(compare(contest("span", "uniform", "top-neg"), data(), Runs(tmp_path)))
    against = [result[name]["against"] for name in ("uniform", "top-neg")]
    assert [one["adjusted"] for one in against] == holm([one["p_value"] for one in against])
    assert any(one["adjusted"] > one["p_value"] for one in against)


def test_the_best_on_dev_is_recommended_even_if_another_is_best_on_test(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pretend(monkeypatch, lambda _, recipe: QUALITY[recipe.method])
    store = Runs(tmp_path)
    result = compare(contest("span", "uniform", "top-neg"), data(), store)
    assert result["conditions"][0]["recommended"]["name"] == "uniform"
    assert result["conditions"][0]["recommended"]["best_share"] > 0.99
    assert result["conditions"][0]["recommended"]["rival"] == {"name": "span", "best_share": 0.0}
    for file in tmp_path.glob("*_top-neg_*.json"):
        run = Run.read(file)
        run.metrics[0]["f1"] = 0.99
        run.write(file)
    again = compare(contest("span", "uniform", "top-neg"), data(), store)["conditions"][0]["recommended"]
    assert again["name"] == "top-neg"
    assert again["best_share"] < 0.01
    assert again["rival"]["name"] == "uniform"


def test_each_share_of_masked_annotations_is_a_table(tmp_path: Path, trained: list[tuple[str, str, int]]) -> None:
    result = compare(contest("span", "uniform", seeds=2, drops=[0.5, 0.9]), data(), Runs(tmp_path))
    assert [table["drop"] for table in result["conditions"]] == [0.5, 0.9]
    assert {name for name, _, _ in trained} == {"made-up-masked-0.5", "made-up-masked-0.9"}
    keys = {run["key"] for table in result["conditions"] for row in table["contenders"] for run in row["runs"]}
    assert len(keys) == 8


def test_every_seed_has_a_mask_of_its_own_that_all_methods_share(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: dict[int, set[str]] = {0: set(), 1: set()}

    def quality(given: Data, recipe: Recipe) -> float:
        assert given.train.entity_count < 60
        seen[recipe.seed].add(given.hashes["train"])
        return 0.5

    pretend(monkeypatch, quality)
    compare(contest("span", "uniform", seeds=2, drops=[0.5]), data(), Runs(tmp_path))
    assert [len(hashes) for hashes in seen.values()] == [1, 1]
    assert seen[0] != seen[1]


def test_a_method_that_fails_does_not_stop_the_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def quality(_: Data, recipe: Recipe) -> float:
        if recipe.method == "uniform" and recipe.seed > 0:
            raise RunError("the loss is not a number at step 3")
        if recipe.method == "weighted":
            raise RuntimeError("out of memory")
        return QUALITY[recipe.method]

    done = pretend(monkeypatch, quality)
    result = rows(compare(contest("span", "uniform", "weighted", "top-neg"), data(), Runs(tmp_path)))
    assert len(done) == 7
    assert [failure["seed"] for failure in result["uniform"]["failed"]] == [1, 2]
    assert result["uniform"]["failed"][0]["why"] == "the loss is not a number at step 3"
    assert len(result["uniform"]["runs"]) == 1
    assert result["uniform"]["against"]["verdict"] == "undecided"  # one seed
    assert [failure["why"] for failure in result["weighted"]["failed"]] == ["RuntimeError: out of memory"] * 3
    assert "f1" not in result["weighted"]
    assert result["top-neg"]["against"]["verdict"] == "worse"


def test_a_method_of_which_most_seeds_failed_is_not_recommended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def quality(_: Data, recipe: Recipe) -> float:
        if recipe.method == "uniform" and recipe.seed:
            raise RunError("the loss is not a number at step 3")
        return QUALITY[recipe.method]

    pretend(monkeypatch, quality)
    result = compare(contest("span", "uniform", "top-neg"), data(), Runs(tmp_path))["conditions"][0]["recommended"]
    assert (result["name"], result["seeds"]) == ("span", 3)
    assert result["passed_over"] == {"name": "uniform", "dev_f1": QUALITY["uniform"], "seeds": 1}


def test_a_handful_of_test_documents_decides_nothing(tmp_path: Path, trained: list[tuple[str, str, int]]) -> None:
    few = replace(data(), test=sentences(29))
    result = rows(compare(contest("span", "uniform"), few, Runs(tmp_path)))
    assert result["uniform"]["against"]["verdict"] == TOO_FEW


def test_seconds_are_the_median_of_the_runs(tmp_path: Path, trained: list[tuple[str, str, int]]) -> None:
    store = Runs(tmp_path)
    compare(contest("span", "uniform"), data(), store)
    slow = next(tmp_path.glob("*_span_*.json"))
    replace(Run.read(slow), seconds=500.0).write(slow)
    assert rows(compare(contest("span", "uniform"), data(), store))["span"]["seconds"] == 2.0


def test_a_mask_that_leaves_no_entity_fails_there_and_the_others_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pretend(monkeypatch, lambda _, recipe: QUALITY[recipe.method])
    one = replace(contest("span", "uniform"), drops=(0.0, 1.0))
    result = compare(one, data(), Runs(tmp_path))
    assert all("f1" in row for row in result["conditions"][0]["contenders"])
    assert all(
        "no entity" in failure["why"] for row in result["conditions"][1]["contenders"] for failure in row["failed"]
    )
    assert [len(row["failed"]) for row in result["conditions"][1]["contenders"]] == [3, 3]


def test_if_all_fail_nothing_is_recommended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def quality(_: Data, recipe: Recipe) -> float:
        raise RunError("no")

    pretend(monkeypatch, quality)
    result = compare(contest("span", "uniform"), data(), Runs(tmp_path))
    assert result["conditions"][0]["recommended"] is None


def test_a_comparison_that_was_stopped_goes_on(tmp_path: Path, trained: list[tuple[str, str, int]]) -> None:
    whole = compare(contest("span", "uniform"), data(), Runs(tmp_path / "whole"))
    trained.clear()
    with pytest.raises(Stopped):
        compare(contest("span", "uniform"), data(), Runs(tmp_path / "cut"), stopped=lambda: len(trained) == 4)
    assert len(trained) == 4
    assert compare(contest("span", "uniform"), data(), Runs(tmp_path / "cut")) == whole
    assert len(trained) == len(set(trained)) == 6


def test_of_a_grid_the_best_on_dev_is_compared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def quality(_: Data, recipe: Recipe) -> float:
        return {0.1: 0.4, 0.2: 0.7, 0.3: 0.6}.get(float(recipe.policy.settings.get("ratio", 0)), 0.5)

    done = pretend(monkeypatch, quality)
    grid = {"policy.ratio": ["0.1", "0.2", "0.3"]}
    result = rows(compare(contest("span", "uniform", seeds=2, grid=grid), data(), Runs(tmp_path)))
    assert len(done) == 8  # span has no ratio
    assert result["uniform"]["settings"] == "policy.ratio=0.2"
    assert result["uniform"]["dev_f1"] == 0.7
    assert [(entry["settings"], entry["dev_f1"]) for entry in result["uniform"]["tried"]] == [
        ("policy.ratio=0.1", 0.4),
        ("policy.ratio=0.2", 0.7),
        ("policy.ratio=0.3", 0.6),
    ]
    assert "tried" not in result["span"]


def test_grids_are_every_choice_of_all_settings() -> None:
    grid = {"policy.ratio": ["0.1", "0.2"], "train.epochs": ["1", "2", "3"]}
    assert [variant.settings for variant in variants(contender("uniform"), grid)] == [
        f"policy.ratio={ratio} train.epochs={epochs}" for ratio in ("0.1", "0.2") for epochs in (1, 2, 3)
    ]
    assert [v.settings for v in variants(contender("span"), grid)] == [f"train.epochs={n}" for n in (1, 2, 3)]
    assert [v.settings for v in variants(contender("span"), {})] == [""]


def test_a_grid_does_not_make_two_steps_of_one() -> None:
    grid = {"two_step.explore": ["1", "2"], "two_step.none": ["0.1"], "train.epochs": ["3"]}
    assert [v.settings for v in variants(contender("crf"), grid)] == ["train.epochs=3"]
    assert [v.settings for v in variants(contender("two-step"), grid)] == [
        f"two_step.explore={n} two_step.none=0.1 train.epochs=3" for n in (1, 2)
    ]


def test_of_a_grid_every_method_tries_the_values_that_it_takes() -> None:
    grid = {"policy.ratio": ["1.5", "0.1"]}  # top-neg takes a share
    assert [v.settings for v in variants(contender("uniform"), grid)] == ["policy.ratio=1.5", "policy.ratio=0.1"]
    assert [v.settings for v in variants(contender("top-neg"), grid)] == ["policy.ratio=0.1"]


def test_equal_methods_are_all_the_best(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pretend(monkeypatch, lambda *_: 1.0)
    result = rows(compare(contest("span", "uniform"), data(), Runs(tmp_path)))
    assert [row["best_share"] for row in result.values()] == [1.0, 1.0]


def test_complete_documents_that_are_masked_are_told() -> None:
    whole = Data(
        "", sentences(3).map(lambda one: one.replace(complete=True)), None, sentences(2, "Ann saw Bob in Rome"), {}
    )
    for drops in ([0.5], [0.0], [0.0, 0.5]):  # a mask of nothing leaves no document complete, too
        assert any("complete document that is masked" in line for line in cautions_on(whole, drops).lines())
    assert not any("masked" in line for line in cautions_on(whole).lines())


def test_a_method_that_is_what_it_is_by_its_encoder_keeps_it() -> None:
    shared = {"encoder": {"name": "somewhere", "window": 128}}
    names = {text: contender(text, shared).recipe(0).encoder for text in ("crf", "bilstm-crf", "flat")}
    assert {text: encoder.name for text, encoder in names.items()} == {
        "crf": "somewhere",
        "bilstm-crf": "bilstm",
        "flat": "flat",
    }
    assert {encoder.window for encoder in names.values()} == {128}
    with pytest.raises(ConfigError, match="bilstm-crf on elsewhere: the method is its own encoder; use crf"):
        contender("bilstm-crf:encoder.name=elsewhere", shared)


def test_contenders_have_settings_of_their_own() -> None:
    made = contender("nrces:policy=top-neg:loss.w=10", {"train": {"epochs": 2}}).recipe(7)
    assert (made.policy.name, made.loss.name, made.loss.settings["w"]) == ("top-neg", "nrces", 10)
    assert (made.train.epochs, made.seed) == (2, 7)


@pytest.mark.parametrize(
    ("make", "what"),
    [
        (lambda: contender("unifrom"), "uniform"),
        (lambda: contender("uniform:policy.ratoi=1"), "ratio"),
        (lambda: contender("uniform:policy.ratio=lots"), "policy.ratio"),
        (lambda: contest("span", "span"), "twice"),
        (lambda: contest("span", "uniform", baseline="nrces"), "not among the methods"),
        (lambda: contest("span", "uniform", grid={"policy.ratoi": ["1"]}), "none of the methods"),
        (lambda: contest("span", "uniform", grid={"policy.ratio": ["0.1", "lots"]}), "policy.ratio.*'lots'"),
        (lambda: contest("span", "uniform", grid={"train.epochs": ["1", "1"]}), "twice"),
        (lambda: contender("span:seed=3"), "--seeds"),
        (lambda: contest("span", "uniform", grid={"seed": ["1", "2"]}), "none of the methods"),
        (lambda: contender("span:method=uniform"), "method = 'uniform'"),
        (lambda: contender("span", {"method": "bogus"}), "method = 'bogus'"),
    ],
)
def test_what_cannot_be_compared_is_refused_before_anything_is_trained(make: Callable[[], object], what: str) -> None:
    with pytest.raises(ConfigError, match=what):
        make()


def test_texts_that_were_trained_on_and_types_that_were_not_are_told() -> None:
    train = Corpus([Document("Ann", (Entity(0, 3, "PER"),)), Document("Oslo"), Document("x", (Entity(0, 1, "MISC"),))])
    test = Corpus([Document("Oslo", (Entity(0, 4, "LOC"),)), Document("Bob", (Entity(0, 3, "PER"),))])
    changes = cautions_on(Data("", train, test, test, {})).changes
    assert {what: tally.count for what, tally in changes.items()} == {
        "document of the dev file that is also trained on": 1,
        "document of the test file that is also trained on": 1,
        "entity of the type LOC in the dev file, never trained on": 1,
        "entity of the type LOC in the test file, never trained on": 1,
        "type MISC of the training files that the test file does not have": 1,
    }
    assert not cautions_on(
        Data("", train, None, Corpus([Document("Eve", (Entity(0, 3, "PER"), Entity(1, 2, "MISC")))]), {})
    ).changes


def test_a_type_of_which_all_annotations_were_taken_away_is_never_trained_on() -> None:
    train = Corpus([Document("Ann", (Entity(0, 3, "PER"),)), Document("Oslo", dropped=(Entity(0, 4, "LOC"),))])
    changes = cautions_on(Data("", train, None, Corpus([Document("Rome", (Entity(0, 4, "LOC"),))]), {})).changes
    assert "entity of the type LOC in the test file, never trained on" in changes


def test_documents_of_one_id_are_refused() -> None:
    twice = Corpus([Document("Ann", id="1"), Document("Bob", id="1")])
    with pytest.raises(InputError, match="the id '1' belongs to several test documents"):
        Data("", sentences(1), None, twice, {})


def test_without_any_dev_scores_nothing_is_trained(tmp_path: Path, trained: list[tuple[str, str, int]]) -> None:
    given = data()
    blind = Contest([contender("span"), contender("uniform:select_on=none")], [0], "span")
    with pytest.raises(ConfigError, match="uniform:select_on=none: select_on = none and no dev set"):
        compare(blind, Data("", given.train, None, given.test, {}), Runs(tmp_path))
    assert not trained
    assert compare(blind, given, Runs(tmp_path))["conditions"]


def test_a_value_of_a_contender_may_have_a_colon() -> None:
    recipe = contender("uniform:train.device=cuda:1:train.epochs=2").recipe(0)
    assert (recipe.train.device, recipe.train.epochs) == ("cuda:1", 2)
    with pytest.raises(ConfigError, match="--set fast: expected key=value"):
        contender("uniform:fast")


@pytest.mark.parametrize("text", ["Ann lives , in Oslo", "Ann  lives,\n in Oslo ", "Annlives,inOslo"])
def test_a_text_that_was_trained_on_is_known_by_other_white_space(text: str) -> None:
    train, test = Corpus([Document("Ann lives, in Oslo")]), Corpus([Document(text), Document("Ann lived, in Oslo")])
    changes = cautions_on(Data("", train, None, test, {})).changes
    assert {what: tally.count for what, tally in changes.items()} == {
        "document of the test file that is also trained on": 1
    }


def test_names_of_files_that_are_not_unicode_lose_no_run(
    run: Command, tmp_path: Path, trained: list[tuple[str, str, int]]
) -> None:
    for name, given in (("train", data().train), ("dev", data().dev), ("test", data().test)):
        (given or Corpus([])).write(tmp_path / f"{name}\udce9.jsonl")
    files = (part for name in ("train", "dev", "test") for part in (f"--{name}", f"{name}\udce9.jsonl"))
    call = ("compare", *files, "--methods", "span,uniform", "--seeds", "1", "-o", "out")
    assert run(*call).status == 0
    assert run(*call).out.count(": kept") == 2
    for path in sorted(Path("out/runs").glob("*.json")):
        assert Run.read(path).name == "test\\udce9"
    values = json.loads(Path("out/comparison.json").read_text(encoding="utf-8"))
    assert sorted(values["files"]) == ["dev\\udce9.jsonl", "test\\udce9.jsonl", "train\\udce9.jsonl"]
    assert "test\\udce9.jsonl" in values["command"]
    assert "test\\udce9" in Path("out/report.html").read_text(encoding="utf-8")


def test_a_helper_of_another_process_does_its_runs_and_judges_nothing(
    run: Command, tmp_path: Path, trained: list[tuple[str, str, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, given in (("train", data().train), ("dev", data().dev), ("test", data().test)):
        (given or Corpus([])).write(tmp_path / f"{name}.jsonl")
    files = (part for name in ("train", "dev", "test") for part in (f"--{name}", f"{name}.jsonl"))
    call = ("compare", *files, "--methods", "span,uniform", "--seeds", "2", "-o", "out")
    monkeypatch.setenv(HELPER, "1")
    with monkeypatch.context() as patch:
        patch.setattr(contest_module, "judge", None)
        assert run(*call).status == 0
    assert len(trained) == 4
    assert [path.name for path in Path("out").iterdir()] == ["runs"]
    monkeypatch.delenv(HELPER)
    assert run(*call).out.count(": kept") == 4
    assert Path("out/comparison.json").exists()


def test_the_dev_score_is_that_of_the_weights_that_were_kept(
    tmp_path: Path, trained: list[tuple[str, str, int]]
) -> None:
    compare(contest("span", seeds=1), data(), Runs(tmp_path))
    run = Run.read(next(tmp_path.glob("*.json")))
    falling = replace(run, metrics=[{"f1": 0.9}, {"f1": 0.2}])
    assert falling.dev_f1 == 0.9
    assert replace(falling, select_on="none").dev_f1 == 0.2


def test_where_the_baseline_failed_no_other_method_is_called_the_baseline(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def quality(_: Data, recipe: Recipe) -> float:
        if recipe.method == "span":
            raise AssertionError
        return 0.5

    pretend(monkeypatch, quality)
    result = compare(contest("span", "uniform"), data(), Runs(tmp_path))
    assert rows(result)["span"]["failed"][0]["why"] == "AssertionError"
    show_contest(result)
    shown = " ".join(capsys.readouterr().out.split())
    assert "baseline failed" in shown
    place = {"place": "", "contenders": [{**row, "paper": None} for row in result["conditions"][0]["contenders"]]}
    _, table = experiment_rows([{**result, "conditions": [{**result["conditions"][0], **place}]}], "test")
    assert [row[2] for row in table] == ["failed", "the baseline failed"]
