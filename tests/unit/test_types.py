"""What the types are, as users say it: where it comes from, and what is said of input that is wrong."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from goldgap import Corpus, Document, Entity, Recognizer
from goldgap.train.build import build
from goldgap.train.compose import read_descriptions, recipe_for
from goldgap.train.describe import known_descriptions
from goldgap.train.recipe import Recipe
from goldgap.train.resolve import resolved
from goldgap.train.split import Split
from tests.command import Run
from tests.slow.test_training import corpus
from tests.unit.test_bi_encoder import TEXTS, recipe_of, recognizer_of

# Where a description comes from


def descriptions(*labels: str, dev: tuple[str, ...] = (), **groups: object) -> dict[str, list[str]]:
    """What is read for each type of a corpus."""

    def documents(names: tuple[str, ...]) -> Corpus:
        return Corpus([Document("Ann", (Entity(0, 3, name),)) for name in names])

    made: Recipe = resolved(recipe_for("binder", groups), Split(documents(labels), documents(dev), "clean dev"))
    return {name: type_.descriptions for name, type_ in made.types.items()}


def test_a_description_is_the_one_given_or_one_that_we_know_or_the_name() -> None:
    given = {"ORG": {"description": ["firms", "parties"]}}
    found = descriptions("PER", "ORG", "WorkOfFiction", types=given)
    known = known_descriptions()["per"]
    assert found == {"PER": [known], "ORG": ["firms", "parties"], "WorkOfFiction": ["work of fiction"]}


def test_by_name_alone_a_type_that_we_know_is_its_name() -> None:
    given = {"ORG": {"description": "firms"}}
    found = descriptions("PER", "ORG", "cell_line", types=given, bi_encoder={"describe": "name"})
    assert found == {"PER": ["PER"], "ORG": ["firms"], "cell_line": ["cell line"]}


def test_known_descriptions_are_found_in_either_case_and_are_sentences() -> None:
    assert descriptions("Chemical", "chemical") == {
        name: [known_descriptions()["chemical"]] for name in ("Chemical", "chemical")
    }
    for name, text in known_descriptions().items():
        assert name == name.lower()
        assert text.endswith(".")
        assert 3 <= len(text.split()) <= 30


@pytest.mark.parametrize("describe", ["atomic", "prototypes"])
def test_types_that_are_not_read_have_no_description(describe: str) -> None:
    assert descriptions("PER", "ORG", bi_encoder={"describe": describe}) == {}


def test_a_type_that_was_held_out_may_be_described() -> None:
    given = {"PER": {"description": "people"}, "ORG": {"description": "firms"}}
    assert descriptions("PER", dev=("ORG",), types=given) == {"PER": ["people"]}


def test_a_file_of_types_has_a_text_a_list_or_a_group_for_each(tmp_path: Path) -> None:
    file = tmp_path / "types.toml"
    file.write_text('PER = "people"\n"creative-work" = ["films", "books"]\n[LOC]\ndescription = "places"\n')
    expected = {"PER": ["people"], "creative-work": ["films", "books"], "LOC": ["places"]}
    assert descriptions(*expected, **read_descriptions(file)) == expected


# Training


FILES = {
    "empty.toml": 'PER = ""\n',
    "no-text.toml": "PER = []\n",
    "number.toml": "PER = 3\n",
    "no-toml.toml": "PER: people\n",
    "wrong-key.toml": '[PER]\ndescripton = "people"\n',
    "unknown.toml": 'PERS = "people"\n',
    "fine.toml": 'PER = "people"\n',
}
TRAINING = {
    "no description": (
        ["--set", "bi_encoder.fallback=refuse"],
        "no description of the type Odd: write one in types.O",
    ),
    "empty setting": (
        ["--set", "types.PER.description="],
        "types.PER.description is empty: say in a sentence what P",
    ),
    "blank among several": (["--set", 'types.PER.description=["a", " "]'], "types.PER.description is empty"),
    "empty in a file": (["--types", "empty.toml"], "types.PER.description is empty: say in a sentence what PER is"),
    "no text in a file": (["--types", "no-text.toml"], "types.PER.description is empty: say in a sentence what PER is"),
    "number in a file": (["--types", "number.toml"], "number.toml: PER: description.str = 3: input should be a valid"),
    "number": (["--set", "types.PER.description=3"], "types.PER.description.str = 3: input should be a valid string"),
    "no TOML": (["--types", "no-toml.toml"], "no-toml.toml: not TOML: Expected '=' after a key"),
    "no file": (["--types", "nowhere.toml"], "nowhere.toml: no such file"),
    "wrong key": (["--types", "wrong-key.toml"], "wrong-key.toml: PER: description is missing, and it has no default"),
    "type not in the data": (
        ["--types", "unknown.toml"],
        "types.PERS: there is no type in the training files 'PERS'; did you mean 'PER'?",
    ),
    "method that reads no types": (
        ["--types", "fine.toml", "--method", "uniform"],
        "types: the method uniform does not read what a type is; use binder",
    ),
    "types that are not read": (
        ["--types", "fine.toml", "--set", "bi_encoder.describe=atomic"],
        "bi_encoder.describe = atomic: descriptions are not read; leave types out, or set it to text",
    ),
    "loss without a bi-encoder": (
        ["--method", "uniform", "--set", "loss=contrastive"],
        "loss = contrastive: only a bi-encoder has types to be near; set model.kind=bi-encoder",
    ),
    "thresholds without a dev set": (
        ["--set", "bi_encoder.thresholds=dev", "--set", "select_on=none"],
        "bi_encoder.thresholds = dev, but there is no dev set: name one with --dev",
    ),
    "encoder that cannot read": (
        ["--encoder", "bilstm"],
        "encoder.name = bilstm: it cannot read what a type is; use another method, as uniform",
    ),
    "any width": (["--set", "model.max_width=0"], "model.max_width = 0: a bi-encoder embeds widths"),
    "wide spans without scores": (
        ["--set", "policy=weighted", "--set", "policy.score_mode=eval", "--set", "bi_encoder.train_all=true"],
        "policy.score_mode = eval: a second pass scores no span wider than model.max_width",
    ),
    "unknown setting": (["--set", "bi_encoder.threshold=dev"], "did you mean 'bi_encoder.thresholds'?"),
    "unknown way to describe": (["--set", "bi_encoder.describe=words"], "bi_encoder.describe = 'words': input should"),
}


@pytest.mark.parametrize(("arguments", "expected"), TRAINING.values(), ids=TRAINING)
def test_wrong_types_are_refused_before_training(arguments: list[str], expected: str, run: Run, tmp_path: Path) -> None:
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    odd = Document("Odd works", (Entity(0, 3, "Odd"),))
    Corpus([*corpus(False).documents, odd, odd]).write(tmp_path / "train.jsonl")
    method = [] if "--method" in arguments else ["--method", "binder"]
    result = run("train", "--train", "train.jsonl", "-o", "model", *method, *arguments)
    assert result.status == 2
    assert expected in " ".join(result.err.split())
    assert "Traceback" not in result.err
    assert not (tmp_path / "model").exists()


# Prediction


@pytest.fixture(scope="module")
def models(tiny_encoder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of each kind, untrained."""
    place = tmp_path_factory.mktemp("models")
    recognizer_of(recipe_of(tiny_encoder)).save(place / "text")
    recognizer_of(recipe_of(tiny_encoder, model={"several": True})).save(place / "several")
    recognizer_of(recipe_of(tiny_encoder, bi_encoder={"describe": "atomic"})).save(place / "atomic")
    recipe = recipe_for("span", {"encoder": {"name": str(tiny_encoder)}})
    recipe = resolved(recipe, Split(corpus(), corpus(), "clean dev"))
    Recognizer(build(recipe, corpus()).eval(), recipe, [], "").save(place / "span")
    return place


CANNOT = "does not read what a type is, so it can have no further ones; train one with the method binder"
PREDICTION = {
    "empty": ("text", ["X="], "the description of X is empty: say in a sentence what it is"),
    "blank": ("text", ["X= \n "], "the description of X is empty: say in a sentence what it is"),
    "no text": ("text", ["X"], "--type 'X': expected NAME=TEXT, as in Vessel='ships, boats and other craft'"),
    "no name": ("text", ["=ships"], "--type '=ships': expected NAME=TEXT"),
    "twice": ("text", ["X=ships", "X=boats"], "--type X was given twice; put both descriptions into one"),
    "known already": ("text", ["PER=people"], "the model has a type PER already; give the new one another name"),
    "no name for a type": ("text", ["A\tB=ships"], "has a control character"),
    "span model": ("span", ["X=ships"], f"this model (method span) {CANNOT}"),
    "atomic types": ("atomic", ["X=ships"], f"this model (method binder) {CANNOT} and bi_encoder.describe = text"),
}


@pytest.mark.parametrize(("model", "types", "expected"), PREDICTION.values(), ids=PREDICTION)
def test_wrong_further_types_are_refused(
    model: str, types: list[str], expected: str, models: Path, run: Run, tmp_path: Path
) -> None:
    (tmp_path / "in.txt").write_text("Ann met Bob\n")
    options = [word for pair in types for word in ("--type", pair)]
    result = run("predict", models / model, "in.txt", "-o", "out.jsonl", *options)
    assert result.status == 2
    assert expected in " ".join(result.err.split())
    assert not (tmp_path / "out.jsonl").exists()


@pytest.mark.parametrize("name", ["Vessel", "self", "work of art"])
def test_a_further_type_is_found_where_one_of_the_same_description_is_and_as_surely(
    name: str, models: Path, run: Run, tmp_path: Path
) -> None:
    (tmp_path / "in.txt").write_text("Ann met Bob\nthe works of Oslo\n")
    twin = f" {name} = {TEXTS['LOC']}"
    assert run("predict", models / "several", "in.txt", "-o", "out.jsonl", "--type", twin).status == 0
    places: dict[str, dict[tuple[int, int, int], float]] = {}
    for number, line in enumerate((tmp_path / "out.jsonl").read_text().splitlines()):
        for entity in json.loads(line)["entities"]:
            places.setdefault(entity["label"], {})[number, entity["start"], entity["end"]] = entity["score"]
    assert len(places[name]) > 3
    assert places[name] == pytest.approx(places["LOC"], abs=1e-4)
    assert places[name] != pytest.approx(places["ORG"], abs=1e-3)


def test_a_model_that_is_saved_with_a_further_type_says_so(models: Path, tmp_path: Path) -> None:
    Recognizer.load(models / "several").with_types(Vessel="ships and boats").save(tmp_path / "more")
    more = Recognizer.load(tmp_path / "more")
    assert "Vessel" in more.labels
    assert more.recipe.types["Vessel"].description == "ships and boats"
    assert "- Vessel: ships and boats" in more.card
    again = more.with_types(Award="medals")
    assert ("Award" in again.labels, "- Award: medals" in again.card) == (True, True)
