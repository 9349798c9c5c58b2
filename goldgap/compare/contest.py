"""Methods x seeds x gaps on the same data: every run once, then means, intervals, verdicts and a recommendation."""

from __future__ import annotations

import itertools
import statistics
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from goldgap.compare.runs import Data, Run, Runs, late_entries, missampled_share
from goldgap.core.corpus import Corpus
from goldgap.core.errors import ConfigError
from goldgap.core.notes import Notes
from goldgap.distant.mask import mask
from goldgap.encode.encoder import BILSTM, FLAT
from goldgap.evaluate.bootstrap import ENOUGH, difference, holm, interval_of, resampled_f1
from goldgap.evaluate.counts import Counts
from goldgap.evaluate.scores import evaluate
from goldgap.train.loop import Observer, Stopped
from goldgap.train.methods import METHODS
from goldgap.train.place import InUseError
from goldgap.train.recipe import Recipe, parse_settings, recipe_for

SIGNIFICANT = 0.05
"""Largest adjusted p-value of a difference that counts."""
SAMPLES = 2000
PAUSE = 1.0
"""Seconds between two looks at runs that another process is at."""


@dataclass(frozen=True, slots=True)
class Contender:
    """A method with settings of its own, under a name; seedless."""

    name: str
    method: str
    layers: tuple[Mapping[str, Any], ...]

    def recipe(self, seed: int) -> Recipe:
        return recipe_for(self.method, *self.layers, {"seed": seed})


def contender(text: str, *layers: Mapping[str, Any], name: str | None = None) -> Contender:
    """`nrces`, or `nrces:policy=top-neg:loss.w=10`: a method and where it differs; `layers` hold for all contenders.

    A method that is what it is by its encoder, as bilstm-crf, keeps it whatever encoder the others have.
    """
    method, *pairs = text.split(":")
    if method in METHODS and METHODS[method].settings.get("encoder", {}).get("name") in (BILSTM, FLAT):
        layers = tuple(_without_encoder(layer) for layer in layers)
    made = Contender(name or text, method, (*layers, parse_settings(pairs)))
    _check(made)
    return made


def _without_encoder(layer: Mapping[str, Any]) -> dict[str, Any]:
    return {**layer, "encoder": {key: value for key, value in layer.get("encoder", {}).items() if key != "name"}}


def _check(one: Contender) -> None:
    """Raise for what cannot be trained, before anything is."""
    recipe = one.recipe(0)
    recipe.make_policy()
    recipe.make_loss()


class Variant(NamedTuple):
    """A contender with one choice of the grid."""

    settings: str
    contender: Contender


def variants(one: Contender, grid: Mapping[str, Sequence[str]]) -> list[Variant]:
    """Every choice of the settings that this contender has; settings that it has not are left out."""
    own: dict[str, Sequence[str]] = {}
    for key, values in grid.items():
        try:
            _check(_with(one, [f"{key}={values[0]}"]))
        except ConfigError:
            continue
        own[key] = values
    chosen = []
    for choice in itertools.product(*own.values()):
        pairs = [f"{key}={value}" for key, value in zip(own, choice, strict=True)]
        variant = _with(one, pairs)
        _check(variant)
        chosen.append(Variant(" ".join(pairs), variant))
    return chosen


def _with(one: Contender, pairs: list[str]) -> Contender:
    return Contender(one.name, one.method, (*one.layers, parse_settings(pairs)))


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
            if all(not variant.settings for one in self.contenders for variant in variants(one, {key: values})):
                raise ConfigError(f"--grid {key}: none of the methods has this setting, or takes {values[0]!r} for it")


class Step(NamedTuple):
    """The run that comes next, for a watcher; `kept` if it is there already."""

    number: int
    total: int
    data: str
    name: str
    seed: int
    kept: bool


Watch = Callable[[Step, Recipe, Data], AbstractContextManager[Observer]]


def compare(
    contest: Contest,
    data: Data,
    store: Runs,
    *,
    watch: Watch = lambda *_: nullcontext(lambda _: None),
    stopped: Callable[[], bool] = lambda: False,
) -> dict[str, Any]:
    """The whole comparison as plain values; runs that are kept in `store` are not done again."""
    tried = {one.name: variants(one, contest.grid) for one in contest.contenders}
    conditions = [_Condition(data, drop) for drop in contest.drops] or [_Condition(data, None)]
    total = len(conditions) * len(contest.seeds) * sum(map(len, tried.values()))
    jobs = [
        _Job(condition, seed, name, settings, one)
        for condition in conditions
        for seed in contest.seeds
        for name, choices in tried.items()
        for settings, one in choices
    ]
    found: dict[int, Run] = {}
    failed: dict[int, str] = {}
    waiting = deque(enumerate(jobs))
    busy = 0
    while waiting:
        number, job = waiting.popleft()
        given, recipe = job.condition.at(job.seed), job.one.recipe(job.seed)
        try:
            with nullcontext() if store.kept(given, recipe) else store.held(given, recipe):
                kept = store.kept(given, recipe) is not None
                step = Step(number + 1, total, given.name, job.name, job.seed, kept)
                with watch(step, recipe, given) as observe:
                    found[number] = store.get(given, recipe, observe=observe, stopped=stopped)
        except InUseError:  # another process is at it: the others first, then it is there, or to be done here
            waiting.append((number, job))
            busy += 1
            if busy >= len(waiting):
                _pause(stopped)
                busy = 0
            continue
        except Stopped:
            raise
        except Exception as error:  # the others go on
            failed[number] = f"{error}" or type(error).__name__
        busy = 0
    tables = [_table(contest, condition, *_of(condition, jobs, found, failed)) for condition in conditions]
    return {
        "baseline": contest.baseline,
        "seeds": list(contest.seeds),
        "grid": {key: list(values) for key, values in contest.grid.items()},
        "files": data.files,
        "types": list(data.test.labels),
        "samples": SAMPLES,
        "conditions": tables,
        "cautions": doubts(data).lines(),
    }


class _Job(NamedTuple):
    """One run of the comparison."""

    condition: _Condition
    seed: int
    name: str
    settings: str
    one: Contender


def _of(
    condition: _Condition, jobs: Sequence[_Job], found: Mapping[int, Run], failed: Mapping[int, str]
) -> tuple[dict[tuple[str, str], list[Run]], dict[str, list[dict[str, Any]]]]:
    """The runs of a condition by contender and settings, in order of the seeds, and what failed by contender."""
    done: dict[tuple[str, str], list[Run]] = {}
    lost: dict[str, list[dict[str, Any]]] = {job.name: [] for job in jobs}
    for number, job in enumerate(jobs):
        if job.condition is not condition:
            continue
        if number in found:
            done.setdefault((job.name, job.settings), []).append(found[number])
        else:
            lost[job.name].append({"seed": job.seed, "settings": job.settings, "why": failed[number]})
    return done, lost


def _pause(stopped: Callable[[], bool]) -> None:
    if stopped():
        raise Stopped("stopped while another process was at the last runs")
    time.sleep(PAUSE)


def doubts(data: Data) -> Notes:
    """What makes scores on the test set say less than they seem to: texts that were trained on, types that were not."""
    notes = Notes()
    texts, labels, tested = {document.text for document in data.train}, data.train.labels, data.test.labels
    for part, corpus in (("dev", data.dev), ("test", data.test)):
        for document in corpus or ():
            if document.text in texts:
                notes.change(f"document of the {part} file that is also trained on", document.id)
            for entity in document.entities:
                if entity.label not in labels:
                    notes.change(f"entity of the type {entity.label} in the {part} file, never trained on", document.id)
    for label in labels:
        if label not in tested:
            notes.change(f"type {label} of the training files that the test file does not have")
    return notes


class _Condition:
    """The data with a share of its training annotations masked, each seed with a mask of its own."""

    def __init__(self, data: Data, drop: float | None) -> None:
        self.drop, self.test = drop, data.test
        self._data = data
        self._made: dict[int, Data] = {}

    def at(self, seed: int) -> Data:
        if self.drop is None:
            return self._data
        if seed not in self._made:
            data = self._data
            train = mask(data.train, self.drop, seed=seed)
            name = f"{data.name}-masked-{self.drop:g}"
            self._made[seed] = Data(name, train, data.dev, data.test, data.files, data.others)
        return self._made[seed]


def _table(
    contest: Contest,
    condition: _Condition,
    done: Mapping[tuple[str, str], list[Run]],
    failed: Mapping[str, list[dict[str, Any]]],
) -> dict[str, Any]:
    """One table of the comparison: a row for each contender, with the choice of the grid that is best on dev."""
    rows: dict[str, dict[str, Any]] = {}
    counts: dict[str, list[list[Counts]]] = {}
    for one in contest.contenders:
        choices = {settings: runs for (name, settings), runs in done.items() if name == one.name}
        row: dict[str, Any] = {"name": one.name, "failed": failed[one.name]}
        if choices:
            chosen = max(choices, key=lambda settings: (len(choices[settings]), _mean_dev(choices[settings])))
            counts[one.name] = [_counts(run, condition.test) for run in choices[chosen]]
            row |= _row(choices[chosen]) | {"settings": chosen}
            if len(choices) > 1:
                row["tried"] = [_tried(settings, runs) for settings, runs in choices.items()]
        rows[one.name] = row
    if counts:
        _judge(rows, counts, contest.baseline)
    sizes = next((run.sizes for runs in done.values() for run in runs), {})
    return {
        "drop": condition.drop,
        "name": condition.at(contest.seeds[0]).name,
        "sizes": sizes,
        "contenders": list(rows.values()),
        "recommended": _recommended(rows),
    }


def _counts(run: Run, test: Corpus) -> list[Counts]:
    return evaluate(test, run.predicted(test), samples=0).strict_counts


def _mean_dev(runs: Sequence[Run]) -> float:
    return statistics.mean(run.dev_f1 for run in runs)


def _tried(settings: str, runs: Sequence[Run]) -> dict[str, Any]:
    return {"settings": settings, "dev_f1": _mean_dev(runs), "f1": statistics.mean(run.scores["f1"] for run in runs)}


def _row(runs: Sequence[Run]) -> dict[str, Any]:
    """Means over the seeds."""
    mean = statistics.mean
    types = sorted({label for run in runs for label in run.scores["per_type"]})
    names = ("precision", "recall", "f1")
    return {
        "method": runs[0].method,
        "select_on": runs[0].select_on,
        "runs": [
            {
                "key": run.key,
                "seed": run.seed,
                **{name: run.scores[name] for name in names},
                "dev_f1": run.dev_f1,
                "seconds": run.seconds,
            }
            for run in runs
        ],
        **{name: mean(run.scores[name] for run in runs) for name in names},
        "sd": statistics.stdev(run.scores["f1"] for run in runs) if len(runs) > 1 else None,
        "dev_f1": _mean_dev(runs),
        "seconds": mean(run.seconds for run in runs),
        "per_type": {
            label: {name: mean(run.scores["per_type"].get(label, {}).get(name, 0.0) for run in runs) for name in names}
            for label in types
        },
        "curve": _curve(runs),
        "missampled": _missampled(runs),
    }


def _curve(runs: Sequence[Run]) -> list[dict[str, float]]:
    """Mean dev scores behind each evaluation that all runs had."""
    names = ("precision", "recall", "f1")
    together = zip(*(run.metrics for run in runs), strict=False)
    return [
        {"epoch": entries[0]["epoch"], **{name: statistics.mean(entry[name] for entry in entries) for name in names}}
        for entries in together
        if all("f1" in entry for entry in entries)
    ]


def _missampled(runs: Sequence[Run]) -> float | None:
    """Share of masked entities among the negatives of the last half of the evaluations; None if nothing was masked."""
    masked = any(entry["missampled"] for run in runs for entry in run.metrics)
    return missampled_share(late_entries(runs)) if masked else None


def _judge(rows: Mapping[str, dict[str, Any]], counts: Mapping[str, list[list[Counts]]], baseline: str) -> None:
    """Add intervals, the difference to the baseline and how often each contender is the best of all."""
    names = list(counts)
    drawn = resampled_f1(list(counts.values()), samples=SAMPLES)  # (sample, contender)
    best = drawn.argmax(1)
    for index, name in enumerate(names):
        rows[name]["interval"] = list(interval_of(drawn[:, index]))
        rows[name]["best_share"] = float((best == index).mean())
    if baseline not in counts:
        return
    base = drawn[:, names.index(baseline)]
    others = [name for name in names if name != baseline]
    found = [difference(base, drawn[:, names.index(name)], rows[name]["f1"] - rows[baseline]["f1"]) for name in others]
    for name, one, adjusted in zip(others, found, holm([one.p_value for one in found]), strict=True):
        seeds = min(len(counts[name]), len(counts[baseline]))
        counted = adjusted < SIGNIFICANT and seeds >= ENOUGH
        rows[name]["against"] = {
            "difference": one.difference,
            "interval": list(one.interval),
            "p_value": one.p_value,
            "adjusted": adjusted,
            "verdict": "undecided" if not counted else "better" if one.difference > 0 else "worse",
        }


def _recommended(rows: Mapping[str, dict[str, Any]]) -> dict[str, Any] | None:
    """The contender with the best mean dev F1, which the test set had no part in choosing, and how sure that is."""
    ranked = sorted((row for row in rows.values() if "dev_f1" in row), key=lambda row: -row["dev_f1"])
    if not ranked:
        return None
    first = ranked[0]
    return {
        "name": first["name"],
        "dev_f1": first["dev_f1"],
        "f1": first["f1"],
        "best_share": first["best_share"],
        "seeds": len(first["runs"]),
        "next": ranked[1]["name"] if len(ranked) > 1 else None,
    }
