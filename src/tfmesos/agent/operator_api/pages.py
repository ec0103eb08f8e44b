"""The agent's HTTP endpoints, each with or without its process' name `/slave(1)` in front (Mesos 1.11)."""

from __future__ import annotations

from pathlib import Path

from aiohttp import web

from tfmesos.agent.executor_api.api import NOT_RECOVERED, ExecutorApi
from tfmesos.agent.membership.identity import AGENT_ID
from tfmesos.agent.operator_api.answers import StateAnswers
from tfmesos.agent.operator_api.calls import ContainerCalls, OperatorApi
from tfmesos.agent.operator_api.container_pages import container_table
from tfmesos.agent.operator_api.files import LOG_PATH, AgentAttachments
from tfmesos.agent.operator_api.metrics import add_agent_metrics
from tfmesos.agent.operator_api.state import AgentView, state
from tfmesos.endpoints import Daemon, DaemonCalls, FilePages, Handler, LogFile, Routes, VirtualFiles, json_page
from tfmesos.flags import flag_texts
from tfmesos.metrics import Metrics
from tfmesos.transport import reply
from tfmesos.wire.json_codec import dumps

_MEASURING = ("/metrics", "/metrics/snapshot", "/containers", "/monitor/statistics")


class Api:
    """Serves requests that are no libprocess messages."""

    def __init__(
        self,
        view: AgentView,
        work_dir: Path,
        executors: ExecutorApi,
        containers: ContainerCalls,
        metrics: Metrics,
    ) -> None:
        self._view = view
        self._recovery_s: float | None = None
        self._daemon = Daemon(flag_texts(view.flags), metrics)
        add_agent_metrics(metrics, view, lambda: self._daemon.uptime_s)
        metrics.add_gauges(lambda: {} if self._recovery_s is None else {"slave/recovery_time_secs": self._recovery_s})
        log = LogFile(view.flags, "mesos-agent", LOG_PATH)
        files = VirtualFiles(AgentAttachments(work_dir, log, lambda: view.membership.agent_id, view.sandboxes))
        operator = OperatorApi(StateAnswers(view), DaemonCalls(self._daemon, files), containers)
        table = {
            **self._daemon.table(),
            **FilePages(files).table(),
            **{path: self._recovered(handler) for path, handler in container_table(view).items()},
            "/api/v1": self._recovered(operator.handle),
            "/api/v1/executor": executors.handle,
            "/state": self._recovered(self._state),
        }
        table |= {path: self._measured(table[path]) for path in _MEASURING}
        self._routes = Routes(AGENT_ID, table, {})

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer a request."""
        handler = self._routes.find(request)
        return reply(404, "404 Not Found.") if handler is None else await handler(request)

    def finish_recovery(self) -> None:
        """From now on everything is answered; before, only what does not depend on what runs here (Mesos 1.11: 503)."""
        self._recovery_s = self._daemon.uptime_s

    def close(self) -> None:
        """Undo what outlives a request: the level of the log."""
        self._daemon.log_level.close()

    def _recovered(self, handler: Handler) -> Handler:
        """Answers only when the agent knows again what runs on it."""

        async def handle(request: web.BaseRequest) -> web.StreamResponse:
            if self._recovery_s is None:
                return reply(503, NOT_RECOVERED)
            return await handler(request)

        return handle

    def _measured(self, handler: Handler) -> Handler:
        """Answers with what the containers use now, where somebody has to be asked for that."""

        async def handle(request: web.BaseRequest) -> web.StreamResponse:
            await self._view.containerizer.refresh_usage()
            return await handler(request)

        return handle

    async def _state(self, request: web.BaseRequest) -> web.StreamResponse:
        return await json_page(request, dumps(state(self._view)))
