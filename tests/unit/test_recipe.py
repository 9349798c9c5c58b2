"""Recipes: settings from words, layers that win, names that are told with the nearest, files that come back."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from goldgap.core.config import load, to_toml, toml_values
from goldgap.core.errors import ConfigError, UnknownNameError
from goldgap.losses import losses
from goldgap.models.span import heads
from goldgap.train.compose import parse_settings, recipe_for
from goldgap.train.deciding import deciding_settings
from goldgap.train.methods import METHODS
from goldgap.train.recipe import Recipe, TwoStepSettings
from goldgap.train.two_step import exploratory
from goldgap.unknown import policies

# Words


@pytest.mark.parametrize(
    ("pair", "expected"),
    [
        ("train.epochs=3", {"train": {"epochs": 3}}),
        ("train.head_rate=1e-3", {"train": {"head_rate": 1e-3}}),
        ("model.several=true", {"model": {"several": True}}),
        ("policy=top-neg", {"policy": {"name": "top-neg"}}),
        ("policy.name=top-neg", {"policy": {"name": "top-neg"}}),
        ("policy.ratio=0.1", {"policy": {"settings": {"ratio": 0.1}}}),
        ("policy.settings.ratio=0.1", {"policy": {"settings": {"ratio": 0.1}}}),
        ("policy.settings={ratio = 0.1}", {"policy": {"settings": {"ratio": 0.1}}}),
        ("loss.reduction=sum", {"loss": {"settings": {"reduction": "sum"}}}),
        ("decode.thresholds.PER=0.5", {"decode": {"thresholds": {"PER": 0.5}}}),
        ("seed=4", {"seed": 4}),
        ("select_on=clean dev", {"select_on": "clean dev"}),
        ('select_on="clean dev"', {"select_on": "clean dev"}),
        (" train.epochs = 3 ", {"train": {"epochs": 3}}),
        ("encoder.name=dir/a=b", {"encoder": {"name": "dir/a=b"}}),
        ("encoder.vectors=", {"encoder": {"vectors": ""}}),
        (f"seed={'9' * 5000}", {"seed": "9" * 5000}),
        (f"seed={'[' * 5000}", {"seed": "[" * 5000}),
    ],
    ids=lambda value: value[:30] if isinstance(value, str) else "",
)
def test_settings_are_read_from_words(pair: str, expected: dict[str, Any]) -> None:
    assert parse_settings([pair]) == expected


def test_settings_of_several_words_are_one_tree_and_the_last_wins() -> None:
    pairs = ["loss=nrces", "train.epochs=3", "loss.w=4.0", "train.clip=0", "train.epochs=5"]
    assert parse_settings(pairs) == {
        "loss": {"name": "nrces", "settings": {"w": 4.0}},
        "train": {"epochs": 5, "clip": 0},
    }


@pytest.mark.parametrize("pair", ["train.epochs", "=3", " =3", ""])
def test_a_word_that_is_no_setting_is_refused(pair: str) -> None:
    with pytest.raises(ConfigError, match=r"expected key=value, as in train\.epochs=3"):
        parse_settings([pair])


def test_a_group_that_has_a_value_is_no_group() -> None:
    with pytest.raises(ConfigError, match=r"--set train\.epochs=3: train was given a value already"):
        parse_settings(["train=1", "train.epochs=3"])


# Layers


def test_later_layers_win_and_leave_the_rest_alone() -> None:
    recipe = recipe_for("uniform", {"train": {"epochs": 3, "clip": 0.0}}, {"train": {"epochs": 4}})
    assert (recipe.train.epochs, recipe.train.clip) == (4, 0.0)
    assert recipe.train.batch_size == Recipe(method="span").train.batch_size
    assert recipe.method == "uniform"


def test_a_method_changes_only_what_it_names() -> None:
    for name, method in METHODS.items():
        recipe = recipe_for(name).model_dump(mode="json")
        plain = Recipe(method="span").model_dump(mode="json")
        for group in ("encoder", "model", "train", "decode"):
            named = method.settings.get(group, {})
            assert recipe[group] == {**plain[group], **named}, f"{name}: {group}"
        assert recipe["policy"]["name"] == method.settings["policy"]["name"]


def test_another_variant_forgets_the_settings_of_the_one_it_replaces() -> None:
    first = {"policy": {"name": "weighted", "settings": {"ratio": 0.2, "mu": 4.0}}}
    assert recipe_for("uniform", first, {"policy": {"name": "top-neg"}}).policy.settings == {}
    changed = recipe_for("uniform", first, {"policy": {"name": "top-neg", "settings": {"ratio": 0.1}}})
    assert changed.policy.settings == {"ratio": 0.1}
    same = recipe_for("uniform", first, {"policy": {"name": "weighted", "settings": {"mu": 2.0}}})
    assert same.policy.settings == {"ratio": 0.2, "mu": 2.0}


def test_settings_without_a_name_are_those_of_the_variant_that_is_there() -> None:
    recipe = recipe_for("uniform", parse_settings(["loss.reduction=sum", "policy.ratio=0.5"]))
    assert (recipe.loss.name, recipe.loss.settings) == ("cross-entropy", {"reduction": "sum"})
    assert (recipe.policy.name, recipe.policy.settings["ratio"]) == ("uniform", 0.5)
    assert recipe.make_policy() == policies.get("uniform")(ratio=0.5)
    assert recipe.make_loss() == losses.get("cross-entropy")(reduction="sum")


def test_layers_are_not_changed() -> None:
    layer: dict[str, Any] = {"policy": {"settings": {"ratio": 0.1}}}
    settings = {name: repr(method.settings) for name, method in METHODS.items()}
    recipe_for("weighted", layer, {"policy": {"settings": {"ratio": 0.7}}})
    assert layer == {"policy": {"settings": {"ratio": 0.1}}}
    assert {name: repr(method.settings) for name, method in METHODS.items()} == settings


# Names


@pytest.mark.parametrize("method", list(METHODS))
def test_a_method_that_is_misspelt_is_told_with_the_nearest(method: str) -> None:
    with pytest.raises(ConfigError, match=f"there is no method '{method}x'; did you mean '{method}'"):
        recipe_for(f"{method}x")


def test_a_setting_of_a_variant_that_stands_beside_its_name_is_told_its_place() -> None:
    with pytest.raises(ConfigError, match=r"no setting 'policy.ratio'.*under \[policy\.settings\]"):
        recipe_for("uniform", {"policy": {"ratio": 0.1}})
    with pytest.raises(ConfigError, match=r"no setting 'train.epoch'; did you mean 'train.epochs'\?(?!.*settings\])"):
        recipe_for("uniform", {"train": {"epoch": 1}})


@pytest.mark.parametrize("method", [5, None, ["uniform"]])
def test_a_method_that_is_no_name_is_told_as_well(method: Any) -> None:
    with pytest.raises(ConfigError, match="there is no method"):
        recipe_for(method)


@pytest.mark.parametrize(
    ("pair", "nearest"),
    [
        ("train.epoch=1", r"there is no setting 'train\.epoch'; did you mean 'train\.epochs'"),
        ("trian.epochs=1", "there is no setting 'trian'; did you mean 'train'"),
        ("model.haed=pair", r"did you mean 'model\.head'"),
        ("decode.min_probability=1", r"did you mean 'decode\.min_prob'"),
        ("policy.settings.ration.x=1", r"policy\.settings\.ration"),
        ("train.epochs=0", r"train\.epochs = 0: input should be greater than or equal to 1"),
        ("train.epochs=2.5", r"train\.epochs = 2\.5: input should be a valid integer"),
        ("train.epochs=three", r"train\.epochs = 'three': input should be a valid integer"),
        ("train.schedule=cosine", r"train\.schedule = 'cosine': input should be 'linear' or 'constant'"),
        ("model.dropout=1.0", r"model\.dropout = 1\.0: input should be less than 1"),
        ("train.head_rate=nan", r"train\.head_rate"),
        ("train.head_rate=-1", r"train\.head_rate = -1"),
        ("model.max_width=0", r"the concat head embeds widths"),
        ("seed=-1", "seed = -1"),
        (f"seed={1 << 32}", "seed = 4294967296"),
        ("select_on=dev", "select_on = 'dev': input should be 'clean dev', 'distant dev' or 'none'"),
        ("policy=3", r"policy\.name = 3"),
        ("train=3", "train = 3"),
    ],
)
def test_a_wrong_setting_is_told_by_name(pair: str, nearest: str) -> None:
    with pytest.raises(ConfigError, match=nearest):
        recipe_for("uniform", parse_settings([pair]))


@pytest.mark.parametrize("name", list(policies))
def test_a_policy_that_is_misspelt_is_told_with_the_nearest(name: str) -> None:
    with pytest.raises(UnknownNameError, match=rf"there is no policy '{name}x'; did you mean '{name}'"):
        recipe_for("uniform", {"policy": {"name": f"{name}x"}}).make_policy()


@pytest.mark.parametrize("name", list(losses))
def test_a_loss_that_is_misspelt_is_told_with_the_nearest(name: str) -> None:
    with pytest.raises(UnknownNameError, match=rf"there is no loss '{name}x'; did you mean '{name}'"):
        recipe_for("uniform", {"loss": {"name": f"{name}x"}}).make_loss()


@pytest.mark.parametrize(
    ("pairs", "told"),
    [
        (["policy.ration=1"], "there is no setting of the policy uniform 'ration'; did you mean 'ratio'"),
        (["policy.ratio=much"], r"policy\.ratio = 'much': input should be a valid number"),
        (["policy.ratio=-0.1"], r"policy\.ratio = -0\.1: input should be greater than or equal to 0"),
        (["policy.ratio=inf"], r"policy\.ratio = inf: input should be a finite number"),
        (["policy.count=round"], r"policy\.count = 'round': input should be 'ceil' or 'floor\+1'"),
        (["policy=weighted", "policy.t_min=nan"], r"policy\.t_min = nan"),
        (["policy=top-neg", "policy.ratio=1.5"], r"policy\.ratio = 1\.5: input should be less than or equal to 1"),
        (["policy=fraction", "policy.share=2"], r"policy\.share = 2"),
        (["policy=fraction", "policy.seed=-1"], r"policy\.seed = -1"),
        (["policy=all", "policy.ratio=1"], "there is no setting of the policy all 'ratio'"),
        (["loss=nrces", "loss.w=0"], r"loss\.w = 0: input should be greater than 0"),
        (["loss=gce", "loss.q=0"], r"loss\.q = 0: input should be greater than 0"),
        (["loss.reducton=sum"], "there is no setting of the loss cross-entropy 'reducton'; did you mean 'reduction'"),
    ],
)
def test_a_wrong_setting_of_a_variant_is_told_by_name(pairs: list[str], told: str) -> None:
    recipe = recipe_for("uniform", parse_settings(pairs))
    with pytest.raises(ConfigError, match=told):
        (recipe.make_policy(), recipe.make_loss())


def test_settings_that_contradict_each_other_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"model\.max_width = 30, but train\.overlap = 24"):
        recipe_for("uniform", {"model": {"max_width": 30}, "train": {"overlap": 24}})
    unlimited = {"model": {"head": "pair", "max_width": 0}}
    assert recipe_for("uniform", unlimited).model.max_width == 0
    with pytest.raises(ConfigError, match="the policy fraction numbers the spans"):
        recipe_for("uniform", unlimited, {"policy": {"name": "fraction"}})


def test_spans_called_none_need_a_loss_that_sees_them() -> None:
    with pytest.raises(ConfigError, match=r"two_step\.none with loss = nrces"):
        recipe_for("softmax", {"loss": {"name": "nrces"}, "two_step": {"none": 0.1}})


def test_the_words_of_jieba_decide_a_run_that_looks_them_up(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    general, own = tmp_path / "dict.txt", tmp_path / "own.txt"
    own.write_text("a word\n", encoding="utf-8")
    monkeypatch.setattr("goldgap.train.recipe.jieba_list", lambda: general)
    assert recipe_for("flat").files() == recipe_for("lebert").files() == {"jieba": general}
    with_file: dict[str, Any] = {"lexicon": {"file": str(own)}}
    assert recipe_for("flat", with_file).files() == {"lexicon.file": own}
    with_file["lexicon"]["jieba"] = True
    assert recipe_for("flat", with_file).files() == {"lexicon.file": own, "jieba": general}
    assert not recipe_for("crf").files()
    assert not recipe_for("bilstm-crf", {"lexicon": {"file": str(own), "vectors": str(own)}}).files()
    assert not recipe_for("crf", {"encoder": {"vectors": str(own)}}).files(), "nothing reads it"


# Cautions


@pytest.mark.parametrize(
    ("pairs", "cautions"),
    [
        (["policy=weighted", "loss=nrces"], 1),
        (["policy=weighted", "loss=nrces", "loss.w=9.9"], 1),
        (["policy=weighted", "loss=nrces", "loss.w=10"], 0),
        (["policy=top-neg", "loss=nrces"], 0),
        (["policy=uniform", "loss=nrces"], 0),
        (["policy=weighted", "loss=gce"], 1),
        (["policy=uniform", "loss=gce"], 0),
        (["model.kind=bi-encoder", "decode.joint=true", "bi_encoder.thresholds=dev"], 1),
        (["model.kind=bi-encoder", "decode.joint=true"], 0),
        (["policy=weighted", "loss=nrces", "loss.w=wide"], 0),  # an error of its own, when the loss is made
    ],
)
def test_combinations_known_to_go_wrong_are_cautioned_against(pairs: list[str], cautions: int) -> None:
    assert len(recipe_for("uniform", parse_settings(pairs)).cautions()) == cautions


@pytest.mark.parametrize("method", list(METHODS))
def test_no_method_of_ours_is_cautioned_against(method: str) -> None:
    assert recipe_for(method).cautions() == []


# Files


@pytest.mark.parametrize("method", list(METHODS))
def test_every_method_makes_its_parts_and_comes_back_from_toml(method: str, tmp_path: Path) -> None:
    recipe = recipe_for(method)
    recipe.make_policy()
    recipe.make_loss()
    heads.get(recipe.model.head)
    (tmp_path / "recipe.toml").write_text(to_toml(recipe), encoding="utf-8")
    values = toml_values(tmp_path / "recipe.toml")
    assert load(Recipe, values) == recipe
    assert recipe_for(values["method"], values) == recipe


def test_a_recipe_with_everything_set_comes_back_from_toml() -> None:
    recipe = recipe_for(
        "weighted",
        {
            "seed": 7,
            "select_on": "none",
            "decode": {"thresholds": {"PER": 0.5, "a b.c": 0.25}, "min_prob": 0.1},
            "policy": {"settings": {"count": "floor+1", "mu": 2.0}},
            "encoder": {"name": "a dir/ü"},
        },
    )
    assert load(Recipe, tomllib.loads(to_toml(recipe))) == recipe


@pytest.mark.parametrize("text", ["seed = ", "[[", "seed = 1\nseed = 2", "a = " + "[" * 5000, f"seed = {'1' * 5000}"])
def test_a_file_that_is_not_toml_is_told_with_its_name(text: str, tmp_path: Path) -> None:
    (tmp_path / "r.toml").write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError, match=r"r\.toml: not TOML"):
        toml_values(tmp_path / "r.toml")


@pytest.mark.parametrize(
    ("method", "pairs", "named"),
    [
        ("span", ["tagger.angle=true", "bi_encoder.size=3"], ["bi_encoder.size", "tagger.angle"]),
        (
            "span",
            ["lexicon.size=9", "two_step.share=0.2", "decode.joint=true"],
            ["decode.joint", "lexicon", "two_step"],
        ),
        ("crf", ["model.head=pair", "train.known_weight=0.5"], ["model.head", "train.known_weight"]),
        ("binder", ["model.features=span", "train.known_weight=0.5"], ["model.features", "train.known_weight"]),
        ("two-step", ["two_step.share=0.2", "tagger.scheme=bio"], []),
        ("lebert", ["lexicon.size=9"], []),
        ("lebert", ["lexicon.size=9", "lexicon.vectors=v.bin"], ["lexicon.size"]),
        ("bilstm-crf", ["encoder.size=9", "encoder.vectors=v.bin"], ["encoder.size"]),
        ("span", ["model.head=pair", "model.max_width=0", "model.width_size=9"], ["model.width_size"]),
        ("binder", ["model.head=pair", "model.width_size=9"], ["model.head"]),
        ("binder", ["bi_encoder.size=9", "decode.joint=true", "decode.rank_by=margin"], []),
        ("softmax", ["train.known_weight=0.5", "two_step.none=0.1"], []),
        ("binder", ["decode.rank_by=margin", "decode.how=none"], ["decode.rank_by"]),
    ],
)
def test_settings_that_nothing_reads_are_told(method: str, pairs: list[str], named: list[str]) -> None:
    cautions = recipe_for(method, parse_settings(pairs)).cautions()
    assert len(cautions) == len(named)
    assert all(caution.startswith(name) for caution, name in zip(sorted(cautions), named, strict=True))


def test_patience_without_scores_to_wait_for_is_told() -> None:
    lines = recipe_for("span", {"select_on": "none", "train": {"patience": 2}}).cautions()
    assert any(line.startswith("train.patience changes nothing") for line in lines)


@pytest.mark.parametrize("value", [80.0, -1.0, float("nan")])
def test_a_least_probability_is_a_share(value: float) -> None:
    with pytest.raises(ConfigError, match=r"decode\.thresholds\.PER"):
        recipe_for("span", {"decode": {"thresholds": {"PER": value}}})


def test_a_margin_that_only_auto_looks_at_is_told() -> None:
    settings: dict[str, dict[str, Any]] = {"two_step": {"explore": 1, "share": 0.1, "margin": 2.0}}
    assert any(line.startswith("two_step.margin changes nothing") for line in recipe_for("crf", settings).cautions())
    settings["two_step"]["share"] = "auto"
    assert not recipe_for("crf", settings).cautions()


def test_a_statistic_that_auto_does_not_look_at_is_told() -> None:
    settings = {"two_step": {"explore": 1, "share": "auto", "statistic": "marginal"}}
    assert any(line.startswith("two_step.statistic changes nothing") for line in recipe_for("crf", settings).cautions())
    settings["two_step"]["share"] = 0.1
    assert not recipe_for("crf", settings).cautions()


def test_the_method_decides_where_settings_of_its_own_are_not_those_of_the_exploratory_training() -> None:
    def exploring(method: str, *layers: dict[str, Any]) -> Recipe:
        return recipe_for(method, *layers, {"two_step": {"explore": 1, "method": "top-neg", "share": "auto"}})

    span = exploring("span")
    same = {**span.model_dump(mode="json", exclude_none=True), "method": "uniform"}
    uniform = exploring("uniform", same)
    weights = [exploratory(one).train.known_weight for one in (span, uniform)]
    assert weights == [0.2, 1.0]
    assert deciding_settings(span, ()) != deciding_settings(uniform, ())
    single = [one.model_copy(update={"two_step": TwoStepSettings()}) for one in (span, uniform)]
    assert deciding_settings(single[0], ()) == deciding_settings(single[1], ())
