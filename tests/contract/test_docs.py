"""The documentation is true: its blocks run, the command reference is current, every command is described."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import typer

from goldgap.cli import app
from tests.command import Run

ROOT = Path(__file__).parents[2]
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").glob("*.md")])
BLOCK = re.compile(r"^```(sh|python)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SET_UP = re.compile(r"^make .*$", re.MULTILINE)
"""Lines that install: the tests already run inside what they make."""


def blocks(page: Path) -> list[tuple[str, str]]:
    return BLOCK.findall(page.read_text(encoding="utf-8"))


@pytest.mark.slow
@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page)], ids=lambda page: page.name)
def test_every_block_runs_in_order_in_a_new_folder(page: Path, tmp_path: Path) -> None:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "COLUMNS": "80"}
    for language, text in blocks(page):
        command = (
            ["bash", "-euo", "pipefail", "-c", SET_UP.sub("", text)] if language == "sh" else ["python", "-c", text]
        )
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{text}\n{done.stdout}\n{done.stderr}"


@pytest.mark.parametrize("picture", sorted((ROOT / "docs" / "pictures").glob("*.svg")), ids=lambda path: path.stem)
def test_every_picture_shows_something_and_is_shown(picture: Path) -> None:
    assert 'class="line"' in picture.read_text(encoding="utf-8")
    assert any(f"pictures/{picture.name}" in page.read_text(encoding="utf-8") for page in PAGES)


@pytest.mark.slow
def test_the_front_picture_shows_the_runs_that_are_kept(tmp_path: Path) -> None:
    made = tmp_path / "masked.svg"
    subprocess.run([sys.executable, ROOT / "experiments" / "picture.py", made], check=True)
    assert made.read_bytes() == (ROOT / "docs" / "pictures" / "masked.svg").read_bytes(), "run experiments/picture.py"


def test_blocks_are_found() -> None:
    assert sum(len(blocks(page)) for page in PAGES) >= 8


@pytest.mark.slow
def test_the_references_are_what_the_code_says() -> None:
    spec = importlib.util.spec_from_file_location("generate", ROOT / "docs" / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for page, made in module.PAGES.items():
        assert (ROOT / "docs" / page).read_text(encoding="utf-8") == made(), "run `make docs`"
    assert set(module.COMMANDS) == command_names()


def command_names() -> set[str]:
    """Every command, and those of groups with the group's name before them."""
    groups = {str(group.name): names_in(group.typer_instance) for group in app.registered_groups}
    inner = {f"{name} {command}" for name, commands in groups.items() for command in commands}
    return names_in(app) | inner | groups.keys()


def names_in(group: typer.Typer | None) -> set[str]:
    assert group is not None
    return {info.name or info.callback.__name__ for info in group.registered_commands if info.callback is not None}


def test_the_readme_names_every_command() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| `goldgap (\w+)` \|(.*)\|$", readme, re.MULTILINE))
    groups = {name.split()[0] for name in command_names()}
    assert rows.keys() == groups
    inner = [name.split() for name in command_names() if " " in name]
    assert [name for group, name in inner if f"`{name}`" not in rows[group]] == []


@pytest.mark.parametrize("name", sorted(command_names()))
def test_the_help_of_a_command_has_one_example_that_can_be_copied_from_80_columns(name: str, run: Run) -> None:
    lines = [line.strip() for line in run(*name.split(), "--help").out.splitlines()]
    examples = [number for number, line in enumerate(lines) if line.startswith("Example:")]
    assert len(examples) == (0 if name == "diagnose" else 1)
    for number in examples:
        assert lines[number].startswith(f"Example: goldgap {name}")
        assert lines[number + 1] == "", "it goes on in the next line"


def test_links_between_pages_lead_somewhere() -> None:
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_the_runs_that_comparisons_name_are_kept() -> None:
    kept = {path.stem.rpartition("_")[2] for path in (ROOT / "experiments" / "results").glob("*.json")}
    pages = sorted((ROOT / "docs" / "comparisons").rglob("*.md"))
    named = {key: page.name for page in pages for key in re.findall(r"`([0-9a-f]{12})`", page.read_text("utf-8"))}
    assert len(named) > 50
    assert {key: page for key, page in named.items() if key not in kept} == {}, "run `make comparisons DATA=FOLDER`"


def test_the_tree_in_the_readme_is_the_tree() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    named = set(re.findall(r"^  (\w+)/ ", readme, re.MULTILINE))
    assert named == {path.parent.name for path in (ROOT / "goldgap").glob("*/__init__.py")}
