"""Our agent as a program of its own, so that it can be killed, stopped and started again as the recorded one was."""

import asyncio
import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

from tests.ports import free_port
from tfmesos.transport import TcpAddress

_END_S = 20.0


class AgentProcess:
    """One work_dir and one port; the process may come and go."""

    def __init__(self, directory: Path, master: TcpAddress, flags: tuple[str, ...]) -> None:
        self.address = TcpAddress("127.0.0.1", free_port())
        self.work_dir = directory / "work"
        self._log = directory / "agent.log"
        self._process: subprocess.Popen[bytes] | None = None
        self._argv = (
            *(sys.executable, "-m", "tfmesos.cli.mesos_agent"),
            f"--master={master.host}:{master.port}",
            "--ip=127.0.0.1",
            f"--port={self.address.port}",
            f"--work_dir={self.work_dir}",
            "--hostname=127.0.0.1",
            "--resources=cpus:4;mem:4096;disk:10240;ports:[31000-32000]",
            "--switch_user=false",
            "--registration_backoff_factor=0secs",
            *flags,
        )
        self._environment = {
            **os.environ,
            "MESOS_RUNTIME_DIR": str(directory / "run"),
            "MESOS_FETCHER_CACHE_DIR": str(directory / "cache"),
            "MESOS_LOG_DIR": str(directory / "log"),
        }

    @property
    def is_alive(self) -> bool:
        """Whether the process runs."""
        return self._process is not None and self._process.poll() is None

    def start(self) -> None:
        """Start it if it does not run."""
        if not self.is_alive:
            with self._log.open("ab") as log:
                self._process = subprocess.Popen(self._argv, env=self._environment, stdout=log, stderr=log)

    def signal(self, number: signal.Signals) -> None:
        """Send it a signal, if it still runs."""
        assert self._process is not None
        with suppress(ProcessLookupError):
            self._process.send_signal(number)

    async def wait(self) -> int:
        """Its exit status once it has ended; it is killed if it does not."""
        assert self._process is not None
        try:
            return await asyncio.to_thread(self._process.wait, _END_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            return self._process.wait()

    async def close(self) -> None:
        """End it in an orderly way, with all its tasks."""
        self.signal(signal.SIGCONT)
        self.signal(signal.SIGUSR1)
        await self.wait()

    @property
    def log(self) -> str:
        """What it wrote."""
        return self._log.read_text()
