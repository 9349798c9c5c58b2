"""Entities of formats that give offsets, a label and, to check them by, the surface."""

from __future__ import annotations

import re

from goldgap.core.document import Document, Entity, label_problem
from goldgap.core.errors import DocumentError


def entity_at(text: str, start: int, end: int, label: str, stated: str | None) -> Entity:
    """The entity, if its range and label are sound and the stated surface is the text there.

    Line ends and tabs stand as blanks in a surface, which is one cell of a line.
    """
    entity = Entity(start, end, label)
    if label_problem(label) or not 0 <= start < end <= len(text):
        Document(text, (entity,))  # says what is wrong
    actual = _as_cell(text[start:end])
    if stated is not None and _as_cell(stated) != actual:
        hint = "are the offsets in characters?"
        if _as_cell(text.replace("\r\n", "\n")[start:end]) == _as_cell(stated):
            hint = "the offsets count a line end CR LF as one character: give the text line ends of LF (dos2unix)"
        raise DocumentError(f"the surface is {stated!r}, but the text at {start}..{end} is {actual!r}; {hint}")
    return entity


def _as_cell(surface: str) -> str:
    return re.sub(r"[\r\n\t]", " ", surface)
