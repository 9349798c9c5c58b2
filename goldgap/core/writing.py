"""Files that are written whole or not at all, and the places that they are written to."""

from __future__ import annotations

import glob
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from goldgap.core.errors import InputError, RunError
from goldgap.core.reading import reason


def check_target(path: Path) -> None:
    """Raise for a path that no file can be written to, before hours go into what it is to hold."""
    # os.path answers False where Path.is_dir raises (a name too long, no permission): then opening says why.
    if os.path.isdir(path):
        raise InputError("a folder, expected the name of a file to write", path=path)
    if os.path.exists(path) and not os.path.isfile(path):
        raise InputError("a device, pipe or socket, expected the name of a file to write", path=path)
    if not os.path.isdir(path.parent):
        raise InputError(f"the folder {path.parent} does not exist; create it first", path=path)
    if not os.access(path.parent, os.W_OK):
        raise InputError(f"the folder {path.parent} may not be written to; choose another place", path=path)


def keep_apart(target: Path, *sources: Path | None) -> None:
    """Raise for a file that is read, which would be lost, or one in a folder that is read, which would be altered."""
    named = [source for source in sources if source is not None]
    beside = [source.with_suffix(".txt") for source in named if source.suffix == ".ann"]  # the text of brat's
    for source in (*named, *beside):
        if not os.path.exists(source):
            continue
        if os.path.exists(target) and os.path.samefile(target, source):
            raise InputError("it is read by this command, which would write over it; choose another name", path=target)
        if os.path.isdir(source) and Path(os.path.realpath(target)).is_relative_to(os.path.realpath(source)):
            raise InputError(
                f"it lies in the folder {source}, which this command reads and would alter; choose another place",
                path=target,
            )


def require_unicode(path: Path) -> None:
    """Raise for a folder whose name is no text: the libraries that write weights and tokenizers take none."""
    try:
        os.path.abspath(path).encode()
    except UnicodeEncodeError:
        raise InputError(
            "the folder's name is not UTF-8, which a model cannot lie under; rename it", path=path
        ) from None


def make_folder(path: Path) -> None:
    """A folder to write into, with those around it; one that is there is kept."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        raise InputError("a file stands where a folder is to be made; choose another name", path=path) from None


@contextmanager
def write_atomic(path: Path) -> Iterator[IO[str]]:
    """A UTF-8 text file that appears under its name only when it is complete and on disk, with the old one's mode."""
    check_target(path)
    target = Path(os.path.realpath(path))  # a link stays a link: the file that it points to is replaced
    remove_stale(target.parent, target.name)
    temporary = target.with_name(f".tmp-{target.name}-{os.getpid()}")
    try:
        with temporary.open("w", encoding="utf-8", newline="\n") as handle:
            _keep_mode(target, temporary)
            yield handle
            handle.flush()
            os.fsync(handle.fileno())
        os.replace(temporary, target)
        sync_directory(target.parent)
    except OSError as error:
        _discard(temporary)
        raise write_failed(path, error) from error
    except BaseException:
        _discard(temporary)
        raise


def remove_stale(parent: Path, name: str = "") -> list[Path]:
    """Remove what writers that no longer run left behind in `parent` (of one name, or of any), and return it."""
    stale = []
    for leftover in sorted(parent.glob(f".tmp-{glob.escape(name) or '*'}-*")):
        pid = leftover.name.rpartition("-")[2]
        if pid.isdecimal() and not _alive(int(pid)):
            if leftover.is_dir() and not leftover.is_symlink():
                shutil.rmtree(leftover, ignore_errors=True)  # two processes may be at it
            else:
                leftover.unlink(missing_ok=True)
            stale.append(leftover)
    return stale


def printable(name: Path | str) -> str:
    """A name for files and reports, which are UTF-8: a byte that is not Unicode becomes an escape."""
    return str(name).encode(errors="backslashreplace").decode()


def write_failed(path: Path, error: OSError) -> RunError:
    return RunError(f"{path}: could not be written: {reason(error)}. What was there before is untouched")


def system_error(error: BaseException) -> OSError | None:
    """The error of the system behind an exception; libraries in Rust have types of their own and tell it in words."""
    if isinstance(error, OSError):
        return error
    told = re.search(r"\(os error (\d+)\)", str(error))
    return OSError(int(told[1]), os.strerror(int(told[1]))) if told else None


def sync_directory(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _discard(temporary: Path) -> None:
    # Where the file could not even be created, removing it fails as well, and the first error is the one to tell.
    with suppress(OSError):
        temporary.unlink()


def _keep_mode(old: Path, new: Path) -> None:
    """Let those read and write the new file who may do so with the old one, if there is one."""
    with suppress(FileNotFoundError):
        mode = old.stat().st_mode & 0o777
        if new.stat().st_mode & 0o777 != mode:  # else nothing is asked of systems without modes
            new.chmod(mode)


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):  # somebody else's process; a number that is no pid, so nothing of ours
        return True
    return True
