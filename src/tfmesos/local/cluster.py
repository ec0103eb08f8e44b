"""The launcher's side of the embedded cluster: starts the child process, watches it, ends it."""

import asyncio
import contextlib
import os
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

from tfmesos.launcher import NeverFits
from tfmesos.local.directories import RunDirectory, RuntimeDirectory, runs_dir
from tfmesos.local.errors import LocalClusterDied, LocalClusterError, LocalRefusal
from tfmesos.local.handover import Answer, Handover
from tfmesos.local.needs import LocalNeeds
from tfmesos.local.process import ChildProcess

__all__ = ["LocalCluster"]

START_TIMEOUT_S = 75.0  # NVIDIA's driver alone may take 60
CLOSE_TIMEOUT_S = 20.0
_LOG_LINES = 10
_LOG_BYTES = 8192


class LocalCluster:
    """An embedded cluster; an async context manager that ends it.

    `notes`, once ready, are lines for the user: that more is offered than the machine has, that GPUs are not isolated.
    """

    def __init__(self, needs: LocalNeeds, environ: Mapping[str, str]) -> None:
        """Start the child process and return at once; `wait_ready` tells when it serves. Raises `LocalClusterError`."""
        self.notes: tuple[str, ...] = ()
        self._is_closing = False
        with contextlib.ExitStack() as undo:
            self._run = RunDirectory.create(runs_dir(environ), now=time.time(), pid=os.getpid())
            undo.callback(self._run.remove)
            self._runtime = RuntimeDirectory.create(environ)
            undo.callback(self._runtime.remove)
            try:
                self._process = self._start_process(needs, environ)
            except OSError as error:
                raise LocalClusterError(f"cannot start the embedded cluster: {error}") from error
            undo.pop_all()

    @classmethod
    async def start(cls, needs: LocalNeeds, environ: Mapping[str, str] = os.environ) -> Self:
        """Start the child process and wait until it serves. Raises `LocalClusterError`."""
        cluster = cls(needs, environ)
        try:
            await cluster.wait_ready()
        except BaseException:
            await cluster.close()
            raise
        return cluster

    @property
    def master(self) -> str:
        """The master's address for `discovery.build_detector`."""
        return f"unix://{self._runtime.path}/master.sock"

    @property
    def work_dir(self) -> str:
        """This run's directory, where the sandboxes stay."""
        return str(self._run.path)

    @property
    def log_path(self) -> str:
        """The child process's log."""
        return str(self._run.log_path)

    @property
    def pid(self) -> int:
        """The child's process id."""
        return self._process.pid

    async def wait_ready(self) -> None:
        """Wait until master and agent serve.

        Raises `LocalClusterError` naming the log, NeverFits for too few GPUs, LocalRefusal for what cannot be served.
        """
        try:
            async with asyncio.timeout(START_TIMEOUT_S):
                line = await self._process.read_line()
                if not line:
                    await self._process.wait_ended()
        except TimeoutError:
            raise self._error(
                LocalClusterError, f"the embedded cluster is not ready after {START_TIMEOUT_S:g} s"
            ) from None
        if not line:
            raise self._error(LocalClusterError, f"the embedded cluster {self._process.describe_end()} as it started")
        answer = Answer.from_json(line)
        if answer.error is not None and answer.never_fits:
            raise NeverFits(answer.error)
        if answer.error is not None and answer.refused:
            raise LocalRefusal(answer.error)
        if answer.error is not None:
            raise LocalClusterError(f"cannot start the embedded cluster: {answer.error}", log_path=self.log_path)
        self.notes = answer.notes

    async def wait_died(self) -> LocalClusterError:
        """Wait until the child process ends without having been asked to; the error that says so."""
        await self._process.wait_ended()
        if self._is_closing:
            await asyncio.Event().wait()
        return self._error(LocalClusterDied, f"the embedded cluster {self._process.describe_end()}")

    async def close(self) -> None:
        """End the cluster with all its tasks, and wait until nothing is left. Idempotent."""
        self._is_closing = True
        self._process.terminate()
        try:
            async with asyncio.timeout(CLOSE_TIMEOUT_S):
                await self._process.wait_ended()
        except TimeoutError:
            pass
        self.kill()

    def kill(self) -> None:
        """End the cluster at once, without an event loop: its fork server ends what is left. Idempotent."""
        self._is_closing = True
        self._process.kill()
        self._runtime.remove()
        self._run.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def _start_process(self, needs: LocalNeeds, environ: Mapping[str, str]) -> ChildProcess:
        locks = (self._run.lock, self._runtime.lock)
        handover = Handover(
            launcher_pid=os.getpid(),
            runs_dir=str(self._run.path.parent),
            work_dir=str(self._run.path),
            runtime_dir=str(self._runtime.path),
            locks=locks,
            needs=needs,
        )
        return ChildProcess(
            # -P: a random.py in the user's directory must not stand in for the standard library's.
            [sys.executable, "-P", "-m", "tfmesos.local"],
            message=handover.to_json(),
            environ=environ,
            log_path=self._run.log_path,
            descriptors=locks,
        )

    def _error(self, kind: type[LocalClusterError], text: str) -> LocalClusterError:
        lines = _last_lines(self._run.log_path)
        shown = "".join(f"\n  {line}" for line in lines)
        where = f"the last lines of its log {self.log_path}:{shown}" if lines else f"its log {self.log_path} is empty"
        return kind(f"{text}; {where}", log_path=self.log_path, last_lines=lines)


def _last_lines(path: Path) -> tuple[str, ...]:
    try:
        with open(path, "rb") as log:
            log.seek(max(0, log.seek(0, os.SEEK_END) - _LOG_BYTES))
            return tuple(log.read().decode("utf-8", "replace").splitlines()[-_LOG_LINES:])
    except OSError:
        return ()
