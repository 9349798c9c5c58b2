"""Reading with checks, writing whole or not at all, directories that say when they were altered."""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from goldgap.core import manifest
from goldgap.core.errors import GoldgapError, InputError, IntegrityError, RunError
from goldgap.core.manifest import MANIFEST, commit_directory, safe_join, verify_directory
from goldgap.core.reading import read_bytes, read_text
from goldgap.core.writing import remove_stale, write_atomic

NAMES_LEADING_OUTSIDE = {
    "parent": "../x",
    "absolute": "/etc/passwd",
    "Windows drive": "C:\\x",
    "Windows drive with slash": "C:/x",
    "Windows share": "\\\\host\\x",
    "Windows parent": "a\\..\\..\\x",
    "parent in the middle": "a/../../x",
    "parent that stays inside": "a/../weights.bin",
    "NUL": "a\0b",
    "empty": "",
    "the folder itself": ".",
    "lone surrogate": "\ud800",
    "too long": "x" * 5000,
}
HOSTILE = pytest.mark.parametrize("name", NAMES_LEADING_OUTSIDE.values(), ids=NAMES_LEADING_OUTSIDE)

CONTENT = {
    "weights.bin": bytes(range(256)) * 5,
    "optimizer.bin": bytes(reversed(range(256))) * 5,  # of the same size as the weights: only the hash tells them apart
    "labels.json": b'["LOC", "PER"]\n',
    "tokenizer/vocab.txt": b"the\nof\n" * 60,
    "tokenizer/deep/empty.txt": b"",
}


def commit(path: Path, content: dict[str, bytes] = CONTENT) -> Path:
    with commit_directory(path) as folder:
        for name, data in content.items():
            file = folder / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(data)
    return path


def write_and_fail(path: Path, error: BaseException) -> None:
    with write_atomic(path) as handle:
        handle.write("new")
        raise error


def commit_and_fail(path: Path, error: BaseException) -> None:
    with commit_directory(path) as folder:
        (folder / "sub").mkdir()
        (folder / "sub" / "a").write_text("a")
        raise error


def rewrite_manifest(folder: Path, change: Callable[[dict[str, object]], None]) -> None:
    """What an attacker can do who knows the format: a changed manifest with a checksum that is right again."""
    entries = json.loads((folder / MANIFEST).read_text())["files"]
    change(entries)
    (folder / MANIFEST).write_text(manifest._manifest_text(entries))


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return commit(tmp_path / "model")


# Reading


def test_a_missing_file_is_named_with_its_nearest_neighbour(tmp_path: Path) -> None:
    (tmp_path / "train.conll").touch()
    with pytest.raises(InputError, match=r"trian\.conll: no such file; did you mean train\.conll\?$"):
        read_bytes(tmp_path / "trian.conll")


def test_a_missing_file_without_a_neighbour_gets_no_suggestion(tmp_path: Path) -> None:
    (tmp_path / "train.conll").touch()
    with pytest.raises(InputError, match=r"no such file$"):
        read_bytes(tmp_path / "zzz")


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no such file: the folder .*nowhere does not exist"):
        read_bytes(tmp_path / "nowhere" / "train.conll")


def test_a_folder_is_not_read_as_a_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="a folder, expected a file"):
        read_bytes(tmp_path)


def test_a_pipe_is_refused_without_waiting_for_its_writer(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InputError, match="not a regular file"):
        read_bytes(tmp_path / "pipe")


def test_a_device_is_refused() -> None:
    with pytest.raises(InputError, match="not a regular file"):
        read_bytes(Path("/dev/null"))


@pytest.mark.parametrize("name", ["x" * 5000, "a\0b"], ids=["too long", "NUL"])
def test_a_name_that_no_file_can_have_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match="cannot be opened"):
        read_bytes(tmp_path / name)


def test_a_file_at_the_size_limit_is_read_and_one_byte_more_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "big"
    file.write_bytes(b"x" * 2000)
    assert len(read_bytes(file, limit=2000)) == 2000
    with pytest.raises(InputError, match=r"2,000 bytes, more than the limit of 1,999; split the file"):
        read_bytes(file, limit=1999)


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_utf16_is_named_with_the_way_to_convert_it(tmp_path: Path, encoding: str) -> None:
    (tmp_path / "a.txt").write_bytes("\ufeffParis".encode(encoding))
    with pytest.raises(InputError, match=r"a\.txt:1: UTF-16, expected UTF-8; convert it: iconv"):
        read_text(tmp_path / "a.txt")


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"], ids=["plain", "byte order mark"])
@pytest.mark.parametrize("before", [0, 1, 411])
def test_a_latin1_byte_is_named_with_its_line(tmp_path: Path, before: int, mark: bytes) -> None:
    (tmp_path / "a.txt").write_bytes(mark + b"ok\n" * before + "Café\n".encode("latin-1") + b"ok\n")
    with pytest.raises(InputError, match=rf"byte {len(mark) + 3 * before + 3} \(0xe9\) is not UTF-8") as caught:
        read_text(tmp_path / "a.txt")
    assert caught.value.line == before + 1


def test_utf8_cut_in_the_middle_of_a_character_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes("ok\nCafé".encode()[:-1])
    with pytest.raises(InputError, match=r"a\.txt:2: byte 6 \(0xc3\) is not UTF-8"):
        read_text(tmp_path / "a.txt")


def test_a_nul_character_is_named_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"one\ntwo\0\n")
    with pytest.raises(InputError, match=r"a\.txt:2: a NUL character"):
        read_text(tmp_path / "a.txt")


def test_only_a_byte_order_mark_at_the_beginning_is_taken_off(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes("\ufeffone\n\ufefftwo".encode())
    assert read_text(tmp_path / "a.txt") == "one\n\ufefftwo"


def test_line_ends_are_kept_as_they_are(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"a\r\nb\rc\n")
    assert read_text(tmp_path / "a.txt") == "a\r\nb\rc\n"


# Writing a file


def test_a_file_appears_only_when_it_is_complete(tmp_path: Path) -> None:
    file = tmp_path / "out.txt"
    with write_atomic(file) as handle:
        handle.write("new")
        handle.flush()
        assert not file.exists()
    assert file.read_text() == "new"


def test_an_existing_file_keeps_its_content_until_the_new_one_is_complete(tmp_path: Path) -> None:
    file = tmp_path / "out.txt"
    file.write_text("old")
    with write_atomic(file) as handle:
        handle.write("new")
        handle.flush()
        assert file.read_text() == "old"
    assert file.read_text() == "new"


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, InputError])
def test_an_exception_while_writing_passes_and_leaves_only_the_old_file(
    tmp_path: Path, error: type[BaseException]
) -> None:
    file = tmp_path / "out.txt"
    file.write_text("old")
    with pytest.raises(error):
        write_and_fail(file, error("stop"))
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"out.txt": "old"}


def test_a_failing_system_call_while_writing_names_the_file(tmp_path: Path) -> None:
    with pytest.raises(RunError, match=r"out\.txt: could not be written: No space left on device\. .* is untouched"):
        write_and_fail(tmp_path / "out.txt", OSError(28, "No space left on device"))
    assert not list(tmp_path.iterdir())


def test_text_is_written_as_utf8_with_plain_line_ends(tmp_path: Path) -> None:
    with write_atomic(tmp_path / "out.txt") as handle:
        handle.write("Café\nend\n")
    assert (tmp_path / "out.txt").read_bytes() == b"Caf\xc3\xa9\nend\n"


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o666, 0o400])
def test_a_file_that_is_replaced_keeps_who_may_read_it(tmp_path: Path, mode: int) -> None:
    file, link = tmp_path / "out.txt", tmp_path / "link.txt"
    file.write_text("old")
    file.chmod(mode)
    link.symlink_to(file)
    for name in (file, link):
        with write_atomic(name) as handle:
            handle.write("new")
            (temporary,) = tmp_path.glob(".tmp-*")
            assert stat.S_IMODE(temporary.stat().st_mode) == mode
        assert stat.S_IMODE(file.stat().st_mode) == mode
    assert file.read_text() == "new"


def test_a_new_file_can_be_read_by_whom_the_system_lets(tmp_path: Path) -> None:
    (tmp_path / "plain.txt").touch()
    with write_atomic(tmp_path / "new.txt"):
        pass
    assert (tmp_path / "new.txt").stat().st_mode == (tmp_path / "plain.txt").stat().st_mode


def test_writing_into_a_missing_folder_is_refused(tmp_path: Path) -> None:
    with (
        pytest.raises(InputError, match=r"the folder .*nowhere does not exist; create it first"),
        write_atomic(tmp_path / "nowhere" / "out.txt"),
    ):
        pass


def test_writing_over_a_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="a folder, expected the name of a file"), write_atomic(tmp_path):
        pass


def test_a_pipe_or_device_is_not_replaced_by_a_file(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(InputError, match="a device, pipe or socket, expected the name of a file"), write_atomic(pipe):
        pass
    assert pipe.is_fifo()


def test_writing_to_a_link_replaces_what_it_points_to(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    file, link = tmp_path / "elsewhere" / "data.txt", tmp_path / "link.txt"
    file.write_text("old")
    link.symlink_to(file)
    with write_atomic(link) as handle:
        handle.write("new")
    assert link.is_symlink()
    assert file.read_text() == "new"


def test_a_name_too_long_to_write_is_an_error_of_ours(tmp_path: Path) -> None:
    with pytest.raises(GoldgapError, match="File name too long"), write_atomic(tmp_path / ("x" * 300)):
        pass


# Committing a directory


def test_a_committed_directory_holds_its_files_and_verifies(model: Path) -> None:
    assert {name: (model / name).read_bytes() for name in verify_directory(model)} == CONTENT


def test_the_manifest_lists_size_and_hash_of_every_file(tmp_path: Path) -> None:
    manifest = json.loads((commit(tmp_path / "model", {"a/b.txt": b"abc"}) / MANIFEST).read_text())
    known = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"  # sha256 of "abc", FIPS 180-2
    assert manifest["files"] == {"a/b.txt": {"bytes": 3, "sha256": known}}


def test_equal_content_gives_equal_manifests(tmp_path: Path) -> None:
    one, other = commit(tmp_path / "one"), commit(tmp_path / "other", dict(reversed(CONTENT.items())))
    assert (one / MANIFEST).read_bytes() == (other / MANIFEST).read_bytes()


def test_a_directory_appears_only_when_it_is_complete(tmp_path: Path) -> None:
    with commit_directory(tmp_path / "model") as folder:
        (folder / "a").write_text("a")
        assert not (tmp_path / "model").exists()
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_no_descriptor_stays_open(tmp_path: Path) -> None:
    before = len(os.listdir("/dev/fd"))
    verify_directory(commit(tmp_path / "model"))
    assert len(os.listdir("/dev/fd")) == before


def test_a_committed_file_can_be_read_by_whom_the_folder_lets_in(tmp_path: Path) -> None:
    with commit_directory(tmp_path / "model") as folder:
        (folder / "open").touch()
        (folder / "closed").touch(mode=0o600)
    modes = {stat.S_IMODE((tmp_path / "model" / name).stat().st_mode) for name in ("open", "closed", "manifest.json")}
    assert modes == {stat.S_IMODE((tmp_path / "model").stat().st_mode) & 0o666}


def test_an_empty_directory_can_be_committed(tmp_path: Path) -> None:
    assert verify_directory(commit(tmp_path / "model", {})) == []


def _folder(path: Path) -> None:
    path.mkdir()
    (path / "precious.txt").write_text("old")


EXISTING: dict[str, Callable[[Path], object]] = {
    "folder": _folder,
    "empty folder": Path.mkdir,
    "file": Path.touch,
    "link to nowhere": lambda path: path.symlink_to("nowhere"),
}


@pytest.mark.parametrize("create", EXISTING.values(), ids=EXISTING)
def test_an_existing_target_is_refused_before_any_work(tmp_path: Path, create: Callable[[Path], object]) -> None:
    create(tmp_path / "model")
    before = sorted((path, path.lstat().st_mtime_ns) for path in tmp_path.rglob("*"))
    entered = False
    with pytest.raises(InputError, match="exists already"), commit_directory(tmp_path / "model"):
        entered = True
    assert not entered
    assert sorted((path, path.lstat().st_mtime_ns) for path in tmp_path.rglob("*")) == before


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, InputError])
def test_an_exception_inside_passes_and_leaves_nothing(tmp_path: Path, error: type[BaseException]) -> None:
    with pytest.raises(error):
        commit_and_fail(tmp_path / "model", error("stop"))
    assert not list(tmp_path.iterdir())


def test_an_error_of_the_system_that_a_library_tells_in_words_names_the_directory(tmp_path: Path) -> None:
    error = ValueError("Error while serializing: I/O error: No space left on device (os error 28)")
    with pytest.raises(RunError, match=r"model: could not be written: No space left on device\. What was there before"):
        commit_and_fail(tmp_path / "model", error)
    assert not list(tmp_path.iterdir())


def test_a_failing_system_call_inside_names_the_target_and_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(RunError, match=r"model: could not be written: No space left on device"):
        commit_and_fail(tmp_path / "model", OSError(28, "No space left on device"))
    assert not list(tmp_path.iterdir())


def test_what_another_writer_commits_meanwhile_under_the_same_name_is_kept(tmp_path: Path) -> None:
    other = commit(tmp_path / "other")
    with (
        pytest.raises(RunError, match="model: could not be written: Directory not empty"),
        commit_directory(tmp_path / "model"),
    ):
        other.rename(tmp_path / "model")
    assert len(verify_directory(tmp_path / "model")) == len(CONTENT)
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_what_a_dead_writer_of_the_same_pid_left_does_not_get_into_the_directory(tmp_path: Path) -> None:
    leftover = tmp_path / f".tmp-model-{os.getpid()}"
    leftover.mkdir()
    (leftover / "old").write_text("old")
    assert verify_directory(commit(tmp_path / "model", {"new": b"new"})) == ["new"]


def test_a_file_named_like_the_manifest_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"manifest\.json is the name of the manifest"):
        commit(tmp_path / "model", {MANIFEST: b"{}"})
    assert not list(tmp_path.iterdir())


def test_a_link_leading_outside_is_not_committed(tmp_path: Path) -> None:
    with pytest.raises(IntegrityError, match="not a name inside"), commit_directory(tmp_path / "model") as folder:
        (folder / "link").symlink_to("/etc/passwd")
    assert not list(tmp_path.iterdir())


def test_committing_into_a_missing_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="does not exist; create it first"):
        commit(tmp_path / "nowhere" / "model")


# Verifying a directory


@pytest.mark.parametrize("name", [*CONTENT, MANIFEST])
def test_a_missing_file_is_found(model: Path, name: str) -> None:
    (model / name).unlink()
    with pytest.raises(IntegrityError, match=r"is missing|no such file"):
        verify_directory(model)


@pytest.mark.parametrize("name", [*(name for name, data in CONTENT.items() if data), MANIFEST])
def test_one_flipped_bit_in_any_block_is_found(model: Path, name: str) -> None:
    whole = (model / name).read_bytes()
    for block in range(0, len(whole), 256):
        size = min(256, len(whole) - block)
        for bit in range(8):
            altered = bytearray(whole)
            altered[block + (37 * bit + block // 256) % size] ^= 1 << bit
            (model / name).write_bytes(altered)
            with pytest.raises(IntegrityError):
                verify_directory(model)
    (model / name).write_bytes(whole)
    verify_directory(model)


@pytest.mark.parametrize("name", [*(name for name, data in CONTENT.items() if len(data) >= 50), MANIFEST])
def test_a_truncated_file_is_found_at_every_of_50_lengths(model: Path, name: str) -> None:
    whole = (model / name).read_bytes()
    for length in sorted({len(whole) * part // 50 for part in range(50)}):
        (model / name).write_bytes(whole[:length])
        with pytest.raises(IntegrityError):
            verify_directory(model)


@pytest.mark.parametrize("added", [b"\n", b"\0", b" "])
@pytest.mark.parametrize("name", [*CONTENT, MANIFEST])
def test_a_byte_added_at_the_end_is_found(model: Path, name: str, added: bytes) -> None:
    with (model / name).open("ab") as handle:
        handle.write(added)
    with pytest.raises(IntegrityError, match="altered"):
        verify_directory(model)


def test_a_byte_order_mark_before_the_manifest_is_found(model: Path) -> None:
    (model / MANIFEST).write_bytes(b"\xef\xbb\xbf" + (model / MANIFEST).read_bytes())
    with pytest.raises(IntegrityError, match="altered"):
        verify_directory(model)


@pytest.mark.parametrize("name", ["extra.bin", "tokenizer/extra.bin", ".hidden", "new/extra.bin"])
def test_a_foreign_file_is_named(model: Path, name: str) -> None:
    (model / name).parent.mkdir(exist_ok=True)
    (model / name).touch()
    with pytest.raises(IntegrityError, match=f"a file that the manifest does not list: {name}"):
        verify_directory(model)


def test_a_foreign_link_to_a_folder_is_named(model: Path, tmp_path: Path) -> None:
    (model / "link").symlink_to(tmp_path)
    with pytest.raises(IntegrityError, match="a file that the manifest does not list: link"):
        verify_directory(model)


def test_two_files_of_equal_size_swapped_are_found(model: Path) -> None:
    (model / "weights.bin").rename(model / "aside")
    (model / "optimizer.bin").rename(model / "weights.bin")
    (model / "aside").rename(model / "optimizer.bin")
    with pytest.raises(IntegrityError, match=r"(optimizer|weights)\.bin was altered"):
        verify_directory(model)


@pytest.mark.parametrize("name", ["weights.bin", MANIFEST])
def test_a_file_of_another_checkpoint_is_found(model: Path, tmp_path: Path, name: str) -> None:
    other = commit(tmp_path / "other", {**CONTENT, "weights.bin": bytes(len(CONTENT["weights.bin"]))})
    shutil.copyfile(other / name, model / name)
    with pytest.raises(IntegrityError, match=r"weights\.bin was altered"):
        verify_directory(model)


@pytest.mark.parametrize("name", ["weights.bin", MANIFEST])
def test_a_link_leading_outside_is_refused_even_to_the_same_bytes(model: Path, tmp_path: Path, name: str) -> None:
    (model / name).rename(tmp_path / "outside")
    (model / name).symlink_to(tmp_path / "outside")
    with pytest.raises(IntegrityError, match="not a name inside"):
        verify_directory(model)


def test_a_linked_folder_leading_outside_is_refused(model: Path, tmp_path: Path) -> None:
    (model / "tokenizer").rename(tmp_path / "outside")
    (model / "tokenizer").symlink_to(tmp_path / "outside")
    with pytest.raises(IntegrityError):
        verify_directory(model)


def test_links_in_a_circle_are_refused(model: Path) -> None:
    (model / "weights.bin").unlink()
    (model / "weights.bin").symlink_to("weights.bin")
    with pytest.raises(IntegrityError):
        verify_directory(model)


@pytest.mark.parametrize("name", ["weights.bin", MANIFEST])
def test_a_pipe_is_refused_before_it_is_opened(model: Path, name: str) -> None:
    (model / name).unlink()
    os.mkfifo(model / name)
    with pytest.raises(IntegrityError, match="a device, pipe or socket"):
        verify_directory(model)


def test_a_folder_in_place_of_a_file_is_found(model: Path) -> None:
    (model / "weights.bin").unlink()
    (model / "weights.bin").mkdir()
    with pytest.raises(IntegrityError, match=r"weights\.bin is missing"):
        verify_directory(model)


@HOSTILE
def test_a_manifest_entry_leading_outside_is_refused_before_any_open(
    model: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def only_that_entry(entries: dict[str, object]) -> None:
        entries[name] = entries["weights.bin"]
        for known in CONTENT:
            del entries[known]

    rewrite_manifest(model, only_that_entry)
    for known in CONTENT:
        (model / known).unlink()
    monkeypatch.setattr(manifest, "sha256", lambda path: pytest.fail(f"{path} was opened"))
    with pytest.raises(IntegrityError, match="is not a name inside this folder"):
        verify_directory(model)


MALFORMED = {
    "not JSON": "{",
    "a list": "[]",
    "null": "null",
    "no files": '{"format": 1, "sha256": ""}',
    "files are a number": '{"format": 1, "files": 5, "sha256": ""}',
    "files are a list": '{"format": 1, "files": [["a", 1]], "sha256": ""}',
    "entry is a number": '{"format": 1, "files": {"a": 1}, "sha256": ""}',
    "infinite size": '{"format": 1, "files": {"a": {"bytes": Infinity, "sha256": ""}}, "sha256": ""}',
    "size of 5000 digits": f'{{"format": 1, "files": {{"a": {{"bytes": {"9" * 5000}, "sha256": ""}}}}, "sha256": ""}}',
    "depth of 100000": '{"format": 1, "files": ' + "[" * 100_000,
    "format of depth 900": '{"format": ' + "[" * 900 + "]" * 900 + ', "files": {}, "sha256": ""}',
    "no checksum": '{"format": 1, "files": {}}',
    "lone surrogate": '{"format": 1, "files": {"\\ud800": {"bytes": 1, "sha256": ""}}, "sha256": ""}',
}


@pytest.mark.parametrize("text", MALFORMED.values(), ids=MALFORMED)
def test_a_malformed_manifest_is_refused(model: Path, text: str) -> None:
    (model / MANIFEST).write_text(text)
    with pytest.raises(IntegrityError, match=r"manifest\.json: (not a manifest|altered)"):
        verify_directory(model)


def test_another_format_of_the_manifest_is_named(model: Path) -> None:
    text = (model / MANIFEST).read_text()
    (model / MANIFEST).write_text(text.replace('"format": 1', '"format": 2'))
    with pytest.raises(IntegrityError, match="format 2, expected 1"):
        verify_directory(model)


def test_a_folder_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    with pytest.raises(IntegrityError, match="does not exist"):
        verify_directory(tmp_path / "nowhere")


# Names inside a directory


@pytest.mark.parametrize("name", ["a", "a/b.txt", "missing/file", "..a", "a..b", "tokenizer/vocab.txt", "日本.txt"])
def test_a_name_inside_is_joined(tmp_path: Path, name: str) -> None:
    assert safe_join(tmp_path, name) == tmp_path / name


@HOSTILE
def test_a_name_leading_outside_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(IntegrityError, match="is not a name inside this folder"):
        safe_join(tmp_path, name)


def test_an_absolute_name_is_refused_even_if_it_lies_inside(tmp_path: Path) -> None:
    with pytest.raises(IntegrityError, match="is not a name inside this folder"):
        safe_join(tmp_path, str(tmp_path / "x"))


@pytest.mark.parametrize("name", ["link", "link/passwd"])
def test_a_link_leading_outside_is_not_followed(tmp_path: Path, name: str) -> None:
    (tmp_path / "link").symlink_to("/etc")
    with pytest.raises(IntegrityError, match="is not a name inside this folder"):
        safe_join(tmp_path, name)


def test_a_link_that_stays_inside_is_followed(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to("file")
    assert safe_join(tmp_path, "link") == tmp_path / "link"


def test_a_root_that_is_a_link_itself_is_no_obstacle(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "root").symlink_to("real")
    assert safe_join(tmp_path / "root", "a") == tmp_path / "root" / "a"


def test_a_pipe_inside_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(IntegrityError, match="'pipe' is a device, pipe or socket"):
        safe_join(tmp_path, "pipe")


# What dead writers left


@pytest.fixture(scope="module")
def dead_pid() -> int:
    process = subprocess.Popen([sys.executable, "-S", "-c", ""])
    process.wait()
    return process.pid


def test_what_a_dead_writer_left_is_removed_and_returned(tmp_path: Path, dead_pid: int) -> None:
    file, folder = tmp_path / f".tmp-out.txt-{dead_pid}", tmp_path / f".tmp-model-{dead_pid}"
    file.touch()
    folder.mkdir()
    (folder / "half").touch()
    assert remove_stale(tmp_path) == [folder, file]
    assert not list(tmp_path.iterdir())


def test_a_stale_link_is_removed_and_not_what_it_points_to(tmp_path: Path, dead_pid: int) -> None:
    (tmp_path / "precious").mkdir()
    (tmp_path / f".tmp-model-{dead_pid}").symlink_to("precious")
    remove_stale(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["precious"]


def test_what_a_living_writer_has_open_is_kept(tmp_path: Path) -> None:
    with write_atomic(tmp_path / "out.txt") as handle:
        handle.write("new")
        assert remove_stale(tmp_path) == []
    assert (tmp_path / "out.txt").read_text() == "new"


def test_the_process_of_another_user_counts_as_living(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(pid: int, signal: int) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "kill", refuse)
    (tmp_path / ".tmp-out.txt-12345").touch()
    assert remove_stale(tmp_path) == []


@pytest.mark.parametrize(
    "name",
    [
        ".tmp-out.txt",
        ".tmp-",
        ".tmp-out-x1",
        ".tmp-out-",
        ".tmp-out-²",
        ".tmp-out-" + "9" * 30,
        ".tmp-{pid}",
        "out-{pid}",
    ],
)
def test_a_name_without_a_pid_is_kept(tmp_path: Path, name: str, dead_pid: int) -> None:
    file = tmp_path / name.format(pid=dead_pid)
    file.touch()
    assert remove_stale(tmp_path) == []
    assert file.exists()
