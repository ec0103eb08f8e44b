"""The rhythm of a task's checks: wait for the delay, look, wait for the interval, look again, until closed."""

import asyncio
import logging
from collections.abc import Callable
from typing import Protocol

from tfmesos.checks.judges import CheckJudge, HealthJudge, empty_status, means_health
from tfmesos.checks.probes import NotLooked, Prober, RunCommand
from tfmesos.transport import TransportError
from tfmesos.wire import mesos_pb2

_log = logging.getLogger(__name__)
_SHORTEST_INTERVAL_S = 0.05
"""A check with an interval of 0 shall not keep a core busy."""


class TaskChecks:
    """The check and the health check of one task (both may be absent: then nothing happens).

    `on_check` hears of each changed result, `on_health` of each first success and each failure (see judges.py),
    `on_unhealthy` once too many failures came in a row, after `on_health(False)`, and again with each later failure.
    None is called after `close()` or `pause()` began. They must not raise.
    The owner closes when the task ends or is being killed, and pauses while nobody could be told (an executor without
    its agent). A look under way is abandoned by both; `resume` looks at once (Mesos 1.11).
    """

    def __init__(
        self,
        task: mesos_pb2.TaskInfo,
        *,
        host: str,
        run_command: RunCommand,
        on_check: Callable[[mesos_pb2.CheckStatusInfo], None],
        on_health: Callable[[bool], None],
        on_unhealthy: Callable[[], None],
    ) -> None:
        """`host`: where the task's ports are (health checks that ask for IPv6 go to ::1)."""
        prober = Prober(host, run_command)
        self._watches: list[_Watch] = []
        if task.HasField("check"):
            self._watches.append(_Watch(task.check, prober, _CheckTeller(task.check, on_check)))
        if task.HasField("health_check"):
            teller = _HealthTeller(task.health_check, on_health, on_unhealthy)
            self._watches.append(_Watch(task.health_check, prober, teller))

    def start(self) -> None:
        """Begin; delay and grace period count from here."""
        for watch in self._watches:
            watch.start()

    def pause(self) -> None:
        """Look no more until `resume`."""
        for watch in self._watches:
            watch.stop()

    def resume(self) -> None:
        """Look again, at once."""
        for watch in self._watches:
            watch.resume()

    async def close(self) -> None:
        """Stop for good; returns when a look under way is over, its command ended. May be called again."""
        for watch in self._watches:
            watch.stop()
        for watch in self._watches:
            await watch.wait_stopped()


class _Teller(Protocol):
    """Takes what was seen (None: nothing could be) so long after the start."""

    def tell(self, result: mesos_pb2.CheckStatusInfo | None, elapsed_s: float) -> None: ...


class _CheckTeller:
    def __init__(self, check: mesos_pb2.CheckInfo, on_check: Callable[[mesos_pb2.CheckStatusInfo], None]) -> None:
        self._check = check
        self._judge = CheckJudge(check)
        self._on_check = on_check

    def tell(self, result: mesos_pb2.CheckStatusInfo | None, elapsed_s: float) -> None:
        news = self._judge.judge(empty_status(self._check) if result is None else result)
        if news is not None:
            self._on_check(news)


class _HealthTeller:
    def __init__(
        self, check: mesos_pb2.HealthCheck, on_health: Callable[[bool], None], on_unhealthy: Callable[[], None]
    ) -> None:
        self._judge = HealthJudge(check)
        self._on_health = on_health
        self._on_unhealthy = on_unhealthy

    def tell(self, result: mesos_pb2.CheckStatusInfo | None, elapsed_s: float) -> None:
        verdict = self._judge.judge(result is not None and means_health(result), elapsed_s)
        if verdict is not None:
            self._on_health(verdict.is_healthy)
            if verdict.is_hopeless:
                self._on_unhealthy()


class _Watch:
    """One check: at most one look at a time."""

    def __init__(self, check: mesos_pb2.CheckInfo | mesos_pb2.HealthCheck, prober: Prober, teller: _Teller) -> None:
        self._check = check
        self._prober = prober
        self._teller = teller
        self._started_at = 0.0
        self._running: asyncio.Task[None] | None = None
        self._is_stopped = False

    def start(self) -> None:
        self._started_at = _now()
        self._running = asyncio.create_task(self._run(self._check.delay_seconds, None))

    def resume(self) -> None:
        former = self._running
        if former is not None and self._is_stopped:
            self._is_stopped = False
            self._running = asyncio.create_task(self._run(0.0, former))

    def stop(self) -> None:
        """Cancel once: a second time would tear a command's look from what it does to end the command."""
        if self._running is not None and not self._is_stopped:
            self._is_stopped = True
            self._running.cancel()

    async def wait_stopped(self) -> None:
        if self._running is not None:
            await asyncio.wait([self._running])

    async def _run(self, delay_s: float, former: asyncio.Task[None] | None) -> None:
        if former is not None:
            await asyncio.wait([former])
        while True:
            await asyncio.sleep(delay_s)
            try:
                result = await self._look()
            except NotLooked as why:
                _log.debug("no look: %s", why)
            else:
                self._teller.tell(result, _now() - self._started_at)
            delay_s = max(self._check.interval_seconds, _SHORTEST_INTERVAL_S)

    async def _look(self) -> mesos_pb2.CheckStatusInfo | None:
        """What was seen, None if nothing could be (Mesos 1.11: a time-out of 0 is none)."""
        try:
            async with asyncio.timeout(self._check.timeout_seconds or None):
                return await self._prober.look(self._check)
        except (OSError, TimeoutError, TransportError) as error:
            _log.debug("a look failed: %s", error or "timed out")
            return None


def _now() -> float:
    return asyncio.get_running_loop().time()
