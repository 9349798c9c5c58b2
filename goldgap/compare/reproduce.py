"""The tables of the papers: what to run for each, and our numbers beside theirs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

from pydantic import Field

from goldgap.compare.contender import contender
from goldgap.compare.contest import Contest, Ended, Watch, judged, run_all
from goldgap.compare.datasets import WhoseLabels, read_dataset
from goldgap.compare.runs import Data, Runs
from goldgap.core.config import Settings, read_toml
from goldgap.core.errors import InputError
from goldgap.train.compose import parse_settings

_NONE_HERE = "no experiments here; name the folder of them in a checkout of goldgap with --experiments"


class Row(Settings):
    """One line of a table.

    contender   what we run at bench scale: a method, with settings of its own if need be
    full        what we run in the paper's setting, if that is another
    paper       what the paper prints, by its corpus, as in "conll2003", "conll2003/distant" or "conll2003/0.7"
    """

    name: str
    contender: str
    full: str = ""
    paper: dict[str, float] = Field(default_factory=dict)


class Part(Settings):
    """Corpora of a table, ours and the paper's, with the same damage.

    corpus    left out: one that only the paper has
    phrases   what is outside of the corpus's list of phrases is known not to be an entity
    whole     ours is not cut to bench scale
    first     training sentences of a whole one; left out: all
    seeds     where they are not as many as in the other parts
    settings  of all rows on this corpus at bench scale, as KEY=VALUE
    distant_dev   the dictionary's labels of the dev set are scored as well, to see what selecting on them gives
    """

    corpus: str = ""
    full: str
    labels: WhoseLabels = "gold"
    drop: list[float] = Field(default_factory=list)
    phrases: bool = False
    whole: bool = False
    first: int = 0
    seeds: int = 0
    settings: list[str] = Field(default_factory=list)
    distant_dev: bool = False

    def place(self, drop: float | None) -> str:
        """What the paper's number is found under."""
        labels = [] if self.labels == "gold" else [self.labels]
        return "/".join([self.full, *labels, *([] if drop is None else [f"{drop:g}"])])


class Experiment(Settings):
    """A table of a paper.

    claim       what the paper says of it, if it says anything
    needs       what must be made first, beside the corpora
    score       the set whose F1 it shows
    baseline    the row that others are tested against
    mean        each row has its mean over all parts and masks as well
    encoder     the paper's, for --full
    settings    of all rows at bench scale, as KEY=VALUE; {data} stands for the folder of the corpora
    """

    paper: str
    table: str
    title: str
    claim: str = ""
    needs: str = ""
    score: Literal["test", "dev"] = "test"
    baseline: str
    seeds: int = Field(3, ge=1)
    mean: bool = False
    encoder: str = "bert-base-cased"
    settings: list[str] = Field(default_factory=list)
    parts: list[Part]
    rows: list[Row]


def find_experiment(name: str, folder: Path) -> Experiment:
    """The experiment in a file, or with a name in the folder."""
    path = Path(name) if name.endswith(".toml") else folder / f"{name}.toml"
    if not name.endswith(".toml") and not folder.is_dir():
        raise InputError(_NONE_HERE, path=folder)
    if not path.is_file():
        known = ", ".join(sorted(file.stem for file in folder.glob("*.toml"))) or "none"
        raise InputError(f"there is no experiment {name!r} in {folder}; known: {known}")
    experiment = read_toml(Experiment, path)
    names = [row.name for row in experiment.rows]
    if experiment.baseline not in names:
        raise InputError(f"the baseline {experiment.baseline!r} is not one of the rows {', '.join(names)}", path=path)
    return experiment


def experiments_in(folder: Path) -> list[tuple[str, Experiment]]:
    """All experiments of a folder by name."""
    found = [(path.stem, find_experiment(path.stem, folder)) for path in sorted(folder.glob("*.toml"))]
    if not found:
        raise InputError(_NONE_HERE, path=folder)
    return found


class PartRuns(NamedTuple):
    """The runs of one part of a table."""

    part: Part
    data: Data
    contest: Contest
    ended: Ended


def run_parts(
    experiment: Experiment,
    folder: Path,
    store: Runs,
    *,
    shared: list[dict[str, Any]],
    full: bool = False,
    seeds: int | None = None,
    watch: Watch,
    stopped: Callable[[], bool],
) -> list[PartRuns]:
    """Every run of a table, part by part; what is missing of any is told before the first.

    folder   of the data
    shared   settings above those of the file, the outermost last
    full     the paper's corpora and settings instead of bench scale
    """
    given = []
    for part in experiment.parts:
        if not (part.full if full else part.corpus):
            continue
        data = _data(part, folder, full=full)
        own = [] if full else [_settings(texts, folder) for texts in (experiment.settings, part.settings)]
        given.append((part, data, _contest(experiment, part, [*own, *shared], full=full, seeds=seeds)))
    return [
        PartRuns(part, data, contest, run_all(contest, data, store, watch=watch, stopped=stopped))
        for part, data, contest in given
    ]


def judged_parts(experiment: Experiment, done: Sequence[PartRuns]) -> list[tuple[Data, dict[str, Any]]]:
    """The data and the comparison of each part; rows carry the paper's name and number."""
    told = []
    for part, data, contest, ended in done:
        result = judged(contest, data, ended)
        for condition in result["conditions"]:
            condition["place"] = part.place(condition["drop"])
            for row, told_as in zip(condition["contenders"], experiment.rows, strict=True):
                row["paper"] = told_as.paper.get(condition["place"])
        told.append((data, result))
    return told


def _data(part: Part, folder: Path, *, full: bool) -> Data:
    return read_dataset(
        part.full if full else part.corpus,
        folder,
        labels=part.labels,
        phrases=part.phrases,
        bench=not full and not part.whole,
        first=0 if full else part.first,
        distant_dev=part.distant_dev,
    )


def _settings(texts: list[str], folder: Path) -> dict[str, Any]:
    return parse_settings([text.replace("{data}", str(folder)) for text in texts])


def _contest(
    experiment: Experiment, part: Part, shared: list[dict[str, Any]], *, full: bool, seeds: int | None
) -> Contest:
    texts = [(row.name, (row.full or row.contender) if full else row.contender) for row in experiment.rows]
    return Contest(
        [contender(text, *shared, name=name) for name, text in texts],
        list(range(seeds or part.seeds or experiment.seeds)),
        experiment.baseline,
        part.drop,
    )
