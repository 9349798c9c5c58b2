"""Methods by name: what each changes of the default recipe, and what a user should know of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from goldgap.encode.names import BILSTM, FLAT


class Method(NamedTuple):
    """A named recipe.

    what       what it does with the unknown
    needs      what it asks of the data or the user
    when       when to use it
    settings   what differs from the default recipe
    """

    what: str
    needs: str
    when: str
    settings: Mapping[str, Any]

    @property
    def encoder(self) -> str | None:
        """The encoder that the method brings with it, if it does."""
        name: str | None = self.settings.get("encoder", {}).get("name")
        return name


DEFAULT = "default"
"""Of `train` and `Recognizer.train`."""

_PAIR_PAPER: dict[str, Any] = {  # 001, and the uniform sampler that it starts from
    "encoder": {"name": "bert-base-cased", "shapes": False, "pooling": "first-first"},
    "model": {"head": "pair", "max_width": 0, "hidden": 256, "dropout": 0.4},
    "decode": {"how": "greedy"},
    "train": {
        "epochs": 40,
        "batch_size": 16,
        "encoder_rate": 1e-5,
        "head_rate": 1e-5,
        "weight_decay": 1e-5,
        "clip": 0.0,
        "certain_negatives": False,
    },
}
_CONCAT_PAPER: dict[str, Any] = {  # 000 and 004, on the entity model of PURE
    "model": {"head": "concat", "hidden": 150, "width_size": 150, "dropout": 0.2},
    "decode": {"how": "none"},
    "train": {"epochs": 20, "batch_size": 16, "head_rate": 5e-4, "clip": 0.0, "certain_negatives": False},
}

_BINDER: dict[str, Any] = {
    "model": {"kind": "bi-encoder", "dropout": 0.1},
    "policy": {"name": "all"},
    "loss": {"name": "contrastive"},
}
_TAGGER: dict[str, Any] = {
    "model": {"kind": "tagger", "dropout": 0.1},
    "policy": {"name": "all"},
    "loss": {"name": "crf"},
}
_TWO_STEP: dict[str, Any] = {
    **_TAGGER,
    "tagger": {"angle": True},
    "two_step": {"explore": 1, "share": 0.05},
}
_BILSTM: dict[str, Any] = {
    **_TAGGER,
    "encoder": {"name": BILSTM},
    "train": {"epochs": 20, "head_rate": 2e-3},
}
_FLAT: dict[str, Any] = {
    **_TAGGER,
    "encoder": {"name": FLAT, "hidden": 160, "size": 50, "dropout": 0.3},
    "train": {"epochs": 20, "head_rate": 1e-3},
}
_FEW: dict[str, Any] = {"known_weight": 0.2}
"""Of methods that draw few negatives: those that are known, all around the entities, must not outweigh them."""

METHODS: dict[str, Method] = {
    "default": Method(
        "finds what seems to be missing by a short training, adds or leaves it out, and then trains binder on the rest",
        "up to three times the time of uniform",
        "the first thing to try",
        {
            **_BINDER,
            "two_step": {"explore": 3, "method": "uniform", "share": "auto", "margin": 4.0, "sure": 0.7},
        },
    ),
    "span": Method(
        "trains on every unannotated span as a negative",
        "complete annotations",
        "nothing is missing; the baseline",
        {"policy": {"name": "all"}, "loss": {"name": "cross-entropy", "settings": {"reduction": "sum"}}},
    ),
    "uniform": Method(
        "trains on a few unannotated spans, drawn evenly",
        "nothing",
        "time is short",
        {"policy": {"name": "uniform", "settings": {"ratio": "auto"}}, "train": _FEW},
    ),
    "weighted": Method(
        "draws from those that do not look like an entity to the model",
        "a model that is decent early",
        "most is missing at random; never with labels from a dictionary",
        {"policy": {"name": "weighted", "settings": {"base": 1.0, "t_min": 64.0}}, "train": _FEW},
    ),
    "top-neg": Method(
        "trains on those most similar to the known entities",
        "some entities in most batches",
        "labels from a dictionary",
        {"policy": {"name": "top-neg"}, "train": _FEW},
    ),
    "nrces": Method(
        "keeps half, and fades their loss into a bounded one",
        "a guess of what is missing (loss.w)",
        "labels from a dictionary, and much text",
        {
            "policy": {"name": "fraction"},
            "loss": {"name": "nrces", "settings": {"w": 2.0}},
            "train": {"encoder_rate": 5e-5, "batch_size": 16},
        },
    ),
    "ignore": Method(
        "leaves them alone, and learns from what is known",
        "known negatives (annotate --phrases)",
        "there is a list of all that could be an entity",
        {
            "policy": {"name": "fraction", "settings": {"share": 0.0}},
            "loss": {"name": "cross-entropy", "settings": {"reduction": "sum"}},
        },
    ),
    "binder": Method(
        "trains on all as negatives, of which none weighs much: spans and types as vectors, a threshold for each text",
        "types that can be described",
        "types mean something, or entities are nested",
        _BINDER,
    ),
    "binder-top-neg": Method(
        "binder with negatives that are similar to the known entities",
        "as binder, and some entities in most batches",
        "as binder, to compare",
        {**_BINDER, "policy": {"name": "top-neg"}},
    ),
    "softmax": Method(
        "trains on every unannotated word as outside: a tagger",
        "complete annotations",
        "nothing is missing and a tagger is wanted",
        {**_TAGGER, "loss": {"name": "cross-entropy", "settings": {"reduction": "sum"}}},
    ),
    "crf": Method(
        "as softmax, with scores for neighbouring tags",
        "complete annotations",
        "as softmax",
        _TAGGER,
    ),
    "two-step": Method(
        "leaves out the words that a short training takes for entities, and starts again (CRF)",
        "a guess of what is missing (two_step.share)",
        "annotations are missing and a tagger is wanted",
        _TWO_STEP,
    ),
    "bilstm-crf": Method(
        "as crf, over a BiLSTM",
        "more epochs, no pretrained encoder",
        "there is none for the language",
        _BILSTM,
    ),
    "flat": Method(
        "as crf, over words and those of a lexicon (FLAT)",
        "a lexicon",
        "Chinese without a pretrained encoder",
        _FLAT,
    ),
    "bert-word": Method(
        "as crf, with a lexicon behind the encoder (BERT+Word)",
        "a lexicon",
        "Chinese",
        {**_TAGGER, "lexicon": {"used": "attention"}},
    ),
    "lebert": Method(
        "as crf, with a lexicon inside the encoder (LEBERT)",
        "a lexicon",
        "Chinese",
        {**_TAGGER, "lexicon": {"used": "adapter"}},
    ),
    "two-step-paper": Method(
        "two-step with the settings of its paper, with LEBERT",
        "bert-base-chinese, 20 epochs, a lexicon with vectors",
        "to compare with the paper",
        {
            **_TWO_STEP,
            "encoder": {"name": "bert-base-chinese", "shapes": False},
            "lexicon": {"used": "adapter", "size": 200},
            "loss": {"name": "crf", "settings": {"drop": "score", "reduction": "sum"}},
            "two_step": {"explore": 1, "share": 0.05, "none": 0.1, "none_width": 0},
            "model": {"kind": "tagger", "dropout": 0.5},
            "train": {
                "epochs": 20,
                "batch_size": 4,
                "encoder_rate": 1e-5,
                "head_rate": 1e-4,
                "patience": 5,
                "certain_negatives": False,
            },
        },
    ),
    "uniform-paper": Method(
        "uniform as in Li et al. 2021",
        "bert-base-cased, 40 epochs",
        "to compare with the paper",
        {**_PAIR_PAPER, "policy": {"name": "uniform", "settings": {"ratio": 0.35}}},
    ),
    "weighted-paper": Method(
        "weighted as in Li et al. 2022",
        "bert-base-cased, 40 epochs",
        "to compare with the paper",
        {
            **_PAIR_PAPER,
            "policy": {"name": "weighted", "settings": {"ratio": 0.35, "mu": 8.0, "t_min": 1.0, "base": 0.0}},
        },
    ),
    "top-neg-paper": Method(
        "top-neg as in Xu et al. 2023",
        "bert-base-cased, 20 epochs",
        "to compare with the paper",
        {
            "encoder": {"name": "bert-base-cased", "shapes": False},
            "model": {**_CONCAT_PAPER["model"], "max_width": 8},
            "policy": {"name": "top-neg", "settings": {"ratio": 0.05}},
            "loss": {"name": "cross-entropy", "settings": {"reduction": "sum"}},
            "decode": _CONCAT_PAPER["decode"],
            "train": {
                **_CONCAT_PAPER["train"],
                "encoder_rate": 1e-5,
                "weight_decay": 0.0,
                "warmup": 0.0,
                "schedule": "constant",
                "order": "file",
                "evaluations": 2,
            },
        },
    ),
    "nrces-paper": Method(
        "nrces as in Kang et al. 2022",
        "roberta-base, 20 epochs",
        "to compare with the paper",
        {
            "encoder": {"name": "roberta-base", "shapes": False},
            "model": {**_CONCAT_PAPER["model"], "max_width": 10},
            "policy": {"name": "fraction", "settings": {"share": 0.5, "when": "once"}},
            "loss": {"name": "nrces", "settings": {"w": 5.0}},
            "decode": _CONCAT_PAPER["decode"],
            "train": {**_CONCAT_PAPER["train"], "encoder_rate": 2e-5},
        },
    ),
    "binder-paper": Method(
        "binder as in Zhang et al. 2023",
        "bert-base-uncased, 20 epochs",
        "to compare with the paper",
        {
            "encoder": {"name": "bert-base-uncased", "shapes": False, "window": 128},
            "model": {"kind": "bi-encoder", "max_width": 30, "width_size": 128, "dropout": 0.1},
            "bi_encoder": {"train_all": True, "drop_empty": True},
            "policy": {"name": "all"},
            "loss": {"name": "contrastive"},
            "train": {
                "epochs": 20,
                "batch_size": 8,
                "encoder_rate": 3e-5,
                "head_rate": 3e-5,
                "overlap": 30,
                "certain_negatives": False,
            },
        },
    ),
}
