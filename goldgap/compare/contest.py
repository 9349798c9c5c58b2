"""Methods x seeds x gaps on the same data: every run once, then a table for each gap."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from goldgap.compare.contender import Contender, variants
from goldgap.compare.judge import SAMPLES, judge
from goldgap.compare.runs import Data, Run, Runs, Slot
from goldgap.core.errors import ConfigError, GoldgapError, InputError
from goldgap.core.notes import Notes
from goldgap.corpus.inspect import without_spaces
from goldgap.distant.mask import mask
from goldgap.train.loop import Observer, Stopped
from goldgap.train.place import InUseError
from goldgap.train.recipe import Recipe

PAUSE = 1.0
"""Seconds between two looks at runs that another process is at."""


@dataclass(frozen=True, slots=True)
class Contest:
    """What is compared.

    drops   shares of the training annotations that are masked, each a table of its own; none: as they are
    grid    values of settings to try; each contender's are chosen by its mean dev F1
    """

    contenders: Sequence[Contender]
    seeds: Sequence[int]
    baseline: str
    drops: Sequence[float] = ()
    grid: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        names = [one.name for one in self.contenders]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ConfigError(f"{twice[0]!r} stands twice among the methods")
        if self.baseline not in names:
            raise ConfigError(f"the baseline {self.baseline!r} is not among the methods {', '.join(names)}")
        for key, values in self.grid.items():
            if len(set(values)) < len(values):
                raise ConfigError(f"--grid {key}={','.join(values)}: a value stands there twice")
            for value in values:
                if not any(variants(one, {key: [value]})[0].settings for one in self.contenders):
                    raise ConfigError(f"--grid {key}: none of the methods has this setting, or takes {value!r} for it")


class Step(NamedTuple):
    """The run that comes next, for a watcher; `kept` if it is there already."""

    number: int
    total: int
    data: str
    name: str
    seed: int
    kept: bool


Watch = Callable[[Step, Recipe, Data], AbstractContextManager[Observer]]


class Ended(NamedTuple):
    """The runs of a contest by the number of their job, and why others failed."""

    conditions: Sequence[_Condition]
    jobs: Sequence[_Job]
    found: dict[int, Run]
    failed: dict[int, str]


def compare(
    contest: Contest,
    data: Data,
    store: Runs,
    *,
    watch: Watch = lambda *_: nullcontext(lambda _: None),
    stopped: Callable[[], bool] = lambda: False,
) -> dict[str, Any]:
    """The whole comparison as plain values; runs that are kept in `store` are not done again."""
    return judged(contest, data, run_all(contest, data, store, watch=watch, stopped=stopped))


def run_all(contest: Contest, data: Data, store: Runs, *, watch: Watch, stopped: Callable[[], bool]) -> Ended:
    """Every run of a contest: those that are kept in `store`, and the others trained, but for those that failed."""
    conditions, jobs = _jobs(contest, data)
    for job in jobs:
        if data.dev is None and job.one.recipe(job.seed).select_on == "none":
            raise ConfigError(
                f"{job.name}: select_on = none and no dev set: methods are compared by their dev scores too"
            )
    found: dict[int, Run] = {}
    failed: dict[int, str] = {}
    slots: dict[int, Slot] = {}
    waiting = deque(range(len(jobs)))
    busy = 0
    while waiting:
        number = waiting.popleft()
        job = jobs[number]
        given, recipe = job.condition.at(job.seed), job.one.recipe(job.seed)
        try:
            slot = slots.get(number) or slots.setdefault(number, store.slot(given, recipe))
            with slot.opened() as run:
                step = Step(number + 1, len(jobs), given.name, job.name, job.seed, run is not None)
                with watch(step, recipe, given) as observe:
                    found[number] = run or slot.train(observe=observe, stopped=stopped)
        except InUseError:  # another process is at it: the others first, then it is there, or to be done here
            waiting.append(number)
            busy += 1
            if busy >= len(waiting):
                _pause(stopped)
                busy = 0
            continue
        except Stopped:
            raise
        except Exception as error:  # the others go on
            failed[number] = _why(error)
        busy = 0
    return Ended(conditions, jobs, found, failed)


def judged(contest: Contest, data: Data, ended: Ended) -> dict[str, Any]:
    """What the runs of a contest say, as plain values."""
    return {
        "baseline": contest.baseline,
        "seeds": list(contest.seeds),
        "grid": {key: list(values) for key, values in contest.grid.items()},
        "files": data.files,
        "types": list(data.test.labels),
        "samples": SAMPLES,
        "conditions": [_table(contest, condition, ended) for condition in ended.conditions],
        "cautions": cautions_on(data, contest.drops).lines(),
    }


class _Job(NamedTuple):
    """One run of the comparison."""

    condition: _Condition
    seed: int
    name: str
    settings: str
    one: Contender


def _jobs(contest: Contest, data: Data) -> tuple[list[_Condition], list[_Job]]:
    """The conditions, and all runs in the order in which they are done."""
    tried = {one.name: variants(one, contest.grid) for one in contest.contenders}
    conditions = [_Condition(data, drop) for drop in contest.drops] or [_Condition(data, None)]
    jobs = [
        _Job(condition, seed, name, settings, one)
        for condition in conditions
        for seed in contest.seeds
        for name, choices in tried.items()
        for settings, one in choices
    ]
    return conditions, jobs


def _why(error: Exception) -> str:
    """What a run failed of."""
    return str(error) if isinstance(error, GoldgapError) else f"{type(error).__name__}: {error}".removesuffix(": ")


def _of(
    condition: _Condition, ended: Ended
) -> tuple[dict[tuple[str, str], list[Run]], dict[str, list[dict[str, Any]]]]:
    """The runs of a condition by contender and settings, in order of the seeds, and what failed by contender."""
    done: dict[tuple[str, str], list[Run]] = {}
    lost: dict[str, list[dict[str, Any]]] = {job.name: [] for job in ended.jobs}
    for number, job in enumerate(ended.jobs):
        if job.condition is not condition:
            continue
        if number in ended.found:
            done.setdefault((job.name, job.settings), []).append(ended.found[number])
        else:
            lost[job.name].append({"seed": job.seed, "settings": job.settings, "why": ended.failed[number]})
    return done, lost


def _pause(stopped: Callable[[], bool]) -> None:
    if stopped():
        raise Stopped("stopped while another process was at the last runs")
    time.sleep(PAUSE)


def cautions_on(data: Data, drops: Sequence[float] = ()) -> Notes:
    """What makes scores on the test set say less than they seem to: texts that were trained on, types that were not.

    drops   shares of the annotations that are masked, which leaves no document complete
    """
    notes = Notes()
    for document in data.train if drops else ():
        if document.complete:
            notes.change("complete document that is masked as the others are, and no longer complete", document.id)
    texts = {without_spaces(document.text) for document in data.train}
    labels = {entity.label for document in data.train for entity in document.entities}
    tested = data.test.labels
    for part, corpus in (("dev", data.dev), ("test", data.test)):
        for document in corpus or ():
            if without_spaces(document.text) in texts:
                notes.change(f"document of the {part} file that is also trained on", document.id)
            for entity in document.entities:
                if entity.label not in labels:
                    notes.change(f"entity of the type {entity.label} in the {part} file, never trained on", document.id)
    for label in labels:
        if label not in tested:
            notes.change(f"type {label} of the training files that the test file does not have")
    return notes


def refuse_empty(data: Data) -> None:
    """Raise where a part has no entity: nothing could be learned, chosen or compared."""
    for part, corpus in (("training", data.train), ("dev", data.dev), ("test", data.test)):
        if corpus is not None and corpus.entity_count == 0:
            raise InputError(f"no entity in the {part} file: give one with annotations")


def masked(data: Data, drop: float | None, seed: int) -> Data:
    """The data as a run with this seed is trained on it: with a share of its training annotations masked."""
    if drop is None:
        return data
    name = f"{data.name}-masked-{drop:g}"
    return Data(name, mask(data.train, drop, seed=seed), data.dev, data.test, data.files, data.others)


class _Condition:
    """The data with a share of its training annotations masked, each seed with a mask of its own."""

    def __init__(self, data: Data, drop: float | None) -> None:
        self.drop, self.test = drop, data.test
        self._data = data
        self._made: dict[int, Data] = {}

    def at(self, seed: int) -> Data:
        if seed not in self._made:
            self._made[seed] = masked(self._data, self.drop, seed)
        return self._made[seed]


def _table(contest: Contest, condition: _Condition, ended: Ended) -> dict[str, Any]:
    """One table of the comparison."""
    done, failed = _of(condition, ended)
    return {
        "drop": condition.drop,
        "name": condition.at(contest.seeds[0]).name,
        "sizes": next((run.sizes for runs in done.values() for run in runs), {}),
        **judge(done, failed, contest.baseline, condition.test),
    }
