"""Templates, and how numbers are written in them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import jinja2

from goldgap.evaluate.bootstrap import FEW

TEMPLATES = Path(__file__).with_name("templates")


def render(name: str, values: Mapping[str, Any]) -> str:
    """A template filled in; in all but Markdown every value is escaped unless it is marked as safe."""
    return _environment().get_template(name).render(values)


@cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=lambda name: not (name or "").endswith(".md.jinja"),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {
        made.__name__: made for made in (percent, signed, count, counted, sample_of, cell, flat, tied)
    }
    return environment


def percent(value: float, digits: int = 2) -> str:
    """A share in percent, without the sign.

    >>> percent(0.67834)
    '67.83'
    """
    return f"{100 * value:.{digits}f}"


def signed(value: float, digits: int = 2) -> str:
    """A difference of shares in points.

    >>> signed(-0.012, 1), signed(0.0)
    ('-1.2', '+0.00')
    """
    return f"{100 * value:+.{digits}f}"


def count(value: int) -> str:
    return f"{value:,}"


def counted(number: int, one: str, many: str | None = None) -> str:
    """How many there are of something, in words.

    >>> counted(1, "seed"), counted(2_000, "entity", "entities")
    ('1 seed', '2,000 entities')
    """
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def sample_of(documents: int) -> str:
    """How many documents an interval comes from, and whether they are too few for it to be wide enough.

    >>> sample_of(400), sample_of(2)
    ('400 documents', '2 documents: too few')
    """
    return counted(documents, "document") + (": too few" if documents < FEW else "")


def cell(text: str) -> str:
    """Text inside a table of Markdown: nothing in it ends the cell or begins an element.

    >>> cell("a|b <i>")
    'a\\\\|b &lt;i>'
    """
    return " ".join(text.replace("|", "\\|").replace("<", "&lt;").split())


def flat(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested settings by their dotted names.

    >>> flat({"seed": 1, "train": {"epochs": 6}})
    {'seed': 1, 'train.epochs': 6}
    """
    found: dict[str, Any] = {}
    for name, value in values.items():
        if isinstance(value, Mapping):
            found |= flat(value, f"{prefix}{name}.")
        else:
            found[f"{prefix}{name}"] = value
    return found


def tied(text: str) -> str:
    """A sentence in which no line ends before a percent sign."""
    return text.replace(" %", "\N{NO-BREAK SPACE}%")
