"""Files: read with checks, write whole or not at all, directories committed with a manifest of hashes."""

from __future__ import annotations

import glob
import hashlib
import json
import os
import re
import shutil
import stat
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from difflib import get_close_matches
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import IO

from goldgap.core.errors import InputError, IntegrityError, RunError

MANIFEST = "manifest.json"
MANIFEST_FORMAT = 1
SIZE_LIMIT = 4 << 30
"""Bytes that a file may have which is read whole, against a wrong one given by accident."""
BLOCK = 1 << 16
"""Bytes of a file of lines that are held at once."""
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
COMPRESSED = {
    b"\x1f\x8b": "gzip",
    b"PK\x03\x04": "zip",
    b"\xfd7zXZ\0": "xz",
    b"\x28\xb5\x2f\xfd": "zstd",
    **{b"BZh%d1AY&SY" % level: "bzip2" for level in range(1, 10)},
}
"""How compressed files begin."""


def files_in(folder: Path, pattern: str) -> list[Path]:
    """Those of a folder in order of name, but for hidden ones, which systems and editors leave behind."""
    return sorted(file for file in folder.glob(pattern) if not file.name.startswith("."))


def read_bytes(path: Path, *, limit: int = SIZE_LIMIT) -> bytes:
    """The content of a regular file of at most `limit` bytes."""
    check_source(path, limit)
    try:
        return path.read_bytes()
    except OSError as error:
        raise _read_failed(path, error) from None


def read_line_blocks(path: Path) -> Iterator[bytes]:
    """The content of a regular file in blocks that end where a line ends, be that at LF, CRLF or CR."""
    check_source(path)
    unfinished: list[bytes] = []
    try:
        with path.open("rb") as handle:
            while block := handle.read(BLOCK):
                # A CR at the very end is kept for the next block: its LF may still come.
                end = max(block.rfind(b"\n"), block.rfind(b"\r", 0, len(block) - 1)) + 1
                if end:
                    yield b"".join([*unfinished, block[:end]])
                    unfinished.clear()
                unfinished.append(block[end:])
    except OSError as error:
        raise _read_failed(path, error) from None
    if rest := b"".join(unfinished):
        yield rest


def check_source(path: Path, limit: int = sys.maxsize) -> None:
    """Raise for a path that holds no regular file of at most `limit` bytes."""
    try:
        status = path.stat()
    except FileNotFoundError:
        raise InputError(f"no such file{_nearest(path)}", path=path) from None
    except (OSError, ValueError) as error:
        raise InputError(f"cannot be opened: {_reason(error)}", path=path) from None
    if stat.S_ISDIR(status.st_mode):
        raise InputError("a folder, expected a file", path=path)
    if not stat.S_ISREG(status.st_mode):
        raise InputError("not a regular file (a device, pipe or socket)", path=path)
    if status.st_size > limit:
        raise InputError(f"{status.st_size:,} bytes, more than the limit of {limit:,}; split the file", path=path)


def read_text(path: Path, *, limit: int = SIZE_LIMIT) -> str:
    """The content of a UTF-8 file, with a byte order mark at its beginning taken off."""
    data = read_bytes(path, limit=limit)
    refuse_other_kinds(data, path)
    if problem := utf8_problem(data, path) or nul_problem(data, path):
        raise problem
    return data.removeprefix(BYTE_ORDER_MARK).decode()


def refuse_other_kinds(data: bytes, path: Path) -> None:
    """Raise for the beginning of a file that is compressed or UTF-16."""
    for beginning, name in COMPRESSED.items():
        if data.startswith(beginning):
            raise InputError(f"compressed ({name}), expected plain text; unpack it first", path=path)
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise InputError("UTF-16, expected UTF-8; convert it: iconv -f UTF-16 -t UTF-8", path=path, line=1)


def utf8_problem(data: bytes, path: Path, *, offset: int = 0, line: int = 1) -> InputError | None:
    """The first byte that is not UTF-8; the data begin at this offset and line of the file."""
    try:
        data.decode()
    except UnicodeDecodeError as error:
        at = error.start
        return InputError(
            f"byte {offset + at} (0x{data[at]:02x}) is not UTF-8; if the file is in another encoding, convert it: "
            "iconv -f LATIN1 -t UTF-8 (with its encoding for LATIN1; Chinese files are often in GBK)",
            path=path,
            line=line + _line_ends(data[:at]),
        )
    return None


def nul_problem(data: bytes, path: Path, *, line: int = 1) -> InputError | None:
    """The first NUL; the data begin at this line of the file."""
    at = data.find(b"\0")
    if at < 0:
        return None
    return InputError("a NUL character: is this a text file?", path=path, line=line + _line_ends(data[:at]))


def _line_ends(data: bytes) -> int:
    """How many lines end here, in LF, CRLF or CR."""
    return data.count(b"\n") + data.count(b"\r") - data.count(b"\r\n")


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
        _sync_directory(target.parent)
    except OSError as error:
        _discard(temporary)
        raise _write_failed(path, error) from error
    except BaseException:
        _discard(temporary)
        raise


@contextmanager
def commit_directory(path: Path) -> Iterator[Path]:
    """A temporary directory that becomes `path`, with a manifest of its files, when the block ends without error.

    A crash at any instant leaves either nothing under the name or the complete directory.
    """
    if os.path.lexists(path):
        raise InputError("exists already; name a new folder, or remove this one first", path=path)
    check_target(path)
    temporary = path.with_name(f".tmp-{path.name}-{os.getpid()}")
    shutil.rmtree(temporary, ignore_errors=True)
    remove_stale(path.parent, path.name)
    try:
        temporary.mkdir()
        yield temporary
        names = _relative_files(temporary)
        if MANIFEST in names:
            raise ValueError(f"{MANIFEST} is the name of the manifest; give this file another one")
        for name in names:
            file = safe_join(temporary, name)
            file.chmod(temporary.stat().st_mode & 0o666)  # some writers make files that nobody else may read
            _sync_file(file)
        _write_manifest(temporary, names)
        for folder, _, _ in os.walk(temporary):
            _sync_directory(Path(folder))
        os.rename(temporary, path)
        _sync_directory(path.parent)
    except BaseException as error:
        shutil.rmtree(temporary, ignore_errors=True)
        if (cause := _system_error(error)) is not None:
            raise _write_failed(path, cause) from error
        raise


def verify_directory(path: Path) -> list[str]:
    """The names in a committed directory, once every file was found to be as its manifest says."""
    try:
        data = read_bytes(safe_join(path, MANIFEST), limit=64 << 20)
    except InputError as error:
        raise IntegrityError(error.message, path=error.path) from None
    try:
        manifest = json.loads(data)
        version, files = manifest["format"], manifest["files"]
        sizes = {name: int(entry["bytes"]) for name, entry in files.items()}
        hashes = {name: str(entry["sha256"]) for name, entry in files.items()}
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError):
        raise IntegrityError("not a manifest of goldgap, or an altered one", path=path / MANIFEST) from None
    if isinstance(version, int) and version != MANIFEST_FORMAT:
        raise IntegrityError(
            f"format {version}, expected {MANIFEST_FORMAT}: another version of goldgap wrote it; save it again",
            path=path / MANIFEST,
        )
    entries: dict[str, dict[str, object]] = {
        name: {"sha256": hashes[name], "bytes": sizes[name]} for name in sorted(files)
    }
    if data != _manifest_text(entries).encode():
        raise IntegrityError(
            "altered: it does not match its own checksum; copy or train it again", path=path / MANIFEST
        )
    foreign = sorted(set(_relative_files(path)) - set(entries) - {MANIFEST})
    if foreign:
        raise IntegrityError(f"a file that the manifest does not list: {foreign[0]}; remove it", path=path)
    for name in entries:
        file = safe_join(path, name)
        if not file.is_file():
            raise IntegrityError(f"{name} is missing; copy the folder whole, or train it again", path=path)
        if file.stat().st_size != sizes[name] or sha256(file) != hashes[name]:
            raise IntegrityError(
                f"{name} was altered: its bytes are not those the manifest lists; copy or train it again", path=path
            )
    return list(entries)


def safe_join(root: Path, name: str) -> Path:
    """The path of `name` inside `root`; refuses every name that could lead outside."""
    parts = PurePosixPath(name).parts
    bad = (
        not parts
        or "\0" in name
        or "\\" in name
        or ".." in parts
        or PurePosixPath(name).is_absolute()
        or PureWindowsPath(name).drive != ""
    )
    joined = root.joinpath(*parts) if not bad else root
    try:
        inside = not bad and joined.resolve().is_relative_to(root.resolve())
        special = inside and joined.exists() and not (joined.is_file() or joined.is_dir())
    except (OSError, ValueError, RuntimeError):  # a name too long or not encodable, links in a circle
        inside = special = False
    if not inside:
        raise IntegrityError(f"{name!r} is not a name inside this folder", path=root)
    if special:
        raise IntegrityError(f"{name!r} is a device, pipe or socket", path=root)
    return joined


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


def sha256(path: Path) -> str:
    with path.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


def digest(path: Path) -> str:
    """The sha256 of a file, or of the names and hashes of all files in a folder."""
    if path.is_dir():
        return _digest_of_entries({name: sha256(path / name) for name in _relative_files(path)})
    return sha256(path)


def hashes_of(paths: Iterable[Path]) -> dict[str, str]:
    """The digest of each file or folder, by its path; where a folder is as its manifest says, that of the manifest."""
    files = (path / MANIFEST if _is_as_listed(path) else path for path in paths)
    return {printable(file): digest(file) for file in files}


def printable(name: Path | str) -> str:
    """A name for files and reports, which are UTF-8: a byte that is not Unicode becomes an escape."""
    return str(name).encode(errors="backslashreplace").decode()


def _is_as_listed(path: Path) -> bool:
    if not (path / MANIFEST).is_file():
        return False
    try:
        verify_directory(path)
    except IntegrityError:
        return False
    return True


def _write_manifest(directory: Path, names: list[str]) -> None:
    entries = {name: {"sha256": sha256(directory / name), "bytes": (directory / name).stat().st_size} for name in names}
    file = directory / MANIFEST
    file.write_text(_manifest_text(entries), encoding="utf-8")
    _sync_file(file)


def _manifest_text(entries: dict[str, dict[str, object]]) -> str:
    manifest = {"format": MANIFEST_FORMAT, "files": entries, "sha256": _digest_of_entries(entries)}
    return json.dumps(manifest, indent=1, sort_keys=True) + "\n"


def _digest_of_entries(entries: object) -> str:
    return hashlib.sha256(json.dumps(entries, sort_keys=True).encode()).hexdigest()


def _relative_files(directory: Path) -> list[str]:
    return sorted(p.relative_to(directory).as_posix() for p in directory.rglob("*") if not p.is_dir() or p.is_symlink())


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


def _sync_file(path: Path) -> None:
    with path.open("rb") as handle:
        os.fsync(handle.fileno())


def _sync_directory(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _read_failed(path: Path, error: OSError) -> InputError:
    return InputError(f"cannot be read: {_reason(error)}", path=path)


def _write_failed(path: Path, error: OSError) -> RunError:
    return RunError(f"{path}: could not be written: {_reason(error)}. What was there before is untouched")


def _system_error(error: BaseException) -> OSError | None:
    """The error of the system behind an exception; libraries in Rust have types of their own and tell it in words."""
    if isinstance(error, OSError):
        return error
    told = re.search(r"\(os error (\d+)\)", str(error))
    return OSError(int(told[1]), os.strerror(int(told[1]))) if told else None


def _reason(error: OSError | ValueError) -> str:
    return error.strerror or str(error) if isinstance(error, OSError) else str(error)


def _nearest(path: Path) -> str:
    """', did you mean ...?' when the folder holds a file of nearly that name."""
    try:
        names = [entry.name for entry in path.parent.iterdir()]
    except OSError:
        return f": the folder {path.parent} does not exist"
    near = get_close_matches(path.name, names, n=1)
    return f"; did you mean {near[0]}?" if near else ""


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):  # somebody else's process; a number that is no pid, so nothing of ours
        return True
    return True
