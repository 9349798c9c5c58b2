"""Which settings of a recipe nothing reads, and why: they are worth a word when set, and decide no result."""

from __future__ import annotations

from typing import TYPE_CHECKING

from goldgap.encode.names import BILSTM, FLAT, LOOK_UP

if TYPE_CHECKING:
    from goldgap.train.recipe import Recipe

_GROUPS = ("encoder", "model", "bi_encoder", "tagger", "lexicon", "two_step", "train", "decode")
_OF_ENCODERS = {
    **dict.fromkeys(("size", "hidden", "vectors", "freeze", "min_count", "dropout", "lowercase"), LOOK_UP),
    "bigrams": (BILSTM,),
}
"""Settings that only some encoders read."""
_OF_LEXICONS = {
    "lexicon.most": ("attention", "adapter"),
    "lexicon.layer": ("adapter",),
    "lexicon.hidden": ("attention",),
}


def unread(recipe: Recipe) -> dict[str, str]:
    """Settings that nothing reads by name, with the reason."""
    names = [f"{group}.{name}" for group in _GROUPS for name in type(getattr(recipe, group)).model_fields]
    return {name: why for name in sorted(names) if (why := _why(recipe, name))}


def _why(recipe: Recipe, name: str) -> str | None:
    kind, loss = recipe.model.kind, recipe.loss.name
    group, _, own = name.partition(".")
    why = None
    if group in ("bi_encoder", "tagger") and kind != group.replace("_", "-"):
        why = f"the method {recipe.method} is no {group.replace('_', '-')}"
    elif group == "encoder" and own in _OF_ENCODERS and recipe.encoder.name not in _OF_ENCODERS[own]:
        why = f"it is a setting of {' and '.join(_OF_ENCODERS[own])}"
    elif name == "encoder.size" and recipe.encoder.vectors:
        why = "encoder.vectors have a size of their own"
    elif group == "lexicon" and recipe.lexicon.used == "no" and recipe.encoder.name != FLAT:
        why = "lexicon.used = no"
    elif name == "lexicon.size" and recipe.lexicon.vectors:
        why = "lexicon.vectors have a size of their own"
    elif name in _OF_LEXICONS and recipe.lexicon.used not in _OF_LEXICONS[name]:
        why = f"it is a setting of lexicon.used = {' and '.join(_OF_LEXICONS[name])}"
    elif group == "two_step" and not recipe.two_step.explore and own not in ("none", "none_width"):
        why = "two_step.explore = 0"
    elif name == "two_step.margin" and recipe.two_step.share != "auto":
        why = "it is for two_step.share = auto"
    elif name == "two_step.statistic" and recipe.two_step.share == "auto":
        why = "two_step.share = auto goes by the distance of O to the best type"
    elif name == "two_step.none_width" and not recipe.two_step.none:
        why = "two_step.none = 0"
    elif name in ("decode.joint", "decode.rank_by") and kind != "bi-encoder":
        why = f"the method {recipe.method} is no bi-encoder"
    elif name == "decode.rank_by" and recipe.decode.how == "none":
        why = "decode.how = none takes all of them"
    elif name == "decode.joint" and recipe.bi_encoder.thresholds == "dev":
        why = "bi_encoder.thresholds = dev chooses none for the ends of spans"
    elif name in ("model.head", "model.hidden", "model.features") and kind != "span":
        why = f"the method {recipe.method} has no head of spans"
    elif name in ("model.max_width", "model.width_size") and kind == "tagger":
        why = "a tagger finds entities of any length"
    elif name in ("encoder.layers", "encoder.pooling") and recipe.encoder.name in LOOK_UP:
        why = f"{recipe.encoder.name} has one vector for a word"
    elif name == "train.encoder_rate" and recipe.encoder.name in LOOK_UP:
        why = f"{recipe.encoder.name} has nothing pretrained"
    elif name == "bi_encoder.fallback" and recipe.bi_encoder.describe != "text":
        why = f"bi_encoder.describe = {recipe.bi_encoder.describe} reads no description"
    elif name == "model.width_size" and kind == "span" and recipe.model.head == "pair":
        why = "the pair head embeds no widths"
    elif name in ("bi_encoder.pooling", "bi_encoder.share_encoders") and recipe.bi_encoder.describe == "atomic":
        why = "nothing is read for types that are atomic"
    elif name == "train.patience" and recipe.select_on == "none":
        why = "select_on = none has no score to wait for"
    elif name == "train.known_weight" and loss in ("contrastive", "crf"):
        why = f"the loss {loss} weighs whole texts"
    return why
