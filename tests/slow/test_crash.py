"""Crashes, full disks and power cuts at every point of a write: what is left is the old state or the new one."""

from __future__ import annotations

import builtins
import io
import itertools
import os
import resource
import shutil
import signal
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Literal

import pytest

from goldgap.core.errors import IntegrityError
from goldgap.core.manifest import commit_directory, verify_directory
from goldgap.core.writing import remove_stale, write_atomic

# The children below only write files and leave; whatever threads a library has started does not matter to them.
pytestmark = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")

Action = Callable[[Path], None]
"""Writes TARGET into the folder it is given."""
Problem = Callable[[Path], str | None]
"""What is wrong with a folder after a crash, or None."""

TARGET = "target"
OLD, NEW = "old " * 300, "new " * 1500
CONTENT = {"weights.bin": b"w" * 3000, "labels.json": b"[]", "tokenizer/vocab.txt": b"the\nof\n" * 200}
MANY_SMALL = {f"part-{number:02}.bin": b"x" for number in range(20)}


def write_new(folder: Path) -> None:
    with write_atomic(folder / TARGET) as handle:
        handle.write(NEW)


def commit(folder: Path, content: dict[str, bytes] = CONTENT) -> None:
    with commit_directory(folder / TARGET) as temporary:
        for name, data in content.items():
            (temporary / name).parent.mkdir(exist_ok=True)
            (temporary / name).write_bytes(data)


def commit_many(folder: Path) -> None:
    commit(folder, MANY_SMALL)


def naive_write(folder: Path) -> None:
    (folder / TARGET).write_text(NEW)


def naive_commit(folder: Path) -> None:
    (folder / TARGET).mkdir()
    for name, data in CONTENT.items():
        (folder / TARGET / name).parent.mkdir(exist_ok=True)
        (folder / TARGET / name).write_bytes(data)


def naive_rename(folder: Path) -> None:
    (folder / "aside").write_text(NEW)
    os.replace(folder / "aside", folder / TARGET)


def text_problem(folder: Path) -> str | None:
    """None when TARGET is as before or as after `write_new`."""
    found = (folder / TARGET).read_text() if (folder / TARGET).exists() else None
    return None if found in (OLD, NEW) else f"half a file: {found!r:.40}"


def is_new_text(folder: Path) -> str | None:
    return None if (folder / TARGET).exists() and (folder / TARGET).read_text() == NEW else "not the new file"


def directory_problem(folder: Path) -> str | None:
    """None when TARGET is absent or as after `commit`."""
    return is_new_directory(folder) if (folder / TARGET).exists() else None


def is_new_directory(folder: Path) -> str | None:
    try:
        names = verify_directory(folder / TARGET)
    except IntegrityError as error:
        return str(error)
    return None if {name: (folder / TARGET / name).read_bytes() for name in names} == CONTENT else "other content"


def fresh(folder: Path, *, old: bool) -> Path:
    folder.mkdir()
    if old:
        (folder / TARGET).write_text(OLD)
    return folder


# Watching file operations


@contextmanager
def watched(before: Callable[[str], None], *, fsync: Callable[[int], None] = os.fsync) -> Iterator[None]:
    """Call `before` with the name of each file operation, right before it happens."""
    real_open = io.open
    busy = False

    def announce(name: str) -> None:
        nonlocal busy
        if not busy:
            busy = True
            before(name)
            busy = False

    def announced(name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def operation(*arguments: Any, **named: Any) -> Any:
            announce(name)
            return real(*arguments, **named)

        return operation

    class Raw(io.FileIO):
        def write(self, data: Any) -> int:
            announce("write")
            return super().write(data[:1024])  # as the system may: so even short files need several writes

    def open_file(file: Any, mode: str = "r", *arguments: Any, **named: Any) -> IO[Any]:
        announce("open")
        if busy or not set(mode) & set("wax+"):
            return real_open(file, mode, *arguments, **named)
        binary = io.BufferedWriter(Raw(file, mode.replace("b", "")))
        return binary if "b" in mode else io.TextIOWrapper(binary, encoding="utf-8", newline="\n")

    with pytest.MonkeyPatch.context() as patch:
        for name in ("open", "rename", "replace", "mkdir", "unlink", "rmdir"):
            patch.setattr(os, name, announced(name, getattr(os, name)))
        patch.setattr(os, "fsync", announced("fsync", fsync))
        patch.setattr(io, "open", open_file)
        patch.setattr(builtins, "open", open_file)
        yield


def operations_of(action: Action, folder: Path) -> list[str]:
    seen: list[str] = []
    with watched(seen.append):
        action(folder)
    return seen


def in_child(work: Callable[[], str]) -> str:
    """What `work` returns in a forked child, or the exception it raised; '' when the child died on the way."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            said = work()
        except BaseException as error:
            said = f"{type(error).__name__}: {error}"
        os.write(writing, said.encode())
        os._exit(0)
    os.close(writing)
    with open(reading, "rb") as pipe:
        said = pipe.read().decode()
    os.waitpid(pid, 0)
    return said


# Every kill point


def killed_before(stop: int, action: Action, folder: Path) -> bool:
    """Run the action in a child that dies before its operation number `stop`."""

    def work() -> str:
        counter = itertools.count()

        def before(name: str) -> None:
            if next(counter) == stop:
                os._exit(0)

        with watched(before):
            action(folder)
        return "finished"

    return in_child(work) == ""


def kill_everywhere(action: Action, problem: Problem, place: Path, *, old: bool) -> Iterator[tuple[Path, str | None]]:
    """The folder and what is wrong with it, after a death before each operation."""
    total = len(operations_of(action, fresh(place / "counted", old=old)))
    for stop in range(total):
        folder = fresh(place / f"killed-{stop}", old=old)
        assert killed_before(stop, action, folder), f"operation {stop} of {total} was never reached"
        yield folder, problem(folder)


def test_the_watch_sees_every_kind_of_operation(tmp_path: Path) -> None:
    seen = operations_of(commit, tmp_path)
    assert set(seen) == {"open", "write", "fsync", "rename", "mkdir"}
    assert seen.count("write") == 3 + 1 + 2 + 1  # 3000, 2 and 1400 bytes and the manifest, 1024 bytes at a time
    assert seen.count("fsync") == len([*CONTENT, "manifest"]) + len(["the folder", "tokenizer", "the parent"])


def test_a_file_is_old_or_new_whenever_its_writer_dies(tmp_path: Path) -> None:
    seen = set()
    for folder, problem in kill_everywhere(write_new, text_problem, tmp_path, old=True):
        assert problem is None
        seen.add((folder / TARGET).read_text())
    assert seen == {OLD, NEW}


def test_a_new_file_is_absent_or_complete_whenever_its_writer_dies(tmp_path: Path) -> None:
    for folder, problem in kill_everywhere(write_new, is_new_text, tmp_path, old=False):
        assert problem is None or not (folder / TARGET).exists()


@pytest.mark.slow
def test_a_directory_is_absent_or_complete_whenever_its_writer_dies(tmp_path: Path) -> None:
    seen = set()
    for folder, problem in kill_everywhere(commit, directory_problem, tmp_path, old=False):
        assert problem is None
        seen.add((folder / TARGET).exists())
    assert seen == {False, True}


def test_the_next_writer_of_a_file_succeeds_and_cleans_up_after_the_dead_one(tmp_path: Path) -> None:
    for folder, _ in kill_everywhere(write_new, text_problem, tmp_path, old=True):
        remove_stale(folder)
        write_new(folder)
        assert {path.name: path.read_text() for path in folder.iterdir()} == {TARGET: NEW}


@pytest.mark.slow
def test_the_next_writer_of_a_directory_succeeds_and_cleans_up_after_the_dead_one(tmp_path: Path) -> None:
    for folder, _ in kill_everywhere(commit, directory_problem, tmp_path, old=False):
        remove_stale(folder)
        if not (folder / TARGET).exists():
            commit(folder)
        assert is_new_directory(folder) is None
        assert [path.name for path in folder.iterdir()] == [TARGET]


@pytest.mark.parametrize(
    ("naive", "problem"), [(naive_write, text_problem), (naive_commit, directory_problem)], ids=["file", "directory"]
)
def test_a_naive_writer_is_caught_by_the_kill_points(tmp_path: Path, naive: Action, problem: Problem) -> None:
    assert any(found for _, found in kill_everywhere(naive, problem, tmp_path, old=naive is naive_write))


# Disk full


def with_full_disk(action: Action, folder: Path, limit: int) -> str:
    """What the action said in a child whose files may have at most `limit` bytes."""

    def work() -> str:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
        action(folder)
        return "finished"

    return in_child(work)


@pytest.mark.parametrize("part", range(20))
def test_a_full_disk_names_the_file_and_leaves_the_old_one(tmp_path: Path, part: int) -> None:
    folder = fresh(tmp_path / "disk", old=True)
    said = with_full_disk(write_new, folder, len(NEW) * part // 20)
    assert said.startswith(f"RunError: {folder / TARGET}: could not be written: File too large")
    assert {path.name: path.read_text() for path in folder.iterdir()} == {TARGET: OLD}


@pytest.mark.parametrize("action", [commit, commit_many], ids=["a large file", "a large manifest"])
@pytest.mark.parametrize("part", range(20))
def test_a_full_disk_names_the_directory_and_leaves_nothing(tmp_path: Path, part: int, action: Action) -> None:
    action(fresh(tmp_path / "enough", old=False))
    largest = max(path.stat().st_size for path in (tmp_path / "enough" / TARGET).rglob("*") if path.is_file())
    folder = fresh(tmp_path / "disk", old=False)
    said = with_full_disk(action, folder, largest * part // 20)
    assert said.startswith(f"RunError: {folder / TARGET}: could not be written: File too large")
    assert not list(folder.iterdir())


def test_a_limit_that_is_just_enough_is_no_error(tmp_path: Path) -> None:
    assert with_full_disk(write_new, tmp_path, len(NEW)) == "finished"


def test_a_naive_writer_is_caught_by_the_full_disk(tmp_path: Path) -> None:
    folder = fresh(tmp_path / "disk", old=True)
    with_full_disk(naive_write, folder, len(NEW) // 2)
    assert text_problem(folder)


# Lost writes

Forgotten = Literal["nothing", "files", "folders", "everything"]


class Disk:
    """A folder of which we know what a power cut may leave: only what was fsynced is certain.

    What a file holds and what a folder lists are kept by inode, as of the last fsync. A cut may lose the later
    changes of any set of folders, and all, half or none of what was written to files since.
    """

    def __init__(self, root: Path, scratch: Path, *, forget: Forgotten = "nothing") -> None:
        self.root = root.stat().st_ino
        self.scratch = scratch
        self.forget: Forgotten = "nothing"
        self.data: dict[int, bytes] = {}
        self.lists: dict[int, dict[str, int]] = {}
        # An open descriptor keeps an inode from being used again, and finds it wherever it was moved.
        self.held: dict[int, int] = {}
        self.hold(root)
        for descriptor in self.held.values():
            self.fsync(descriptor)
        self.forget = forget

    def hold(self, path: Path) -> None:
        """Take notice of what is new in a folder and below it."""
        inode = path.stat().st_ino
        if inode not in self.held:
            self.held[inode] = os.open(path, os.O_RDONLY)
        if path.is_dir():
            for inside in path.iterdir():
                self.hold(inside)

    def fsync(self, descriptor: int) -> None:
        status = os.fstat(descriptor)
        folder = stat.S_ISDIR(status.st_mode)
        if self.forget == "everything" or self.forget == ("folders" if folder else "files"):
            return
        if folder:
            self.lists[status.st_ino] = self.listed(status.st_ino)
        else:
            self.data[status.st_ino] = self.content(status.st_ino)

    def is_folder(self, inode: int) -> bool:
        return stat.S_ISDIR(os.fstat(self.held[inode]).st_mode)

    def listed(self, inode: int) -> dict[str, int]:
        with os.scandir(self.held[inode]) as entries:
            return {entry.name: entry.stat(follow_symlinks=False).st_ino for entry in entries}

    def content(self, inode: int) -> bytes:
        return os.pread(self.held[inode], os.fstat(self.held[inode]).st_size, 0)

    def cuts(self) -> Iterator[Path]:
        """Every folder that a power cut right now may leave."""
        unsure = [
            inode for inode in self.held if self.is_folder(inode) and self.listed(inode) != self.lists.get(inode, {})
        ]
        for number in range(len(unsure) + 1):
            for lost in itertools.combinations(unsure, number):
                for kept_share in (0.0, 0.5, 1.0):
                    shutil.rmtree(self.scratch, ignore_errors=True)
                    self.build(self.root, self.scratch, set(lost), kept_share)
                    yield self.scratch

    def build(self, inode: int, path: Path, lost: set[int], kept_share: float) -> None:
        if self.is_folder(inode):
            path.mkdir()
            for name, inside in (self.lists.get(inode, {}) if inode in lost else self.listed(inode)).items():
                self.build(inside, path / name, lost, kept_share)
            return
        certain, written = self.data.get(inode), self.content(inode)
        if written != certain:
            written = (certain or b"") if kept_share == 0 else written[: int(len(written) * kept_share)]
        path.write_bytes(written)

    def close(self) -> None:
        for descriptor in self.held.values():
            os.close(descriptor)


def lost_writes(
    action: Action, problem: Problem, at_the_end: Problem, place: Path, *, forget: Forgotten = "nothing", old: bool
) -> list[str]:
    """What is wrong after a power cut before each operation and after the last one."""
    folder = fresh(place / "disk", old=old)
    disk = Disk(folder, place / "after the cut", forget=forget)
    problems: list[str] = []

    def check(name: str, problem: Problem = problem) -> None:
        disk.hold(folder)
        problems.extend(f"before {name}: {found}" for state in disk.cuts() if (found := problem(state)))

    try:
        with watched(check, fsync=disk.fsync):
            action(folder)
        check("the end", at_the_end)
    finally:
        disk.close()
    return problems


def test_a_power_cut_leaves_the_old_or_the_new_file(tmp_path: Path) -> None:
    assert lost_writes(write_new, text_problem, is_new_text, tmp_path, old=True) == []


@pytest.mark.slow
def test_a_power_cut_leaves_no_directory_or_the_complete_one(tmp_path: Path) -> None:
    assert lost_writes(commit, directory_problem, is_new_directory, tmp_path, old=False) == []


@pytest.mark.parametrize("forget", ["files", "folders", "everything"])
def test_a_file_written_without_fsync_is_caught(tmp_path: Path, forget: Forgotten) -> None:
    assert lost_writes(write_new, text_problem, is_new_text, tmp_path, forget=forget, old=True)


@pytest.mark.slow
@pytest.mark.parametrize("forget", ["files", "folders", "everything"])
def test_a_directory_committed_without_fsync_is_caught(tmp_path: Path, forget: Forgotten) -> None:
    assert lost_writes(commit, directory_problem, is_new_directory, tmp_path, forget=forget, old=False)


@pytest.mark.parametrize("naive", [naive_write, naive_rename], ids=["over the old file", "rename alone"])
def test_a_naive_writer_is_caught_by_the_power_cut(tmp_path: Path, naive: Action) -> None:
    assert lost_writes(naive, text_problem, is_new_text, tmp_path, old=True)
