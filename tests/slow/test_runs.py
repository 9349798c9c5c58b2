"""Runs are kept by what decides them, and those that were stopped go on."""

from __future__ import annotations

import inspect
import shutil
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from goldgap import Entity, __version__
from goldgap.compare import identity, runs
from goldgap.compare.identity import ALWAYS, BY_MODEL, ENCODERS, LEXICON, ROOT, TWO_STEP, code_hash, key_of
from goldgap.compare.runs import Data, Run, Runs
from goldgap.core.config import load
from goldgap.core.errors import IntegrityError
from goldgap.evaluate.scores import evaluate
from goldgap.losses import losses
from goldgap.train.compose import recipe_for
from goldgap.train.loop import Seen, Stopped
from goldgap.train.recipe import EncoderSettings, Recipe
from goldgap.train.split import fingerprint
from goldgap.unknown import policies
from tests.slow.test_training import corpus

pytestmark = pytest.mark.slow


def data() -> Data:
    return Data("eight", corpus(False), corpus(), corpus(), {"sentences.conll": "0" * 64})


def recipe(encoder: Path, **changes: object) -> Recipe:
    model = {"max_width": 4, "hidden": 16, "width_size": 8}
    train = {"epochs": 3, "batch_size": 4, "head_rate": 0.01}
    return recipe_for("uniform", {"encoder": {"name": str(encoder)}, "model": model, "train": train}, changes)


@pytest.fixture
def kept(tmp_path: Path) -> Runs:
    return Runs(tmp_path / "results")


def get(store: Runs, given: Data, one: Recipe, **options: Any) -> Run:
    """The run that is kept, or a new one."""
    slot = store.slot(given, one)
    with slot.opened() as run:
        return run or slot.train(**options)


def test_a_run_that_is_kept_is_not_done_again(kept: Runs, tiny_encoder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = get(kept, data(), recipe(tiny_encoder))
    monkeypatch.setattr(runs, "_train", None)
    again = get(kept, data(), recipe(tiny_encoder))
    assert again.scores == first.scores
    assert again.metrics == first.metrics
    assert [path.name for path in kept.folder.iterdir() if path.is_file()] == [f"eight_uniform_0_{first.key}.json"]
    with pytest.raises(TypeError):
        get(kept, data(), recipe(tiny_encoder, seed=1))


def test_a_run_is_found_whatever_its_data_is_called(
    kept: Runs, tiny_encoder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = get(kept, data(), recipe(tiny_encoder))
    monkeypatch.setattr(runs, "_train", None)
    other = Data("another name", corpus(False), corpus(), corpus(), {})
    assert get(kept, other, recipe(tiny_encoder)).key == first.key


def test_the_predictions_that_are_kept_have_the_scores_that_are_kept(kept: Runs, tiny_encoder: Path) -> None:
    given = data()
    get(kept, given, recipe(tiny_encoder))
    run = get(kept, given, recipe(tiny_encoder))  # as it was read back
    predicted = run.predicted(given.test)
    assert predicted.entity_count > 0
    assert evaluate(given.test, predicted).strict.to_json() == run.scores
    assert run.sizes == {"train": 8, "dev": 8, "test": 8}
    assert run.select_on == "clean dev"
    assert run.dev_f1 == max(entry["f1"] for entry in run.metrics)


def test_a_run_that_was_stopped_goes_on(kept: Runs, tiny_encoder: Path) -> None:
    whole = get(Runs(kept.folder / "whole"), data(), recipe(tiny_encoder))
    seen: list[int] = []

    def observe(now: Seen) -> None:
        if now.taken is not None:
            seen.append(now.progress.step)

    def slowly(now: Seen) -> None:
        time.sleep(0.2)
        observe(now)

    started = time.perf_counter()
    with pytest.raises(Stopped):
        get(kept, data(), recipe(tiny_encoder), observe=slowly, stopped=lambda: len(seen) > 3)
    spent = 0.9 * (time.perf_counter() - started)
    assert not kept.slot(data(), recipe(tiny_encoder)).path.exists()
    run = get(kept, data(), recipe(tiny_encoder), observe=observe)
    assert (run.scores, run.metrics, run.predictions) == (whole.scores, whole.metrics, whole.predictions)
    assert seen == [0, 1, 2, 3, 4, 5]
    assert run.seconds >= round(spent, 1)  # those before it was stopped among them
    assert list((kept.folder / "unfinished").iterdir()) == []


def test_the_key_follows_from_what_is_kept(kept: Runs, tiny_encoder: Path) -> None:
    run = get(kept, data(), recipe(tiny_encoder))
    whole = load(Recipe, run.recipe)
    assert run.data.keys() == {"train", "dev", "test", "encoder.name"}
    assert run.key == key_of(run.data, whole)
    assert run.code == code_hash(whole)
    assert run.recipe["policy"]["settings"] == {"ratio": 0.2}  # not "auto"


def test_the_key_is_that_of_data_and_recipe(tiny_encoder: Path) -> None:
    given, plain = data(), recipe(tiny_encoder)
    keys = {
        given.key(plain),
        given.key(recipe(tiny_encoder, seed=1)),
        given.key(recipe(tiny_encoder, policy={"name": "uniform", "settings": {"ratio": 0.5}})),
        Data("eight", corpus(True), corpus(), corpus(), {}).key(plain),
        Data("eight", corpus(False), None, corpus(), {}).key(plain),
        Data("eight", corpus(False), corpus(), corpus(False), {}).key(plain),
    }
    assert len(keys) == 6
    written_out = {"name": "top-neg", "settings": {"pick": "top"}}
    assert given.key(recipe(tiny_encoder, policy=written_out)) == given.key(
        recipe(tiny_encoder, policy={"name": "top-neg"})
    )
    assert Data("other name", corpus(False), corpus(), corpus(), {}).key(plain) in keys


def test_settings_that_nothing_reads_do_not_change_the_key(tiny_encoder: Path) -> None:
    plain = data().key(recipe(tiny_encoder))
    assert data().key(recipe(tiny_encoder, two_step={"share": 0.3}, lexicon={"most": 3})) == plain
    assert data().key(recipe(tiny_encoder, tagger={"scheme": "bio"}, decode={"joint": True})) == plain
    assert data().key(recipe(tiny_encoder, model={"width_size": 20})) != plain
    assert data().key(recipe(tiny_encoder, decode={"min_prob": 0.7})) != plain


def test_the_key_follows_the_contents_of_an_encoder_folder_wherever_it_lies(tiny_encoder: Path, tmp_path: Path) -> None:
    folder = tmp_path / "encoder"
    shutil.copytree(tiny_encoder, folder)
    before = data().key(recipe(folder))
    assert before == data().key(recipe(tiny_encoder))
    (folder / "config.json").write_text((folder / "config.json").read_text() + " ", encoding="utf-8")
    assert data().key(recipe(folder)) != before


def test_the_fingerprint_is_of_all_that_documents_hold() -> None:
    (one, *_) = corpus(False)
    entity = one.entities[0]
    changed = [
        one,
        one.replace(id="other"),
        one.replace(text=one.text + "!"),
        one.replace(complete=True),
        one.replace(entities=(Entity(entity.start, entity.end, "OTHER"), *one.entities[1:])),
        one.replace(entities=(replace(entity, source="dictionary"), *one.entities[1:])),
        one.replace(entities=one.entities[1:], dropped=(entity,)),
    ]
    assert len({fingerprint([document]) for document in changed}) == len(changed)
    assert fingerprint([one]) == fingerprint([one.replace()])


def test_comments_and_docstrings_do_not_change_the_code(tmp_path: Path) -> None:
    file = tmp_path / "one.py"
    file.write_text('"""What."""\ndef f():\n    """How."""\n    return 1  # so\n', encoding="utf-8")
    plain = identity._meaning(file)
    file.write_text("def f():\n\n    return 1\n", encoding="utf-8")
    assert identity._meaning(file) == plain
    file.write_text("def f():\n    return 2\n", encoding="utf-8")
    assert identity._meaning(file) != plain


def test_the_code_that_decides_is_that_of_the_chosen_variants(tiny_encoder: Path) -> None:
    plain = recipe(tiny_encoder)
    others = [
        recipe(tiny_encoder, policy={"name": "all"}),
        recipe(tiny_encoder, loss={"name": "gce"}),
        recipe(tiny_encoder, model={"kind": "bi-encoder"}, loss={"name": "contrastive"}),
        plain.model_copy(update={"encoder": EncoderSettings(name="bilstm")}),
    ]
    steps: list[dict[str, Any]] = [{}, {"method": "nrces"}, {"method": "top-neg"}, {"sure": 0.5}]
    others += [recipe(tiny_encoder, two_step={"explore": 1, **one}) for one in steps]
    hashes = {code_hash(one) for one in (plain, *others)}
    assert len(hashes) == 9
    assert code_hash(plain.model_copy(update={"seed": 5})) == code_hash(plain)


def test_every_file_of_the_rooms_that_decide_is_accounted_for() -> None:
    rooms = [path for room in ("encode", "models", "unknown", "losses", "train") for path in (ROOT / room).glob("*.py")]
    names = {path.relative_to(ROOT).as_posix() for path in rooms if path.name != "__init__.py"}
    chosen = {inspect.getfile(variant) for registry in (policies, losses) for _, variant in registry.items()}
    variants = {Path(file).relative_to(ROOT).as_posix() for file in chosen}
    by_choice = sum((*BY_MODEL.values(), *ENCODERS.values(), *LEXICON.values(), TWO_STEP), ())
    # Chosen otherwise; what it finds is hashed; looks on.
    aside = {"encode/transformer.py", "models/suspects.py", "encode/packaged.py", "unknown/ask.py"}
    # Of recipes, which are in the key as a whole; of folders; behind or beside the training.
    aside |= {
        f"train/{name}.py" for name in ("checks", "compose", "deciding", "methods", "recipe", "resolve", "unread")
    }
    aside |= {"train/place.py", "train/left_out.py", "train/record.py"}
    assert names == ({*ALWAYS, *by_choice, *variants, *aside} & names)
    assert all((ROOT / name).is_file() for name in (*ALWAYS, *by_choice))


def test_further_documents_are_scored_at_every_evaluation_and_decide_nothing(kept: Runs, tiny_encoder: Path) -> None:
    plain = get(kept, data(), recipe(tiny_encoder))
    assert plain.history == []
    more = replace(data(), others={"far": corpus()})
    watched = get(kept, more, recipe(tiny_encoder))
    assert (watched.key, watched.scores, watched.metrics) == (plain.key, plain.scores, plain.metrics)
    assert [entry["f1"] for entry in watched.history] == [entry["f1"] for entry in plain.metrics]
    assert all(entry["others"].keys() == {"test", "far"} for entry in watched.history)
    best = max(watched.history, key=lambda entry: entry["f1"])
    assert best["others"]["test"]["f1"] == pytest.approx(watched.scores["f1"])
    assert get(kept, more, recipe(tiny_encoder)).history == watched.history
    assert watched.threads == torch.get_num_threads()
    assert (watched.versions["torch"], watched.versions["goldgap"]) == (torch.__version__, __version__)


@pytest.mark.parametrize("damage", ["", "{", "[]", '{"key": "a"}', '{"other": 1}'])
def test_a_damaged_run_is_named(kept: Runs, damage: str, tiny_encoder: Path) -> None:
    kept.folder.mkdir()
    path = kept.slot(data(), recipe(tiny_encoder)).path
    path.write_text(damage, encoding="utf-8")
    with pytest.raises(IntegrityError, match=path.name):
        get(kept, data(), recipe(tiny_encoder))


def test_a_run_is_written_a_line_for_each_key(kept: Runs, tiny_encoder: Path) -> None:
    run = get(kept, data(), recipe(tiny_encoder))
    lines = kept.slot(data(), recipe(tiny_encoder)).path.read_text(encoding="utf-8").splitlines()
    assert len(lines) == len(Run.__slots__) + 2
    assert run.name == "eight"
