"""The reports in a real browser: nothing fails, nothing is asked for, everything is reached by keyboard, fast."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from goldgap import Corpus, Document, Entity
from goldgap.evaluate.scores import evaluate
from goldgap.report.examples import examples_of
from goldgap.report.html import comparison_page, evaluation_page, training_page
from tests.reports import comparison_values, evaluation_values, training_values

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.slow
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
PAGES: dict[str, Callable[[], str]] = {
    "evaluation": lambda: evaluation_page(evaluation_values()),
    "training": lambda: training_page(training_values()),
    "comparison": lambda: comparison_page(comparison_values() | {"command": "goldgap compare " + "--train x " * 40}),
}
RUDE = '<script>window.ran = 1</script><img src="x" onerror="window.ran = 1">'

Opener = Callable[..., "Page"]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if CHROMIUM is None:
        pytest.skip("chromium is not installed: apt-get install chromium")
    with playwright.sync_playwright() as driver:
        made = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield made
        made.close()


@pytest.fixture
def opened(browser: Browser, tmp_path: Path) -> Iterator[Opener]:
    """Opens a text as a page; whatever the browser complains of or asks for makes the test fail at its end."""
    told: list[str] = []
    contexts = []
    file = tmp_path / "report.html"

    def open_page(text: str, **options: Any) -> Page:
        file.write_text(text, encoding="utf-8")
        context = browser.new_context(**options)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: told.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: told.append(str(error)))
        page.on("request", lambda request: told.append(request.url) if request.url != file.as_uri() else None)
        page.goto(file.as_uri())
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert told == []


@pytest.mark.parametrize("make", PAGES.values(), ids=PAGES)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_page_opens_without_a_complaint_or_a_request(opened: Opener, make: Callable[[], str], scheme: str) -> None:
    page = opened(make(), color_scheme=scheme)
    shown = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (shown == "rgb(255, 255, 255)") == (scheme == "light")
    assert page.locator("svg.chart").first.bounding_box() is not None


@pytest.mark.parametrize("make", PAGES.values(), ids=PAGES)
def test_the_page_never_scrolls_sideways_on_a_phone(opened: Opener, make: Callable[[], str]) -> None:
    page = opened(make(), viewport={"width": 360, "height": 740})
    page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
    assert page.evaluate("document.documentElement.scrollWidth") == 360
    assert page.evaluate("[...document.querySelectorAll('.scroll')].some(one => one.scrollWidth > one.clientWidth)")


@pytest.mark.parametrize("make", PAGES.values(), ids=PAGES)
def test_letters_of_charts_are_read_on_a_phone(opened: Opener, make: Callable[[], str]) -> None:
    page = opened(make(), viewport={"width": 360, "height": 740})
    heights = page.evaluate(
        "[...document.querySelectorAll('.chart text')].filter(one => one.getAttribute('x') && one.checkVisibility())"
        ".map(one => one.getBoundingClientRect().height)"
    )
    assert min(heights) > 9


FOCUSED = "(() => { const one = document.activeElement; return one.dataset.number || one.className || one.tagName; })()"


def reached(page: Page) -> list[str]:
    """What the Tab key comes by, from the top of the page until it comes to the end."""
    page.evaluate("document.querySelectorAll('.scroll, summary').forEach((one, i) => one.dataset.number = `n${i}`)")
    found: list[str] = []
    while not found or found[-1] != "BODY":
        page.keyboard.press("Tab")
        found.append(str(page.evaluate(FOCUSED)))
        assert len(found) < 500
    return found


@pytest.mark.parametrize("make", PAGES.values(), ids=PAGES)
def test_the_tab_key_reaches_the_skip_link_first_and_all_that_scrolls_or_folds(
    opened: Opener, make: Callable[[], str]
) -> None:
    page = opened(make())
    found = reached(page)
    assert found[0] == "skip"
    visible = page.evaluate(
        "[...document.querySelectorAll('.scroll, summary')]"
        ".filter(one => one.checkVisibility({contentVisibilityAuto: true})).map(one => one.dataset.number)"
    )
    assert visible
    assert [name for name in found if name in visible] == visible


def test_the_skip_link_leads_to_the_content_and_is_seen_when_focused(opened: Opener) -> None:
    page = opened(PAGES["evaluation"]())
    left = "document.querySelector('.skip').getBoundingClientRect().left"
    assert page.evaluate(left) < 0
    page.keyboard.press("Tab")
    assert page.evaluate(left) >= 0
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"


def test_a_fold_opens_with_the_keyboard_and_shows_a_ring_of_focus(opened: Opener) -> None:
    page = opened(PAGES["comparison"]())
    page.locator("summary").first.focus()
    page.keyboard.press("Enter")
    assert page.locator("details").first.get_attribute("open") is not None
    page.keyboard.press("Tab")
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"


def test_scripts_in_documents_labels_and_names_are_shown_and_not_run(opened: Opener) -> None:
    text = f"Ann {RUDE} Bob"
    gold = Corpus([Document(text, (Entity(0, 3, RUDE), Entity(4, len(text) - 4, "X")), id=RUDE)])
    found = Corpus([Document(text, id=RUDE)])
    values = {**evaluate(gold, found).to_json(), "gold": RUDE, "predicted": RUDE, "files": {RUDE: "1"}}
    page = opened(evaluation_page({**values, "examples": examples_of(gold, found, gold), "lost": [RUDE]}))
    assert page.locator("body").inner_text().count(RUDE) > 8
    assert page.locator("script, img").count() == 0
    assert page.evaluate("window.ran") is None


def test_a_page_works_without_javascript(opened: Opener) -> None:
    page = opened(PAGES["evaluation"](), java_script_enabled=False)
    fold = page.locator("details:has(.example)").nth(1)
    example = fold.locator(".example").first
    assert not example.is_visible()
    fold.locator("summary").click()
    assert example.is_visible()


def test_lines_under_the_text_lie_below_each_other(opened: Opener) -> None:
    text = "The University of New York hired Ann."
    gold = Corpus([Document(text, (Entity(4, 26, "ORG"), Entity(18, 26, "LOC")))])
    found = Corpus([Document(text, (Entity(4, 26, "ORG"),))])
    values = {**evaluate(gold, found).to_json(), "gold": "g", "predicted": "p", "files": {}}
    page = opened(evaluation_page({**values, "examples": examples_of(gold, found)}))
    bottoms = page.evaluate(
        "[...document.querySelectorAll('.text .line')].filter(one => one.textContent === 'New York')"
        ".map(one => one.getBoundingClientRect().bottom)"
    )
    assert [round(after - before) for before, after in pairwise(bottoms)] == [6, 6]


def test_a_report_of_two_thousand_documents_opens_in_two_seconds(opened: Opener) -> None:
    text = "Ann Lee met Bob of Acme in the city of Oslo, and nobody knows what they spoke about that evening."
    entities = (Entity(0, 7, "PER"), Entity(12, 15, "PER"), Entity(19, 23, "ORG"), Entity(39, 43, "LOC"))
    wrong = (Entity(0, 3, "PER"), Entity(12, 15, "ORG"), Entity(19, 30, "LOC"), Entity(45, 48, "PER"))
    gold = Corpus([Document(text, entities, id=f"d{number}") for number in range(2000)])
    found = Corpus([Document(text, wrong, id=f"d{number}") for number in range(2000)])
    values = {**evaluate(gold, found).to_json(), "gold": "g", "predicted": "p", "files": {}}
    made = evaluation_page({**values, "examples": examples_of(gold, found, gold)})
    assert len(made) < 2_000_000
    page = opened(made)
    began = time.perf_counter()
    page.reload(wait_until="load")
    assert page.locator(".example").count() >= 100
    assert time.perf_counter() - began < 2
