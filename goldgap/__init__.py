"""goldgap trains named-entity recognisers from annotations that have gaps."""

from typing import TYPE_CHECKING

import goldgap.corpus  # noqa: F401  (registers the formats that Corpus.read knows)
from goldgap.core import Corpus, Document, Entity, Rejected

if TYPE_CHECKING:
    from goldgap.distant.dictionary import Dictionary

__version__ = "0.1.0"
__all__ = ["Corpus", "Dictionary", "Document", "Entity", "Rejected"]


def __getattr__(name: str) -> object:
    # Loaded when first asked for: `goldgap --help` must not wait for pydantic.
    if name == "Dictionary":
        from goldgap.distant.dictionary import Dictionary

        return Dictionary
    raise AttributeError(f"module 'goldgap' has no attribute {name!r}")
