"""What decides a run: its data, its recipe and the code.

Two runs with one key have one result, up to the order in which a processor adds: its kind and the number of threads
change the last digits, and from there on a score as much as another seed does.
"""

from __future__ import annotations

import ast
import hashlib
import inspect
import json
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from goldgap.encode.names import BILSTM, FLAT
from goldgap.losses import losses
from goldgap.train.compose import recipe_for
from goldgap.train.deciding import deciding_settings
from goldgap.train.recipe import Recipe
from goldgap.unknown import policies

ROOT = Path(__file__).parents[1]
ALWAYS = (
    "core/document.py",
    "core/labels.py",
    "corpus/words.py",
    "decode.py",
    "encode/align.py",
    "encode/batch.py",
    "encode/device.py",
    "encode/encoder.py",
    "encode/names.py",
    "encode/windows.py",
    "evaluate/counts.py",
    "evaluate/scores.py",
    "losses/base.py",
    "losses/cross_entropy.py",
    "models/model.py",
    "models/predict.py",
    "models/scores.py",
    "models/states.py",
    "train/average.py",
    "train/build.py",
    "train/checkpoint.py",
    "train/data.py",
    "train/loop.py",
    "train/optimiser.py",
    "train/plan.py",
    "train/rows.py",
    "train/select.py",
    "train/split.py",
    "train/step.py",
    "unknown/cells.py",
    "unknown/uniform.py",
)
"""The code that decides every result; what is not among these and the chosen variants reads, keeps and shows."""
BY_MODEL = {
    "span": ("models/layers.py", "models/span.py", "models/span_model.py"),
    "bi-encoder": ("models/bi_encoder.py", "models/thresholds.py", "models/types.py", "train/describe.py"),
    "tagger": (
        "corpus/tags.py",
        "models/chain.py",
        "models/simplex.py",
        "models/tag_states.py",
        "models/tagger.py",
        "models/tagset.py",
    ),
}
TWO_STEP = ("train/doubts.py", "train/none_spans.py", "train/two_step.py")
_LOOKS_UP = ("distant/dictionary.py", "distant/finder.py", "encode/lexicon.py", "encode/vectors.py", "train/hosts.py")
LEXICON: dict[str, tuple[str, ...]] = {
    "no": (),
    "attention": (*_LOOKS_UP, "encode/bilstm.py", "encode/word_attention.py"),
    "adapter": (*_LOOKS_UP, "encode/adapter.py", "encode/word_attention.py"),
}
ENCODERS = {
    BILSTM: ("encode/bilstm.py", "encode/vectors.py"),
    FLAT: (*_LOOKS_UP, "encode/bilstm.py", "encode/flat.py"),
}
"""Those of other names are transformers."""


def key_of(hashes: Mapping[str, str], recipe: Recipe) -> str:
    """A short hash of all that decides a run.

    hashes   of the documents of each part, and of the files that settings name
    recipe   with nothing left open
    """
    deciding = [hashes, deciding_settings(recipe, hashes), code_hash(recipe)]
    return hashlib.sha256(json.dumps(deciding, sort_keys=True).encode()).hexdigest()[:12]


def code_hash(recipe: Recipe) -> str:
    """A hash of the code that decides the result of a recipe, without its comments and layout."""
    variants = (policies.get(recipe.policy.name), losses.get(recipe.loss.name))
    chosen = [_place(Path(inspect.getfile(variant))) for variant in variants]
    chosen += ENCODERS.get(recipe.encoder.name, ("encode/transformer.py",))
    chosen += LEXICON[recipe.lexicon.used]
    chosen += _of_two_steps(recipe)
    return _hash_of(tuple(sorted({*ALWAYS, *BY_MODEL[recipe.model.kind], *chosen})))


def _of_two_steps(recipe: Recipe) -> Iterator[str]:
    settings = recipe.two_step
    if settings.explore or settings.none:
        yield from TWO_STEP
    if settings.explore and settings.method:
        first = recipe_for(settings.method)
        for variant in (policies.get(first.policy.name), losses.get(first.loss.name)):
            yield _place(Path(inspect.getfile(variant)))
    if settings.explore and settings.sure < 1:
        yield "models/suspects.py"


def _place(file: Path) -> str:
    """Within the package, or where someone else's file is."""
    return file.relative_to(ROOT).as_posix() if file.is_relative_to(ROOT) else str(file)


@cache
def _hash_of(files: tuple[str, ...]) -> str:
    digest = hashlib.sha256()
    for name in files:
        digest.update(name.encode() + _meaning(ROOT / name).encode())
    return digest.hexdigest()


def _meaning(file: Path) -> str:
    tree = ast.parse(file.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            node.body = [item for item in node.body if not _is_docstring(item)]
    return _dumped(tree)


def _dumped(tree: ast.Module) -> str:
    """The tree in the words of Python 3.11: later ones know further fields, and leave out those that are empty."""
    everything: dict[str, Any] = {"show_empty": True} if sys.version_info >= (3, 13) else {}
    return ast.dump(tree, **everything).replace(", type_params=[]", "")


def _is_docstring(item: ast.stmt) -> bool:
    return isinstance(item, ast.Expr) and isinstance(item.value, ast.Constant)
