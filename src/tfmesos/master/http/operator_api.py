"""The v1 operator API: `POST /api/v1` (Mesos 1.11). Calls that this master lacks answer 501."""

from collections.abc import Callable, Iterable
from typing import Any
from urllib.parse import parse_qs

from aiohttp import web

from tfmesos.master.core.books import Books, Task
from tfmesos.master.core.descriptions import describe_agent, describe_framework_fully
from tfmesos.master.core.events import TornDown
from tfmesos.master.engine import Engine
from tfmesos.master.http.endpoints import Endpoints
from tfmesos.master.http.scheduler_api import method_refused, refused_head
from tfmesos.master.ids import FrameworkId
from tfmesos.transport import reply
from tfmesos.wire import master_pb2, mesos_pb2
from tfmesos.wire.errors import BadBody
from tfmesos.wire.json_codec import dumps, message_to_dict
from tfmesos.wire.media import JSON, PROTOBUF, chosen_media, read_call

_Call = master_pb2.Call
_Response = master_pb2.Response
_BODIES = frozenset({"GET_METRICS", "READ_FILE", "LIST_FILES", "SET_LOGGING_LEVEL", "TEARDOWN", "MARK_AGENT_GONE"})
_ALWAYS_LISTED = {
    "get_agents": ("agents", "recovered_agents"),
    "get_frameworks": ("frameworks", "completed_frameworks"),
    "get_tasks": ("tasks", "unreachable_tasks", "completed_tasks"),
    "get_executors": ("executors",),
}
"""Lists that Mesos' JSON shows though they are empty [recorded]."""


class OperatorApi:
    """Reads the books; TEARDOWN goes to the core."""

    def __init__(self, engine: Engine, endpoints: Endpoints) -> None:
        self._engine = engine
        self._books = engine.books
        self._endpoints = endpoints
        self._answers: dict[int, Callable[[_Response], None]] = {
            _Call.GET_HEALTH: self._get_health,
            _Call.GET_FLAGS: self._get_flags,
            _Call.GET_VERSION: self._get_version,
            _Call.GET_METRICS: self._get_metrics,
            _Call.GET_MASTER: self._get_master,
            _Call.GET_AGENTS: lambda response: fill_agents(response.get_agents, self._books),
            _Call.GET_FRAMEWORKS: lambda response: fill_frameworks(response.get_frameworks, self._books),
            _Call.GET_TASKS: lambda response: fill_tasks(response.get_tasks, self._books),
            _Call.GET_EXECUTORS: lambda response: fill_executors(response.get_executors, self._books),
            _Call.GET_STATE: self._get_state,
        }

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer one call."""
        if refusal := refused_head(request):
            return refusal
        try:
            call = read_call(_Call, request.headers["Content-Type"], await request.read())
        except BadBody as error:
            return reply(400, str(error))
        if error_text := _call_error(call):
            return reply(400, f"Failed to validate master::Call: {error_text}")
        media = chosen_media(request.headers.get("Accept"))
        if media is None:
            return reply(406, f"Expecting 'Accept' to allow '{PROTOBUF}' or '{JSON}'")
        if call.type == _Call.TEARDOWN:
            return self._teardown(FrameworkId(call.teardown.framework_id.value))
        return self._answer(request, call, media)

    async def teardown(self, request: web.BaseRequest) -> web.StreamResponse:
        """`POST /teardown` with `frameworkId=…` in the body."""
        if request.method != "POST":
            return method_refused(request.method, "POST")
        form = parse_qs((await request.read()).decode(errors="replace"))
        if "frameworkId" not in form:
            return reply(400, "Missing 'frameworkId' query parameter in the request body")
        return self._teardown(FrameworkId(form["frameworkId"][-1]))

    def _answer(self, request: web.BaseRequest, call: _Call, media: str) -> web.Response:
        fill = self._answers.get(call.type)
        if fill is None:
            return reply(501, "501 Not Implemented.")
        response = _Response(type=_Response.Type.Value(_Call.Type.Name(call.type)))
        fill(response)
        body = response.SerializeToString() if media == PROTOBUF else dumps(response_json(response))
        return reply(200, body, media, request=request)

    def _teardown(self, framework_id: FrameworkId) -> web.Response:
        if framework_id not in self._books.frameworks:
            return reply(400, "No framework found with specified ID")
        self._engine.submit(TornDown(framework_id))
        return reply(200)

    def _get_health(self, response: _Response) -> None:
        response.get_health.healthy = True

    def _get_flags(self, response: _Response) -> None:
        for name, value in self._endpoints.flag_texts.items():
            response.get_flags.flags.add(name=name, value=value)

    def _get_version(self, response: _Response) -> None:
        info = response.get_version.version_info
        for name, value in self._endpoints.version().items():
            setattr(info, name, value)

    def _get_metrics(self, response: _Response) -> None:
        for name, value in self._endpoints.metrics().items():
            response.get_metrics.metrics.add(name=name, value=value)

    def _get_master(self, response: _Response) -> None:
        response.get_master.master_info.CopyFrom(self._books.master)
        response.get_master.start_time = response.get_master.elected_time = self._endpoints.started_s

    def _get_state(self, response: _Response) -> None:
        state = response.get_state
        fill_tasks(state.get_tasks, self._books)
        fill_executors(state.get_executors, self._books)
        fill_frameworks(state.get_frameworks, self._books)
        fill_agents(state.get_agents, self._books)


def fill_agents(target: _Response.GetAgents, books: Books) -> None:
    """All registered agents."""
    target.SetInParent()
    for agent in books.agents.values():
        describe_agent(target.agents.add(), agent)


def fill_frameworks(target: _Response.GetFrameworks, books: Books) -> None:
    """Live and completed frameworks."""
    target.SetInParent()
    for framework in books.frameworks.values():
        describe_framework_fully(target.frameworks.add(), framework, books)
    for framework in books.completed_frameworks.values():
        describe_framework_fully(target.completed_frameworks.add(), framework, books)


def fill_tasks(target: _Response.GetTasks, books: Books) -> None:
    """Live, unreachable and completed tasks of all frameworks."""
    target.SetInParent()
    for framework in (*books.frameworks.values(), *books.completed_frameworks.values()):
        target.tasks.extend(_messages(framework.tasks.values()))
        target.unreachable_tasks.extend(_messages(framework.unreachable.values()))
        target.completed_tasks.extend(_messages(framework.completed))


def fill_executors(target: _Response.GetExecutors, books: Books) -> None:
    """Custom executors."""
    target.SetInParent()
    for framework_id in books.frameworks:
        for agent, executor in books.executors_of(framework_id):
            one = target.executors.add()
            one.executor_info.CopyFrom(executor.info)
            one.agent_id.value = agent.id


def response_json(response: _Response) -> dict[str, Any]:
    """Mesos' JSON of a response, with the lists that are shown though empty."""
    model = message_to_dict(response)
    for part in (model, model.get("get_state", {})):
        for name, lists in _ALWAYS_LISTED.items():
            if name in part:
                part[name] = {key: [] for key in lists} | part[name]
    return model


def _call_error(call: _Call) -> str | None:
    if not call.HasField("type"):
        return "Expecting 'type' to be present"
    name = _Call.Type.Name(call.type)
    if name in _BODIES and not call.HasField(name.lower()):  # type: ignore[arg-type]
        return f"Expecting '{name.lower()}' to be present"
    return None


def _messages(tasks: "Iterable[Task]") -> list[mesos_pb2.Task]:
    return [task.message for task in tasks]
