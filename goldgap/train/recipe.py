"""The recipe: every setting of a training run. A result without its recipe does not count."""

from __future__ import annotations

import json
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field, TypeAdapter, ValidationError

from goldgap.core.config import Settings, Share
from goldgap.core.errors import ConfigError
from goldgap.core.registry import Registry, unknown_name
from goldgap.encode.names import ENCODERS, FLAT
from goldgap.encode.packaged import jieba_list
from goldgap.train.checks import cautions
from goldgap.train.unread import unread

if TYPE_CHECKING:  # torch comes with these: a recipe can be read, checked and written without it
    from goldgap.losses import Loss
    from goldgap.losses.contrastive import Contrastive
    from goldgap.losses.crf import SequenceLoss
    from goldgap.unknown import Policy

Value = bool | int | float | str
AUTO = "auto"
SelectOn = Literal["clean dev", "distant dev", "none"]


class EncoderSettings(Settings):
    """What turns words into vectors.

    name      `minilm`, `bilstm`, `flat`, a directory, or a name on the hub
    shapes    add a learned embedding of the word's shape, which uncased encoders do not see
    pooling   pieces that stand for a word at the start and the end of a span
    layers    the last layer, or a learned mix of all
    window    pieces that are read at once, special ones included; longer texts are read in overlapping windows, which
              is cheaper than one long one
    size, hidden, vectors, freeze, min_count   of `bilstm`: the sizes of word vectors and of each direction, a file of
              given vectors (then their size counts), whether those stay as given, and how often a word must be seen;
              of `flat` likewise, where `hidden` is the size of its layers
    dropout, lowercase   of both: dropout of the vectors, and whether words that differ in case alone share one
    bigrams   of `bilstm`: vectors for pairs of neighbouring words as well
    """

    name: str = "minilm"
    shapes: bool = True
    pooling: Literal["first-last", "first-first"] = "first-last"
    layers: Literal["last", "mix"] = "last"
    window: int = Field(256, ge=64)
    size: int = Field(100, ge=1)
    hidden: int = Field(200, ge=1)
    vectors: str = ""
    freeze: bool = False
    min_count: int = Field(2, ge=1)
    dropout: float = Field(0.5, ge=0, lt=1)
    lowercase: bool = True
    bigrams: bool = False


class ModelSettings(Settings):
    """How spans become scores.

    kind        `span`: a classifier of spans; `bi-encoder`: spans and types in one space; `tagger`: of words
    head        `concat` (start, end, width) or `pair` (start, end, their difference and product)
    max_width   words of the widest span that the model can find; 0: no limit (only the pair head)
    several     a span can have several types: one sigmoid a type instead of one softmax over all
    hidden      size of the head's hidden layer
    width_size  of the vector for the width of a span; none for the pair head
    dropout     of the head
    features    what policies compare spans by: the head's hidden layer, or the span vector itself
    """

    kind: Literal["span", "bi-encoder", "tagger"] = "span"
    head: str = "concat"
    max_width: int = Field(10, ge=0)
    hidden: int = Field(150, ge=1)
    width_size: int = Field(150, ge=1)
    dropout: float = Field(0.2, ge=0, lt=1)
    several: bool = False
    features: Literal["ffnn", "span"] = "ffnn"


class BiEncoderSettings(Settings):
    """Of the bi-encoder alone.

    size                the space that spans and types share
    temperature         of the similarities at the beginning; it is learned
    train_all           train on spans of any width, not on those up to max_width alone
    share_encoders      one encoder reads texts and types, which halves the memory
    share_projections   one projection for starts, ends and spans
    thresholds          what a similarity has to pass: that of the text as a whole (dynamic), a number learned for each
                        type (global), or one chosen on the dev set (dev)
    describe            types are read from their descriptions (text) or names (name), from sentences that have one of
                        them (prototypes), or learned without reading (atomic)
    fallback            a type without a description is read by its name, or refused
    pooling             the vector of a description: that of its first piece, or the mean of all
    drop_empty          windows without an annotation are not trained on
    """

    size: int = Field(128, ge=1)
    temperature: float = Field(0.07, gt=0)
    train_all: bool = False
    share_encoders: bool = False
    share_projections: bool = False
    thresholds: Literal["dynamic", "global", "dev"] = "dynamic"
    describe: Literal["text", "name", "prototypes", "atomic"] = "text"
    fallback: Literal["name", "refuse"] = "name"
    pooling: Literal["first", "mean"] = "first"
    drop_empty: bool = False


class TaggerSettings(Settings):
    """Of the tagger alone, which is a CRF with the loss `crf`, and a softmax over the tags of each word with others.

    scheme   of the tags: bio or bioes
    angle    the scores of a word are angles with the corners of a simplex, and sum to zero
    """

    scheme: Literal["bio", "bioes"] = "bioes"
    angle: bool = False


class LexiconSettings(Settings):
    """Words of a lexicon that are found in the text, for `flat` and for what stands around another encoder.

    used      not at all, by attention behind the encoder (BERT+Word), or between two of its layers (LEBERT)
    file      one word a line, or a dictionary; left out: for text without blanks between words, those of jieba
    jieba     those of jieba beside those of the file
    vectors   a file of vectors for them; left out: learned
    size      of learned vectors
    most      words of the lexicon that a word of the text looks at
    layer     behind which layer of the encoder they come in
    hidden    of each direction of the LSTM behind the attention
    """

    used: Literal["no", "attention", "adapter"] = "no"
    file: str = ""
    jieba: bool = False
    vectors: str = ""
    size: int = Field(50, ge=1)
    most: int = Field(5, ge=1)
    layer: int = Field(1, ge=1)
    hidden: int = Field(300, ge=1)


class TwoStepSettings(Settings):
    """Unannotated words, or spans, that an exploratory model takes for entities are left out of the training (002).

    explore     epochs of the exploratory training, at most those of the training itself; 0: no such step
    method      whose policy, settings of `train` and, for spans, loss the exploratory training has; "": the same
    share       of all that is unannotated, to be left out (lambda); auto: what the exploratory model calls an entity
    margin      with auto: and what it all but calls one, O being ahead of the best type by less than this
    sure        least probability at which what it calls an entity is trained on as one; 1: never
    statistic   what is left out first: the smallest score of O, its distance to the best tag, or its probability
    none        spans for each word of a text that are tagged as NONE, drawn anew in each epoch (gamma)
    none_width  words of the widest of them; 0: any
    """

    explore: int = Field(0, ge=0)
    method: str = ""
    share: Share | Literal["auto"] = 0.05
    margin: float = Field(0.0, ge=0)
    sure: Share = 1.0
    statistic: Literal["o-value", "o-margin", "marginal"] = "o-value"
    none: float = Field(0.0, ge=0, le=1)
    none_width: int = Field(10, ge=0)


class TypeSettings(Settings):
    """What a type is, in words: one description, or several."""

    description: str | list[str]

    @property
    def descriptions(self) -> list[str]:
        return [self.description] if isinstance(self.description, str) else self.description


class Chosen(Settings):
    """A registered variant by name, with settings of its own."""

    name: str
    settings: dict[str, Value] = Field(default_factory=dict)


class TrainSettings(Settings):
    """The loop.

    accumulate          batches whose gradients are averaged into one step
    token_budget        pieces of the encoder in one batch, padding included
    warmup, schedule    share of the steps in which the rates rise; then they fall in a line to 0, or stay
    clip                largest norm of the gradient; 0: any
    average             how much of the average of the weights a step leaves as it was, as 0.99; the average is scored
                        and kept in place of the last weights; 0: no average
    precision           of the encoder and head in training; losses and prediction are float32
    order               batches of like length in random order, or the file's order in every epoch
    certain_negatives   what overlaps an annotation made by a person is not an entity, in flat corpora
    known_weight        weight of what is known not to be an entity, wholly or of some type, in the loss, against 1 for
                        entities and drawn negatives
    evaluations         scores on the dev set in each epoch
    patience            evaluations without a better score after which training ends; 0: never
    checkpoint_steps    steps between checkpoints; 0: one at each evaluation
    overlap             words that neighbouring windows of a long document share
    device              where it is trained, as torch names it: cpu, cuda, cuda:1, mps
    """

    epochs: int = Field(6, ge=1)
    batch_size: int = Field(8, ge=1)
    accumulate: int = Field(1, ge=1)
    token_budget: int = Field(4096, ge=1)
    encoder_rate: float = Field(1e-4, ge=0)
    head_rate: float = Field(1e-3, ge=0)
    weight_decay: float = Field(0.01, ge=0)
    warmup: float = Field(0.1, ge=0, le=1)
    schedule: Literal["linear", "constant"] = "linear"
    clip: float = Field(1.0, ge=0)
    average: float = Field(0.0, ge=0, lt=1)
    precision: Literal["float32", "bfloat16"] = "float32"
    order: Literal["shuffled", "file"] = "shuffled"
    certain_negatives: bool = True
    known_weight: float = Field(1.0, ge=0)
    evaluations: int = Field(1, ge=1)
    patience: int = Field(0, ge=0)
    checkpoint_steps: int = Field(0, ge=0)
    overlap: int = Field(24, ge=0)
    device: str = "cpu"


class DecodeSettings(Settings):
    """Which of the spans that look like entities become one.

    how                    none (nested), greedy or dp; auto: greedy if no entities of the training files overlap
    min_prob, thresholds   least probability of an entity, and of one type's
    joint                  of a bi-encoder: the ends of a span must pass their own thresholds too
    rank_by                of a bi-encoder: what comes first where entities may not overlap, by the similarity with the
                           type or by how far it is above the threshold
    """

    how: str = AUTO
    joint: bool = False
    rank_by: Literal["similarity", "margin"] = "similarity"
    min_prob: float = Field(0.0, ge=0, le=1)
    thresholds: dict[str, Share] = Field(default_factory=dict)


class Recipe(Settings):
    """Everything that decides a run, but for the data.

    select_on   what the best epoch is chosen on; left out: clean dev when a dev set is given, distant dev (a tenth of
                the training documents, held out) when not; none: the last epoch is kept
    types       what the types are, for a bi-encoder to read
    """

    method: str
    seed: int = Field(0, ge=0, lt=1 << 32)
    select_on: SelectOn | None = None
    encoder: EncoderSettings = EncoderSettings()
    model: ModelSettings = ModelSettings()
    bi_encoder: BiEncoderSettings = BiEncoderSettings()
    tagger: TaggerSettings = TaggerSettings()
    lexicon: LexiconSettings = LexiconSettings()
    two_step: TwoStepSettings = TwoStepSettings()
    types: dict[str, TypeSettings] = Field(default_factory=dict)
    policy: Chosen = Chosen(name="uniform")
    loss: Chosen = Chosen(name="cross-entropy")
    train: TrainSettings = TrainSettings()
    decode: DecodeSettings = DecodeSettings()

    def make_policy(self) -> Policy:
        from goldgap.unknown import policies

        made: Policy = _make(policies, "policy", self.policy)
        return made

    def make_loss(self) -> Loss | Contrastive | SequenceLoss:
        from goldgap.losses import losses

        made: Loss | Contrastive | SequenceLoss = _make(losses, "loss", self.loss)
        return made

    def files(self) -> dict[str, Path]:
        """The files and folders that settings name and that are read: their contents decide a run as well."""
        encoder = "" if self.encoder.name in ENCODERS else self.encoder.name
        named = {
            "encoder.name": encoder,
            "encoder.vectors": self.encoder.vectors,
            "lexicon.file": self.lexicon.file,
            "lexicon.vectors": self.lexicon.vectors,
        }
        idle = unread(self)
        found = {name: Path(text) for name, text in named.items() if text and name not in idle and Path(text).exists()}
        looks_up = self.lexicon.used != "no" or self.encoder.name == FLAT
        general = jieba_list() if looks_up and (self.lexicon.jieba or not self.lexicon.file) else None
        return found | ({} if general is None else {"jieba": general})

    def cautions(self) -> list[str]:
        """What is known to go wrong with this combination of settings."""
        return cautions(self)


def _make(registry: Registry[Any], kind: str, chosen: Chosen) -> Any:
    """The variant with its settings; a setting that it does not have is answered with the nearest.

    A ratio that the data decide is left at its default until it is resolved.
    """
    variant = registry.get(chosen.name)
    if not is_dataclass(variant):
        raise ConfigError(f"the {kind} {chosen.name!r} must be a dataclass, whose fields are its settings")
    known = [field.name for field in fields(variant)]
    for name in chosen.settings:
        if name not in known:
            raise ConfigError(unknown_name(f"setting of the {kind} {chosen.name}", name, known))
    try:
        open_ = {"ratio"} if ratio_is_open(chosen) else set()
        given = {name: value for name, value in chosen.settings.items() if name not in open_}
        return TypeAdapter(variant).validate_json(json.dumps(given), strict=True)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join([kind, *map(str, first["loc"])])
        raise ConfigError(f"{place} = {first['input']!r}: {first['msg'][0].lower()}{first['msg'][1:]}") from None


def ratio_is_open(policy: Chosen) -> bool:
    """Whether the number of draws is left to the data."""
    return policy.name in ("uniform", "weighted") and policy.settings.get("ratio") == AUTO
