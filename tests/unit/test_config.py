"""Settings refuse what they do not know, say why, and survive the way through TOML."""

from __future__ import annotations

import time
from enum import StrEnum
from pathlib import Path
from typing import Any

import pytest
from pydantic import Field, ValidationError, model_validator

from goldgap.core.config import Settings, load, read_toml, to_toml
from goldgap.core.errors import ConfigError, InputError
from goldgap.distant.rules import MatchRules


class Shape(StrEnum):
    wide = "wide"
    narrow = "narrow"


class Optimizer(Settings):
    rate: float = Field(default=1e-3, gt=0)
    steps: int = 10


class Step(Settings):
    width: int = 1


class Recipe(Settings):
    name: str
    optimizer: Optimizer = Optimizer()
    warmup: Optimizer | None = None
    stages: tuple[Step, ...] = ()
    data: tuple[Path, ...] = ()
    types: frozenset[str] = frozenset()
    shape: Shape = Shape.wide
    seed: int | None = None

    @model_validator(mode="after")
    def _has_data_for_its_types(self) -> Recipe:
        if self.types and not self.data:
            raise ValueError("types without data")
        return self


GOOD: dict[str, Any] = {"name": "demo"}

UNKNOWN_KEYS: list[tuple[dict[str, Any], str, str]] = [
    ({"nmae": "x"}, "nmae", "name"),
    ({"optimizer": {"raet": 1.0}}, "optimizer.raet", "optimizer.rate"),
    ({"warmup": {"raet": 1.0}}, "warmup.raet", "warmup.rate"),
    ({"stages": [{}, {"widht": 1}]}, "stages.1.widht", "stages.1.width"),
]


@pytest.mark.parametrize(("values", "key", "nearest"), UNKNOWN_KEYS)
def test_an_unknown_key_names_the_nearest(values: dict[str, Any], key: str, nearest: str) -> None:
    with pytest.raises(ConfigError, match=f"there is no setting '{key}'; did you mean '{nearest}'\\? Known: "):
        load(Recipe, GOOD | values)


def test_an_unknown_key_lists_the_keys_of_its_own_group() -> None:
    with pytest.raises(ConfigError, match=r"Known: optimizer\.rate, optimizer\.steps$"):
        load(Recipe, GOOD | {"optimizer": {"zzz": 1}})


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ({"rate": 1.0}, "there is no setting 'rate'; did you mean optimizer.rate or warmup.rate?$"),
        ({"optimizer": {"seed": 1}}, "there is no setting 'optimizer.seed'; did you mean seed?$"),
    ],
)
def test_a_setting_of_another_group_is_named(values: dict[str, Any], told: str) -> None:
    with pytest.raises(ConfigError, match=told.replace("?", r"\?").replace(".", r"\.")):
        load(Recipe, GOOD | values)


WRONG_VALUES: list[tuple[dict[str, Any], str]] = [
    ({"name": 5}, "name = 5: input should be a valid string"),
    ({"seed": "7"}, "seed = '7': input should be a valid integer"),
    ({"seed": 7.5}, "seed = 7.5: input should be a valid integer"),
    ({"seed": True}, "seed = True: input should be a valid integer"),
    ({"optimizer": {"rate": -1.0}}, "optimizer.rate = -1.0: input should be greater than 0"),
    ({"optimizer": {"rate": "fast"}}, "optimizer.rate = 'fast': input should be a valid number"),
    ({"optimizer": 3}, "optimizer = 3: input should be an object"),
    ({"stages": [{"width": "x"}]}, "stages.0.width = 'x': input should be a valid integer"),
    ({"data": "train.conll"}, "data = 'train.conll': input should be a valid array"),
    ({"shape": "round"}, "shape = 'round': input should be 'wide' or 'narrow'"),
    ({"types": ["PER"]}, "value error, types without data"),
]


@pytest.mark.parametrize(("values", "message"), WRONG_VALUES)
def test_a_wrong_value_names_key_found_and_expected(values: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load(Recipe, GOOD | values)
    assert message in str(caught.value)
    assert not str(caught.value).startswith(" = ")


def test_a_wrong_choice_of_a_real_group_lists_the_choices() -> None:
    with pytest.raises(ConfigError, match=r"^case = 'folded': input should be 'exact', 'fold' or 'smart'$"):
        load(MatchRules, {"case": "folded"})


def test_an_unknown_key_of_a_real_group_names_the_nearest() -> None:
    with pytest.raises(ConfigError, match="there is no setting 'plural'; did you mean 'plurals'"):
        load(MatchRules, {"plural": True})


def test_a_missing_key_is_called_missing() -> None:
    with pytest.raises(ConfigError, match=r"^name is missing, and it has no default$"):
        load(Recipe, {})


def test_several_problems_are_told_at_once() -> None:
    with pytest.raises(ConfigError, match=r"seed = 'a': .*; there is no setting 'x1'"):
        load(Recipe, GOOD | {"x1": 1, "seed": "a"})


def test_five_problems_are_told_in_full() -> None:
    with pytest.raises(ConfigError) as caught:
        load(MatchRules, {f"key{number}": 1 for number in range(5)})
    assert [f"'key{number}'" in str(caught.value) for number in range(5)] == [True] * 5
    assert "more" not in str(caught.value)


def test_of_very_many_problems_the_first_are_told_and_the_rest_counted() -> None:
    with pytest.raises(ConfigError, match=r"and 995 more$") as caught:
        load(MatchRules, {f"key{number}": 1 for number in range(1000)})
    assert len(str(caught.value)) < 1000


@pytest.mark.slow
def test_a_file_of_a_hundred_thousand_keys_is_refused_quickly(tmp_path: Path) -> None:
    (tmp_path / "recipe.toml").write_text("".join(f"k{number}=1\n" for number in range(100_000)))
    started = time.process_time()
    with pytest.raises(ConfigError, match=r"and 99,995 more$"):
        read_toml(MatchRules, tmp_path / "recipe.toml")
    assert time.process_time() - started < 5


def test_settings_cannot_be_changed() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        MatchRules().case = "fold"  # type: ignore[misc]


BROKEN_TOML = {
    "no value": ("case = ", "Invalid value"),
    "key twice": ('case = "fold"\ncase = "fold"', "Cannot overwrite a value"),
    "not TOML at all": ('{"case": "fold"}', "Invalid statement"),
    "number of 5000 digits": ("case = " + "9" * 5000, "Exceeds the limit"),
    "depth of 100000": ("case = " + "[" * 100_000, "recursion"),
}


@pytest.mark.parametrize(("text", "reason"), BROKEN_TOML.values(), ids=BROKEN_TOML)
def test_broken_toml_names_the_file_and_the_reason(tmp_path: Path, text: str, reason: str) -> None:
    (tmp_path / "recipe.toml").write_text(text)
    with pytest.raises(ConfigError, match=rf"recipe\.toml: not TOML: .*{reason}"):
        read_toml(MatchRules, tmp_path / "recipe.toml")


def test_a_wrong_value_in_a_file_names_the_file(tmp_path: Path) -> None:
    (tmp_path / "recipe.toml").write_text("plurals = 1")
    with pytest.raises(ConfigError, match=r"recipe\.toml: plurals = 1: input should be a valid boolean"):
        read_toml(MatchRules, tmp_path / "recipe.toml")


def test_a_missing_file_names_its_nearest_neighbour(tmp_path: Path) -> None:
    (tmp_path / "recipe.toml").touch()
    with pytest.raises(InputError, match=r"did you mean recipe\.toml\?"):
        read_toml(MatchRules, tmp_path / "recipes.toml")


def test_a_file_over_a_megabyte_is_refused(tmp_path: Path) -> None:
    (tmp_path / "recipe.toml").write_bytes(b"#" * (1 << 20) + b"#")
    with pytest.raises(InputError, match="more than the limit of 1,048,576"):
        read_toml(MatchRules, tmp_path / "recipe.toml")


ROUND_TRIPS: list[Settings] = [
    MatchRules(),
    MatchRules(case="exact", overlapping=True, ambiguous="drop", plurals=True),
    Recipe(name="plain"),
    Recipe(name='quotes " and \\ and \n and 日本', seed=0),
    Recipe(
        name="full",
        optimizer=Optimizer(rate=1e-5, steps=1),
        warmup=Optimizer(rate=0.1 + 0.2),
        stages=(Step(width=1), Step(width=2)),
        data=(Path("a/b.conll"), Path("c.jsonl")),
        types=frozenset({"PER", "LOC"}),
        shape=Shape.narrow,
        seed=2**53 + 1,
    ),
]


@pytest.mark.parametrize("settings", ROUND_TRIPS, ids=lambda settings: getattr(settings, "name", "rules"))
def test_settings_written_to_toml_and_read_are_equal(tmp_path: Path, settings: Settings) -> None:
    (tmp_path / "recipe.toml").write_text(to_toml(settings), encoding="utf-8")
    assert read_toml(type(settings), tmp_path / "recipe.toml") == settings


def test_toml_holds_every_setting_with_its_value() -> None:
    assert to_toml(MatchRules()) == 'case = "smart"\noverlapping = false\nambiguous = "first"\nplurals = false\n'


def test_a_setting_that_is_none_is_left_out_of_toml() -> None:
    assert "seed" not in to_toml(Recipe(name="x"))
