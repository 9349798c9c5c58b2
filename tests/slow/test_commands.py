"""Training and using a model from the command line: the whole way once, and every call that is wrong."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from goldgap import Corpus, Document, Entity, Recognizer
from goldgap.core.manifest import commit_directory
from tests.command import Run
from tests.slow.test_training import corpus, settings

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def model(tiny_encoder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a model that knows the eight sentences by heart."""
    folder = tmp_path_factory.mktemp("models") / "model"
    Recognizer.train(corpus(), corpus(), method="span", **settings(tiny_encoder)).save(folder)
    return folder


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """A folder with a training file that has gaps, a dev set, and odd ones."""
    documents = corpus(complete=False).documents
    holed = [d.replace(id=f"d{d.id}", entities=d.entities if i % 4 else ()) for i, d in enumerate(documents * 3)]
    Corpus([d.replace(id=f"{d.id}-{i}") for i, d in enumerate(holed)]).write(tmp_path / "train.jsonl")
    Corpus(corpus().documents).write(tmp_path / "dev.jsonl")
    Corpus([Document("it was at the works", id=str(i)) for i in range(9)]).write(tmp_path / "bare.jsonl")
    Corpus([documents[0], Document("it was")]).write(tmp_path / "one.jsonl")
    (tmp_path / "broken.jsonl").write_text('{"text": "a"\n', encoding="utf-8")
    (tmp_path / "text.txt").write_text("Ann met Bob\n\nAcme was in Paris\n", encoding="utf-8")
    return tmp_path


SPANS = ("--method", "uniform")
FAST = ("--epochs", "2", "--set", "model.max_width=4", "--set", "model.hidden=16", "--set", "train.head_rate=0.005")


def contents(folder: Path) -> dict[str, bytes | None]:
    return {str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None for path in folder.rglob("*")}


def test_the_whole_way_from_labels_with_gaps_to_missing_annotations(run: Run, files: Path, tiny_encoder: Path) -> None:
    rates = ("--set", "train.encoder_rate=0.002", "--set", "train.schedule=constant", "--set", "train.batch_size=4")
    trained = run(
        "train", "--train", "train.jsonl", "--dev", "dev.jsonl", "--encoder", tiny_encoder, "-o", "model",
        *FAST, *rates, *SPANS, "--set", "policy.ratio=1.0", "--epochs", "25", "--seed", "3",
    )  # fmt: skip
    assert (trained.status, trained.err) == (0, "")
    assert "dev set of 8" in trained.out
    assert trained.out.rstrip().endswith("model written to model")
    assert sorted(path.name for path in files.iterdir() if "model" in path.name) == ["model"]
    loaded = Recognizer.load("model")
    assert (loaded.recipe.seed, loaded.recipe.train.epochs, loaded.recipe.select_on) == (3, 25, "clean dev")
    assert len(loaded.metrics) == 25

    predicted = run("predict", "model", "dev.jsonl", "-o", "found.jsonl")
    assert (predicted.status, predicted.err) == (0, "")
    found, gold = Corpus.read("found.jsonl"), Corpus.read("dev.jsonl")
    assert [(d.id, d.text) for d in found] == [(d.id, d.text) for d in gold]
    assert all(e.score is not None and 0 < e.score <= 1 for d in found for e in d.entities)
    assert f"{found.entity_count:,} entities in 8 documents: found.jsonl" in predicted.out

    by_file = json.loads(run("evaluate", "dev.jsonl", "found.jsonl", "--json", "--samples", "50").out)
    by_model = json.loads(run("evaluate", "dev.jsonl", "model", "--json", "--samples", "50").out)
    assert by_model == by_file
    assert by_model["strict"]["f1"] == pytest.approx(max(entry["f1"] for entry in loaded.metrics))
    assert by_model["strict"]["f1"] > 0.8
    versus = run("evaluate", "dev.jsonl", "model", "--against", "found.jsonl", "--json")
    assert json.loads(versus.out)["against"]["difference"] == 0

    listed = run("suspects", "model", "train.jsonl", "-o", "suspects.jsonl")
    assert listed.status == 0
    lines = [json.loads(line) for line in Path("suspects.jsonl").read_text(encoding="utf-8").splitlines()]
    assert "Paris" in {line["surface"] for line in lines}  # of the first sentence, which nobody annotated
    assert f"{len(lines)} surfaces in {sum(len(line['places']) for line in lines)} places" in listed.out
    assert [line["score"] for line in lines] == sorted((line["score"] for line in lines), reverse=True)


@pytest.mark.parametrize("name", ["text.txt", "dev.jsonl", "dev.conll"])
def test_predictions_keep_text_ids_and_order(name: str, run: Run, files: Path, model: Path) -> None:
    run("convert", "dev.jsonl", "dev.conll")
    assert run("predict", model, name, "-o", "found.jsonl").status == 0
    before, after = Corpus.read(name), Corpus.read("found.jsonl")
    assert [(d.id, d.text, d.tokens) for d in after] == [(d.id, d.text, d.tokens) for d in before]
    assert after.entity_count > 0
    assert all(document.complete is False for document in after)


def test_a_least_probability_leaves_the_surest(run: Run, files: Path, model: Path) -> None:
    counts = []
    for least in (0.0, 0.999, 1.0):
        run("predict", model, "dev.jsonl", "-o", "found.jsonl", "--min-prob", least)
        found = Corpus.read("found.jsonl")
        counts.append(found.entity_count)
        assert all((e.score or 0) >= least for d in found for e in d.entities)
    assert counts[0] == corpus().entity_count
    assert counts == sorted(counts, reverse=True)


def test_a_suspect_is_one_line_whatever_its_text(run: Run, files: Path, model: Path) -> None:
    Corpus([Document("Ann\nLee met\tBob\r\nAcme\nOslo was")]).write("lines.jsonl")
    result = run("suspects", model, "lines.jsonl", "-o", "suspects.jsonl")
    assert result.status == 0
    written = [json.loads(line) for line in Path("suspects.jsonl").read_text(encoding="utf-8").splitlines()]
    assert any("\n" in item["surface"] for item in written)
    assert len(result.out.splitlines()) == len(written) + 1


def test_types_that_only_the_dev_set_has_are_told_with_counts_and_training_goes_on(
    run: Run, files: Path, tiny_encoder: Path
) -> None:
    odd = Document("Ann met X and Y", (Entity(8, 9, "ANIMAL"), Entity(14, 15, "ANIMAL"), Entity(0, 3, "PER")))
    Corpus([*corpus().documents, odd]).write(files / "odd.jsonl")
    result = run(
        "train", "--train", "train.jsonl", "--dev", "odd.jsonl", "--encoder", tiny_encoder, "-o", "model", *FAST
    )
    assert result.status == 0
    assert "2 x dev entity of the type ANIMAL" in result.err
    assert "ANIMAL" in Path("model/README.md").read_text(encoding="utf-8")
    assert "ANIMAL" not in Recognizer.load("model").labels


def test_what_cannot_be_trained_on_is_told_with_counts(run: Run, files: Path, tiny_encoder: Path) -> None:
    text = "Ann of the works of Oslo met Bob"
    wide = Document(text, (Entity(0, 24, "PER"), Entity(29, 31, "PER")))
    Corpus([*corpus().documents, wide, wide.replace(id="w")]).write(files / "wide.jsonl")
    result = run(
        "train", "--train", "wide.jsonl", "--dev", "dev.jsonl", "--encoder", tiny_encoder, "-o", "model", *FAST
    )
    assert result.status == 0
    assert "2 x entity of more than 4 words (not trained on)" in result.err
    assert "2 x entity that begins or ends inside a word (not trained on)" in result.err


def test_without_a_dev_set_a_part_is_held_out(run: Run, files: Path, tiny_encoder: Path) -> None:
    result = run("train", "--train", "train.jsonl", "--encoder", tiny_encoder, "-o", "model", *FAST)
    assert result.status == 0
    assert " held out as a dev set" in result.out
    assert Recognizer.load("model").recipe.select_on == "distant dev"
    assert "labels that have gaps themselves" in Path("model/README.md").read_text(encoding="utf-8")


def test_the_recipe_of_a_model_made_without_a_dev_set_can_be_used_with_one(
    run: Run, files: Path, tiny_encoder: Path
) -> None:
    call = ("train", "--train", "train.jsonl", "--encoder", tiny_encoder, *FAST)
    assert run(*call, "-o", "first").status == 0
    assert run(*call, "-o", "second", "--dev", "dev.jsonl", "--recipe", "first/recipe.toml").status == 0
    assert Recognizer.load("second").recipe.select_on == "clean dev"


def test_a_file_that_is_complete_for_some_types_is_not_so_for_all_in_silence(
    run: Run, files: Path, tiny_encoder: Path
) -> None:
    Corpus.read("train.jsonl").map(lambda one: one.replace(complete=frozenset({"PER"}))).write("people.jsonl")
    call = ("train", "--train", "train.jsonl", "--complete", "people.jsonl", "--encoder", tiny_encoder, *FAST)
    refused = run(*call, "-o", "model", "--strict")
    assert refused.status == 2
    assert "document that says it is complete for PER" in refused.err
    assert "document that says it is complete for PER" in run(*call, "-o", "model").err


def test_a_complete_file_makes_the_rest_of_it_known(run: Run, files: Path, tiny_encoder: Path) -> None:
    kept = []
    for option in ("--train", "--complete"):
        result = run(
            "train", "--train", "one.jsonl", option, "train.jsonl", "--dev", "dev.jsonl", "--method", "span",
            "--encoder", tiny_encoder, "-o", f"model{option}", *FAST,
        )  # fmt: skip
        assert result.status == 0
        kept.append(Recognizer.load(f"model{option}").metrics[0]["kept"])
    assert kept[0] > kept[1] > 0


def test_a_recipe_beside_a_model_repeats_it(run: Run, files: Path, tiny_encoder: Path) -> None:
    data = ("train", "--train", "train.jsonl", "--dev", "dev.jsonl")
    assert run(*data, "--encoder", tiny_encoder, "-o", "first", "--method", "weighted", *FAST).status == 0
    assert run(*data, "--recipe", "first/recipe.toml", "-o", "second").status == 0
    first, second = contents(files / "first"), contents(files / "second")
    assert first == second


def test_a_caution_is_told_once_and_the_run_goes_on(run: Run, files: Path, tiny_encoder: Path) -> None:
    result = run(
        "train", "--train", "train.jsonl", "--dev", "dev.jsonl", "--encoder", tiny_encoder, "-o", "model", *FAST,
        "--set", "policy=weighted", "--set", "loss=nrces",
    )  # fmt: skip
    assert result.status == 0
    assert result.err.count("nrces fades") == 1
    assert result.err.startswith("caution: ")


def test_strict_training_refuses_what_cannot_be_trained_on(run: Run, files: Path, tiny_encoder: Path) -> None:
    wide = Document("Ann of the works of Oslo", (Entity(0, 24, "PER"),), id="w")
    Corpus([*corpus().documents, wide]).write(files / "wide.jsonl")
    before = contents(files)
    data = ("train", "--train", "wide.jsonl", "--dev", "dev.jsonl", "--encoder", tiny_encoder, "-o", "model", *FAST)
    result = run(*data, "--strict")
    assert result.status == 2
    assert "1 x entity of more than 4 words (not trained on) (w). Mend the input, or leave out --strict" in result.err
    assert contents(files) == before


def test_options_win_over_a_recipe_and_set_wins_over_options(run: Run, files: Path, tiny_encoder: Path) -> None:
    (files / "r.toml").write_text('seed = 5\nmethod = "span"\n[train]\nepochs = 9\nclip = 0.5\n', encoding="utf-8")
    data = ("train", "--train", "train.jsonl", "--dev", "dev.jsonl", "--encoder", tiny_encoder, "--recipe", "r.toml")
    assert run(*data, "-o", "model", "--epochs", "8", "--set", "train.epochs=1", "--seed", "6").status == 0
    recipe = Recognizer.load("model").recipe
    assert (recipe.method, recipe.seed, recipe.train.epochs, recipe.train.clip) == ("span", 6, 1, 0.5)


def test_strict_predictions_refuse_what_is_not_read_whole(run: Run, files: Path, model: Path) -> None:
    (files / "long.txt").write_text(f"Ann met {'x' * 500}\n", encoding="utf-8")
    assert run("predict", model, "long.txt", "-o", "found.jsonl", "--strict").status == 2
    assert not (files / "found.jsonl").exists()
    for command in (("predict", model, "long.txt", "-o", "found.jsonl"), ("evaluate", "long.txt", model)):
        told = run(*command)
        assert (told.status, "1 x word of more than" in told.err) == (0, True)
        assert run(*command, "--strict").status == 2


# Calls that are wrong

TRAIN = ("train", "--train", "train.jsonl", "--dev", "dev.jsonl", "-o", "out", "--encoder", "TINY")
WRONG: dict[str, tuple[tuple[str, ...], str]] = {
    "no entity": (("train", "--train", "bare.jsonl", "-o", "out"), "no entity in the training files"),
    "one entity and no dev set": (
        ("train", "--train", "one.jsonl", "-o", "out", "--encoder", "TINY"),
        "only one training document has an entity",
    ),
    "no dev set to select on": (
        ("train", "--train", "train.jsonl", "-o", "out", "--set", "select_on=clean dev"),
        "no dev set is given: name one with --dev",
    ),
    "training file": (
        ("train", "--train", "trian.jsonl", "-o", "out"),
        "trian.jsonl: no such file; did you mean train.jsonl?",
    ),
    "malformed file": (("train", "--train", "broken.jsonl", "-o", "out"), "broken.jsonl:1: "),
    "method": ((*TRAIN, "--method", "weigted"), "there is no method 'weigted'; did you mean 'weighted'?"),
    "encoder": (
        (*TRAIN[:-1], "minlm"),
        "there is no encoder 'minlm': neither a directory nor to be had from the hub; did you mean 'minilm'?",
    ),
    "head": ((*TRAIN, *SPANS, "--set", "model.head=concta"), "there is no head 'concta'; did you mean 'concat'?"),
    "decoder": ((*TRAIN, "--set", "decode.how=gredy"), "there is no decoder 'gredy'; did you mean 'greedy'?"),
    "policy": ((*TRAIN, "--set", "policy=uniforn"), "there is no policy 'uniforn'; did you mean 'uniform'?"),
    "setting of a policy": (
        (*TRAIN, *SPANS, "--set", "policy.ration=1"),
        "there is no setting of the policy uniform 'ration'; did you mean 'ratio'?",
    ),
    "loss": ((*TRAIN, "--set", "loss=nrcse"), "there is no loss 'nrcse'; did you mean 'nrces'?"),
    "setting of a loss": ((*TRAIN, *SPANS, "--set", "loss.reducton=sum"), "did you mean 'reduction'?"),
    "value of a caution": (
        (*TRAIN, "--set", "policy=weighted", "--set", "loss=nrces", "--set", "loss.w=wide"),
        "loss.w = 'wide'",
    ),
    "setting": ((*TRAIN, "--set", "train.epoch=3"), "there is no setting 'train.epoch'; did you mean 'train.epochs'?"),
    "value": ((*TRAIN, "--set", "train.epochs=many"), "train.epochs = 'many': input should be a valid integer"),
    "word without =": ((*TRAIN, "--set", "train.epochs"), "expected key=value"),
    "threshold": ((*TRAIN, "--set", "decode.thresholds.PRE=0.5"), "there is no label 'PRE'; did you mean 'PER'?"),
    "threshold that nothing would be scored with": (
        (*TRAIN[:3], *TRAIN[5:], "--set", "select_on=none", "--set", "decode.thresholds.PRE=0.5"),
        "there is no label 'PRE'; did you mean 'PER'?",
    ),
    "epochs": ((*TRAIN, "--epochs", "0"), "train.epochs = 0"),
    "seed": ((*TRAIN, "--seed", "-1"), "seed = -1"),
    "width and head": ((*TRAIN, *SPANS, "--set", "model.max_width=0"), "the concat head embeds widths"),
    "recipe that is none": ((*TRAIN, "--recipe", "text.txt"), "text.txt: not TOML"),
    "recipe that is not there": ((*TRAIN, "--recipe", "nowhere.toml"), "nowhere.toml: no such file"),
    "recipe of another method": (
        (*TRAIN, "--recipe", "RECIPE", "--method", "uniform"),
        "--method uniform: leave one of them out",
    ),
    "pickled encoder": ((*TRAIN[:-1], "PICKLED"), "pytorch_model.bin holds Python objects"),
    "empty encoder": ((*TRAIN[:-1], "EMPTY"), "no model.safetensors in this encoder's directory"),
    "damaged encoder": ((*TRAIN[:-1], "DAMAGED"), "cannot be used: "),
    "model as encoder": ((*TRAIN[:-1], "MODEL"), "of its weights"),
    "output that is a file": ((*TRAIN[:6], "dev.jsonl"), "dev.jsonl: exists already"),
    "output that is a model": ((*TRAIN[:6], "MODEL"), "exists already"),
    "output that is a folder": ((*TRAIN[:6], "EMPTY"), "exists already"),
    "output in no folder": ((*TRAIN[:6], "no/where/model"), "the folder no/where does not exist"),
    "model that is not there": (
        ("predict", "nowhere", "text.txt", "-o", "out.jsonl"),
        "nowhere: there is no such folder",
    ),
    "model that is a file": (
        ("predict", "text.txt", "text.txt", "-o", "out.jsonl"),
        "text.txt: a file, expected the folder that goldgap train wrote; the model comes first",
    ),
    "model that is empty": (
        ("predict", "EMPTY", "text.txt", "-o", "out.jsonl"),
        "EMPTY: it has no manifest.json, expected",
    ),
    "folder of another kind": (("predict", "FOREIGN", "text.txt", "-o", "out.jsonl"), "not a model of goldgap"),
    "model with a missing file": (("predict", "LACKING", "text.txt", "-o", "out.jsonl"), "labels.json is missing"),
    "model with a further file": (
        ("predict", "ADDED", "text.txt", "-o", "out.jsonl"),
        "a file that the manifest does not list: notes.txt",
    ),
    "model with an altered file": (
        ("predict", "ALTERED", "text.txt", "-o", "out.jsonl"),
        "model.safetensors was altered",
    ),
    "suspects of no model": (("suspects", "EMPTY", "train.jsonl", "-o", "out.jsonl"), "EMPTY: it has no manifest.json"),
    "suspects with an altered model": (("suspects", "ALTERED", "train.jsonl", "-o", "out.jsonl"), "was altered"),
    "scores of an altered model": (("evaluate", "dev.jsonl", "ALTERED"), "model.safetensors was altered"),
    "scores of an empty folder": (("evaluate", "dev.jsonl", "EMPTY"), "EMPTY: it has neither .ann files nor a"),
    "scores of nothing": (
        ("evaluate", "dev.jsonl", "nowhere"),
        "nowhere: no such file or folder, expected",
    ),
    "scores of a misspelt file": (("evaluate", "dev.jsonl", "dve.jsonl"), "did you mean dev.jsonl?"),
    "input that is not there": (("predict", "MODEL", "txet.txt", "-o", "out.jsonl"), "did you mean text.txt?"),
    "malformed input": (("predict", "MODEL", "broken.jsonl", "-o", "out.jsonl"), "broken.jsonl:1: "),
    "predictions of no format": (("predict", "MODEL", "text.txt", "-o", "out.xyz"), "belongs to no format"),
    "predictions in no folder": (("predict", "MODEL", "text.txt", "-o", "no/out.jsonl"), "does not exist"),
    "predictions onto a model": (("predict", "MODEL", "text.txt", "-o", "MODEL"), "it is read by this command"),
    "suspects in no folder": (("suspects", "MODEL", "train.jsonl", "-o", "no/out.jsonl"), "does not exist"),
    "suspects onto a model": (("suspects", "MODEL", "train.jsonl", "-o", "MODEL"), "a folder"),
}


@pytest.fixture
def stand_ins(files: Path, tiny_encoder: Path, model: Path) -> dict[str, Path]:
    """What the words in capitals stand for."""

    def copy(of: Path, name: str, change: Callable[[Path], Any]) -> Path:
        shutil.copytree(of, files / name)
        change(files / name)
        return files / name

    def alter(folder: Path) -> None:
        data = bytearray((folder / "model.safetensors").read_bytes())
        data[len(data) // 2] ^= 1
        (folder / "model.safetensors").write_bytes(data)

    def pickled(folder: Path) -> None:
        (folder / "model.safetensors").rename(folder / "pytorch_model.bin")

    (files / "EMPTY").mkdir()
    with commit_directory(files / "FOREIGN") as folder:
        (folder / "a.txt").write_text("a", encoding="utf-8")
    (files / "recipe.toml").write_text('method = "weighted"\n', encoding="utf-8")
    return {
        "TINY": tiny_encoder,
        "RECIPE": files / "recipe.toml",
        "PICKLED": copy(tiny_encoder, "PICKLED", pickled),
        "DAMAGED": copy(tiny_encoder, "DAMAGED", lambda folder: (folder / "model.safetensors").write_bytes(b"x" * 99)),
        "MODEL": copy(model, "MODEL", lambda folder: None),
        "LACKING": copy(model, "LACKING", lambda folder: (folder / "labels.json").unlink()),
        "ADDED": copy(model, "ADDED", lambda folder: (folder / "notes.txt").touch()),
        "ALTERED": copy(model, "ALTERED", alter),
        "EMPTY": files / "EMPTY",
        "FOREIGN": files / "FOREIGN",
    }


@pytest.mark.parametrize(("arguments", "told"), WRONG.values(), ids=WRONG)
def test_a_wrong_call_is_one_sentence_and_leaves_everything_as_it_was(
    arguments: tuple[str, ...], told: str, run: Run, files: Path, stand_ins: dict[str, Path]
) -> None:
    before = contents(files)
    result = run(*(stand_ins.get(argument, argument) for argument in arguments))
    assert result.status == 2, result.err
    assert told in result.err
    assert result.err.startswith("goldgap: ")
    assert result.err.count("\n") == 1
    assert contents(files) == before
