"""A new file in `unknown/` is all that a policy needs: the commands, comparisons and the contract checks have it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.slow.test_compare_command import FAST, files

__all__ = ["files"]
pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
POLICY = '''
from dataclasses import dataclass
from goldgap.unknown.cells import policies


@dataclass(frozen=True, slots=True)
class Alternate:
    """every   one of so many cells"""

    every: int = 2

    def __call__(self, cells, progress, generator):
        keep = cells.unknown.clone()
        keep[:, 1 :: self.every] = False
        return keep{more}


policies.add("alternate", Alternate)
'''


@pytest.fixture
def house(tmp_path: Path) -> Path:
    """The project with one file more."""
    copy = tmp_path / "house"
    without = shutil.ignore_patterns("__pycache__", "results", "comparisons")
    for folder in ("goldgap", "tests"):
        shutil.copytree(ROOT / folder, copy / folder, ignore=without)
    shutil.copy(ROOT / "pyproject.toml", copy)
    (copy / "goldgap" / "unknown" / "alternate.py").write_text(POLICY.format(more=""), encoding="utf-8")
    return copy


def run_in(house: Path, folder: Path, *call: object) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(house), "COLUMNS": "200"}
    command = [sys.executable, "-m", *map(str, call)]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def test_one_file_is_all_that_a_policy_needs(house: Path, files: Path, tiny_encoder: Path) -> None:
    data = ("--dev", "dev.jsonl", "--encoder", tiny_encoder, *FAST)
    train = ("goldgap", "train", "--train", "train.jsonl", "--set", "policy=alternate", *data)
    done = run_in(house, files, *train, "--set", "policy.every=3", "-o", "model")
    assert done.returncode == 0, done.stderr
    recipe = (files / "model" / "recipe.toml").read_text(encoding="utf-8")
    assert 'name = "alternate"' in recipe
    assert "every = 3" in recipe
    wrong = run_in(house, files, *train, "--set", "policy.evry=3", "-o", "other")
    assert (wrong.returncode, "'every'" in wrong.stderr) == (2, True)

    methods = ("--methods", "span,span:policy=alternate", "--test", "test.jsonl", "--seeds", "1", "-o", "out")
    compared = run_in(house, files, "goldgap", "compare", "--train", "train.jsonl", *data, *methods)
    assert compared.returncode == 0, compared.stderr
    assert "span:policy=alternate" in (files / "out" / "comparison.md").read_text(encoding="utf-8")

    contract = (
        "pytest",
        "-q",
        "tests/contract/test_variants.py",
        "-k",
        "TestEveryPolicy and alternate",
        "-p",
        "no:cacheprovider",
    )
    checked = run_in(house, house, *contract)
    assert checked.returncode == 0, checked.stdout
    assert "5 passed" in checked.stdout


def test_a_policy_that_keeps_an_entity_ends_the_run_with_its_name(house: Path, files: Path, tiny_encoder: Path) -> None:
    wrong = POLICY.format(more=" | (cells.labels > 0)")
    (house / "goldgap" / "unknown" / "alternate.py").write_text(wrong, encoding="utf-8")
    call = ("--train", "train.jsonl", "--dev", "dev.jsonl", "--set", "policy=alternate", "-o", "model")
    done = run_in(house, files, "goldgap", "train", *call, "--encoder", tiny_encoder, *FAST)
    assert done.returncode == 2
    assert "the policy 'alternate' keeps cells as negatives that are not unknown:" in done.stderr
    assert "annotated as entities" in done.stderr
    assert not (files / "model").exists()
