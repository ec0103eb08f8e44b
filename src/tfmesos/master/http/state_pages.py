"""/state, /state-summary, /frameworks, /slaves, /tasks, /roles: answers from the books (Mesos 1.11)."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from typing import Any

from aiohttp import web

from tfmesos.endpoints import Daemon, Handler, json_page, query_of
from tfmesos.endpoints.models import Json
from tfmesos.master.core.books import Books, Framework, Task
from tfmesos.master.flags import MasterFlags
from tfmesos.master.http import state_json as models
from tfmesos.master.http.roles import known_roles
from tfmesos.master.http.texts import Raw, TaskTexts, json_list, json_object
from tfmesos.version import MESOS_VERSION, build_of_this
from tfmesos.wire.json_codec import dumps

_CAPABILITIES = ("AGENT_UPDATE", "AGENT_DRAINING", "QUOTA_V2")
_DEFAULT_LIMIT = 100
_NUMBER_LENGTH = 18
"""Digits; Python reads thousands only with an error."""


class StatePages:
    """Changes nothing. What is shown is as it was at one moment, whatever happens while it is sent."""

    def __init__(self, books: Books, flags: MasterFlags, daemon: Daemon) -> None:
        self._books = books
        self._flags = flags
        self._daemon = daemon
        self._texts = TaskTexts(lambda task: dumps(models.task_json(task)))

    def table(self) -> dict[str, Handler]:
        """Paths, without `/master` in front, and who answers."""
        return {
            "/state": self._page(self._state, shows_all_tasks=True),
            "/state-summary": self._page(lambda _: dumps(self._state_summary())),
            "/slaves": self._page(self._slaves),
            "/frameworks": self._page(self._frameworks, shows_all_tasks=True),
            "/tasks": self._page(self._tasks),
            "/roles": self._page(lambda _: dumps({"roles": [role.to_json() for role in self._roles()]})),
        }

    def _page(self, build: Callable[[web.BaseRequest], bytes], *, shows_all_tasks: bool = False) -> Handler:
        async def handle(request: web.BaseRequest) -> web.StreamResponse:
            if shows_all_tasks:
                await self._texts.prepare(self._all_tasks())
            return await json_page(request, build(request))

        return handle

    def _state(self, _: web.BaseRequest) -> bytes:
        books, master, build = self._books, self._books.master, build_of_this()
        active = sum(agent.is_active for agent in books.agents.values())
        leader = {"id": master.id, "pid": master.pid, "port": master.port, "hostname": master.hostname}
        told = {"cluster": self._flags.cluster, "log_dir": self._flags.log_dir}
        told["external_log_file"] = self._flags.external_log_file
        model: Json = {
            "version": MESOS_VERSION,
            "build_date": build.date,
            "build_time": build.time_s,
            "build_user": build.user,
            "start_time": self._daemon.started_s,
            "elected_time": self._daemon.started_s,
            "id": master.id,
            "pid": master.pid,
            "hostname": master.hostname,
            "capabilities": list(_CAPABILITIES),
            "activated_slaves": float(active),
            "deactivated_slaves": float(len(books.agents) - active),
            "unreachable_slaves": float(len(books.unreachable_agents)),
            "leader": master.pid,
            "leader_info": leader,
            **{name: value for name, value in told.items() if value is not None},
            "flags": self._daemon.flag_texts,
            "slaves": [models.agent_json(agent) for agent in books.agents.values()],
            "recovered_slaves": self._recovered(None),
            "frameworks": self._framework_list(books.frameworks.values()),
            "completed_frameworks": self._framework_list(books.completed_frameworks.values()),
            "orphan_tasks": [],
            "unregistered_frameworks": [],
        }
        return json_object(model)

    def _state_summary(self) -> Json:
        books = self._books
        model: Json = {"hostname": books.master.hostname}
        if self._flags.cluster is not None:
            model["cluster"] = self._flags.cluster
        states: defaultdict[str, Counter[int]] = defaultdict(Counter)
        partners: defaultdict[str, set[str]] = defaultdict(set)
        for framework in books.frameworks.values():
            for task in _tasks_of(framework):
                for one, other in ((framework.id, task.agent_id), (task.agent_id, framework.id)):
                    states[one][task.message.state] += 1
                    partners[one].add(other)
        model["slaves"] = [
            models.agent_json(agent)
            | models.task_counts(states[agent.id])
            | {"framework_ids": sorted(partners[agent.id])}
            for agent in books.agents.values()
        ]
        model["frameworks"] = [
            models.framework_summary_json(framework, books)
            | models.task_counts(states[framework.id])
            | {"slave_ids": sorted(partners[framework.id])}
            for framework in books.frameworks.values()
        ]
        return model

    def _slaves(self, request: web.BaseRequest) -> bytes:
        wanted = query_of(request).get("slave_id")
        agents = [agent for agent in self._books.agents.values() if wanted in (None, agent.id)]
        shown = [models.full_agent_json(agent) for agent in agents]
        return dumps({"slaves": shown, "recovered_slaves": self._recovered(wanted)})

    def _frameworks(self, request: web.BaseRequest) -> bytes:
        wanted = query_of(request).get("framework_id")
        live, completed = self._books.frameworks.values(), self._books.completed_frameworks.values()
        return json_object(
            {
                "frameworks": self._framework_list(one for one in live if wanted in (None, one.id)),
                "completed_frameworks": self._framework_list(one for one in completed if wanted in (None, one.id)),
                "unregistered_frameworks": [],
            }
        )

    def _tasks(self, request: web.BaseRequest) -> bytes:
        query = query_of(request)
        framework_id, task_id = query.get("framework_id"), query.get("task_id")
        tasks = [
            task
            for task in self._all_tasks()
            if framework_id in (None, task.framework_id) and task_id in (None, task.id)
        ]
        tasks.sort(key=_first_timestamp, reverse=query.get("order") != "asc")
        offset, limit = _number(query.get("offset"), 0), _number(query.get("limit"), _DEFAULT_LIMIT)
        return json_object({"tasks": self._texts.list(tasks[offset : offset + limit])})

    def _roles(self) -> Iterable[Any]:
        return known_roles(self._books, self._flags.roles or ())

    def _recovered(self, wanted: str | None) -> list[Json]:
        agents = self._books.recovered_agents
        return [models.agent_info_json(info) for agent_id, info in agents.items() if wanted in (None, agent_id)]

    def _framework_list(self, frameworks: Iterable[Framework]) -> Raw:
        shown = (models.framework_json(framework, self._books, self._texts) for framework in frameworks)
        return json_list(map(json_object, shown))

    def _all_tasks(self) -> list[Task]:
        frameworks = (*self._books.frameworks.values(), *self._books.completed_frameworks.values())
        return [task for framework in frameworks for task in _tasks_of(framework)]


def _number(text: str | None, default: int) -> int:
    is_number = text is not None and text.isascii() and text.isdigit() and len(text) <= _NUMBER_LENGTH
    return int(text) if text is not None and is_number else default


def _tasks_of(framework: Framework) -> list[Task]:
    return [*framework.tasks.values(), *framework.unreachable.values(), *framework.completed]


def _first_timestamp(task: Task) -> float:
    return task.message.statuses[0].timestamp if task.message.statuses else 0.0
