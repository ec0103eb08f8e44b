"""A running master on loopback, and the clients that its tests need."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.master.peers import Client
from tfmesos.master import Master, MasterFlags
from tfmesos.transport import TcpAddress


@pytest.fixture
async def master(tmp_path: Path) -> AsyncIterator[Master]:
    started = Master(MasterFlags(port=0, work_dir=str(tmp_path / "master"), hostname="127.0.0.1", cluster="here"))
    await started.start()
    yield started
    await started.close()


@pytest.fixture
async def client(master: Master) -> AsyncIterator[Client]:
    address = master.address
    assert isinstance(address, TcpAddress)
    async with Client(address) as opened:
        yield opened


@pytest.fixture
def recorded() -> Recorded:
    return Recorded(Path(__file__).parents[1] / "golden" / "transcripts")


class Recorded:
    """Bodies recorded from stock Apache Mesos."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def json(self, session: str, number: int) -> Any:
        [path] = self._root.glob(f"{session}/{number:03d}-*.json")
        return json.loads(path.read_bytes())

    def answers(self, session: str) -> list[list[str]]:
        """The rows of the session's answers.md."""
        lines = (self._root / session / "answers.md").read_text().splitlines()
        rows = [line.strip("|").split(" | ") for line in lines if line.startswith("| ")]
        return [[cell.strip(" |") for cell in row] for row in rows[1:]]
