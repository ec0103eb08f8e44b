"""Which part answers which request (Mesos 1.11: `/x` is `/master/x`; the v1 APIs also answer below their paths)."""

from collections.abc import Awaitable, Callable

from aiohttp import web

from tfmesos.master.clock import Clock
from tfmesos.master.engine import Engine
from tfmesos.master.flags import MasterFlags
from tfmesos.master.http.endpoints import Endpoints
from tfmesos.master.http.operator_api import OperatorApi
from tfmesos.master.http.scheduler_api import SchedulerApi
from tfmesos.transport import LibprocessMessage, reply

Handler = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]


class Router:
    """Takes requests as soon as the server listens; answers 503 until it is opened."""

    def __init__(self) -> None:
        self._engine: Engine | None = None
        self._exact: dict[str, Handler] = {}
        self._below: tuple[tuple[str, Handler], ...] = ()

    def open(self, engine: Engine, flags: MasterFlags, clock: Clock) -> None:
        """Serve this master."""
        endpoints = Endpoints(engine.books, flags, clock)
        operator = OperatorApi(engine, endpoints)
        self._exact = endpoints.table() | {"/teardown": operator.teardown}
        self._below = (("/api/v1/scheduler", SchedulerApi(engine).handle), ("/api/v1", operator.handle))
        self._engine = engine

    def receive(self, message: LibprocessMessage) -> bool:
        """Take a libprocess message; false if there is no such process."""
        return self._engine is not None and self._engine.receive(message)

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer a request."""
        if self._engine is None:
            return reply(503, "Master has not finished recovery")
        path = request.raw_path.partition("?")[0].rstrip("/")
        if path.startswith("/master/"):
            path = path.removeprefix("/master")
        handler = self._exact.get(path)
        for prefix, candidate in self._below:
            if handler is None and (path + "/").startswith(prefix + "/"):
                handler = candidate
        return reply(404, "404 Not Found.") if handler is None else await handler(request)
