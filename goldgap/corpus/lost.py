"""What formats other than JSONL cannot hold of a document, counted so that it is told."""

from __future__ import annotations

from goldgap.core.document import Document
from goldgap.core.notes import Notes

EMPTY = "document without a word (left out)"
"""What token files and raw text do not hold at all."""
HOLDS_ALL = "Write .jsonl, which holds everything"


def count_lost(document: Document, format: str, notes: Notes) -> None:
    """What is known of the rest of a text, in formats that hold entities at most."""
    if document.complete or document.rejected or document.unknown or document.dropped or document.tokens:
        notes.change(f"tokens, completeness and rejected spans, which {format} cannot hold (left out)", document.id)


def count_unsaid(document: Document, format: str, notes: Notes) -> None:
    """What is known of the entities themselves, in formats that hold range and type alone."""
    made = sum(not entity.by_people for entity in document.entities)
    if made:
        what = f"entity not made by a person, which {format} cannot say (read again, it counts as a person's)"
        notes.change(what, document.id, count=made)
    scored = sum(entity.score is not None for entity in document.entities)
    if scored:
        notes.change(f"probability of an entity, which {format} cannot hold (left out)", document.id, count=scored)
