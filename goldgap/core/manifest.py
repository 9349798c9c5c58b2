"""Directories that are written whole or not at all, with a manifest of the hashes of their files."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath, PureWindowsPath

from goldgap.core.errors import InputError, IntegrityError
from goldgap.core.reading import read_bytes
from goldgap.core.writing import check_target, printable, remove_stale, sync_directory, system_error, write_failed

MANIFEST = "manifest.json"
MANIFEST_FORMAT = 1


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
            sync_directory(Path(folder))
        os.rename(temporary, path)
        sync_directory(path.parent)
    except BaseException as error:
        shutil.rmtree(temporary, ignore_errors=True)
        if (cause := system_error(error)) is not None:
            raise write_failed(path, cause) from error
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


def _sync_file(path: Path) -> None:
    with path.open("rb") as handle:
        os.fsync(handle.fileno())
