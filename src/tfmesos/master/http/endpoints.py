"""The GET endpoints of operators (Mesos 1.11)."""

from collections.abc import Awaitable, Callable, Iterable
from typing import Any
from urllib.parse import parse_qs

from aiohttp import web

from tfmesos.flags import FlagError, flag_texts, parse_duration
from tfmesos.master.clock import Clock
from tfmesos.master.core.books import Books, Framework, Task
from tfmesos.master.flags import MasterFlags
from tfmesos.master.http import state_json as models
from tfmesos.master.http.metrics import snapshot
from tfmesos.metrics import machine_numbers
from tfmesos.transport import reply
from tfmesos.version import MESOS_VERSION, build_of_this
from tfmesos.wire.json_codec import dumps

Handler = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]
_CAPABILITIES = ("AGENT_UPDATE", "AGENT_DRAINING", "QUOTA_V2")
_DEFAULT_LIMIT = 100
_NUMBER_LENGTH = 18
"""Digits; Python reads thousands only with an error."""


class Endpoints:
    """Answers from the books; changes nothing."""

    def __init__(self, books: Books, flags: MasterFlags, clock: Clock) -> None:
        self._books = books
        self._flag_texts = flag_texts(flags)
        self._cluster = flags.cluster
        self._weights = dict(flags.weights or ())
        self._clock = clock
        self.started_s = clock.now()

    def table(self) -> dict[str, Handler]:
        """Paths, without `/master` in front, and who answers."""
        pages: dict[str, Callable[[web.BaseRequest], Any]] = {
            "/version": lambda _: self.version(),
            "/flags": lambda _: {"flags": self._flag_texts},
            "/state": lambda _: self._state(),
            "/state-summary": lambda _: self._state_summary(),
            "/slaves": self._slaves,
            "/frameworks": self._frameworks,
            "/tasks": self._tasks,
            "/roles": lambda _: {"roles": self._roles()},
            "/weights": lambda _: [{"role": role, "weight": weight} for role, weight in self._weights.items()],
            "/system/stats.json": lambda _: _stats(),
        }
        table: dict[str, Handler] = {path: _page(build) for path, build in pages.items()}
        return table | {"/health": _health, "/redirect": self._redirect, "/metrics/snapshot": self._metrics}

    def version(self) -> models.Json:
        """What `/version` says."""
        build = build_of_this()
        return {
            "build_date": build.date,
            "build_time": build.time_s,
            "build_user": build.user,
            "version": MESOS_VERSION,
        }

    def metrics(self) -> dict[str, float]:
        """Every metric, now."""
        return snapshot(self._books, self._clock.now() - self.started_s)

    @property
    def flag_texts(self) -> dict[str, str]:
        """The flags as texts."""
        return self._flag_texts

    async def _redirect(self, request: web.BaseRequest) -> web.Response:
        master = self._books.master
        return reply(307, headers={"Location": f"//{master.hostname}:{master.port}"})

    async def _metrics(self, request: web.BaseRequest) -> web.Response:
        timeout = _query(request).get("timeout")
        if timeout is not None:
            try:
                parse_duration(timeout)
            except FlagError as error:
                return reply(400, f"Invalid timeout '{timeout}': {error}")
        return _json_reply(request, self.metrics())

    def _state(self) -> models.Json:
        master = self._books.master
        build = self.version()
        model: models.Json = {name: build[name] for name in ("version", "build_date", "build_time", "build_user")}
        model |= {
            "start_time": self.started_s,
            "elected_time": self.started_s,
            "id": master.id,
            "pid": master.pid,
            "hostname": master.hostname,
            "capabilities": list(_CAPABILITIES),
            "activated_slaves": float(sum(agent.is_connected for agent in self._books.agents.values())),
            "deactivated_slaves": float(sum(not agent.is_connected for agent in self._books.agents.values())),
            "unreachable_slaves": float(len(self._books.unreachable_agents)),
            "leader": master.pid,
            "leader_info": {"id": master.id, "pid": master.pid, "port": master.port, "hostname": master.hostname},
        }
        if self._cluster is not None:
            model["cluster"] = self._cluster
        return model | {
            "flags": self._flag_texts,
            "slaves": [models.agent_json(agent) for agent in self._books.agents.values()],
            "recovered_slaves": [],
            "frameworks": self._framework_list(self._books.frameworks.values()),
            "completed_frameworks": self._framework_list(self._books.completed_frameworks.values()),
            "orphan_tasks": [],
            "unregistered_frameworks": [],
        }

    def _state_summary(self) -> models.Json:
        books = self._books
        model: models.Json = {"hostname": books.master.hostname}
        if self._cluster is not None:
            model["cluster"] = self._cluster
        tasks = [task for framework in books.frameworks.values() for task in _all_tasks(framework)]
        model["slaves"] = [
            models.agent_json(agent)
            | models.task_counts(task for task in tasks if task.agent_id == agent.id)
            | {"framework_ids": sorted({task.framework_id for task in tasks if task.agent_id == agent.id})}
            for agent in books.agents.values()
        ]
        model["frameworks"] = [
            models.framework_summary_json(framework, books)
            | models.task_counts(_all_tasks(framework))
            | {"slave_ids": sorted({task.agent_id for task in _all_tasks(framework)})}
            for framework in books.frameworks.values()
        ]
        return model

    def _slaves(self, request: web.BaseRequest) -> models.Json:
        wanted = _query(request).get("slave_id")
        agents = [agent for agent in self._books.agents.values() if wanted in (None, agent.id)]
        return {"slaves": [models.full_agent_json(agent) for agent in agents], "recovered_slaves": []}

    def _frameworks(self, request: web.BaseRequest) -> models.Json:
        wanted = _query(request).get("framework_id")
        return {
            name: self._framework_list(one for one in frameworks if wanted in (None, one.id))
            for name, frameworks in (
                ("frameworks", self._books.frameworks.values()),
                ("completed_frameworks", self._books.completed_frameworks.values()),
            )
        } | {"unregistered_frameworks": []}

    def _tasks(self, request: web.BaseRequest) -> models.Json:
        query = _query(request)
        frameworks = [*self._books.frameworks.values(), *self._books.completed_frameworks.values()]
        tasks = [
            task
            for framework in frameworks
            for task in _all_tasks(framework)
            if query.get("framework_id") in (None, framework.id) and query.get("task_id") in (None, task.id)
        ]
        tasks.sort(key=_first_timestamp, reverse=query.get("order") != "asc")
        offset, limit = _number(query.get("offset"), 0), _number(query.get("limit"), _DEFAULT_LIMIT)
        return {"tasks": [models.task_json(task) for task in tasks[offset : offset + limit]]}

    def _roles(self) -> list[models.Json]:
        frameworks = self._books.frameworks.values()
        used: dict[str, list[str]] = {role: [] for role in self._weights}
        for framework in frameworks:
            for role in framework.info.roles or [framework.info.role]:
                used.setdefault(role, []).append(framework.id)
        return [self._role(role, ids) for role, ids in sorted(used.items())]

    def _role(self, role: str, framework_ids: list[str]) -> models.Json:
        allocated = _role_quantities(agent.used() for agent in self._books.agents.values())
        offered = _role_quantities(agent.offered() for agent in self._books.agents.values())
        both = {
            name: allocated.get(role, {}).get(name, 0.0) + offered.get(role, {}).get(name, 0.0)
            for name in {*allocated.get(role, {}), *offered.get(role, {})}
        }
        return {
            "name": role,
            "weight": self._weights.get(role, 1.0),
            "quota": {"role": role, "guarantee": {}, "limit": {}, "consumed": allocated.get(role, {})},
            "resources": both,
            "allocated": allocated.get(role, {}),
            "offered": offered.get(role, {}),
            "reserved": {},
            "frameworks": framework_ids,
        }

    def _framework_list(self, frameworks: Iterable[Framework]) -> list[models.Json]:
        return [models.framework_json(framework, self._books) for framework in frameworks]


def _page(build: Callable[[web.BaseRequest], Any]) -> Handler:
    async def handle(request: web.BaseRequest) -> web.StreamResponse:
        return _json_reply(request, build(request))

    return handle


def _json_reply(request: web.BaseRequest, model: Any) -> web.Response:
    """JSON, or a script that calls a function with it where `?jsonp=` names one (Mesos 1.11)."""
    body = dumps(model)
    function = _query(request).get("jsonp")
    if function is not None:
        return reply(200, f"{function}(".encode() + body + b")", "text/javascript", request=request)
    return reply(200, body, "application/json", request=request)


async def _health(request: web.BaseRequest) -> web.Response:
    return reply(200)


def _query(request: web.BaseRequest) -> dict[str, str]:
    raw = request.raw_path.partition("?")[2]
    return {name: values[-1] for name, values in parse_qs(raw, keep_blank_values=True).items()}


def _number(text: str | None, default: int) -> int:
    is_number = text is not None and text.isascii() and text.isdigit() and len(text) <= _NUMBER_LENGTH
    return int(text) if text is not None and is_number else default


def _all_tasks(framework: Framework) -> list[Task]:
    return [*framework.tasks.values(), *framework.unreachable.values(), *framework.completed]


def _first_timestamp(task: Task) -> float:
    return task.message.statuses[0].timestamp if task.message.statuses else 0.0


def _role_quantities(bags: Iterable[Any]) -> dict[str, dict[str, float]]:
    roles: dict[str, dict[str, float]] = {}
    for bag in bags:
        for key, amount in bag:
            amounts = roles.setdefault(key.allocated or "*", {})
            count = amount / 1000 if isinstance(amount, int) else len(amount)
            amounts[key.name] = amounts.get(key.name, 0.0) + count
    return roles


def _stats() -> models.Json:
    numbers = machine_numbers()
    return {
        "avg_load_15min": numbers["load_15min"],
        "avg_load_1min": numbers["load_1min"],
        "avg_load_5min": numbers["load_5min"],
        "cpus_total": int(numbers["cpus_total"]),
        "mem_free_bytes": int(numbers["mem_free_bytes"]),
        "mem_total_bytes": int(numbers["mem_total_bytes"]),
    }
