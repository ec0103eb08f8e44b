"""Which part answers which request (Mesos 1.11: `/x` is `/master/x`)."""

from aiohttp import web

from tfmesos.endpoints import Daemon, DaemonCalls, FilePages, LogFile, Routes, VirtualFiles
from tfmesos.flags import flag_texts
from tfmesos.master.clock import Clock
from tfmesos.master.core.books import Books
from tfmesos.master.engine import Engine
from tfmesos.master.flags import MasterFlags
from tfmesos.master.http.later import later_table
from tfmesos.master.http.metrics import add_master_metrics
from tfmesos.master.http.operator_answers import StateAnswers
from tfmesos.master.http.operator_api import OperatorApi
from tfmesos.master.http.operator_streams import OperatorStreams
from tfmesos.master.http.scheduler_api import SchedulerApi
from tfmesos.master.http.state_pages import StatePages
from tfmesos.metrics import Metrics
from tfmesos.transport import LibprocessMessage, reply

LOG_PATH = "/master/log"


class Router:
    """Takes requests as soon as the server listens; answers 503 until it is opened."""

    def __init__(self) -> None:
        self._engine: Engine | None = None
        self._daemon: Daemon | None = None
        self._routes: Routes | None = None

    def open(self, engine: Engine, flags: MasterFlags, clock: Clock, metrics: Metrics) -> None:
        """Serve this master."""
        books = engine.books
        daemon = Daemon(flag_texts(flags), metrics, clock.now)
        add_master_metrics(metrics, books, flags, lambda: daemon.uptime_s)
        files = VirtualFiles(LogFile(flags, "mesos-master", LOG_PATH))
        answers = StateAnswers(books, flags, daemon)
        streams = OperatorStreams(engine, answers, flags.max_operator_event_stream_subscribers)
        metrics.add_gauges(lambda: {"master/operator_event_stream_subscribers": float(len(streams))})
        operator = OperatorApi(engine, answers, DaemonCalls(daemon, files), streams)
        table = {
            **daemon.table(),
            **FilePages(files).table(),
            **later_table(),
            **StatePages(books, flags, daemon).table(),
            "/teardown": operator.teardown,
            "/weights": operator.weights,
            "/api/v1/scheduler": SchedulerApi(engine).handle,
            "/api/v1": operator.handle,
        }
        self._routes = Routes("master", table, {"/redirect": _Redirect(books)})
        self._daemon = daemon
        self._engine = engine

    def close(self) -> None:
        """Undo what outlives a request: the level of the log."""
        if self._daemon is not None:
            self._daemon.log_level.close()

    def receive(self, message: LibprocessMessage) -> bool:
        """Take a libprocess message; false if there is no such process."""
        return self._engine is not None and self._engine.receive(message)

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer a request."""
        if self._routes is None:
            return reply(503, "Master has not finished recovery")
        handler = self._routes.find(request)
        return reply(404, "404 Not Found.") if handler is None else await handler(request)


class _Redirect:
    """`/redirect`: to the leader, which is this master."""

    def __init__(self, books: Books) -> None:
        self._books = books

    async def __call__(self, request: web.BaseRequest) -> web.Response:
        master = self._books.master
        return reply(307, headers={"Location": f"//{master.hostname}:{master.port}"})
