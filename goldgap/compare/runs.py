"""One training with its predictions on a test set, kept by what decides it: nothing is paid for twice."""

from __future__ import annotations

import json
import platform
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import torch

from goldgap import __version__
from goldgap.compare.identity import code_hash, key_of
from goldgap.core.config import load
from goldgap.core.corpus import Corpus
from goldgap.core.document import Document, Entity
from goldgap.core.errors import IntegrityError
from goldgap.core.manifest import digest
from goldgap.core.notes import Notes
from goldgap.core.reading import read_text
from goldgap.core.writing import remove_stale, write_atomic
from goldgap.evaluate.scores import evaluate
from goldgap.recognizer import Recognizer
from goldgap.train.deciding import deciding_settings
from goldgap.train.loop import Observer, Seen, Stopped
from goldgap.train.place import held, remove_held
from goldgap.train.recipe import Recipe
from goldgap.train.record import Recorder
from goldgap.train.resolve import resolved
from goldgap.train.split import fingerprint, split

Found = list[tuple[int, int, str, float]]
"""The entities of one document: start, end, type, probability."""


@dataclass(frozen=True)
class Data:
    """What runs are trained, selected and tested on, under a name for people.

    files    the files that it was made of, with their sha256
    others   further documents to score at every evaluation, by name, and the test set with them; they decide nothing
    hashes   of the documents in each part, as they are after cutting and masking
    """

    name: str
    train: Corpus
    dev: Corpus | None
    test: Corpus
    files: dict[str, str]
    others: dict[str, Corpus] = field(default_factory=dict)
    hashes: dict[str, str] = field(init=False)

    def __post_init__(self) -> None:
        parts = {"train": self.train, "dev": self.dev, "test": self.test}
        given = {part: corpus for part, corpus in parts.items() if corpus is not None}
        for part, corpus in given.items():
            corpus.require_own_ids(f"{part} documents")
        hashes = {part: fingerprint(corpus.documents) for part, corpus in given.items()}
        object.__setattr__(self, "hashes", hashes)

    def hashes_for(self, recipe: Recipe) -> dict[str, str]:
        """Those of the documents, and of the files and folders that the recipe names."""
        return self.hashes | {name: digest(path) for name, path in recipe.files().items()}

    def key(self, recipe: Recipe, hashes: Mapping[str, str] | None = None) -> str:
        """What decides a run of this recipe on these documents, as a short hash.

        hashes   those for the recipe, where they are known already
        """
        whole = resolved(recipe, split(recipe, self.train, self.dev, Notes()))
        return key_of(self.hashes_for(recipe) if hashes is None else hashes, whole)

    @property
    def sizes(self) -> dict[str, int]:
        return {
            "train": len(self.train),
            **({} if self.dev is None else {"dev": len(self.dev)}),
            "test": len(self.test),
        }


@dataclass(frozen=True, slots=True)
class Run:
    """What is kept of a training: enough to score it anew, to compare it and to repeat it.

    files         what the data was made of, with the sha256 of each
    data, sizes   hash and number of the documents in the training, dev and test set; hashes of what settings name
    code          hash of the code that decides the result
    scores        precision, recall, F1, its interval and F1 by type on the test set
    predictions   for each test document the entities found
    seconds       of training, evaluations on dev among them
    history       for each evaluation the scores on further documents and the test set, where they were asked for
    threads       of the training, which change a score as much as another seed does; 0: not recorded
    versions      of what it was trained with; none: not recorded
    """

    key: str
    name: str
    method: str
    seed: int
    select_on: str
    files: dict[str, str]
    data: dict[str, str]
    sizes: dict[str, int]
    recipe: dict[str, Any]
    code: str
    seconds: float
    scores: dict[str, Any]
    metrics: list[dict[str, Any]]
    predictions: list[Found]
    history: list[dict[str, Any]] = field(default_factory=list)
    threads: int = 0
    versions: dict[str, str] = field(default_factory=dict)

    @property
    def settings(self) -> dict[str, Any]:
        """Those that decided it, but for the seed."""
        values = deciding_settings(load(Recipe, self.recipe), self.data)
        del values["seed"]
        return values

    @property
    def negatives(self) -> str:
        """What its negatives are: "words" of a tagger, "spans" of the other models."""
        return "words" if self.recipe["model"]["kind"] == "tagger" else "spans"

    @property
    def dev_f1(self) -> float:
        """Of the weights that were kept: the best that an evaluation gave, or the last where none was chosen."""
        scores = [float(entry["f1"]) for entry in self.metrics]
        return scores[-1] if self.select_on == "none" else max(scores)

    def predicted(self, test: Corpus) -> Corpus:
        """The test documents with what was found in them."""
        return Corpus(
            document.replace(entities=tuple(Entity(start, end, label, score) for start, end, label, score in found))
            for document, found in zip(test, self.predictions, strict=True)
        )

    def write(self, path: Path) -> None:
        """A JSON object, a line for each key."""
        lines = (f"{json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}" for key, value in asdict(self).items())
        with write_atomic(path) as handle:
            handle.write("{\n" + ",\n".join(lines) + "\n}\n")

    @classmethod
    def read(cls, path: Path) -> Run:
        try:
            return cls(**json.loads(read_text(path)))
        except (ValueError, TypeError):
            what = "not a run that compare kept, or a damaged one, which is trained again once it is removed"
            raise IntegrityError(what, path=path) from None


def late_entries(runs: Iterable[Run]) -> list[dict[str, Any]]:
    """The evaluations of the last half of each run."""
    return [entry for run in runs for entry in run.metrics[len(run.metrics) // 2 :]]


def missampled_share(entries: Sequence[Mapping[str, Any]]) -> float:
    """Masked entities among the negatives that were trained on before these evaluations."""
    missampled, kept = (int(sum(entry[name] for entry in entries)) for name in ("missampled", "kept"))
    return missampled / max(kept, 1)


class Runs(NamedTuple):
    """A folder of runs; those that were stopped have their checkpoints in `unfinished` there."""

    folder: Path

    @property
    def unfinished(self) -> Path:
        return self.folder / "unfinished"

    def slot(self, data: Data, recipe: Recipe) -> Slot:
        """The place of a run, to be asked for once: what decides the run is read and hashed for it."""
        hashes = data.hashes_for(recipe)
        key = data.key(recipe, hashes)
        path = self.find(key) or self.folder / f"{data.name}_{recipe.method}_{recipe.seed}_{key}.json"
        return Slot(self, data, recipe, hashes, key, path)

    def find(self, key: str) -> Path | None:
        return next(self.folder.glob(f"*_{key}.json"), None)


class Slot(NamedTuple):
    """The place of one run in a folder of runs.

    hashes   of the documents, and of what the recipe names
    path     where the run is kept, under whatever name for its data, or will be
    """

    runs: Runs
    data: Data
    recipe: Recipe
    hashes: dict[str, str]
    key: str
    path: Path

    @property
    def work(self) -> Path:
        """The folder of its checkpoints."""
        return self.runs.unfinished / self.path.stem

    def kept(self) -> Run | None:
        """The run that is kept, with the scores on further documents where they are asked for."""
        path = self.path if self.path.exists() else self.runs.find(self.key)  # under another name meanwhile
        run = Run.read(path) if path is not None else None
        return run if run is not None and (run.history or not self.data.others) else None

    @contextmanager
    def opened(self) -> Iterator[Run | None]:
        """The run that is kept; else None, and no other process trains it meanwhile.

        Raises `InUseError` where one does.
        """
        run = self.kept()
        if run is not None:
            yield run
            return
        self.runs.unfinished.mkdir(parents=True, exist_ok=True)
        remove_stale(self.runs.unfinished)
        with held(self.work):
            yield self.kept()  # by a process that ended just now

    def train(self, *, observe: Observer = lambda _: None, stopped: Callable[[], bool] = lambda: False) -> Run:
        """A new run, which is kept; one that was stopped goes on."""
        self.work.mkdir(parents=True, exist_ok=True)
        run = _train(self, observe, stopped)
        run.write(self.path)
        remove_held(self.work, self.work.name)
        return run


class _Clock:
    """The seconds of a run, those before it was stopped among them; what must be done again counts once."""

    def __init__(self, path: Path) -> None:
        self.path, self.started = path, time.perf_counter()
        self.before = float(read_text(path)) if path.exists() else 0.0

    def __call__(self) -> float:
        return self.before + time.perf_counter() - self.started

    def keep(self) -> None:
        with write_atomic(self.path) as handle:
            handle.write(f"{self():.3f}")


def _train(slot: Slot, observe: Observer, stopped: Callable[[], bool]) -> Run:
    data, recipe, work = slot.data, slot.recipe, slot.work
    clock = _Clock(work / "seconds")
    recorder = Recorder(path=work / "history.jsonl", others={"test": data.test, **data.others} if data.others else None)
    recorder.go_on()

    def watch(seen: Seen) -> None:
        observe(seen)
        if data.others:
            recorder(seen)
        if seen.metrics is not None:
            clock.keep()

    try:
        model = Recognizer.train(data.train, data.dev, recipe=recipe, work=work, observe=watch, stopped=stopped)
    except Stopped:
        clock.keep()
        raise
    seconds = clock()
    predicted = Corpus(model.predict(data.test))
    strict = evaluate(data.test, predicted).strict
    return Run(
        key=slot.key,
        name=data.name,
        method=recipe.method,
        seed=recipe.seed,
        select_on=str(model.recipe.select_on),
        files=data.files,
        data=slot.hashes,
        sizes=data.sizes,
        recipe=model.recipe.model_dump(mode="json"),
        code=code_hash(recipe),
        seconds=round(seconds, 1),
        scores=strict.to_json(),
        metrics=model.metrics,
        predictions=[_found(document) for document in predicted],
        history=[{name: entry[name] for name in ("step", "epoch", "f1", "others")} for entry in recorder.entries],
        threads=torch.get_num_threads(),
        versions={
            "goldgap": __version__,
            "python": platform.python_version(),
            "torch": str(torch.__version__),
            "transformers": version("transformers"),
        },
    )


def _found(document: Document) -> Found:
    return [(item.start, item.end, item.label, round(item.score or 0.0, 4)) for item in document.entities]
