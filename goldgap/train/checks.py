"""What no single setting of a recipe is wrong about: pairs that cannot be, and those that are known to go wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING

from goldgap.core.config import Settings
from goldgap.core.corpus import Corpus
from goldgap.core.document import DICTIONARY
from goldgap.core.errors import ConfigError
from goldgap.core.registry import unknown_name
from goldgap.encode.names import FLAT, LOOK_UP
from goldgap.train.methods import METHODS
from goldgap.train.unread import unread

if TYPE_CHECKING:
    from goldgap.train.recipe import Recipe

FEW = 0.05
"""Share of documents with overlapping entities up to which a corpus may be flat, but for slips."""


def check(recipe: Recipe) -> None:
    """Refuse what no single setting is wrong about."""
    _check_losses(recipe)
    _check_two_steps(recipe)
    _check_encoder(recipe)
    _check_widths(recipe)
    _check_types(recipe)


def _check_losses(recipe: Recipe) -> None:
    kind = recipe.model.kind
    if recipe.loss.name == "contrastive" and kind != "bi-encoder":
        raise ConfigError("loss = contrastive: only a bi-encoder has types to be near; set model.kind=bi-encoder")
    if recipe.loss.name == "crf" and kind != "tagger":
        raise ConfigError("loss = crf: only a tagger has sequences of tags; set model.kind=tagger")
    if kind == "tagger" and recipe.model.several:
        raise ConfigError("model.several = true: a word has one tag; use model.kind = span or bi-encoder")
    if kind == "bi-encoder" and recipe.bi_encoder.train_all and recipe.policy.settings.get("score_mode") == "eval":
        raise ConfigError(
            "policy.score_mode = eval: a second pass scores no span wider than model.max_width, which "
            "bi_encoder.train_all asks for"
        )


def _check_two_steps(recipe: Recipe) -> None:
    steps, kind = recipe.two_step, recipe.model.kind
    if steps.method and steps.method not in METHODS:
        raise ConfigError(f"two_step.method: {unknown_name('method', steps.method, METHODS)}")
    if steps.none and kind != "tagger":
        raise ConfigError("two_step.none: only a tagger has tags for them; set it to 0")
    if steps.none and recipe.loss.name == "nrces":
        raise ConfigError("two_step.none with loss = nrces: its loss of negatives would never see them; set it to 0")
    if steps.statistic == "marginal" and kind != "tagger":
        raise ConfigError("two_step.statistic = marginal: only a tagger has them; use o-value or o-margin")
    if kind == "bi-encoder" and recipe.bi_encoder.train_all and steps.explore:
        raise ConfigError("two_step.explore: bi_encoder.train_all trains on spans that are not scored; set it to false")


def _check_encoder(recipe: Recipe) -> None:
    name, lexicon = recipe.encoder.name, recipe.lexicon.used
    own = METHODS[recipe.method].encoder if recipe.method in METHODS else None
    if own in LOOK_UP and name not in LOOK_UP:
        raise ConfigError(
            f"method = {recipe.method} on {name}: the method is its own encoder; use crf or two-step with another one"
        )
    if lexicon != "no" and name in LOOK_UP:
        raise ConfigError(f"lexicon.used = {lexicon}: it stands around a pretrained encoder, not {name}")
    alone = name in LOOK_UP or lexicon != "no"
    if recipe.model.kind == "bi-encoder" and alone and recipe.bi_encoder.describe != "atomic":
        what = f"encoder.name = {name}" if lexicon == "no" else "lexicon.used"
        raise ConfigError(
            f"{what}: it cannot read what a type is; use another method, as uniform, or set bi_encoder.describe=atomic"
        )
    if recipe.encoder.bigrams and name == FLAT:
        raise ConfigError("encoder.bigrams = true: flat has no vectors for pairs of words; only bilstm has")


def _check_widths(recipe: Recipe) -> None:
    kind, widest = recipe.model.kind, recipe.model.max_width
    if kind == "tagger":
        return
    if widest > recipe.train.overlap:
        raise ConfigError(
            f"model.max_width = {widest}, but train.overlap = {recipe.train.overlap}: a span that two "
            "windows share only a part of would be lost; make the overlap at least as wide"
        )
    if widest == 0 and kind == "bi-encoder":
        raise ConfigError("model.max_width = 0: a bi-encoder embeds widths, so it needs a largest one")
    if widest == 0 and recipe.model.head != "pair":
        raise ConfigError(f"model.max_width = 0: the {recipe.model.head} head embeds widths, so it needs a largest one")
    if recipe.policy.name == "fraction":
        if kind == "bi-encoder" and recipe.bi_encoder.train_all:
            raise ConfigError(
                "bi_encoder.train_all: the policy fraction numbers the spans, so it needs a largest width"
            )
        if widest == 0:
            raise ConfigError("model.max_width = 0: the policy fraction numbers the spans, so it needs a largest width")


def _check_types(recipe: Recipe) -> None:
    for label, type_ in recipe.types.items():
        if not type_.descriptions or not all(text.strip() for text in type_.descriptions):
            raise ConfigError(f"types.{label}.description is empty: say in a sentence what {label} is")
    if recipe.types and recipe.model.kind != "bi-encoder":
        raise ConfigError(f"types: the method {recipe.method} does not read what a type is; use binder")


def cautions(recipe: Recipe) -> list[str]:
    """What is known to go wrong with this combination of settings (METHODS 9.2)."""
    policy, loss, w = recipe.policy.name, recipe.loss.name, recipe.loss.settings.get("w", 5.0)
    found = []
    if loss == "nrces" and policy == "weighted" and isinstance(w, int | float) and w < 10:
        found.append(
            "nrces fades the loss of negatives, of which weighted keeps few already: expect low precision; "
            "set loss.w to 10 or more"
        )
    if recipe.two_step.none and policy == "weighted":
        found.append("weighted takes what looks like NONE for an entity, and draws it seldom: use uniform")
    if loss == "gce" and policy == "weighted":
        found.append("weighted draws by the model's probabilities, which gce leaves too low: use uniform")
    return found + [f"{name} changes nothing: {why}" for name, why in unread(recipe).items() if _was_set(recipe, name)]


def cautions_about(recipe: Recipe, corpus: Corpus) -> list[str]:
    """What is known to go wrong with this recipe on these documents."""
    from goldgap.train.data import is_flat
    from goldgap.train.describe import known_descriptions

    found = []
    by_dictionary = sum(entity.source == DICTIONARY for document in corpus for entity in document.entities)
    if recipe.policy.name == "weighted" and 2 * by_dictionary > corpus.entity_count:
        found.append(
            "weighted never draws what looks like an entity, and around labels from a dictionary nothing says what is "
            "none: use another method, as default or top-neg"
        )
    if recipe.train.certain_negatives:
        overlapping = sum(not is_flat(Corpus([document])) for document in corpus)
        if 0 < overlapping <= FEW * len(corpus):
            found.append(
                f"entities overlap in {overlapping:,} of {len(corpus):,} documents: the corpus is taken as nested, so "
                "nowhere is a span known to be no entity because it overlaps one (goldgap check lists them)"
            )
    options = recipe.bi_encoder
    if recipe.model.kind == "bi-encoder" and (options.describe, options.fallback) == ("text", "name"):
        known = {*(label.lower() for label in recipe.types), *known_descriptions()}
        if unsaid := [label for label in corpus.labels if label.lower() not in known]:
            found.append(
                f"of {', '.join(unsaid)} nothing but the name is read: say with --types, or types.{unsaid[0]}."
                "description, what it is"
            )
    return found


def _was_set(recipe: Recipe, name: str) -> bool:
    group, _, own = name.partition(".")
    settings: Settings = getattr(recipe, group)
    return bool(getattr(settings, own) != type(settings).model_fields[own].default)
