"""TensorBoard beside a job: on this machine, at a free port, for as long as the job lives (`--tensorboard`)."""

import asyncio
import importlib.util
import os
import re
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from tfmesos.errors import TfmesosError
from tfmesos.supervision import ProcessSpec, Supervised, Supervisors

__all__ = ["TensorBoardMissing", "check_tensorboard", "tensorboard"]

_URL = re.compile(rb"http://\S+")
"""TensorBoard 2.21: `TensorBoard 2.21.0 at http://localhost:6006/ (Press CTRL+C to quit)`, once it serves."""
_LOOK_S = 0.1
_SHOWN = 16 * 1024


class TensorBoardMissing(TfmesosError):
    """It is not installed for this Python."""

    exit_status = 2


def check_tensorboard() -> None:
    """Raises TensorBoardMissing."""
    if importlib.util.find_spec("tensorboard") is None:
        raise TensorBoardMissing(
            f"--tensorboard needs TensorBoard: install it with `{sys.executable} -m pip install tensorboard`"
        )


@asynccontextmanager
async def tensorboard(directory: str, tell: Callable[[str], None]) -> AsyncIterator[None]:
    """Run it for what is below the directory; its address is told when it serves, or that it has ended.

    Nothing of it is left, however this process ends.
    """
    supervisors = Supervisors()
    log = os.memfd_create("tensorboard")  # a file that nobody has to remove
    try:
        running = await supervisors.launch(_program(directory, f"/proc/{os.getpid()}/fd/{log}"))
        await running.release()
        watch = asyncio.create_task(_watch(running, log, tell))
        try:
            yield
        finally:
            watch.cancel()
            running.kill(0.0)
            await running.wait()
    finally:
        await supervisors.close()
        os.close(log)


def _program(directory: str, log: str) -> ProcessSpec:
    words = ("--logdir", directory, "--host", "localhost", "--port", "0")
    return ProcessSpec(
        id="tensorboard",
        argv=(sys.executable, "-m", "tensorboard.main", *words),
        environment=dict(os.environ),
        directory=os.getcwd(),
        stdout=log,
        stderr=log,
    )


async def _watch(running: Supervised, log: int, tell: Callable[[str], None]) -> None:
    ended = asyncio.create_task(running.wait())
    is_told = False
    while not ended.done():
        await asyncio.wait([ended], timeout=None if is_told else _LOOK_S)
        found = None if is_told else _URL.search(_read(log))
        if found is not None:
            tell(f"TensorBoard: {found[0].decode(errors='replace')}")
            is_told = True
    last = _read(log).decode(errors="replace").strip().rpartition("\n")[2]
    tell(f"TensorBoard has ended: {last or ended.result().message or 'it says nothing'}")


def _read(log: int) -> bytes:
    """What it has said last."""
    return os.pread(log, _SHOWN, max(0, os.fstat(log).st_size - _SHOWN))
