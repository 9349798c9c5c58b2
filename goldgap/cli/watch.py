"""What a person sees of a training run: a bar while it runs, a line after each evaluation."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.text import Text

from goldgap.cli.show import err, out, percent
from goldgap.core.corpus import Corpus
from goldgap.report.render import counted
from goldgap.train.checks import cautions_about
from goldgap.train.loop import Observer, Seen
from goldgap.train.recipe import Recipe
from goldgap.train.split import held_out

SMOOTH = 0.95
"""How much of the loss and speed shown is that of earlier steps."""


@contextmanager
def watching(recipe: Recipe, corpus: Corpus, dev: Corpus | None) -> Iterator[Observer]:
    """An observer that shows the run in the terminal."""
    for caution in (*recipe.cautions(), *cautions_about(recipe, corpus)):
        err.print(Text(f"caution: {caution}", style="yellow"))
    judged = (
        f"dev set of {len(dev):,}"
        if dev is not None
        else "the last epoch is kept"
        if recipe.select_on == "none"
        else f"{counted(held_out(len(corpus)), 'document')} held out as a dev set"
    )
    documents, types = counted(len(corpus), "document"), counted(len(corpus.labels), "type")
    entities = counted(corpus.entity_count, "entity", "entities")
    out.print(f"{recipe.method} on {recipe.encoder.name}", soft_wrap=True)
    out.print(f"{documents}, {entities} of {types}; {judged}", soft_wrap=True)
    bar = Progress(
        TextColumn("epoch {task.fields[epoch]}"),
        BarColumn(bar_width=None),
        MofNCompleteColumn(),
        TextColumn("loss {task.fields[loss]:.3g}"),
        TextColumn("{task.fields[speed]:,.0f} words/s"),
        TextColumn("{task.fields[f1]}"),
        TimeRemainingColumn(compact=True),
        console=out,
        transient=True,
        disable=not out.is_terminal,
    )
    with bar:
        yield _Watcher(bar)


class _Watcher:
    def __init__(self, bar: Progress) -> None:
        self._bar = bar
        self._task = bar.add_task("", total=None, visible=False, epoch="", loss=0.0, speed=0.0, f1="")
        self._loss: float | None = None
        self._speed: float | None = None
        self._last = time.perf_counter()
        self._head_shown = False

    def __call__(self, seen: Seen) -> None:
        now = time.perf_counter()
        if seen.told is not None:
            out.print(seen.told)
        if seen.taken is not None:
            self._loss = _smoothed(self._loss, seen.taken.loss)
            self._speed = _smoothed(self._speed, seen.taken.words / max(now - self._last, 1e-9))
            epoch = f"{seen.progress.epoch + 1}/{seen.progress.planned_epochs}"
            self._bar.update(
                self._task,
                completed=seen.progress.step + 1,
                total=seen.progress.planned_steps,
                visible=True,
                epoch=epoch,
                loss=self._loss,
                speed=self._speed,
            )
        if seen.metrics is not None:
            self._show(seen.metrics)
        self._last = now

    def _show(self, metrics: dict[str, float]) -> None:
        if not self._head_shown:
            self._head_shown = True
            out.print(Text("epoch      step       loss  precision     recall     dev F1", style="dim"))
        scores = [percent(metrics[name]) if name in metrics else "-" for name in ("precision", "recall", "f1")]
        numbers = (f"{value:>11}" for value in (f"{metrics['loss']:.4g}", *scores))
        out.print(f"{metrics['epoch']:<5g}{metrics['step']:>10,}{''.join(numbers)}")
        if "f1" in metrics:
            self._bar.update(self._task, f1=f"dev F1 {scores[-1]}")


def _smoothed(before: float | None, now: float) -> float:
    return now if before is None else SMOOTH * before + (1 - SMOOTH) * now
