"""What the GET_* calls of the agent's v1 operator API answer (Mesos 1.11)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

from tfmesos.agent.core import ExecutorRecord
from tfmesos.agent.images import ImageError
from tfmesos.agent.operator_api.container_pages import describe_containers
from tfmesos.agent.operator_api.state import AgentView
from tfmesos.endpoints import CallRefused
from tfmesos.wire import agent_pb2, mesos_pb2
from tfmesos.wire.json_codec import dumps, message_to_dict
from tfmesos.wire.secrets import concealed

_Call = agent_pb2.Call
_Response = agent_pb2.Response
_ALWAYS_LISTED = {
    "get_tasks": ("pending_tasks", "queued_tasks", "launched_tasks", "terminated_tasks", "completed_tasks"),
    "get_executors": ("executors", "completed_executors"),
    "get_frameworks": ("frameworks", "completed_frameworks"),
}
"""Lists that Mesos' JSON shows though they are empty [recorded]."""


class StateAnswers:
    """Fills responses from what the agent knows."""

    def __init__(self, view: AgentView) -> None:
        self._view = view
        self._fills: Mapping[int, Callable[[_Call, _Response], None]] = {
            _Call.GET_STATE: lambda _, response: self._state(response.get_state),
            _Call.GET_FRAMEWORKS: lambda _, response: self._frameworks(response.get_frameworks),
            _Call.GET_EXECUTORS: lambda _, response: self._executors(response.get_executors),
            _Call.GET_TASKS: lambda _, response: self._tasks(response.get_tasks),
            _Call.GET_AGENT: lambda _, response: self._agent(response.get_agent.agent_info),
            _Call.GET_CONTAINERS: self._containers,
            _Call.GET_OPERATIONS: lambda _, response: response.get_operations.SetInParent(),
            _Call.GET_RESOURCE_PROVIDERS: lambda _, response: response.get_resource_providers.SetInParent(),
        }

    async def refresh_usage(self) -> None:
        """Have what the containers use now, where somebody has to be asked for that."""
        await self._view.containerizer.refresh_usage()

    async def prune_images(self, excluded: Collection[mesos_pb2.Image]) -> None:
        """Remove the images that no container has, but these. Raises CallRefused."""
        try:
            await self._view.containerizer.prune_images(excluded)
        except ImageError as error:
            raise CallRefused(500, str(error)) from error

    def fill(self, call: _Call, response: _Response) -> bool:
        """Fill the response; false if the call is none of these."""
        fill = self._fills.get(call.type)
        if fill is not None:
            fill(call, response)
        return fill is not None

    def _state(self, target: _Response.GetState) -> None:
        self._tasks(target.get_tasks)
        self._executors(target.get_executors)
        self._frameworks(target.get_frameworks)

    def _frameworks(self, target: _Response.GetFrameworks) -> None:
        target.SetInParent()
        for framework in self._view.core.frameworks.values():
            target.frameworks.add().framework_info.CopyFrom(framework.info)
        for framework in self._view.core.completed_frameworks:
            target.completed_frameworks.add().framework_info.CopyFrom(framework.info)

    def _executors(self, target: _Response.GetExecutors) -> None:
        target.SetInParent()
        for executor in self._view.core.executors():
            target.executors.add().executor_info.CopyFrom(_info(executor))
        for framework in (*self._view.core.frameworks.values(), *self._view.core.completed_frameworks):
            for executor in framework.completed:
                target.completed_executors.add().executor_info.CopyFrom(_info(executor))

    def _tasks(self, target: _Response.GetTasks) -> None:
        target.SetInParent()
        for record in self._view.core.tasks():
            if record.has_ended:
                target.terminated_tasks.append(record.task)
            elif record.is_delivered:
                target.launched_tasks.append(record.task)
            else:
                target.queued_tasks.append(record.task)
        for framework in (*self._view.core.frameworks.values(), *self._view.core.completed_frameworks):
            for executor in (*framework.executors.values(), *framework.completed):
                target.completed_tasks.extend(record.task for record in executor.completed)

    def _agent(self, target: mesos_pb2.AgentInfo) -> None:
        target.CopyFrom(self._view.identity.described(self._view.agent_id))
        target.ClearField("checkpoint")  # not in v1

    def _containers(self, call: _Call, response: _Response) -> None:
        """Without containers the reply has its type only [recorded]."""
        wanted = call.get_containers
        for container in describe_containers(
            self._view, show_nested=wanted.show_nested, show_standalone=wanted.show_standalone
        ):
            response.get_containers.containers.append(container)


def _info(executor: ExecutorRecord) -> mesos_pb2.ExecutorInfo:
    """What is known of it; the one of a command task has no program of its own, and so no command."""
    info = concealed(executor.info)
    info.framework_id.value = executor.framework_id
    return info


def response_json(response: _Response) -> bytes:
    """Mesos' JSON of a response, with the lists that are shown though empty."""
    model = message_to_dict(response)
    for part in (model, model.get("get_state", {})):
        _show_lists(part)
    return dumps(model)


def _show_lists(model: dict[str, Any]) -> None:
    for name, lists in _ALWAYS_LISTED.items():
        if name in model:
            model[name] = {key: [] for key in lists} | model[name]
