"""Training and prediction on another device: the tests of on_device.py, in a process of their own.

A device must be known to torch before the first backward pass of a process, which other tests have behind them.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]


def test_nothing_is_left_behind_on_another_device() -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/slow/on_device.py"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert " 16 passed" in f" {done.stdout.splitlines()[-1]}"
