"""Reports: right numbers, whole pages, nothing from outside, and text that is shown and not run."""

from __future__ import annotations

import copy
import json
import re
from collections import Counter
from collections.abc import Callable
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from goldgap import Corpus, Document, Entity
from goldgap.cli.show import show_contest
from goldgap.compare.contest import compare
from goldgap.compare.runs import Runs
from goldgap.core.labels import Labels
from goldgap.core.manifest import commit_directory, hashes_of, sha256
from goldgap.core.notes import Notes
from goldgap.demo import DEV, DICTIONARY, TEST
from goldgap.evaluate.bootstrap import TOO_FEW
from goldgap.evaluate.scores import evaluate
from goldgap.report.card import model_card
from goldgap.report.comparison import comparison_markdown, summary_of, tables_of, verdict_of
from goldgap.report.examples import examples_of, lanes
from goldgap.report.html import comparison_page, evaluation_page, parts_of, training_page
from goldgap.report.render import TEMPLATES
from goldgap.report.svg import STYLE
from goldgap.train.compose import recipe_for
from tests.command import Run
from tests.reports import comparison_values, evaluation_values, training_values
from tests.unit.test_contest import contest, data, pretend

RUDE = "<script>alert(1)</script>"
VOID = {"meta", "br", "hr", "img", "input", "link"}


class Page(HTMLParser):
    """What a page is made of; an element that is not closed where it should be is an error."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.pieces: list[str] = []
        self.rows: list[list[str]] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_startendtag(tag, attrs)
        if tag not in VOID:
            self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "style" not in self.open:
            self.pieces.append(data)
        if {"td", "th"} & set(self.open):
            self.rows[-1][-1] += data

    @property
    def text(self) -> str:
        return " ".join("".join(self.pieces).split())

    def all(self, name: str) -> list[str]:
        return [attributes[name] for _, attributes in self.elements if name in attributes]

    def tags(self, tag: str) -> list[dict[str, str]]:
        return [attributes for name, attributes in self.elements if name == tag]

    def row(self, *beginning: str) -> list[str]:
        return next(row for row in self.rows if tuple(row[: len(beginning)]) == beginning)


@pytest.fixture(scope="module")
def evaluated() -> dict[str, Any]:
    return evaluation_values()


PAGES: dict[str, Callable[[], str]] = {
    "evaluation": lambda: evaluation_page(evaluation_values()),
    "training": lambda: training_page(training_values()),
    "comparison": lambda: comparison_page(comparison_values() | {"examples": evaluation_values()["examples"]}),
}


@pytest.mark.parametrize("make", PAGES.values(), ids=PAGES)
def test_a_page_is_whole_and_its_references_lead_somewhere(make: Callable[[], str]) -> None:
    page = Page(make())
    ids = page.all("id")
    assert [name for name, times in Counter(ids).items() if times > 1] == []
    for name in ("aria-labelledby", "aria-describedby"):
        assert {reference for value in page.all(name) for reference in value.split()} <= set(ids)
    assert page.all("href")
    assert {target.removeprefix("#") for target in page.all("href")} <= set(ids)
    assert page.tags("html") == [{"lang": "en"}]
    assert len(page.tags("main")) == 1


@pytest.mark.parametrize("make", PAGES.values(), ids=PAGES)
def test_a_page_asks_for_nothing_and_runs_nothing(make: Callable[[], str]) -> None:
    text = make()
    page = Page(text)
    assert "http://" not in text
    assert "https://" not in text
    assert page.all("src") == []
    assert page.tags("script") == page.tags("link") == page.tags("iframe") == []
    assert [name for _, attributes in page.elements for name in attributes if name.startswith("on")] == []
    assert not re.search(r"url\(|@import", text)


@pytest.mark.parametrize("make", PAGES.values(), ids=PAGES)
def test_what_scrolls_can_be_reached_by_keyboard_and_has_a_name(make: Callable[[], str]) -> None:
    page = Page(make())
    regions = [attributes for attributes in page.tags("div") if attributes.get("class") == "scroll"]
    assert len(regions) == len(page.tags("table")) > 0
    for attributes in regions:
        assert attributes["tabindex"] == "0"
        assert attributes["role"] == "region"
        assert attributes["aria-labelledby"]


def headings(page: Page) -> list[int]:
    return [int(tag[1]) for tag, _ in page.elements if re.fullmatch("h[1-6]", tag)]


@pytest.mark.parametrize("make", PAGES.values(), ids=PAGES)
def test_headings_begin_with_one_and_skip_no_level(make: Callable[[], str]) -> None:
    levels = headings(Page(make()))
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))


def rude(value: Any, key: str = "") -> Any:
    """The values with a script in place of, or in front of, everything that a user can name."""
    if isinstance(value, dict):
        return {
            (f"{RUDE}{name}" if key in ("per_type", "files", "facts", "annotated", "recipe") else name): rude(
                item, name
            )
            for name, item in value.items()
        }
    if isinstance(value, list):
        return [rude(item, key) for item in value]
    named = key in ("gold", "predicted", "label", "surface", "document", "model", "labels", "name", "settings", "why")
    named = named or key in (
        "cautions",
        "lost",
        "lost",
        "examples",
        "what",
        "advice",
        "command",
        "baseline",
    )
    return f"{RUDE}{value}" if isinstance(value, str) and named else value


@pytest.mark.parametrize("kind", ["evaluation", "training", "comparison", "markdown"])
def test_names_of_files_labels_methods_and_documents_are_shown_and_not_run(kind: str) -> None:
    if kind == "evaluation":
        values = evaluation_values()
        recipe = values.pop("recipe")
        text = evaluation_page({**rude(values), "recipe": {**recipe, RUDE: RUDE}, "lost": [RUDE]})
    elif kind == "training":
        values = training_values()
        recipe = values.pop("recipe")
        text = training_page({**rude(values), "recipe": recipe | {"method": RUDE}})
    else:
        values = rude(comparison_values() | {"command": RUDE, "cautions": [RUDE]})
        text = comparison_page(values) if kind == "comparison" else comparison_markdown(values)
    if kind == "markdown":
        text = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
        assert "&lt;script>alert(1)" in text
    else:
        assert Page(text).text.count(RUDE) > 5
    assert "<script" not in text


def test_text_of_documents_is_shown_and_not_run() -> None:
    text = f"Ann {RUDE} & Bob"
    gold = Corpus([Document(text, (Entity(0, 3, "<b>"), Entity(4, 29, "A&B")), id="<i>")])
    found = Corpus([Document(text, (Entity(4, 29, "X"),), id="<i>")])
    made = evaluation_page(
        {
            **evaluate(gold, found, samples=10).to_json(),
            "gold": "g",
            "predicted": "p",
            "files": {},
            "examples": examples_of(gold, found, gold),
        }
    )
    page = Page(made)
    assert RUDE in page.text
    assert "document <i>" in page.text
    assert page.tags("script") == page.tags("b") == page.tags("i") == []
    assert "in training 1 × as A&B, 0 × without annotation" in page.text


def test_the_evaluation_says_what_the_scores_say(evaluated: dict[str, Any]) -> None:
    page = Page(evaluation_page(evaluated))
    strict = evaluated["strict"]
    low, high = strict["interval"]
    interval = f"95 % interval {100 * low:.1f} to {100 * high:.1f}"
    size = f"{strict['gold']} entities in {evaluated['documents']} documents"
    most = f"most errors are missed entities ({evaluated['errors']['missed']} of "
    assert f"F1 {100 * strict['f1']:.1f} ({interval}) on {size}; {most}" in page.text
    for label, score in strict["per_type"].items():
        numbers = [f"{100 * score[name]:.2f}" for name in ("precision", "recall", "f1")]
        assert page.row(label) == [label, *numbers, *(f"{score[name]:,}" for name in ("gold", "predicted", "tp"))]
    assert page.row("all")[3] == f"{100 * strict['f1']:.2f}"
    assert page.row("loose")[1] == f"{100 * evaluated['loose']['precision']:.2f}"
    assert page.row("missed") == ["missed", str(evaluated["errors"]["missed"])]
    assert "Against older.jsonl: F1 +2.10 (95 % interval -0.20 to +4.50, p = 0.080): undecided" in page.text
    assert page.row("test.jsonl") == ["test.jsonl", sha256(TEST)]
    assert page.row("train.epochs") == ["train.epochs", "6"]


def test_the_confusion_has_all_cells_with_missed_and_spurious(evaluated: dict[str, Any]) -> None:
    page = Page(evaluation_page(evaluated))
    counts = {(cell["gold"], cell["predicted"]): cell["count"] for cell in evaluated["errors"]["confusion"]}
    columns = page.row("gold")[1:]
    assert columns[-1] == "(missed)"
    shown = [row for row in page.rows if len(row) == len(columns) + 1 and row[0] in {*columns, "(spurious)"}]
    assert [row[0] for row in shown] == [*columns[:-1], "(spurious)"]
    assert [row[1:] for row in shown][:-1] == [
        [str(counts.get((gold, column), 0)) for column in columns] for gold in columns[:-1]
    ]
    assert shown[-1][-1] == "-"


def test_without_errors_resamples_or_entities_a_page_still_says_something_true() -> None:
    perfect, empty = Corpus([Document("Ann", (Entity(0, 3, "PER"),))]), Corpus([Document("Ann")])
    names = {"gold": "g", "predicted": "p", "files": {}}
    text = Page(evaluation_page(evaluate(perfect, perfect, samples=0).to_json() | names)).text
    assert "F1 100.0 on 1 entity in 1 document; there is no error." in text
    assert "interval" not in text
    text = Page(evaluation_page(evaluate(empty, empty).to_json() | names)).text
    assert "on 0 entities in 1 document;" in text


# Examples


TEXT = "The University of New York hired Ann Lee."
GOLD = (Entity(4, 26, "ORG"), Entity(18, 26, "LOC"), Entity(33, 40, "PER"))


def example(found: tuple[Entity, ...], train: Corpus | None = None, **options: Any) -> list[dict[str, Any]]:
    return examples_of(Corpus([Document(TEXT, GOLD)]), Corpus([Document(TEXT, found)]), train, **options)


def test_nested_entities_lie_on_lines_of_their_own_and_predicted_ones_below() -> None:
    (one,) = example((Entity(4, 26, "ORG"), Entity(33, 40, "PER")))
    assert (one["kind"], one["gold"]["surface"], one["predicted"]) == ("missed", "New York", None)
    placed = [(span["label"], span["side"], span["line"], span["error"]) for span in one["spans"]]
    assert placed == [
        ("ORG", "gold", 0, False),
        ("LOC", "gold", 1, True),
        ("PER", "gold", 0, False),
        ("ORG", "predicted", 2, False),
        ("PER", "predicted", 2, False),
    ]
    parts = parts_of(one["text"], one["spans"])
    assert "".join(part["text"] for part in parts) == TEXT
    inner = next(part for part in parts if part["text"] == "New York")
    assert [span["line"] for span in inner["over"]] == [0, 1, 2]
    assert [span["label"] for span in inner["ending"]] == ["ORG", "LOC", "ORG"]
    names = {"gold": "g", "predicted": "p", "files": {}}
    scores = evaluate(Corpus([Document(TEXT, GOLD)]), Corpus([Document(TEXT, GOLD[::2])])).to_json()
    made = evaluation_page(scores | names | {"examples": [one]})
    assert (
        '<span class="line gold" style="--line: 0"><span class="line gold error" style="--line: 1">'
        '<span class="line predicted" style="--line: 2">New York</span></span></span>'
    ) in made


def test_crossing_entities_never_share_a_line() -> None:
    placed = lanes([(0, 5, "A"), (3, 9, "B"), (5, 7, "C"), (8, 12, "D")], [])
    assert [lane.line for lane in placed] == [0, 1, 0, 0]


def test_every_kind_of_error_is_told_with_both_sides() -> None:
    found = (Entity(4, 26, "LOC"), Entity(22, 26, "LOC"), Entity(33, 36, "ORG"), Entity(0, 3, "PER"))
    kinds = {one["kind"]: one for one in example(found)}
    assert kinds.keys() == {"type", "boundary", "type_and_boundary", "spurious"}
    sides = {
        kind: [one[side] and one[side]["surface"] for side in ("gold", "predicted")] for kind, one in kinds.items()
    }
    assert sides == {
        "type": ["University of New York"] * 2,
        "boundary": ["New York", "York"],
        "type_and_boundary": ["Ann Lee", "Ann"],
        "spurious": [None, "The"],
    }


def test_examples_tell_how_often_training_had_the_surface() -> None:
    train = Corpus(
        [
            Document("New York and New York", (Entity(0, 8, "LOC"),)),
            Document("the New York Times of New  York", (Entity(4, 18, "ORG"), Entity(22, 31, "LOC"))),
            Document("Ann Lees"),
        ]
    )
    missed = {one["gold"]["surface"]: one["gold"]["seen"] for one in example((GOLD[0],), train)}
    assert missed == {
        "New York": {"annotated": {"LOC": 2}, "overlapping": 1, "unannotated": 1},
        "Ann Lee": {"annotated": {}, "overlapping": 0, "unannotated": 0},
    }
    assert "seen" not in example((GOLD[0],))[0]["gold"]


def test_examples_are_spread_over_the_documents_and_limited() -> None:
    gold = Corpus([Document("Ann", (Entity(0, 3, "PER"),), id=str(number)) for number in range(100)])
    found = examples_of(gold, Corpus([Document("Ann", id=str(number)) for number in range(100)]), limit=4)
    assert [one["document"] for one in found] == ["0", "25", "50", "75"]


def test_a_long_document_is_cut_around_the_error_between_words() -> None:
    text = "words " * 100 + "Ann " + "words " * 100
    gold = Corpus([Document(text, (Entity(0, 5, "X"), Entity(546, 601, "Y"), Entity(600, 603, "PER")))])
    found = Corpus([gold[0].replace(entities=gold[0].entities[:2])])
    (one,) = examples_of(gold, found)
    assert (one["before"], one["after"]) == (True, True)
    assert 100 < len(one["text"]) < 160
    assert set(one["text"].split()) == {"words", "Ann"}
    places = {span["label"]: one["text"][span["start"] : span["end"]] for span in one["spans"]}
    assert places["PER"] == "Ann"
    assert places.keys() == {"PER", "Y"}


# Training


def test_the_training_page_says_which_epoch_was_kept_and_how_far_to_trust_it() -> None:
    values = training_values()
    best = next(entry for entry in values["metrics"] if entry["step"] == values["best_step"])
    page = Page(training_page(values))
    assert f"uniform on minilm: dev F1 {100 * best['f1']:.1f}" in page.text
    assert f"Epoch {best['epoch']} of 8, the best on the clean dev set, was kept." in page.text
    assert "they flatter the model" in page.text
    assert page.row("60")[:3] == ["60", "1", "24"]
    assert page.row("LOC")[0] == "LOC"
    assert "3 x entity wider than 10 words" in page.text
    assert len(page.tags("svg")) == 3


def test_a_training_without_dev_set_has_a_curve_of_its_loss_alone() -> None:
    values = training_values()
    kept = ("step", "epoch", "loss", "kept", "missampled")
    values["metrics"] = [{name: entry[name] for name in kept} | {"missampled": 0} for entry in values["metrics"]]
    values["recipe"]["select_on"] = "none"
    page = Page(training_page(values))
    assert "no dev set says how good it is" in page.text
    assert len(page.tags("svg")) == 1


# Comparison


def test_the_comparison_recommends_with_how_sure_it_is() -> None:
    values = comparison_values()
    for text in (Page(comparison_page(values)).text, " ".join(comparison_markdown(values).split())):
        assert "Use top-neg: it has the best dev F1 (" in text
        draws = "2,000 draws of other test documents and other seeds"
        assert f"In 62 % of {draws} it is the best: likely, not settled; uniform is in 30 %." in text
        assert "It is better than span: F1 +12.8 (95 % interval +9.8 to +15.8)." in text


def test_the_rows_of_the_comparison_are_right() -> None:
    values = comparison_values()
    row = values["conditions"][0]["contenders"][1]
    scores = [f"{100 * row[name]:.2f}" for name in ("f1", "sd")]
    low, high = row["interval"]
    edges = row["against"]["interval"]
    expected = [
        "uniform",
        *scores,
        f"{100 * low:.2f} to {100 * high:.2f}",
        f"{100 * row['against']['difference']:+.2f} ({100 * edges[0]:+.2f} to {100 * edges[1]:+.2f})",
    ]
    assert Page(comparison_page(values)).row("uniform", *scores)[:6] == [*expected, "better"]
    assert f"| {' | '.join(expected)} | better |" in comparison_markdown(values)


def test_a_method_with_a_better_dev_score_and_fewer_runs_is_told() -> None:
    values = comparison_values()
    for one in values["conditions"]:
        one["recommended"]["passed_over"] = {"name": "weighted", "dev_f1": 0.709, "seeds": 2}
    for text in (Page(comparison_page(values)).text, " ".join(comparison_markdown(values).split())):
        assert "Use top-neg: it has the best dev F1 (" in text
        assert ") of the methods with 3 seeds, and F1 " in text
        assert "weighted has a better dev F1 (70.9), but only 2 of its runs ended." in text


def test_a_handful_of_test_documents_makes_no_claim() -> None:
    values = comparison_values()
    for one in values["conditions"]:
        one["sizes"]["test"] = 29
        for row in one["contenders"]:
            row.get("against", {})["verdict"] = TOO_FEW
    for text in (Page(comparison_page(values)).text, " ".join(comparison_markdown(values).split())):
        assert "With fewer than 30 test documents intervals are too narrow and no claim is made" in text
        assert "it is the best:" not in text
        assert "than span:" not in text
        assert "undecided: too few documents" in text


def test_names_with_commas_are_told_apart() -> None:
    values = comparison_values(drops=(None,))
    for row, name in zip(values["conditions"][0]["contenders"], ("span", "binder", "binder, uniform"), strict=False):
        row["name"] = name
    values["conditions"][0]["contenders"] = values["conditions"][0]["contenders"][:3]
    assert '3 methods ("span", "binder" and "binder, uniform")' in summary_of(values)


@pytest.mark.parametrize("make", [lambda values: Page(comparison_page(values)).text, comparison_markdown])
def test_how_to_read_the_comparison_says_what_is_corrected_and_whose_seconds_they_are(
    make: Callable[[dict[str, Any]], str],
) -> None:
    text = " ".join(make(comparison_values()).split())
    assert "not corrected for several tests, so an undecided one may exclude 0." in text
    assert "with at least 3 seeds and 30 test documents" in text
    assert "Seconds are those of the machine that made the run." in text


def test_the_share_of_masked_entities_says_of_which_negatives_it_is() -> None:
    values = comparison_values(drops=(0.5,))
    values["conditions"][0]["contenders"][1]["negatives"] = "words"
    cells = {row[0]: row for row in tables_of(values)[0]["rows"]}
    assert "1.23 % of words" in cells["uniform"]
    assert "1.23 % of spans" in cells["span"]


def test_two_seeds_make_no_claim() -> None:
    values = comparison_values(seeds=2)
    text = Page(comparison_page(values)).text
    assert "With fewer than 3 seeds no claim is made" in text
    assert "no claim: too few seeds" in text
    assert "better than span:" not in text


@pytest.mark.parametrize("seeds", [1, 3])
def test_the_terminal_says_what_the_report_says(seeds: int, capsys: pytest.CaptureFixture[str]) -> None:
    values = comparison_values(seeds=seeds, drops=(None, 0.125))
    show_contest(values)
    shown = [line.rstrip() for line in capsys.readouterr().out.splitlines()]
    for one in tables_of(values):
        assert shown.count(one["heading"]) == 1
        assert shown.count(one["recommendation"]) == 1
        for text in (Page(comparison_page(values)).text, comparison_markdown(values)):
            assert one["recommendation"] in text.replace("\N{NO-BREAK SPACE}", " ")
            assert one["heading"] in text
    claimed = [line for line in shown if "it is the best:" in line]
    assert len(claimed) == (2 if seeds == 3 else 0)
    assert "12.5 % of the annotations masked" in shown


@pytest.mark.parametrize(("change", "expected"), [
    ({"verdict": "worse"}, "worse"), ({"verdict": "undecided"}, "undecided"), (None, "the baseline failed"),
])  # fmt: skip
def test_verdicts(change: dict[str, str] | None, expected: str) -> None:
    one = comparison_values()["conditions"][0]
    row = one["contenders"][1]
    if change is None:
        del row["against"]
    else:
        row["against"] |= change
    assert verdict_of(row, one, "span") == expected
    assert verdict_of(one["contenders"][0], one, "span") == "baseline"


def test_failures_are_told_with_their_reason_and_a_method_without_run_has_an_empty_row() -> None:
    values = comparison_values(drops=(None,))
    rows = values["conditions"][0]["contenders"]
    rows[4] = {"name": rows[4]["name"], "failed": rows[4]["failed"]}
    page = Page(comparison_page(values))
    assert "nrces:loss.w=10, seed 2: step 40: the loss is not a number" in page.text
    assert page.row("nrces:loss.w=10")[5] == "failed"
    assert len({len(row) for row in page.rows[:6]}) == 1
    values["conditions"][0] |= {"contenders": [rows[4]], "recommended": None, "sizes": {}}
    values["baseline"] = rows[4]["name"]
    for text in (Page(comparison_page(values)).text, comparison_markdown(values)):
        assert "No run ended well" in text


def test_several_masks_have_a_chart_of_their_own_and_one_has_none() -> None:
    both, single = (Page(comparison_page(comparison_values(drops=drops))) for drops in ((0.5, 0.7), (0.5,)))
    assert "drops-title" in both.all("id")
    assert "drops-title" not in single.all("id")


def test_every_run_has_its_key_and_every_file_its_hash() -> None:
    values = comparison_values()
    page, markdown = Page(comparison_page(values)), comparison_markdown(values)
    for one in values["conditions"]:
        for row in one["contenders"]:
            for run in row["runs"]:
                assert run["key"] in page.text
                assert run["key"] in markdown
    assert page.row("dev.jsonl") == ["dev.jsonl", "2" * 64]
    assert f"| dev.jsonl | `{'2' * 64}` |" in markdown


def test_a_pipe_does_not_end_a_cell_of_the_table() -> None:
    values = comparison_values()
    values["files"] = {"a|b": "1"}
    assert "| a\\|b | `1` |" in comparison_markdown(values)


def test_real_comparisons_can_be_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pretend(monkeypatch, lambda _, recipe: {"span": 0.5, "uniform": 0.8}[recipe.method])
    values = compare(contest("span", "uniform", seeds=2, drops=[0.3]), data(), Runs(tmp_path))
    before = copy.deepcopy(values)
    values = json.loads(json.dumps(values))
    page = Page(comparison_page(values))
    assert "Use uniform" in page.text
    assert "Use uniform" in comparison_markdown(values)
    assert values == before
    made_up = comparison_values()
    assert values.keys() == made_up.keys()
    assert values["conditions"][0].keys() == made_up["conditions"][0].keys()
    assert values["conditions"][0]["recommended"].keys() == made_up["conditions"][0]["recommended"].keys()
    real, other = (one["conditions"][0]["contenders"][1] for one in (values, made_up))
    assert real.keys() | {"tried"} == other.keys()
    assert real["runs"][0].keys() == other["runs"][0].keys()


# Commands


def test_evaluate_writes_a_page(run: Run, tmp_path: Path) -> None:
    run("annotate", DEV, "-d", DICTIONARY, "-o", "labels.jsonl")
    calls = ["evaluate", DEV, "labels.jsonl", "--samples", "50", "--html", "report.html", "--train", TEST]
    done = run(*calls, "--against", DEV)
    assert done.status == 0
    assert done.out.rstrip().endswith("report written to report.html")
    page = Page((tmp_path / "report.html").read_text(encoding="utf-8"))
    assert "labels.jsonl against dev.jsonl" in page.text
    assert "worse" in page.text
    assert page.row("labels.jsonl") == ["labels.jsonl", sha256(tmp_path / "labels.jsonl")]
    assert page.row(str(TEST))
    done = run(*calls, "--json")
    assert json.loads(done.out)["documents"] > 0
    assert "report written" in done.err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--html", "nowhere/report.html"], "the folder nowhere does not exist"),
        (["--html", "."], "a folder, expected the name of a file"),
        (["--train", TEST], "--train is for the report: name its file with --html"),
    ],
)
def test_a_report_that_cannot_be_written_is_refused_at_once(run: Run, options: list[Any], message: str) -> None:
    for call in (["evaluate", "missing.jsonl", "missing.jsonl"], ["train", "--train", "missing.jsonl", "-o", "model"]):
        if call[0] == "train" and "--train" in options:
            continue
        done = run(*call, *options)
        assert done.status == 2
        assert message in done.err


def test_the_hash_of_a_folder_is_that_of_its_manifest_or_of_all_in_it(tmp_path: Path) -> None:
    folder = tmp_path / "brat"
    folder.mkdir()
    (folder / "a.txt").write_text("a", encoding="utf-8")
    (before,) = hashes_of([folder]).values()
    (folder / "a.txt").write_text("b", encoding="utf-8")
    (after,) = hashes_of([folder]).values()
    assert before != after
    with commit_directory(tmp_path / "listed") as place:
        (place / "a.ann").write_text("a", encoding="utf-8")
    manifest = tmp_path / "listed" / "manifest.json"
    assert hashes_of([manifest.parent]) == {str(manifest): sha256(manifest)}
    (manifest.parent / "a.ann").write_text("b", encoding="utf-8")
    (edited,) = hashes_of([manifest.parent]).values()
    assert edited != sha256(manifest)


# Colours


def luminance(colour: str) -> float:
    """As WCAG 2 defines it."""
    digits = colour if len(colour) == 6 else "".join(2 * digit for digit in colour)
    parts = [int(digits[start : start + 2], 16) / 255 for start in (0, 2, 4)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def test_every_colour_of_text_and_lines_is_read_in_light_and_dark() -> None:
    style = STYLE + (TEMPLATES / "page.css").read_text(encoding="utf-8")
    schemes: tuple[dict[str, str], dict[str, str]] = ({}, {})
    for block in re.findall(r"(prefers-color-scheme: dark\) \{ )?:root \{(.*?)\}", style, re.DOTALL):
        schemes[bool(block[0])].update(re.findall(r"--(\w+): #(\w+)", block[1]))
    light, dark = schemes
    assert light.keys() == dark.keys()
    assert len(light) > 16
    for scheme in schemes:
        for name in ("ink", "soft", "accent", "gold", "predicted", "good", "bad", *(f"c{n}" for n in range(8))):
            assert contrast(scheme[name], scheme["paper"]) >= 4.5, name
        for name in ("ink", "soft", "gold", "predicted"):
            assert contrast(scheme[name], scheme["card"]) >= 4.5, name
        assert contrast(scheme["ink"], scheme["caution"]) >= 4.5


@pytest.mark.parametrize(
    ("method", "settings", "told"),
    [
        ("uniform", {}, "which trains on a few unannotated spans, drawn evenly, on the encoder"),
        ("uniform", {"policy": {"settings": {"ratio": 0.5}}}, "drawn evenly, on the encoder"),  # left to the data
        ("span", {"policy": {"name": "uniform"}}, "as a negative, but for `policy.name = uniform`, on the encoder"),
        ("nrces", {"loss": {"settings": {"w": 9.0}}}, "into a bounded one, but for `loss.w = 9.0`, on the encoder"),
        ("default", {"two_step": {"explore": 0}}, "the rest, but for `two_step.explore = 0`, on the encoder"),
    ],
)
def test_a_card_says_where_the_method_was_not_followed(method: str, settings: dict[str, Any], told: str) -> None:
    card = model_card(recipe_for(method, settings), Labels(("PER",)), {}, [], 0, Notes())
    assert told in " ".join(card.split())
