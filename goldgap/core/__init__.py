"""The values that everything speaks."""

from goldgap.core.corpus import Corpus
from goldgap.core.document import Document, Entity, Rejected
from goldgap.core.labels import Labels
from goldgap.core.notes import Notes

__all__ = ["Corpus", "Document", "Entity", "Labels", "Notes", "Rejected"]
