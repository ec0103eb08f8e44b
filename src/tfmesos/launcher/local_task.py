"""The task that runs on the launcher's own machine, in the foreground (`--local-worker`)."""

import asyncio
import os
import signal
import socket
from collections.abc import Mapping

from tfmesos.launcher.addresses import TaskAddress
from tfmesos.launcher.blueprint import Program
from tfmesos.launcher.placement import TaskKey
from tfmesos.supervision import Foreground, SupervisionError, Termination
from tfmesos.transport import Address, TcpAddress

LOCAL_TASK = TaskKey("worker", 0)
LAST_GRACE_S = 1.0


class LocalTask:
    """Its port, from the start of the run to its end, and its process.

    The port is bound with SO_REUSEADDR and never listens: TensorFlow can bind it, nobody else is given it.
    """

    def __init__(self, host: str) -> None:
        self._holder = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
        self._holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._holder.bind(("", 0))
        port = self._holder.getsockname()[1]
        self.address = TaskAddress(job=LOCAL_TASK.job, index=LOCAL_TASK.index, host=host, port=port)
        self._process: Foreground | None = None
        self._grace_s: float | None = None

    async def run(self, program: Program, inherited: Mapping[bytes, bytes], directory: str) -> tuple[int, str]:
        """Run it; returns its exit status and how it ended. Cancelled, it is killed and its end awaited."""
        environment = {os.fsdecode(name): os.fsdecode(value) for name, value in inherited.items()}
        environment.update(program.environment)
        try:
            self._process = await Foreground.start(program.argv, environment, directory)
        except SupervisionError as error:
            return 1, str(error)
        if self._grace_s is not None:
            self._process.kill(self._grace_s)
        try:
            return _told(await self._process.wait())
        except asyncio.CancelledError:
            self._process.kill(LAST_GRACE_S)
            await self._process.wait()
            raise

    def renew(self) -> None:
        """It is to be run (again): what was asked of the run before does not concern it."""
        self._process = self._grace_s = None

    def kill(self, grace_s: float) -> None:
        """End it, now or as soon as it has started."""
        self._grace_s = grace_s
        if self._process is not None:
            self._process.kill(grace_s)

    def close(self) -> None:
        """Let go of the port."""
        self._holder.close()


async def host_towards(master: Address) -> str:
    """The address of this machine that routes to the master; loopback for an embedded cluster."""
    if not isinstance(master, TcpAddress):
        return "127.0.0.1"
    found = await asyncio.get_running_loop().getaddrinfo(master.host, master.port, type=socket.SOCK_DGRAM)
    family, kind, protocol, _, address = found[0]
    with socket.socket(family, kind, protocol) as probe:
        probe.connect(address)  # a datagram socket: nothing is sent, the kernel only chooses the route
        return str(probe.getsockname()[0])


def _told(end: Termination) -> tuple[int, str]:
    if end.wait_status is None:
        return 1, end.message or "its end is not known"
    if os.WIFSIGNALED(end.wait_status):
        number = os.WTERMSIG(end.wait_status)
        return 128 + number, f"Command terminated with signal {signal.strsignal(number) or number}"
    number = os.WEXITSTATUS(end.wait_status)
    return number, f"Command exited with status {number}"
