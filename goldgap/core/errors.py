"""The exceptions of goldgap.

GoldgapError              exit status 1: the run failed
├── RunError              something outside went wrong: disk full, a lost file
└── InputError            exit status 2: a file or a call is wrong
    ├── CorpusError       a corpus file, with file and line
    ├── DictionaryError   a dictionary file, with file and line
    ├── DocumentError     a document whose parts contradict each other
    ├── ConfigError       a setting
    ├── UnknownNameError  a name that is not registered; the nearest is offered
    └── IntegrityError    a directory that does not match its manifest
"""

from __future__ import annotations

from pathlib import Path


class GoldgapError(Exception):
    """Everything goldgap raises on purpose."""

    exit_status = 1


class RunError(GoldgapError):
    """The input was right, the run failed all the same."""


class InputError(GoldgapError):
    """A file or a call is wrong: says where, what was found, what was expected, what to do."""

    exit_status = 2

    def __init__(self, message: str, *, path: Path | str | None = None, line: int | None = None) -> None:
        self.message = message
        self.path = path
        self.line = line
        place = "" if path is None else f"{path}: " if line is None else f"{path}:{line}: "
        super().__init__(place + message)


def require(value: object, kind: type, what: str, hint: str) -> None:
    """Raise where a call was given something else than it takes."""
    if not isinstance(value, kind):
        found = f"{value!r:.60}" if isinstance(value, str) else f"a {type(value).__name__}"
        raise InputError(f"{what}, found {found}: {hint}")


class CorpusError(InputError):
    """A corpus file is malformed."""


class DictionaryError(InputError):
    """A dictionary file is malformed."""


class DocumentError(InputError):
    """The parts of a document contradict each other."""


class ConfigError(InputError):
    """A setting is unknown or has a value it cannot have."""


class UnknownNameError(InputError):
    """A name that is not registered."""


class IntegrityError(InputError):
    """A directory is not what its manifest says."""
