"""Small charts as SVG: functions of plain numbers, with a text alternative, in the colours of the page they stand in.

A chart is an element to put into a page that has STYLE; `standalone` makes a file of it. Numbers are shown as they are
given: shares become percent before they come here.
"""

from __future__ import annotations

import html
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

WIDTH = 380
"""Units of a chart's width: at 360 pixels, letters of 12 units are still read."""
LETTER = 6.7
"""Units that a letter takes, about."""
LEFT, RIGHT, TOP = 44, 14, 10
COLOURS = 8

STYLE = """\
:root { --paper: #fff; --ink: #1c2126; --soft: #57606a; --rule: #d5dae0; --c0: #0b62c4; --c1: #b3430b; --c2: #1a7f4b;
  --c3: #8a2da5; --c4: #7a5c00; --c5: #00747c; --c6: #b31d5a; --c7: #4d5661; }
@media (prefers-color-scheme: dark) { :root { --paper: #14181d; --ink: #e8ebee; --soft: #a3adb8; --rule: #3a424c;
  --c0: #6db3ff; --c1: #ff9a5c; --c2: #5fd394; --c3: #d99cf0; --c4: #e2c04b; --c5: #4fd0da; --c6: #ff8ab5;
  --c7: #b4bec9; } }
.chart { display: block; width: 100%; max-width: 32rem; height: auto; }
.chart text { font: 12px system-ui, sans-serif; fill: var(--ink); stroke: var(--paper); stroke-width: 3px;
  stroke-linejoin: round; paint-order: stroke; }
.chart .soft { fill: var(--soft); }
.chart .rule { stroke: var(--rule); fill: none; }
.chart .mark { stroke: var(--soft); stroke-dasharray: 2 3; fill: none; }
.chart .line { stroke: var(--c); stroke-width: 2; fill: none; stroke-linejoin: round; }
.chart .fill { fill: var(--c); }
.chart .band { fill: var(--c); opacity: 0.15; }
""" + "".join(f".chart .k{number} {{ --c: var(--c{number}); }}\n" for number in range(COLOURS))

_DASHES = ("", "6 3", "2 3", "8 3 2 3")
_MARKS = (
    "M-3.5 0a3.5 3.5 0 1 0 7 0a3.5 3.5 0 1 0 -7 0",
    "M-3 -3h6v6h-6z",
    "M0 -4.2l4 7h-8z",
    "M0 -4.4l4.4 4.4l-4.4 4.4l-4.4 -4.4z",
    "M0 4.2l4 -7h-8z",
)
"""As many as have no divisor in common with the colours: 40 lines look different."""


class Series(NamedTuple):
    """A line of a chart: points in order of x, and where they may as well lie."""

    name: str
    points: Sequence[tuple[float, float]]
    band: Sequence[tuple[float, float]] = ()
    """Low and high at each point, or nothing."""
    look: int | None = None
    """The number of its colour and mark; else its place among the series."""


class Estimate(NamedTuple):
    """A value with its interval."""

    name: str
    value: float
    low: float
    high: float
    look: int | None = None


def line_chart(
    id: str,
    title: str,
    series: Sequence[Series],
    *,
    x: str,
    y: str,
    limits: tuple[float, float] | None = None,
    mark: tuple[float, str] | None = None,
    joined: bool = True,
) -> str:
    """Values over x, a line for each series, with a legend.

    x, y     what the axes show, with the unit
    limits   of the y axis; else as the points have them
    mark     a place on the x axis with a word for it
    joined   False draws the points alone
    """
    series = [_finite(number, one) for number, one in enumerate(series)]
    places = [place for one in series for place, _ in one.points]
    heights = [height for one in series for _, height in one.points]
    heights += [edge for one in series for pair in one.band for edge in pair]
    top = TOP + 18  # what the y axis shows stands above it
    bottom = top + 190
    across = _Scale(*_limits(places, tight=joined), LEFT, WIDTH - RIGHT)
    up = _Scale(*(limits or _limits(heights)), bottom, top)
    parts = [*_grid_across(up), *_axis_below(across, bottom, x, whole=_whole(places)), _text(4, TOP + 4, y, soft=True)]
    if mark is not None:
        at = across(mark[0])
        anchor = "end" if at > WIDTH / 2 else "start"
        parts.append(f'<path class="mark" d="M{at} {top}V{bottom}"/>')
        near = [height for one in series for place, height in one.points if place == mark[0]]
        free = top + 12 if near and max(near) < (up.low + up.high) / 2 else bottom - 6
        parts.append(_text(at + (4 if anchor == "start" else -4), free, mark[1], anchor=anchor, soft=True))
    for one in series:
        parts += _drawn(one, across, up, x=x, joined=joined)
    legend, height = _legend([(one.name, one.look or 0) for one in series], bottom + 52, joined=joined)
    told = [f"{one.name}: {_told(one)}." for one in series]
    return _chart(id, title, f"{y} over {x}. " + " ".join(told), height, [*parts, *legend])


def interval_chart(
    id: str, title: str, rows: Sequence[Estimate], *, x: str, reference: tuple[float, str] | None = None
) -> str:
    """A dot with its 95 % interval for each row, and a line at a value to hold them against."""
    values = [value for row in rows for value in row[1:4]] + ([reference[0]] if reference else [])
    across = _Scale(*_limits(values), LEFT / 2, WIDTH - RIGHT)
    step = 34
    bottom = TOP + step * len(rows) + (16 if reference else 4)
    parts = [f'<path class="rule" d="M{across(tick)} {TOP}V{bottom}"/>' for tick in ticks(across.low, across.high)]
    parts += _axis_below(across, bottom, x)
    if reference is not None:
        at = across(reference[0])
        anchor = "end" if at > WIDTH / 2 else "start"
        parts.append(f'<path class="mark" d="M{at} {TOP}V{bottom}"/>')
        parts.append(_text(at + (4 if anchor == "start" else -4), bottom - 4, reference[1], anchor=anchor, soft=True))
    told = []
    for number, row in enumerate(rows):
        words = f"{row.value:.1f} ({row.low:.1f} to {row.high:.1f})"
        told.append(f"{row.name}: {words}.")
        y = TOP + step * number + 12
        look = number if row.look is None else row.look
        parts.append(_text(LEFT / 2, y, _short(row.name, (WIDTH - 60) / LETTER - len(words)), full=row.name))
        parts.append(_text(WIDTH - RIGHT, y, words, anchor="end", soft=True))
        parts.append(
            f'<g class="k{look % COLOURS}"><path class="line" d="M{across(row.low)} {y + 11}H{across(row.high)}"/>'
            f'<path class="fill" transform="translate({across(row.value)} {y + 11})" d="{_MARKS[0]}">'
            f"<title>{_escape(row.name)}: {words}</title></path></g>"
        )
    return _chart(id, title, f"{x}, with 95 % intervals. " + " ".join(told), bottom + 46, parts)


def bar_chart(id: str, title: str, rows: Mapping[str, Mapping[str, float]], *, x: str, high: float = 100) -> str:
    """Bars from 0 for each row, one of each name, with their values; a legend says which is which."""
    names = list(dict.fromkeys(name for bars in rows.values() for name in bars))
    across = _Scale(0, high, LEFT / 2, WIDTH - 54)
    parts: list[str] = []
    told = []
    y = float(TOP)
    for label, bars in rows.items():
        parts.append(_text(LEFT / 2, y + 12, _short(label, 48), full=label))
        y += 17
        for name, value in bars.items():
            shown = min(max(value, 0.0), high) if math.isfinite(value) else 0.0
            width = round(across(shown) - across(0), 1)
            parts.append(
                f'<rect class="fill k{names.index(name) % COLOURS}" x="{across(0)}" y="{y}" width="{width}" height="9">'
                f"<title>{_escape(label)}, {_escape(name)}: {value:.1f}</title></rect>"
            )
            parts.append(_text(across(shown) + 5, y + 9, f"{value:.1f}"))
            y += 12
        y += 7
        told.append(f"{label}: " + ", ".join(f"{name} {value:.1f}" for name, value in bars.items()) + ".")
    grid = [f'<path class="rule" d="M{across(tick)} {TOP}V{y}"/>' for tick in ticks(0, high)]
    legend, height = _legend([(name, number) for number, name in enumerate(names)], y + 52, joined=False, marks=False)
    return _chart(id, title, f"{x}. " + " ".join(told), height, [*grid, *parts, *_axis_below(across, y, x), *legend])


def standalone(chart: str) -> str:
    """A chart as a file of its own, with its colours for light and dark."""
    head, rest = chart.split(">", 1)
    ground = '<rect width="100%" height="100%" style="fill: var(--paper)"/>'
    return f'{head} xmlns="http://www.w3.org/2000/svg"><style>{STYLE}</style>{ground}{rest}\n'


def ticks(low: float, high: float, *, count: int = 5, whole: bool = False) -> list[float]:
    """Round numbers within the limits, about `count` of them.

    >>> ticks(0, 100)
    [0.0, 20.0, 40.0, 60.0, 80.0, 100.0]
    >>> ticks(1, 4, whole=True)
    [1.0, 2.0, 3.0, 4.0]
    """
    step = _step(high - low, count)
    if whole:
        step = max(1.0, math.ceil(step))
    first = math.ceil(low / step - 1e-9)
    return [round(number * step, 10) for number in range(first, math.floor(high / step + 1e-9) + 1)]


def _step(span: float, count: int) -> float:
    size = 10.0 ** math.floor(math.log10(span / count))
    return next(size * factor for factor in (1, 2, 2.5, 5, 10) if span / (size * factor) <= count + 0.5)


class _Scale(NamedTuple):
    """From values to places in the chart."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        return round(self.start + (value - self.low) / (self.high - self.low) * (self.end - self.start), 1)


def _limits(values: Sequence[float], *, tight: bool = False) -> tuple[float, float]:
    """From a round number below to one above, or tight around them; a single value gets room on both sides."""
    low, high = (min(values), max(values)) if values else (0.0, 1.0)
    if math.isclose(low, high, rel_tol=1e-9):  # as means of equal numbers are, added up in another order
        room = 1.0 if tight else abs(low) * 0.1 or 1.0
        return low - room, high + room
    if tight:
        return low, high
    step = _step(high - low, 5)
    return math.floor(low / step + 1e-9) * step, math.ceil(high / step - 1e-9) * step


def _whole(values: Iterable[float]) -> bool:
    return all(float(value).is_integer() for value in values)


def _finite(number: int, one: Series) -> Series:
    """With a look, and without the points that are no numbers, as a loss may be that got lost."""
    kept = [index for index, point in enumerate(one.points) if all(map(math.isfinite, point))]
    look = number if one.look is None else one.look
    band = [one.band[index] for index in kept if one.band]
    return Series(one.name, [one.points[index] for index in kept], band, look)


def _drawn(one: Series, across: _Scale, up: _Scale, *, x: str, joined: bool) -> Iterable[str]:
    """The band, the line and the points of a series."""
    number = one.look or 0
    places = [(across(place), up(height)) for place, height in one.points]
    yield f'<g class="k{number % COLOURS}">'
    if one.band:
        edges = [(place, up(low)) for (place, _), (low, _) in zip(places, one.band, strict=True)]
        edges += [(place, up(high)) for (place, _), (_, high) in zip(places[::-1], one.band[::-1], strict=True)]
        yield f'<path class="band" d="M{_path(edges)}z"/>'
    if joined and len(places) > 1:
        yield f'<path class="line" stroke-dasharray="{_DASHES[number % len(_DASHES)]}" d="M{_path(places)}"/>'
    if len(places) <= 60:
        for (place, height), (left, top) in zip(one.points, places, strict=True):
            yield (
                f'<path class="fill" transform="translate({left} {top})" d="{_MARKS[number % len(_MARKS)]}">'
                f"<title>{_escape(one.name)}, {_escape(x)} {place:g}: {_number(height)}</title></path>"
            )
    yield "</g>"


def _path(places: Iterable[tuple[float, float]]) -> str:
    return "L".join(f"{left} {top}" for left, top in places)


def _told(one: Series) -> str:
    """A series in words: where it begins and ends, and its highest point."""
    if not one.points:
        return "no value"
    (first, start), (last, end) = one.points[0], one.points[-1]
    if len(one.points) == 1:
        return f"{_number(start)} at {first:g}"
    top = max(one.points, key=lambda point: point[1])
    return f"{_number(start)} at {first:g}, {_number(end)} at {last:g}, highest {_number(top[1])} at {top[0]:g}"


def _number(value: float) -> str:
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.3g}"


def _grid_across(up: _Scale) -> Iterable[str]:
    for tick in ticks(up.low, up.high):
        yield f'<path class="rule" d="M{LEFT} {up(tick)}H{WIDTH - RIGHT}"/>'
        yield _text(LEFT - 6, up(tick) + 4, f"{tick:g}", anchor="end", soft=True)


def _axis_below(across: _Scale, bottom: float, title: str, *, whole: bool = False) -> Iterable[str]:
    yield f'<path class="rule" d="M{across.start} {bottom}H{across.end}"/>'
    for tick in ticks(across.low, across.high, whole=whole):
        yield _text(across(tick), bottom + 16, f"{tick:g}", anchor="middle", soft=True)
    yield _text((across.start + across.end) / 2, bottom + 33, title, anchor="middle", soft=True)


def _legend(names: Sequence[tuple[str, int]], y: float, *, joined: bool, marks: bool = True) -> tuple[list[str], float]:
    """The names with their colours, in as many lines as they need, and where they end; one alone needs none."""
    if len(names) < 2:
        return [], y - 8
    parts = []
    x = LEFT / 2
    for name, number in names:
        short = _short(name, 46)
        width = 26 + len(short) * LETTER + 14
        if x > LEFT / 2 and x + width > WIDTH:
            x, y = LEFT / 2, y + 18
        shape = f'<path class="fill" transform="translate(10 0)" d="{_MARKS[number % len(_MARKS)]}"/>'
        if joined:
            shape += f'<path class="line" stroke-dasharray="{_DASHES[number % len(_DASHES)]}" d="M0 0H20"/>'
        if not marks:
            shape = '<rect class="fill" x="2" y="-5" width="16" height="9"/>'
        parts.append(f'<g class="k{number % COLOURS}" transform="translate({round(x, 1)} {y})">{shape}</g>')
        parts.append(_text(x + 26, y + 4, short, full=name))
        x += width
    return parts, y + 14


def _text(x: float, y: float, text: str, *, anchor: str = "start", soft: bool = False, full: str | None = None) -> str:
    look = ' class="soft"' if soft else ""
    whole = f"<title>{_escape(full)}</title>" if full is not None and full != text else ""
    return f'<text{look} x="{round(x, 1)}" y="{round(y, 1)}" text-anchor="{anchor}">{_escape(text)}{whole}</text>'


def _short(text: str, letters: float) -> str:
    return text if len(text) <= letters else text[: max(1, int(letters) - 1)] + "…"


def _escape(text: str) -> str:
    """For XML too, which has no control characters."""
    return html.escape("".join(letter if letter.isprintable() else " " for letter in text))


def _chart(id: str, title: str, description: str, height: float, parts: Iterable[str]) -> str:
    return (
        f'<svg class="chart" role="img" aria-labelledby="{id}-title {id}-desc" viewBox="0 0 {WIDTH} {round(height)}">'
        f'<title id="{id}-title">{_escape(title)}</title><desc id="{id}-desc">{_escape(description)}</desc>'
        f"{''.join(parts)}</svg>"
    )
