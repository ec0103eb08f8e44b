"""What the GET_* calls of the v1 operator API answer, from the books (Mesos 1.11)."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from tfmesos.endpoints import Daemon
from tfmesos.master.core.books import Books, Task
from tfmesos.master.core.descriptions import describe_agent, describe_framework_fully
from tfmesos.master.flags import MasterFlags
from tfmesos.master.http.roles import known_roles
from tfmesos.master.http.texts import Raw, TaskTexts, json_object
from tfmesos.resources import scalars
from tfmesos.wire import master_pb2, mesos_pb2
from tfmesos.wire.json_codec import message_to_dict, message_to_json
from tfmesos.wire.secrets import concealed

_Call = master_pb2.Call
_Response = master_pb2.Response
_ALWAYS_LISTED = {
    "get_agents": ("agents", "recovered_agents"),
    "get_frameworks": ("frameworks", "completed_frameworks"),
    "get_executors": ("executors",),
}
"""Lists that Mesos' JSON shows though they are empty [recorded]."""


class StateAnswers:
    """Fills responses; in JSON, tasks are put together from what was written of each before."""

    def __init__(self, books: Books, flags: MasterFlags, daemon: Daemon) -> None:
        self._books = books
        self._flags = flags
        self._daemon = daemon
        self._texts = TaskTexts(lambda task: message_to_json(task.message))
        self._fills: Mapping[int, Callable[[_Response], None]] = {
            _Call.GET_MASTER: self._master,
            _Call.GET_AGENTS: lambda response: self._agents(response.get_agents),
            _Call.GET_FRAMEWORKS: lambda response: self._frameworks(response.get_frameworks),
            _Call.GET_EXECUTORS: lambda response: self._executors(response.get_executors),
            _Call.GET_TASKS: lambda response: response.get_tasks.SetInParent(),
            _Call.GET_STATE: lambda response: self._state(response.get_state),
            _Call.GET_ROLES: self._roles,
            _Call.GET_WEIGHTS: self._weights,
            _Call.GET_OPERATIONS: lambda response: response.get_operations.SetInParent(),
            _Call.GET_QUOTA: lambda response: response.get_quota.status.SetInParent(),
            _Call.GET_MAINTENANCE_STATUS: lambda response: response.get_maintenance_status.status.SetInParent(),
            _Call.GET_MAINTENANCE_SCHEDULE: lambda response: response.get_maintenance_schedule.schedule.SetInParent(),
        }

    def fill(self, kind: int, response: _Response) -> bool:
        """Fill the response, but for tasks; false if the call is none of these."""
        fill = self._fills.get(kind)
        if fill is not None:
            fill(response)
        return fill is not None

    def to_protobuf(self, response: _Response) -> bytes:
        """The response with its tasks."""
        if response.HasField("get_tasks"):
            self._tasks(response.get_tasks)
        if response.HasField("get_state"):
            self._tasks(response.get_state.get_tasks)
        return response.SerializeToString()

    def to_json(self, response: _Response) -> bytes:
        """The response with its tasks, as Mesos writes it."""
        model = message_to_dict(response)
        if response.HasField("get_tasks"):
            model["get_tasks"] = self._tasks_json()
        if response.HasField("get_state"):
            model["get_state"] = self._state_json(model["get_state"])
        return json_object(_with_lists(model))

    async def prepare(self, kind: int) -> None:
        """Have the JSON of tasks written before it is needed, others having turns meanwhile."""
        if kind in (_Call.GET_TASKS, _Call.GET_STATE, _Call.SUBSCRIBE):
            await self._texts.prepare(task for lists in self._task_lists() for task in lists)

    def subscribed(self, heartbeat_interval_s: float, *, as_json: bool) -> bytes:
        """The first event of a stream."""
        event = master_pb2.Event(type=master_pb2.Event.SUBSCRIBED)
        event.subscribed.heartbeat_interval_seconds = heartbeat_interval_s
        self._state(event.subscribed.get_state)
        if not as_json:
            self._tasks(event.subscribed.get_state.get_tasks)
            return event.SerializeToString()
        model = message_to_dict(event)
        subscribed = model["subscribed"]
        subscribed["get_state"] = self._state_json(subscribed["get_state"])
        return json_object(model | {"subscribed": json_object(subscribed)})

    def _state_json(self, model: Mapping[str, Any]) -> Raw:
        return json_object(_with_lists(model) | {"get_tasks": self._tasks_json()})

    def _tasks_json(self) -> Raw:
        names = ("tasks", "unreachable_tasks", "completed_tasks")
        lists = zip(names, self._task_lists(), strict=True)
        return json_object({name: self._texts.list(tasks) for name, tasks in lists})

    def _task_lists(self) -> tuple[list[Task], list[Task], list[Task]]:
        frameworks = (*self._books.frameworks.values(), *self._books.completed_frameworks.values())
        return (
            [task for framework in frameworks for task in framework.tasks.values()],
            [task for framework in frameworks for task in framework.unreachable.values()],
            [task for framework in frameworks for task in framework.completed],
        )

    def _tasks(self, target: _Response.GetTasks) -> None:
        live, unreachable, completed = self._task_lists()
        target.tasks.extend(_messages(live))
        target.unreachable_tasks.extend(_messages(unreachable))
        target.completed_tasks.extend(_messages(completed))

    def _state(self, target: _Response.GetState) -> None:
        target.get_tasks.SetInParent()
        self._executors(target.get_executors)
        self._frameworks(target.get_frameworks)
        self._agents(target.get_agents)

    def _agents(self, target: _Response.GetAgents) -> None:
        target.SetInParent()
        for agent in self._books.agents.values():
            describe_agent(target.agents.add(), agent)
        target.recovered_agents.extend(self._books.recovered_agents.values())

    def _frameworks(self, target: _Response.GetFrameworks) -> None:
        target.SetInParent()
        for framework in self._books.frameworks.values():
            describe_framework_fully(target.frameworks.add(), framework, self._books)
        for framework in self._books.completed_frameworks.values():
            describe_framework_fully(target.completed_frameworks.add(), framework, self._books)

    def _executors(self, target: _Response.GetExecutors) -> None:
        target.SetInParent()
        for framework_id in self._books.frameworks:
            for agent, executor in self._books.executors_of(framework_id):
                one = target.executors.add()
                one.executor_info.CopyFrom(concealed(executor.info))
                one.agent_id.value = agent.id

    def _master(self, response: _Response) -> None:
        response.get_master.master_info.CopyFrom(self._books.master)
        response.get_master.start_time = response.get_master.elected_time = self._daemon.started_s

    def _roles(self, response: _Response) -> None:
        response.get_roles.SetInParent()
        for role in known_roles(self._books, self._flags.roles or ()):
            one = response.get_roles.roles.add(name=role.name, weight=role.weight)
            for framework_id in role.frameworks:
                one.frameworks.add().value = framework_id
            amounts = {name: amount for name, amount in role.resources.items() if name != "ports"}
            one.resources.extend(scalars(**amounts).to_proto("post"))

    def _weights(self, response: _Response) -> None:
        response.get_weights.SetInParent()
        for role, weight in self._books.weights.items():
            response.get_weights.weight_infos.add(role=role, weight=weight)


def _with_lists(model: Mapping[str, Any]) -> dict[str, Any]:
    shown = dict(model)
    for name, lists in _ALWAYS_LISTED.items():
        if name in shown:
            shown[name] = {key: [] for key in lists} | shown[name]
    return shown


def _messages(tasks: Iterable[Task]) -> list[mesos_pb2.Task]:
    return [task.message for task in tasks]
