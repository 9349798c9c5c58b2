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


def resolved(recipe: Recipe, parts: Split) -> Recipe:
    """The recipe with nothing left open; wrong names are told here, not behind the first epoch."""
    decode, is_tagger = recipe.decode, recipe.model.kind == "tagger"
    if decode.how == AUTO:
        nested = recipe.model.several or not (is_tagger or is_flat(parts.train))
        decode = decode.model_copy(update={"how": "none" if nested else "greedy"})
    policy = recipe.policy
    told = _has_known_negatives(parts.train, recipe)
    if policy.name == "fraction" and policy.settings.get("share") == 0 and not told:
        raise InputError(
            "nothing says what is not an entity: all that is not annotated is unknown, and left alone; give complete "
            "documents with --complete, phrases to goldgap annotate --phrases, or use the method uniform"
        )
    if ratio_is_open(policy):
        alone = RATIO_OF_WORDS if is_tagger else RATIO_ALONE
        ratio = RATIO if told else alone
        policy = policy.model_copy(update={"settings": {**policy.settings, "ratio": ratio}})
    types = recipe.types
    if recipe.model.kind == "bi-encoder":
        types = described(recipe, parts.train.labels, () if parts.dev is None else parts.dev.labels)
        if recipe.bi_encoder.thresholds == "dev" and parts.dev is None:
            raise InputError("bi_encoder.thresholds = dev, but there is no dev set: name one with --dev")
    decoders.get(decode.how)
    for label in decode.thresholds:
        parts.train.labels.index(label)
    return recipe.model_copy(update={"select_on": parts.select_on, "decode": decode, "policy": policy, "types": types})


def _has_known_negatives(corpus: Corpus, recipe: Recipe) -> bool:
    """Whether anything says what is not an entity: a complete document, a reviewer, an annotation made by a person."""
    if recipe.model.kind == "tagger":  # how far an entity goes says nothing of other words
        return any(document.complete for document in corpus)
    people = recipe.train.certain_negatives and is_flat(corpus)
    return any(
        document.complete or document.rejected or (people and any(entity.by_people for entity in document.entities))
        for document in corpus
    )
