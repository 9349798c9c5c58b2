"""Checkpoints: a run that was killed at any instant goes on as if nothing had happened.

A checkpoint is a directory that appears whole or not at all, with a hash of every file. Weights and the optimiser's
state are safetensors, the rest is JSON. Nothing random is in it: order, draws and dropout follow from (seed, step).
Nor are vectors that were read from a file and stay as they are: they would be most of it.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from goldgap.core.errors import ConfigError, IntegrityError, RunError
from goldgap.core.manifest import commit_directory, digest, verify_directory
from goldgap.core.notes import Notes
from goldgap.core.reading import read_text
from goldgap.core.writing import remove_stale, write_atomic
from goldgap.models.model import Model
from goldgap.train.deciding import deciding_settings
from goldgap.train.recipe import Recipe

Metrics = dict[str, Any]
Weights = dict[str, Tensor]
KEPT = 2
IDENTITY = "identity.json"


@dataclass(slots=True)
class RunState:
    """Where a run is.

    step         steps taken
    evaluated    the step after which the dev set was scored last
    sums         of what steps did since then
    metrics      one entry an evaluation
    best_f1, best_step, waited    the best score, where it was, and evaluations since
    best         the weights at that step
    average      of the weights of all steps, where it is asked for
    """

    step: int = 0
    evaluated: int = 0
    sums: dict[str, float] = field(default_factory=dict)
    metrics: list[Metrics] = field(default_factory=list)
    best_f1: float = -1.0
    best_step: int = 0
    waited: int = 0
    best: Weights | None = None
    average: Weights | None = None

    def add(self, taken: Mapping[str, float]) -> None:
        """Count a step and what it did."""
        self.step += 1
        for name, value in {**taken, "steps": 1}.items():
            self.sums[name] = self.sums.get(name, 0) + value


class Checkpoints:
    """The checkpoints of one run, in a folder of their own.

    identity   what the run is: a checkpoint of another recipe or of other data is refused
    """

    def __init__(self, folder: Path, identity: Mapping[str, Any]) -> None:
        self.folder, self.identity = folder, dict(identity)

    def save(self, state: RunState, model: Model, optimiser: torch.optim.Optimizer) -> None:
        """Write a checkpoint, then remove all but the last few."""
        from safetensors.torch import save_file

        require_numbers(model, state.step)
        target = self.folder / f"step-{state.step:08d}"
        if target.exists():  # damaged, or the run would have gone on from it
            shutil.rmtree(target)
        with commit_directory(target) as place:
            save_file(contiguous(trained_weights(model)), place / "model.safetensors")
            save_file(_optimiser_tensors(model, optimiser), place / "optimiser.safetensors")
            for name in _FURTHER:
                if (weights := getattr(state, name)) is not None:
                    save_file(contiguous(weights), place / f"{name}.safetensors")
            values = {name: getattr(state, name) for name in _PLAIN}
            (place / "state.json").write_text(json.dumps({"identity": self.identity, "state": values}), "utf-8")
        # Later ones are damaged as well: they must not push out those that are whole.
        kept = [place for place in self._found() if place <= target][-KEPT:]
        for place in self._found():
            if place not in kept:
                shutil.rmtree(place)

    def restore(self, model: Model, optimiser: torch.optim.Optimizer, notes: Notes) -> RunState:
        """The newest checkpoint that is whole, put into model and optimiser; a fresh state when there is none."""
        from safetensors.torch import load_file

        remove_stale(self.folder)
        for place in reversed(self._found()):
            try:
                names = verify_directory(place)
            except IntegrityError as error:
                notes.change(f"checkpoint passed over: {error}")
                continue
            saved = json.loads(read_text(place / "state.json"))
            same_run(saved["identity"], self.identity, place)
            put_back(model, load_file(place / "model.safetensors"))
            _load_optimiser(model, optimiser, load_file(place / "optimiser.safetensors"))
            further = {name: place / f"{name}.safetensors" for name in _FURTHER}
            values = saved["state"]
            values |= {name: load_file(file) for name, file in further.items() if file.name in names}
            return RunState(**values)
        return RunState()

    def _found(self) -> list[Path]:
        return sorted(self.folder.glob("step-*"))


def claim_work(folder: Path, identity: Mapping[str, Any]) -> None:
    """Say what a folder is for, or refuse one that another run began."""
    path = folder / IDENTITY
    if path.exists():
        try:
            theirs = json.loads(read_text(path))
        except ValueError:
            theirs = None
        if not isinstance(theirs, dict):
            raise IntegrityError("not what a run wrote; remove this folder to start anew", path=path)
        same_run(theirs, identity, folder)
    elif not any(folder.glob("step-*")):  # a checkpoint says itself whose it is
        with write_atomic(path) as handle:
            json.dump(identity, handle)


def same_run(theirs: Mapping[str, Any], mine: Mapping[str, Any], place: Path) -> None:
    """Refuse to go on with what another run has left."""
    for name in {**mine, **theirs}:
        there, here = theirs.get(name), mine.get(name)
        if there != here:
            raise ConfigError(
                f"{name} is {_short(there)} there and {_short(here)} here: a run goes on with the same recipe and "
                "data. Call it as it was called, or remove the folder to start anew",
                path=place,
            )


_PLAIN = ("step", "evaluated", "sums", "metrics", "best_f1", "best_step", "waited")
_FURTHER = ("best", "average")
_GIVEN = ".unseen"
"""Vectors of words that are in no training document: an encoder keeps them apart from those that it trains."""


def run_identity(recipe: Recipe, data: Mapping[str, str]) -> dict[str, Any]:
    """Every setting that decides the result by its dotted name, and the hashes of the data."""
    flat: dict[str, Any] = dict(data)

    def walk(values: Mapping[str, Any], before: str) -> None:
        for key, value in values.items():
            if isinstance(value, dict):
                walk(value, f"{before}{key}.")
            else:
                flat[before + key] = value

    files = recipe.files()
    walk(deciding_settings(recipe, files), "")
    return flat | {f"sha256 of {name}": digest(path) for name, path in files.items()}


def require_numbers(model: Model, step: int) -> None:
    """Refuse weights that nothing can be learned from any more, before they take the place of good ones."""
    for name, parameter in model.named_parameters():
        if not bool(parameter.isfinite().all()):
            raise RunError(f"{name} is not a number any more after step {step}; no later checkpoint was saved")


def trained_weights(model: Model) -> Weights:
    """The weights that training changes; all others follow from the recipe and its files."""
    given = {name for name, parameter in model.named_parameters() if not parameter.requires_grad}
    given |= {name for name, _ in model.named_buffers() if name.endswith(_GIVEN)}
    return {name: tensor for name, tensor in model.state_dict().items() if name not in given}


def put_back(model: Model, weights: Weights) -> None:
    """Give a model of the same recipe the weights that training changed."""
    model.load_state_dict(model.state_dict() | weights)


def contiguous(weights: Mapping[str, Tensor]) -> Weights:
    """As they can be written, on the processor."""
    return {name: tensor.detach().cpu().contiguous() for name, tensor in weights.items()}


def _optimiser_tensors(model: Model, optimiser: torch.optim.Optimizer) -> Weights:
    """The state of each parameter, under the parameter's name."""
    tensors = {}
    for name, parameter in model.named_parameters():
        for key, value in optimiser.state.get(parameter, {}).items():
            tensors[f"{key}:{name}"] = torch.as_tensor(value).cpu().contiguous()
    return tensors


def _load_optimiser(model: Model, optimiser: torch.optim.Optimizer, tensors: Weights) -> None:
    parameters = dict(model.named_parameters())
    for combined, tensor in tensors.items():
        key, _, name = combined.partition(":")
        optimiser.state[parameters[name]][key] = tensor.to(parameters[name].device)


def _short(value: object) -> str:
    text = str(value)
    return f"{text[:12]}..." if len(text) == 64 else text
