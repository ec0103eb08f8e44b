"""The child process's side: a master and an agent on unix sockets, for as long as the launcher lives."""

import asyncio
import contextlib
import logging
import os
import random
import shutil
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from tfmesos.agent import AgentFlags
from tfmesos.discovery import EMBEDDED_MASTER_PID
from tfmesos.errors import TfmesosError
from tfmesos.local.agent_flags import build_flags
from tfmesos.local.directories import remove_old_runs, remove_stale_runtime_dirs
from tfmesos.local.embedded_agent import AgentStart
from tfmesos.local.handover import Answer, Handover
from tfmesos.local.locks import NameLocks
from tfmesos.local.machine import read_machine, resources_text, size_notes
from tfmesos.local.ports import PortLocks, candidate_ports
from tfmesos.master import Master, MasterFlags
from tfmesos.supervision import open_pidfd
from tfmesos.transport import Address, UnixAddress

__all__ = ["run"]

_HOST, _MASTER_PORT = EMBEDDED_MASTER_PID.host, EMBEDDED_MASTER_PID.port
_AGENT_PORT = 5051
"""Made up as the master's: libprocess names a process by host and port, but these two listen on unix sockets only."""

_LOG = logging.getLogger(__name__)


def run(handover: Handover, answers: BinaryIO) -> int:
    """Serve until the launcher is gone or SIGTERM comes; the exit status."""
    for lock in handover.locks:
        os.set_inheritable(lock, False)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname).1s %(name)s: %(message)s")
    try:
        asyncio.run(_serve(handover, answers))
    except TfmesosError as error:
        _LOG.error("cannot serve: %s", error)
        _tidy(handover)  # before the answer: the launcher ends this process as soon as it has that
        _give(answers, Answer.of(error))
        return error.exit_status
    finally:
        # The launcher does it too, unless it is gone.
        shutil.rmtree(handover.runtime_dir, ignore_errors=True)
    return 0


async def _serve(handover: Handover, answers: BinaryIO) -> None:
    over = asyncio.Event()
    with _watching_launcher(handover.launcher_pid, over):
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, over.set)
        machine = read_machine()
        needs = handover.needs
        async with contextlib.AsyncExitStack() as held:
            ports = held.enter_context(contextlib.closing(PortLocks(candidate_ports(), chance=random.SystemRandom())))
            gpus = held.enter_context(contextlib.closing(NameLocks("gpu")))
            resources = resources_text(machine, needs, ports.take(needs.ports))
            async with contextlib.AsyncExitStack() as daemons:
                notes = [*size_notes(machine, needs), *await _start_daemons(handover, resources, gpus, daemons)]
                _give(answers, Answer(notes=tuple(notes)))
                threading.Thread(target=_tidy, args=(handover,), name="tidy", daemon=True).start()
                await over.wait()
                _LOG.info("ending")


async def _start_daemons(
    handover: Handover, resources: str, gpus: NameLocks, daemons: contextlib.AsyncExitStack
) -> tuple[str, ...]:
    sockets = {
        (_HOST, _MASTER_PORT): UnixAddress(f"{handover.runtime_dir}/master.sock"),
        (_HOST, _AGENT_PORT): UnixAddress(f"{handover.runtime_dir}/agent.sock"),
    }
    routes: dict[tuple[str, int], Address] = dict(sockets)
    master_socket, agent_socket = sockets.values()
    master = Master(_master_flags(), listen=master_socket, routes=routes)
    daemons.push_async_callback(master.close)
    await master.start()
    agent = AgentStart(
        flags=_agent_flags(handover, resources),
        master=master_socket.path,
        listen=agent_socket,
        routes=routes,
        daemons=daemons,
    )
    return await agent.start(handover.needs, gpus)


def _master_flags() -> MasterFlags:
    return MasterFlags(
        ip=_HOST,
        port=_MASTER_PORT,
        hostname="localhost",
        registry="in_memory",
        cluster="embedded",
        filter_gpu_resources=False,
    )


def _agent_flags(handover: Handover, resources: str) -> AgentFlags:
    return build_flags(
        os.environ,
        handover.needs,
        master=f"{_HOST}:{_MASTER_PORT}",
        ip=_HOST,
        port=_AGENT_PORT,
        work_dir=f"{handover.work_dir}/agent",
        resources=resources,
    )


@contextlib.contextmanager
def _watching_launcher(pid: int, over: asyncio.Event) -> Iterator[None]:
    """Set `over` when the launcher is gone, however it ended (a pipe's end would stay open in forked grandchildren)."""
    loop = asyncio.get_running_loop()
    try:
        pidfd = open_pidfd(pid)
    except ProcessLookupError:
        pidfd = -1
    if pidfd < 0 or os.getppid() != pid:
        over.set()
        yield
        return
    loop.add_reader(pidfd, over.set)
    try:
        yield
    finally:
        loop.remove_reader(pidfd)
        os.close(pidfd)


def _tidy(handover: Handover) -> None:
    """Remove what earlier runs left; it may be much, and neither the job nor its end waits for it."""
    remove_old_runs(Path(handover.runs_dir))
    remove_stale_runtime_dirs(os.environ, now=time.time())


def _give(answers: BinaryIO, answer: Answer) -> None:
    with contextlib.suppress(BrokenPipeError), answers:
        answers.write(answer.to_json())
