"""What a recipe leaves to the data, decided."""

from __future__ import annotations

from goldgap.core.corpus import Corpus
from goldgap.core.errors import InputError
from goldgap.decode import decoders
from goldgap.train.data import is_flat
from goldgap.train.describe import described
from goldgap.train.recipe import AUTO, Recipe, ratio_is_open
from goldgap.train.split import Split

RATIO, RATIO_ALONE, RATIO_OF_WORDS = 0.2, 1.5, 0.5
"""What a policy's `ratio = auto` is: beside known negatives, and where it alone says what is not an entity: for
spans, of which a word has many, and for the words of a tagger."""
ENOUGH = 0.1
"""Documents with known negatives, as a share of those with entities, from which on they count: the first few that a
reviewer has seen leave the rest as it is."""


def resolved(recipe: Recipe, parts: Split) -> Recipe:
    """The recipe with nothing left open; wrong names are told here, not after the first epoch."""
    decode, is_tagger = recipe.decode, recipe.model.kind == "tagger"
    if decode.how == AUTO:
        nested = recipe.model.several or not (is_tagger or is_flat(parts.train))
        decode = decode.model_copy(update={"how": "none" if nested else "greedy"})
    policy = recipe.policy
    telling = _telling(parts.train, recipe)
    if policy.name == "fraction" and policy.settings.get("share") == 0 and not telling:
        raise InputError(
            "nothing says what is not an entity: all that is not annotated is unknown, and left alone; give complete "
            "documents with --complete, phrases to goldgap annotate --phrases, or use the method uniform"
        )
    if ratio_is_open(policy):
        alone = RATIO_OF_WORDS if is_tagger else RATIO_ALONE
        annotated = sum(bool(document.entities) for document in parts.train)
        ratio = RATIO if telling and telling >= ENOUGH * annotated else alone
        policy = policy.model_copy(update={"settings": {**policy.settings, "ratio": ratio}})
    types = recipe.types
    if recipe.model.kind == "bi-encoder":
        types = described(recipe, parts.train.labels, () if parts.dev is None else parts.dev.labels)
        if recipe.bi_encoder.thresholds == "dev":
            _check_thresholds(parts)
    decoders.get(decode.how)
    for label in decode.thresholds:
        parts.train.labels.index(label)
    return recipe.model_copy(update={"select_on": parts.select_on, "decode": decode, "policy": policy, "types": types})


def _check_thresholds(parts: Split) -> None:
    """Raise where the dev set cannot choose a threshold for every type, or nothing is to be chosen by it."""
    if parts.dev is None:
        raise InputError("bi_encoder.thresholds = dev, but there is no dev set: name one with --dev")
    if parts.select_on == "none":
        raise InputError("bi_encoder.thresholds = dev, but select_on = none: leave one of the two out")
    if absent := sorted({*parts.train.labels} - {*parts.dev.labels}):
        raise InputError(
            f"bi_encoder.thresholds = dev, but no dev document has the types {', '.join(absent)}: they could never be "
            "found; use the thresholds dynamic or global"
        )


def _telling(corpus: Corpus, recipe: Recipe) -> int:
    """Documents that say what is not an entity: complete ones, and those that a reviewer or an annotator has seen."""
    if recipe.model.kind == "tagger":  # how far an entity goes says nothing of other words
        return sum(bool(document.complete) for document in corpus)
    people = recipe.train.certain_negatives and is_flat(corpus)
    return sum(
        bool(document.complete or document.rejected)
        or (people and any(entity.by_people for entity in document.entities))
        for document in corpus
    )
