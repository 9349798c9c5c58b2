"""The recipe: every setting of a training run. A result without its recipe does not count."""

from __future__ import annotations

from dataclasses import fields
from typing import Any, Literal

from pydantic import Field

from goldgap.core.config import Settings, load
from goldgap.core.errors import ConfigError
from goldgap.core.registry import Registry, unknown_name
from goldgap.losses import Loss, losses
from goldgap.unknown import Policy, policies

Value = bool | int | float | str


class EncoderSettings(Settings):
    """name: `minilm`, a directory, or a name on the hub."""

    name: str = "minilm"
    shapes: bool = True
    pooling: Literal["first-last", "first-first"] = "first-last"
    layers: Literal["last", "mix"] = "last"


class ModelSettings(Settings):
    """max_width: words of the widest span that the model can find."""

    head: Literal["concat", "pair"] = "concat"
    max_width: int = 10
    hidden: int = 150
    width_size: int = 150
    dropout: float = 0.2
    features: Literal["ffnn", "span"] = "ffnn"


class Chosen(Settings):
    """A registered variant by name, with settings of its own."""

    name: str
    settings: dict[str, Value] = Field(default_factory=dict)


class TrainSettings(Settings):
    """epochs and rates; the rates fall in a line to 0 after the warm-up share, unless the schedule is constant."""

    epochs: int = 6
    batch_size: int = 16
    token_budget: int = 4096
    encoder_rate: float = 5e-5
    head_rate: float = 1e-3
    weight_decay: float = 0.01
    warmup: float = 0.1
    schedule: Literal["linear", "constant"] = "linear"
    clip: float = 1.0
    certain_negatives: bool = True
    overlap: int = 24


class DecodeSettings(Settings):
    """how: none (nested), greedy or dp; min_prob: least probability of an entity."""

    how: str = "greedy"
    min_prob: float = 0.0


class Recipe(Settings):
    """Everything that decides a run, but for the data."""

    method: str = "uniform"
    seed: int = 0
    encoder: EncoderSettings = EncoderSettings()
    model: ModelSettings = ModelSettings()
    policy: Chosen = Chosen(name="uniform")
    loss: Chosen = Chosen(name="cross-entropy")
    train: TrainSettings = TrainSettings()
    decode: DecodeSettings = DecodeSettings()

    def make_policy(self) -> Policy:
        made: Policy = _make(policies, "policy", self.policy)
        return made

    def make_loss(self) -> Loss:
        made: Loss = _make(losses, "loss", self.loss)
        return made


def _make(registry: Registry[Any], kind: str, chosen: Chosen) -> Any:
    """The variant with its settings; a setting that it does not have is answered with the nearest."""
    variant = registry.get(chosen.name)
    known = [field.name for field in fields(variant)]
    for name in chosen.settings:
        if name not in known:
            raise ConfigError(unknown_name(f"setting of the {kind} {chosen.name}", name, known))
    return variant(**chosen.settings)


METHODS: dict[str, dict[str, Any]] = {
    "span": {"policy": {"name": "all"}, "loss": {"name": "cross-entropy", "settings": {"reduction": "sum"}}},
    "uniform": {"policy": {"name": "uniform"}},
    "weighted": {"policy": {"name": "weighted"}},
    "top-neg": {"policy": {"name": "top-neg"}},
    "nrces": {
        "policy": {"name": "fraction"},
        "loss": {"name": "nrces", "settings": {"w": 2.0, "reduction": "sum"}},
    },
}
"""Method name -> what it changes of the default recipe."""


def recipe_for(method: str, **changes: Any) -> Recipe:
    """The complete recipe of a method; `changes` are further groups of settings, which win."""
    if method not in METHODS:
        raise ConfigError(unknown_name("method", method, METHODS))
    return load(Recipe, {"method": method, **METHODS[method], **changes})
