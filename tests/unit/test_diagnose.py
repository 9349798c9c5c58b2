"""Diagnoses: the numbers in their tables and pictures, by hand and by brute force."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from xml.etree import ElementTree

import pytest
import torch

from goldgap import Corpus, Document, Entity
from goldgap.compare.runs import Run
from goldgap.core.errors import InputError
from goldgap.diagnose import corpora, predictions, records, runs, sampling
from goldgap.diagnose.sampling import sample_epochs
from goldgap.diagnose.sparsity import expected_missampling, guarantee, sentences_of
from goldgap.distant.mask import mask
from goldgap.report.diagnosis import Diagnosis
from goldgap.train.compose import recipe_for
from goldgap.unknown.uniform import Uniform


def corpus(count: int = 40) -> Corpus:
    """Sentences of three to seventeen words, with one to four entities."""
    documents = []
    for number in range(count):
        words = [f"w{index}" for index in range(3 + number % 15)]
        text = " ".join(words)
        entities = [Entity(text.index(f"w{at}"), text.index(f"w{at}") + 2, "PER") for at in range(1 + number % 3)]
        documents.append(Document(text, tuple(entities)))
    return Corpus(documents)


def drawn(found: Diagnosis) -> list[str]:
    """The picture is well-formed and says what it shows."""
    root = ElementTree.fromstring(found.to_svg())
    texts = [text for element in root.iter() for text in (element.text or "",) if text.strip()]
    assert any(found.title in text for text in texts)
    assert found.rows
    assert all(len(row) == len(found.columns) for row in found.rows)
    return texts


@pytest.mark.parametrize("cells", [sampling.CELLS, 2000])
@pytest.mark.parametrize("max_width", [0, 1, 3, 10])
def test_the_sampler_draws_what_is_expected(max_width: int, cells: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where sentences are so long that not all are drawn from together."""
    monkeypatch.setattr(sampling, "CELLS", cells)
    masked = mask(corpus(), 0.6, seed=1)
    sampled = sample_epochs(masked, Uniform(ratio=0.35), max_width=max_width, epochs=2000)
    sentences = sentences_of(masked, max_width)
    assert sampled.rate == pytest.approx(expected_missampling(sentences, 0.35, max_width), rel=0.02)
    wanted = torch.tensor([guarantee(sentence, 0.35, max_width) for sentence in sentences])
    assert (sampled.clean - wanted).abs().max() < 0.05
    assert sampled.kept == 2000 * sum(-(-35 * sentence.words // 100) for sentence in sentences)


def test_other_seeds_draw_otherwise() -> None:
    masked = mask(corpus(), 0.6)
    counts = {sample_epochs(masked, Uniform(), max_width=10, epochs=20, seed=seed).missampled for seed in range(5)}
    assert len(counts) > 1


def test_sparsity_counts_sentences_with_more_entities_than_the_root() -> None:
    found = corpora.sparsity(corpus())
    dense = sum(len(d.entities) > len(d.text.split()) ** 0.5 for d in corpus())
    assert dense > 0
    assert found.finding.startswith(f"{dense} of 40 sentences")
    assert sum(int(row[1]) for row in found.rows) == 40
    assert drawn(found)


def test_sampled_guarantees_are_near_the_expected_ones() -> None:
    found = corpora.promises(mask(corpus(), 0.6), ratio=0.35, max_width=0, epochs=1500)
    for row in found.rows:
        assert float(row[2].split()[0]) == pytest.approx(float(row[3].split()[0]), abs=3)
    assert drawn(found)


def test_missampling_rises_with_the_share_that_is_masked() -> None:
    found = corpora.missampling(corpus(), [0.2, 0.5, 0.9], seeds=4, ratio=0.35, max_width=10, epochs=60)
    rates = [float(row[1].split()[0]) for row in found.rows]
    assert rates == sorted(rates)
    assert [float(row[4]) for row in found.rows] == pytest.approx([1.0] * 3, abs=0.12)
    assert drawn(found)


def run(method: str, seed: int, f1: list[float], missampled: list[int], name: str = "data") -> Run:
    metrics: list[dict[str, Any]] = [
        {
            "epoch": epoch,
            "f1": score,
            "kept": 100,
            "missampled": hits,
            **({"effective": 7.5} if method == "weighted" else {}),
        }
        for epoch, (score, hits) in enumerate(zip(f1, missampled, strict=True), 1)
    ]
    return Run(
        "key",
        name,
        method,
        seed,
        "clean dev",
        {},
        {},
        {},
        recipe_for(method, {"seed": seed}).model_dump(mode="json"),
        "",
        1.0,
        {},
        metrics,
        [],
    )


RUNS = [
    run("uniform", 0, [0.2, 0.4, 0.5, 0.5], [2, 2, 3, 1]),
    run("uniform", 1, [0.4, 0.6, 0.7, 0.5], [2, 2, 1, 3]),
    run("weighted", 0, [0.3, 0.7, 0.8, 0.9], [4, 1, 0, 1]),
]


def test_recorded_missampling_is_that_of_the_last_half() -> None:
    found = runs.recorded_missampling(RUNS)
    assert list(found.rows) == [
        ("uniform", "2", "2.000 %", "2.000 %", "8", "-"),
        ("weighted", "1", "4.000 %", "0.500 %", "6", "7.5"),
    ]
    assert "the negatives of weighted have the smallest share of masked entities: 0.500 % of its spans" in found.finding
    assert drawn(found)


def test_negatives_of_runs_without_masks_are_not_diagnosed() -> None:
    with pytest.raises(InputError, match="expected runs on masked annotations"):
        runs.recorded_missampling([run("span", 0, [0.5], [0])])


def test_negatives_that_are_words_and_those_that_are_spans_are_not_held_against_each_other() -> None:
    tagger = replace(RUNS[0], method="crf", recipe=recipe_for("crf").model_dump(mode="json"))
    with pytest.raises(InputError, match="negatives that are spans and words"):
        runs.recorded_missampling([tagger, RUNS[2]])


def test_f1_over_epochs_is_the_mean_of_the_seeds() -> None:
    found = runs.over_epochs(RUNS)
    assert found.rows[0] == ("uniform", "2", "60.00", "3", "50.00")
    assert [value for _, value in found.series[0].points] == pytest.approx([30, 50, 60, 50])
    assert found.series[0].band[2] == pytest.approx((50, 70))
    assert "weighted is best, at epoch 4" in found.finding
    assert drawn(found)


def test_runs_on_different_data_are_not_mixed() -> None:
    with pytest.raises(InputError, match="different data: data, other"):
        runs.over_epochs([*RUNS, run("uniform", 2, [0.1], [0], name="other")])


def test_the_epoch_that_each_set_would_choose_is_scored_on_the_test_set() -> None:
    def history(dev: list[float], distant: list[float], test: list[float]) -> list[dict[str, Any]]:
        return [
            {"step": 10 * number, "epoch": float(number), "f1": a, "others": {"test": {"f1": c}, "far": {"f1": b}}}
            for number, (a, b, c) in enumerate(zip(dev, distant, test, strict=True), 1)
        ]

    one = replace(run("span", 0, [0.1], [0]), history=history([0.1, 0.9, 0.5], [0.2, 0.1, 0.9], [0.3, 0.6, 0.4]))
    two = replace(run("span", 1, [0.1], [0]), history=history([0.9, 0.2, 0.5], [0.9, 0.1, 0.2], [0.5, 0.7, 0.2]))
    found = runs.selection([one, two, run("uniform", 0, [0.1], [0])])
    assert found.columns == ("method", "runs", "dev", "far", "last epoch", "best on test")
    assert found.rows == [("span", "2", "55.00", "45.00", "30.00", "65.00")]
    assert "lose 10.00 F1" in found.finding
    assert drawn(found)
    with pytest.raises(InputError, match="distant_dev"):
        runs.selection([run("span", 0, [0.1], [0])])


def entries() -> list[dict[str, Any]]:
    return [
        {
            "epoch": epoch,
            "precision": 0.5,
            "recall": recall,
            "f1": recall,
            "train": {"precision": 0.9, "recall": 0.1 * epoch, "f1": 0.0},
            "followed": [0.2 * epoch, 0.9 - 0.2 * epoch],
        }
        for epoch, recall in enumerate((0.3, 0.4, 0.2), 1)
    ]


def test_fit_has_training_and_dev_scores() -> None:
    found = records.fit(entries())
    assert found.rows[1] == ("2", "90.00", "20.00", "50.00", "40.00")
    assert "Best on dev at epoch 2" in found.finding
    assert drawn(found)


def test_traces_have_every_span_under_every_run() -> None:
    found = records.traces(["Oslo", "new Oslo"], {"nrces": entries(), "span": entries()})
    assert [row[:2] for row in found.rows] == [
        ("Oslo", "nrces"), ("new Oslo", "nrces"), ("Oslo", "span"), ("new Oslo", "span")
    ]  # fmt: skip
    assert found.rows[0][2:] == ("0.200", "0.400", "0.600")
    assert any("new Oslo (span)" in text for text in drawn(found))


def test_of_many_traces_those_are_drawn_that_end_farthest_apart() -> None:
    one: list[dict[str, Any]]
    two: list[dict[str, Any]]
    one = [{"epoch": epoch, "followed": [0.1 * n for n in range(9)]} for epoch in (1, 2)]
    two = [{"epoch": epoch, "followed": [0.1 * n for n in range(8)] + [0.0]} for epoch in (1, 2)]
    two[1]["followed"][3] = 1.0
    found = records.traces([f"s{n}" for n in range(9)], {"a": one, "b": two})
    assert len(found.rows) == 18
    assert len(found.series) <= 8
    assert {"s3 (a)", "s3 (b)", "s8 (a)", "s8 (b)"} <= {series.name for series in found.series}
    assert "farthest apart are drawn" in found.finding


def test_thresholds_leave_out_what_is_less_likely() -> None:
    text = "Ann met Bob in Oslo"
    gold = Corpus([Document(text, (Entity(0, 3, "PER"), Entity(8, 11, "PER")), id="1")])
    predicted = Corpus(
        [Document(text, (Entity(0, 3, "PER", 0.9), Entity(8, 11, "PER", 0.6), Entity(15, 19, "PER", 0.4)), id="1")]
    )
    found = predictions.thresholds(gold, predicted, steps=10)
    assert found.rows[0] == ("0.00", "66.67", "100.00", "80.00")
    assert found.rows[5] == ("0.50", "100.00", "100.00", "100.00")
    assert found.rows[7] == ("0.70", "100.00", "50.00", "66.67")
    assert "at most 100.00, at 0.5" in found.finding
    assert drawn(found)


@pytest.mark.parametrize(
    "look",
    [
        lambda: corpora.sparsity(Corpus([Document("")])),
        lambda: corpora.promises(corpus(), ratio=0.35, max_width=0, epochs=1),
        lambda: corpora.missampling(Corpus([Document("a b")]), [0.5], seeds=1, ratio=0.35, max_width=0, epochs=1),
        lambda: runs.over_epochs([]),
        lambda: records.fit([{"epoch": 1, "f1": 0.5}]),
        lambda: records.traces(["a"], {"one": [{"epoch": 1}]}),
        lambda: predictions.thresholds(corpus(), corpus().map(lambda d: d.replace(entities=()))),
    ],
)
def test_without_what_is_needed_nothing_is_diagnosed(look: Any) -> None:
    with pytest.raises(InputError, match="nothing to diagnose: expected"):
        look()


def test_a_record_that_lacks_something_is_refused() -> None:
    without = [{**entries()[0]}, {name: value for name, value in entries()[1].items() if name != "train"}]
    with pytest.raises(InputError, match="training and dev scores in each entry"):
        records.fit(without)
    with pytest.raises(InputError, match="a record that followed 3 spans in nrces"):
        records.traces(["Oslo", "new Oslo", "old Oslo"], {"nrces": entries()})


def test_runs_of_one_method_with_different_settings_are_told_apart_by_them() -> None:
    two = [
        replace(RUNS[seed], recipe={"method": "uniform", "seed": seed, "train": {"epochs": 1 + seed}})
        for seed in (0, 1)
    ]
    assert [row[0] for row in runs.over_epochs([*two, RUNS[2]]).rows] == [
        "uniform:train.epochs=1",
        "uniform:train.epochs=2",
        "weighted",
    ]


def test_runs_of_the_same_settings_are_one_whatever_their_method_is_called() -> None:
    named = [replace(RUNS[0], method=name, recipe={"method": name, "seed": n}) for n, name in enumerate("aba")]
    assert [row[:2] for row in runs.over_epochs(named).rows] == [("a", "3")]


def test_settings_that_a_later_version_writes_out_are_no_others() -> None:
    one, other = ({"method": "uniform", "seed": run.seed, "train": {"epochs": 1}} for run in RUNS[:2])
    written_out = {**other, "two_step": {"explore": 0}}  # as a later version does
    same = [replace(RUNS[0], recipe=one), replace(RUNS[1], recipe=written_out)]
    assert len(runs.over_epochs(same).rows) == 1
