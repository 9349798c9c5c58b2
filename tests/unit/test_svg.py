"""Charts: what they draw, what they say to those who do not see them, and that no text breaks them."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from xml.etree import ElementTree

import pytest

from goldgap.report.svg import WIDTH, Estimate, Series, bar_chart, interval_chart, line_chart, standalone, ticks

SVG = "{http://www.w3.org/2000/svg}"
RUDE = "<script>alert(1)</script> & \"'\x07\n"

CHARTS: dict[str, Callable[[str], str]] = {
    "lines": lambda name: line_chart(
        "c", name, [Series(name, [(1, 10), (2, 30)], [(5, 15), (25, 35)]), Series("b", [(1, 0)])], x=name, y=name,
        mark=(2, name),
    ),
    "points": lambda name: line_chart("c", name, [Series(name, [(3.5, 10)])], x=name, y=name, joined=False),
    "nothing": lambda name: line_chart("c", name, [Series(name, [])], x=name, y=name),
    "intervals": lambda name: interval_chart("c", name, [Estimate(name, 5, 4, 6)], x=name, reference=(5, name)),
    "bars": lambda name: bar_chart("c", name, {name: {name: 50.0, "b": 100.0}}, x=name),
    "no bars": lambda name: bar_chart("c", name, {}, x=name),
}  # fmt: skip


def parsed(chart: str) -> ElementTree.Element:
    return ElementTree.fromstring(standalone(chart))


def texts(chart: str) -> list[str]:
    return [element.text or "" for element in parsed(chart).iter(f"{SVG}text")]


@pytest.mark.parametrize("make", CHARTS.values(), ids=CHARTS)
def test_a_chart_is_an_image_with_a_name_and_a_description(make: Callable[[str], str]) -> None:
    root = parsed(make("what it shows"))
    assert root.get("role") == "img"
    named = [element for element in root if element.get("id") in (root.get("aria-labelledby") or "").split()]
    assert [element.tag for element in named] == [f"{SVG}title", f"{SVG}desc"]
    assert named[0].text == "what it shows"
    assert named[1].text


@pytest.mark.parametrize("make", CHARTS.values(), ids=CHARTS)
def test_no_text_becomes_an_element_or_breaks_the_file(make: Callable[[str], str]) -> None:
    chart = make(RUDE)
    assert "<script" not in chart
    assert (parsed(chart).findtext(f"{SVG}title") or "").startswith("<script>alert(1)</script> & \"'")


@pytest.mark.parametrize("make", CHARTS.values(), ids=CHARTS)
def test_everything_is_within_the_frame(make: Callable[[str], str]) -> None:
    root = parsed(make("name"))
    width, height = map(float, (root.get("viewBox") or "").split()[2:])
    assert width == WIDTH
    for element in root.iter():
        places = re.findall(r"translate\(([\d.-]+) ([\d.-]+)\)", element.get("transform") or "")
        places += [(element.get("x"), element.get("y"))] if element.tag == f"{SVG}text" and element.get("x") else []
        for x, y in places:
            assert 0 <= float(x) <= width
            assert 0 <= float(y) <= height


def test_points_stand_where_their_values_are() -> None:
    chart = line_chart("c", "t", [Series("a", [(1, 0), (2, 50), (3, 100)])], x="epoch", y="F1", limits=(0, 100))
    places = [
        tuple(map(float, place)) for place in re.findall(r'class="fill" transform="translate\((\S+) (\S+)\)"', chart)
    ]
    (left, bottom), middle, (right, top) = places
    assert middle == pytest.approx(((left + right) / 2, (bottom + top) / 2), abs=0.1)
    assert left < right
    assert top < bottom


def test_a_chart_says_in_words_how_a_line_went() -> None:
    chart = line_chart("c", "t", [Series("uniform", [(1, 40), (2, 61.24), (3, 55)])], x="epoch", y="F1 (percent)")
    told = parsed(chart).findtext(f"{SVG}desc")
    assert told == ("F1 (percent) over epoch. uniform: 40.0 at 1, 55.0 at 3, highest 61.2 at 2.")


def test_points_that_are_no_numbers_are_left_out() -> None:
    points = [(1.0, 1.0), (2.0, math.nan), (3.0, math.inf), (4.0, 2.0)]
    chart = line_chart("c", "t", [Series("loss", points, [(0, 2)] * 4)], x="epoch", y="loss")
    assert "nan" not in chart
    assert chart.count('class="fill"') == 2


def test_axes_have_titles_and_round_numbers() -> None:
    shown = texts(line_chart("c", "t", [Series("a", [(1, 31.7), (6, 58.2)])], x="epoch", y="F1 (percent)"))
    assert {"epoch", "F1 (percent)", "30", "40", "50", "60", "2", "4", "6"} <= set(shown)


def test_a_line_at_zero_has_an_axis_of_plain_numbers() -> None:
    shown = texts(line_chart("c", "t", [Series("F1", [(1, 0), (2, 0)])], x="epoch", y="F1"))
    assert {"-1", "0", "1"} <= set(shown)
    assert not any("e" in text for text in shown if text[:1].isdigit())


def test_several_lines_have_a_legend_and_a_single_one_has_none() -> None:
    one, two = Series("first", [(1, 1), (2, 2)]), Series("second", [(1, 2), (2, 1)])
    assert {"first", "second"} <= set(texts(line_chart("c", "t", [one, two], x="x", y="y")))
    assert "first" not in texts(line_chart("c", "t", [one], x="x", y="y"))


def test_a_series_keeps_its_look_when_others_are_missing() -> None:
    chart = line_chart("c", "t", [Series("b", [(1, 1)], look=3), Series("c", [(1, 2)], look=4)], x="x", y="y")
    assert re.findall(r"k(\d)", chart) == ["3", "4", "3", "4"]  # drawn, then in the legend


def test_an_interval_reaches_from_low_to_high() -> None:
    rows = [Estimate("span", 50, 45, 55), Estimate("uniform", 60, 50, 70)]
    chart = interval_chart("c", "t", rows, x="F1 (percent)", reference=(50, "span"))
    lines = [tuple(map(float, ends)) for ends in re.findall(r'class="line" d="M(\S+) \S+H(\S+)"/', chart)]
    dots = [float(place) for place in re.findall(r'class="fill" transform="translate\((\S+) ', chart)]
    assert lines[1][1] - lines[1][0] == pytest.approx(2 * (lines[0][1] - lines[0][0]), abs=0.3)
    assert dots == pytest.approx([(low + high) / 2 for low, high in lines], abs=0.2)
    assert {"50.0 (45.0 to 55.0)", "60.0 (50.0 to 70.0)", "F1 (percent)"} <= set(texts(chart))


def test_a_long_name_is_cut_and_kept_whole_beside() -> None:
    name = "nrces:policy=top-neg:loss.w=10:train.epochs=3:seed=1"
    chart = interval_chart("c", "t", [Estimate(name, 50, 45, 55)], x="x")
    assert name not in texts(chart)
    assert any(text.endswith("…") for text in texts(chart))
    assert f"<title>{name}</title>" in chart


def test_bars_are_as_long_as_their_values() -> None:
    chart = bar_chart("c", "t", {"PER": {"precision": 80.0, "recall": 40.0}, "LOC": {"precision": 0.0}}, x="percent")
    widths = [float(width) for width in re.findall(r'y="[\d.]+" width="([\d.]+)"', chart)][:3]
    assert widths[0] == pytest.approx(2 * widths[1], abs=0.2)
    assert widths[2] == 0
    assert {"PER", "LOC", "80.0", "40.0", "0.0", "precision", "recall"} <= set(texts(chart))


def test_a_file_brings_its_colours_for_light_and_dark_and_a_page_does_not() -> None:
    chart = CHARTS["lines"]("t")
    assert "xmlns" not in chart
    assert "<style>" not in chart
    assert "prefers-color-scheme: dark" in standalone(chart)
    used, given = (set(re.findall(pattern, standalone(chart))) for pattern in (r"var\((--\w+)\)", r"(--\w+):"))
    assert used <= given


def test_means_that_differ_by_rounding_alone_are_drawn_as_one_value() -> None:
    low, high = 0.2, math.nextafter(0.2, 1)
    chart = line_chart("c", "t", [Series("a", [(1, low), (2, high)])], x="epoch", y="F1")
    assert "nan" not in chart
    assert chart.count("<svg") == 1


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [(0, 1, [0, 0.2, 0.4, 0.6, 0.8, 1]), (31, 58, [35, 40, 45, 50, 55]), (-0.02, 0.01, [-0.02, -0.01, 0, 0.01])],
)
def test_ticks_are_round_numbers_within_the_limits(low: float, high: float, expected: list[float]) -> None:
    found = ticks(low, high)
    assert set(expected) <= {round(tick, 9) for tick in found}
    assert min(found) >= low - 1e-9
    assert max(found) <= high + 1e-9
    assert len(found) <= 8


def test_forty_lines_look_different() -> None:
    chart = line_chart("c", "t", [Series(f"s{number}", [(1, number), (2, 1)]) for number in range(40)], x="x", y="y")
    looks = re.findall(
        r'<g class="(k\d)"><path class="line" stroke-dasharray="([^"]*)".*?translate\S+ \S+ d="(.*?)"', chart
    )
    assert len(looks) == len(set(looks)) == 40
