"""goldgap trains named-entity recognisers from annotations that have gaps."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from goldgap.core.corpus import Corpus
    from goldgap.core.document import Document, Entity, Rejected
    from goldgap.distant.dictionary import Dictionary
    from goldgap.recognizer import Recognizer

__version__ = "0.1.0"
__all__ = ["Corpus", "Dictionary", "Document", "Entity", "Recognizer", "Rejected"]

# Loaded when first asked for: `goldgap --help` must not wait for readers, pydantic or torch.
_HOME = {
    "Corpus": "goldgap.corpus",
    "Dictionary": "goldgap.distant.dictionary",
    "Document": "goldgap.core.document",
    "Entity": "goldgap.core.document",
    "Recognizer": "goldgap.recognizer",
    "Rejected": "goldgap.core.document",
}


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module 'goldgap' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
