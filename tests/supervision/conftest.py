"""Programs under supervision, and proof that nothing of them is left."""

import asyncio
import os
import select
import time
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tfmesos.supervision import ProcessSpec, Supervisors
from tfmesos.supervision._tree import children_of

PATH = "/usr/local/bin:/usr/bin:/bin"


@dataclass
class Tree:
    """Processes held by their pidfds, so that a pid used again is never taken for one of them."""

    pidfds: dict[int, int] = field(default_factory=dict)
    others: frozenset[int] = frozenset()
    """Children that were there before: servers that several tests share."""

    def add_below(self, root: int) -> "Tree":
        for pid in children_of(root):
            if pid in self.others:
                continue
            if pid not in self.pidfds:
                try:
                    self.pidfds[pid] = os.pidfd_open(pid)
                except ProcessLookupError:
                    continue
            self.add_below(pid)
        return self

    def left(self) -> list[int]:
        """Those that still run; a zombie has ended."""
        return [pid for pid, pidfd in self.pidfds.items() if not select.select([pidfd], [], [], 0)[0]]

    def wait_gone(self, timeout_s: float) -> list[int]:
        """Those that still run after so long."""
        deadline = time.monotonic() + timeout_s
        for pidfd in self.pidfds.values():
            select.select([pidfd], [], [], max(0.0, deadline - time.monotonic()))
        return self.left()

    def close(self) -> None:
        for pidfd in self.pidfds.values():
            os.close(pidfd)


@pytest.fixture(autouse=True)
def others() -> frozenset[int]:
    """Taken before any other fixture of a test starts something."""
    return frozenset(children_of(os.getpid()))


@pytest.fixture
def tree(others: frozenset[int]) -> Iterator[Tree]:
    tree = Tree(others=others)
    yield tree
    tree.close()


class Voice:
    """A FIFO as the program's stdout: tells where the program is, and ends when nobody holds it any more."""

    def __init__(self, path: Path) -> None:
        os.mkfifo(path)
        self.path = str(path)
        self._reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        self._stream: asyncio.StreamReader | None = None

    async def lines(self, count: int) -> list[str]:
        stream = await self._open()
        async with asyncio.timeout(20):
            return [(await stream.readline()).decode().strip() for _ in range(count)]

    async def wait_silent(self) -> None:
        """Until every process that had it is gone."""
        stream = await self._open()
        async with asyncio.timeout(20):
            await stream.read()

    async def _open(self) -> asyncio.StreamReader:
        if self._stream is None:
            self._stream = asyncio.StreamReader()
            file = os.fdopen(self._reader, "rb", buffering=0)
            protocol = asyncio.StreamReaderProtocol(self._stream)
            self._transport, _ = await asyncio.get_running_loop().connect_read_pipe(lambda: protocol, file)
        return self._stream

    def close(self) -> None:
        if self._stream is not None:
            self._transport.close()
        else:
            os.close(self._reader)


@pytest.fixture
async def voice(tmp_path: Path) -> AsyncIterator[Voice]:
    voice = Voice(tmp_path / "voice")
    yield voice
    voice.close()
    await asyncio.sleep(0)


@pytest.fixture
async def supervisors() -> AsyncIterator[Supervisors]:
    supervisors = Supervisors()
    await supervisors.start()
    yield supervisors
    async with asyncio.timeout(30):
        await supervisors.close()


BuildSpec = Callable[..., ProcessSpec]


@pytest.fixture
def build_spec(tmp_path: Path) -> BuildSpec:
    def build(*argv: str, stdout: str | None = None, grace_s: float = 0.2, **environment: str) -> ProcessSpec:
        return ProcessSpec(
            id=f"{argv[:1]}",
            argv=argv,
            environment={"PATH": PATH, **environment},
            directory=str(tmp_path),
            stdout=stdout or str(tmp_path / "stdout"),
            stderr=str(tmp_path / "stderr"),
            grace_s=grace_s,
        )

    return build
