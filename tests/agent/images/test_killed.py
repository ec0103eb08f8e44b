"""An agent that is killed while it pulls."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.agent.images.store_of import image_of, images_of, is_clean
from tests.agent.waiting import eventually
from tests.images import File, Image, layers_of
from tests.registry import FakeRegistry

pytestmark = [pytest.mark.root]

_PULLING = """\
import asyncio, sys
from pathlib import Path
from tests.agent.images.store_of import image_of, images_of

async def pull():
    async with images_of(Path(sys.argv[1])) as images:
        await images.provide(image_of(sys.argv[2]), holder="c1")

asyncio.run(pull())
"""


async def test_nothing_of_its_pulls_is_left(fake_registry: FakeRegistry, tmp_path: Path) -> None:
    # Given an agent that waits for a layer
    fake_registry.put(Image(layers=layers_of({"x": File()})), "slow:1")
    fake_registry.gate.clear()
    name = f"{fake_registry.host}/slow:1"
    agent = _agent_that_pulls(tmp_path, name)
    await eventually(lambda: any("/blobs/" in asked.path for asked in fake_registry.asked))
    assert _programs_on(str(tmp_path))
    # When it is killed
    os.kill(agent.pid, signal.SIGKILL)
    agent.wait()
    # Then its skopeo ends, and the next agent finds a store that works
    await eventually(lambda: not _programs_on(str(tmp_path)))
    fake_registry.gate.set()
    async with images_of(tmp_path) as images:
        assert is_clean(tmp_path)
        await images.recover(())
        assert await images.provide(image_of(name), holder="c1")


def _agent_that_pulls(folder: Path, name: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", _PULLING, str(folder), name], cwd=Path(__file__).parents[3])


def _programs_on(path: str) -> list[str]:
    """The command lines that name it, of skopeo and umoci."""
    found = []
    for pid in filter(str.isdecimal, os.listdir("/proc")):
        try:
            words = Path(f"/proc/{pid}/cmdline").read_text().split("\0")
        except OSError:
            continue
        if os.path.basename(words[0]) in ("skopeo", "umoci") and any(path in word for word in words):
            found.append(" ".join(words))
    return found
