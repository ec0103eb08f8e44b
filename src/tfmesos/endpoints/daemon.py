"""What every Mesos daemon tells of itself: /version, /flags, /health, /metrics, /logging/toggle, /system/stats.json."""

import time
from collections.abc import Callable, Mapping

from aiohttp import web

from tfmesos.endpoints.log_level import BadLevel, LogLevel
from tfmesos.endpoints.pages import duration_of, json_page, query_of
from tfmesos.endpoints.routes import Handler
from tfmesos.metrics import PROMETHEUS_TEXT, Metrics, Snapshot, machine_numbers, prometheus_text
from tfmesos.transport import reply
from tfmesos.version import MESOS_VERSION, build_of_this
from tfmesos.wire import mesos_pb2
from tfmesos.wire.json_codec import dumps, message_to_json


def version_info() -> mesos_pb2.VersionInfo:
    """Whose version this program behaves as, and when it was built."""
    build = build_of_this()
    return mesos_pb2.VersionInfo(
        version=MESOS_VERSION, build_date=build.date, build_time=build.time_s, build_user=build.user
    )


class Daemon:
    """One running program: its flags, its metrics, the level of its log."""

    def __init__(self, flag_texts: Mapping[str, str], metrics: Metrics, now: Callable[[], float] = time.time) -> None:
        self.flag_texts = flag_texts
        self.log_level = LogLevel()
        self.started_s = now()
        self._metrics = metrics
        self._now = now
        metrics.add_gauges(lambda: {f"system/{name}": number for name, number in machine_numbers().items()})

    @property
    def uptime_s(self) -> float:
        """Seconds since the start."""
        return self._now() - self.started_s

    def snapshot(self) -> Snapshot:
        """Every metric, now."""
        return self._metrics.snapshot(self._now())

    def table(self) -> dict[str, Handler]:
        """The paths and who answers."""
        return {
            "/version": self._version,
            "/flags": self._flags,
            "/health": _health,
            "/metrics": self._prometheus,
            "/metrics/snapshot": self._snapshot,
            "/logging/toggle": self._toggle,
            "/system/stats.json": _stats,
        }

    async def _version(self, request: web.BaseRequest) -> web.Response:
        return await json_page(request, message_to_json(version_info()))

    async def _flags(self, request: web.BaseRequest) -> web.Response:
        return await json_page(request, dumps({"flags": self.flag_texts}))

    async def _prometheus(self, request: web.BaseRequest) -> web.Response:
        return reply(200, prometheus_text(self.snapshot()), PROMETHEUS_TEXT, request=request)

    async def _snapshot(self, request: web.BaseRequest) -> web.Response:
        """Nothing here waits, so that a time-out is checked and then without effect."""
        timeout = query_of(request).get("timeout")
        if timeout is not None:
            try:
                duration_of(timeout)
            except ValueError as error:
                return reply(400, f"Invalid timeout '{timeout}': {error}.\n")
        return await json_page(request, dumps(self.snapshot().flat()))

    async def _toggle(self, request: web.BaseRequest) -> web.Response:
        query = query_of(request)
        if "level" not in query and "duration" not in query:
            return reply(200, f"{self.log_level.level}\n")
        try:
            self.log_level.toggle(query.get("level"), query.get("duration"))
        except BadLevel as error:
            return reply(400, str(error))
        return reply(200)


async def _health(request: web.BaseRequest) -> web.Response:
    return reply(200)


async def _stats(request: web.BaseRequest) -> web.Response:
    numbers = machine_numbers()
    shown: dict[str, float] = {f"avg_{name}": numbers[name] for name in ("load_15min", "load_1min", "load_5min")}
    whole = {name: int(numbers[name]) for name in ("cpus_total", "mem_free_bytes", "mem_total_bytes")}
    return await json_page(request, dumps(shown | whole))
