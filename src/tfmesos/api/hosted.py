"""One job and, where there is no other, the embedded cluster beneath it."""

import asyncio
import contextlib
import os
from collections.abc import Coroutine, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from tfmesos.launcher import JobFailed, Outcome, RunOptions, TextSink
from tfmesos.local import LocalCluster, LocalNeeds, check_options

if TYPE_CHECKING:
    from tfmesos.discovery import Detector
    from tfmesos.launcher import JobRun

__all__ = ["HostedRun"]

T = TypeVar("T")

_SPARE_PORTS = 8
"""A gang that finds a port taken is tried again with others."""

_ABANDON_S = 5.0

_SILENCE_S = 10.0
"""After this a job that waits says what for."""


class HostedRun:
    """A job from its start to its end, on a master or, without one, on a cluster of its own. All in one event loop.

    An async context manager: when the block is left, the job and the embedded cluster are gone.
    When the embedded cluster dies, everything that waits raises JobFailed, which names it and its log.
    """

    def __init__(self, options: RunOptions, master: str | None, *, output: TextSink) -> None:
        """Check; start nothing. Raises JobSpecError, LocalRefusal, MasterAddressError."""
        self._options = replace(options, embedded=master is None)
        self._output = output
        self._detector: Detector | None = _detector(master) if master is not None else None
        self._needs = _needs(self._options)
        if master is None:
            check_options(self._options)
        self._local: LocalCluster | None = None
        self._death: asyncio.Task[JobFailed] | None = None
        self._run: JobRun | None = None
        self._stopped: tuple[int, str] | None = None
        self._starting: asyncio.Task[None] | None = None

    async def __aenter__(self) -> "HostedRun":
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self.close()

    @property
    def run(self) -> "JobRun":
        """The job, once started."""
        assert self._run is not None
        return self._run

    async def start(self, environ: Mapping[str, str] = os.environ) -> None:
        """Return when every task runs. Raises what JobRun.start and LocalCluster.start raise."""
        self._starting = asyncio.create_task(self._start(environ))
        try:
            await self._starting
        except asyncio.CancelledError:
            if self._stopped is None:
                raise
            exit_status, text = self._stopped
            raise JobFailed(text, exit_status=exit_status) from None

    async def wait_finished(self) -> Outcome:
        """Wait for the end of the job."""
        return await self._unless_dead(self.run.wait_finished())

    async def wait_listening(self) -> None:
        """Wait until the servers of tasks without a command accept connections."""
        await self._unless_dead(self.run.wait_listening())

    async def stop(self, *, exit_status: int, text: str, at_once: bool = False) -> None:
        """End the job, with this status unless it is decided already; called as it starts, `start` raises JobFailed."""
        self._stopped = self._stopped or (exit_status, text)
        if self._run is not None:
            with contextlib.suppress(JobFailed):
                await self._unless_dead(self._run.stop(exit_status=exit_status, text=text, at_once=at_once))
        elif self._starting is not None:
            self._starting.cancel()

    async def close(self) -> None:
        """End everything. Idempotent."""
        try:
            if self._run is not None and self._run.outcome is None:
                await self.stop(exit_status=0, text="")
        finally:
            if self._death is not None:
                self._death.cancel()
            if self._local is not None:
                await self._local.close()
            if self._detector is not None:
                await self._detector.close()

    async def _start(self, environ: Mapping[str, str]) -> None:
        if self._detector is None:
            self._local = LocalCluster(self._needs, environ)
            self._detector = _detector(self._local.master)
        # Imported while the embedded cluster starts: each takes a good part of a second.
        from tfmesos.launcher import JobRun

        run = JobRun(self._options, self._detector, output=self._output)
        if self._local is not None:
            await self._wait_local(self._local)
        self._run = run
        await self._unless_dead(run.start())

    async def _wait_local(self, local: LocalCluster) -> None:
        told = asyncio.get_running_loop().call_later(_SILENCE_S, self._say, self._awaited(local))
        try:
            await local.wait_ready()
        finally:
            told.cancel()
        for note in local.notes:
            self._say(note)
        self._death = asyncio.create_task(_wait_death(local))

    def _awaited(self, local: LocalCluster) -> str:
        what = "the Docker engine" if self._needs.in_docker else "the embedded cluster"
        return f"waiting for {what} to answer (log: {local.log_path})"

    def _say(self, note: str) -> None:
        if not self._options.quiet:
            self._output.write_note(note)

    async def _unless_dead(self, work: Coroutine[Any, Any, T]) -> T:
        """The work's result; raises when the embedded cluster dies before, as then nothing else would ever come."""
        if self._death is None:
            return await work
        working = asyncio.create_task(work)
        try:
            await asyncio.wait({working, self._death}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            if not working.done():
                working.cancel()
                await asyncio.wait({working}, timeout=_ABANDON_S)
        if working.cancelled() or not working.done():
            raise self._death.result()
        return working.result()


def _detector(master: str) -> "Detector":
    from tfmesos.discovery import build_detector

    return build_detector(master)


async def _wait_death(local: LocalCluster) -> JobFailed:
    return JobFailed(str(await local.wait_died()), exit_status=1)


def _needs(options: RunOptions) -> LocalNeeds:
    counted = [(job, len(job.indices)) for job in options.jobs]
    return LocalNeeds(
        cpus=sum(job.cpus * count for job, count in counted),
        mem_mb=sum(job.mem * count for job, count in counted),
        gpus=round(sum(job.gpus * count for job, count in counted)),
        ports=sum(count for _, count in counted) + _SPARE_PORTS,
        visible_cards=options.visible_cards,
        image=options.container.image,
        in_docker=options.container.is_docker,
        has_mounts=bool(options.container.mounted),
        has_shm=options.container.shm_mb is not None,
    )
