"""The command line in this process: what it returned, printed and told."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import NamedTuple

import pytest

from goldgap.cli import main


class Result(NamedTuple):
    """The exit status, and what went to either channel."""

    status: int
    out: str
    err: str


Run = Callable[..., Result]


def call(arguments: tuple[object, ...], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Result:
    """Run a command; anything but an exit with a status is an error of the test."""
    monkeypatch.setattr(sys, "argv", ["goldgap", *map(str, arguments)])
    with pytest.raises(SystemExit) as stopped:
        main()
    captured = capsys.readouterr()
    return Result(int(stopped.value.code or 0), captured.out, captured.err)
