"""Fetches through a child: the agent never opens what a task names."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tfmesos.agent.errands import end_of, how_it_ended
from tfmesos.agent.fetch_program.errors import FetchError
from tfmesos.agent.fetch_program.job import Item, Job
from tfmesos.agent.fetcher.cache import Cache
from tfmesos.agent.fetcher.errors import FetchFailed
from tfmesos.agent.fetcher.items import to_item
from tfmesos.agent.flags import AgentFlags
from tfmesos.agent.users import Identity
from tfmesos.supervision import ProcessSpec, SupervisionError, Supervisors, Termination
from tfmesos.wire import mesos_pb2

_PACKAGES = str(Path(__file__).resolve().parents[3])
_PASSED_ON = ("SSL_CERT_FILE", "SSL_CERT_DIR", "http_proxy", "https_proxy", "ftp_proxy", "no_proxy")
"""Of the agent's environment: how this machine reaches others (Mesos 1.11: the fetcher inherits all of it)."""

_LONGEST_REPORT = 2000
"""Bytes of why a child failed that are passed on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchOrder:
    """What one container needs before its program starts."""

    container_id: str
    uris: Sequence[mesos_pb2.CommandInfo.URI]
    sandbox: str
    user: str
    identity: Identity | None


class Fetcher:
    """All fetching of one agent."""

    def __init__(self, flags: AgentFlags, supervisors: Supervisors, environment: Mapping[str, str]) -> None:
        """`environment` is the agent's own."""
        self._flags = flags
        self._supervisors = supervisors
        passed_on = {name: environment[name] for name in _PASSED_ON if name in environment}
        self._environment = {"PATH": os.defpath, "LANG": "C.UTF-8", "PYTHONPATH": _PACKAGES, **passed_on}
        self.cache = Cache(
            Path(flags.fetcher_cache_dir).absolute(), flags.work_dir, flags.fetcher_cache_size, self._fill_cache
        )
        self.succeeded = 0
        """How many containers got all they asked for."""
        self.failed = 0

    async def fetch(self, order: FetchOrder) -> None:
        """Returns when all is in the sandbox; FetchFailed for the first that is not. Who cancels it ends the child."""
        try:
            await self._fetch(order)
        except FetchFailed:
            self.failed += 1
            raise
        self.succeeded += 1

    async def close(self) -> None:
        """Remove the cache. Idempotent."""
        await self.cache.close()

    async def _fetch(self, order: FetchOrder) -> None:
        try:
            for uri in order.uris:
                to_item(uri)
        except FetchError as error:
            raise FetchFailed(order.container_id, str(error)) from error
        async with contextlib.AsyncExitStack() as held:
            items = []
            for uri in order.uris:
                source = None
                if uri.cache:
                    source = await held.enter_async_context(self.cache.hold(uri.value, order.user, order.identity))
                items.append(to_item(uri, source))
            try:
                await self._run(items, order.container_id, order.sandbox, f"{order.sandbox}/stderr", order.identity)
            except (FetchError, SupervisionError) as error:
                raise FetchFailed(order.container_id, str(error)) from error

    async def _fill_cache(self, uri: str, directory: str, name: str, identity: Identity | None) -> None:
        item = Item(uri=uri, name=name, limit=self._flags.fetcher_cache_size)
        await self._run([item], f"cache entry {name}", directory, os.devnull, identity)

    async def _run(self, items: Sequence[Item], what: str, directory: str, log: str, identity: Identity | None) -> None:
        """Raises FetchError with how the child ended, and why."""
        job = Job(
            items=tuple(items),
            frameworks_home=self._flags.frameworks_home,
            stall_timeout_s=self._flags.fetcher_stall_timeout,
            uid=identity.uid if identity else None,
            gid=identity.gid if identity else None,
            groups=identity.groups if identity else (),
            log=log,
        )
        report = os.memfd_create("fetch report")  # no name, so nobody else has a hand in it
        try:
            end = await self._end_of(job, what, directory, f"/proc/{os.getpid()}/fd/{report}")
            if end.wait_status != 0:
                raise FetchError(how_it_ended(end) + _why(os.pread(report, _LONGEST_REPORT, 0)))
        finally:
            os.close(report)

    async def _end_of(self, job: Job, what: str, directory: str, report: str) -> Termination:
        spec = ProcessSpec(
            id=f"fetcher of {what}",
            argv=(sys.executable, "-s", "-P", "-m", "tfmesos.agent.fetch_program"),
            environment={**self._environment, **job.to_environment()},
            directory=directory,
            stdout=report,
            stderr=os.devnull,
        )
        return await end_of(self._supervisors, spec)


def _why(report: bytes) -> str:
    """The last line of what the child said, if it said anything; servers and tasks have chosen parts of it."""
    lines = report.decode(errors="replace").splitlines()
    if not lines:
        return ""
    return ": " + "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in lines[-1])
