"""What every test stands on: no network, and the shared corpora where they exist."""

from __future__ import annotations

import ipaddress
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.command import Run

ROOT = Path(__file__).parent.parent
os.environ["HF_HUB_OFFLINE"] = "1"
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # before torch: threads that spin cost a busy machine dearly
os.environ.setdefault("ONEDNN_MAX_CPU_ISA", "AVX512_CORE_BF16")  # some virtual machines name AMX and have none


class NetworkBlockedError(RuntimeError):
    """A test tried to reach the network."""


def _is_local(host: object) -> bool:
    if host in (None, "", b"", "localhost", b"localhost"):
        return True
    try:
        return ipaddress.ip_address(host.decode() if isinstance(host, bytes) else str(host)).is_loopback
    except ValueError:
        return False


def _refuse_network(event: str, arguments: tuple[object, ...]) -> None:
    if event in ("socket.connect", "socket.sendto", "socket.sendmsg"):
        address = arguments[1]
        host = address[0] if isinstance(address, tuple) else None  # AF_UNIX: a path; already connected: None
    elif event in ("socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr"):
        host = arguments[0]
    else:
        return
    if not _is_local(host):
        raise NetworkBlockedError(f"{event} to {host!r}: tests run without a network")


# An audit hook also sees what libraries in C or with their own socket classes do; it cannot be taken off again.
sys.addaudithook(_refuse_network)


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of the public corpora; a test that needs it is skipped where they are not."""
    folder = Path(os.environ.get("GOLDGAP_DATA") or ROOT.parent / "shared" / "data")
    if not folder.is_dir():
        pytest.skip("the public corpora are not here; set GOLDGAP_DATA to their folder")
    return folder


@pytest.fixture(scope="session")
def tiny_encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of an encoder with random weights, small enough for unit tests."""
    from tests.tiny import save_tiny_encoder

    return save_tiny_encoder(tmp_path_factory.mktemp("encoder"))


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Run:
    """Runs commands in a folder of their own and a terminal of 80 columns."""
    from tests.command import call

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    return lambda *arguments: call(arguments, monkeypatch, capsys)
