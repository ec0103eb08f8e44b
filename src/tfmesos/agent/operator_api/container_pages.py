"""What is told of containers: /containers, /monitor/statistics, GET_CONTAINERS (Mesos 1.11)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from aiohttp import web

from tfmesos.agent.containerizer import Container, ContainerId, ContainerKind
from tfmesos.agent.core import ExecutorRecord
from tfmesos.agent.operator_api.state import AgentView
from tfmesos.endpoints import Handler, json_page, query_of
from tfmesos.wire import agent_pb2
from tfmesos.wire.json_codec import dumps, message_to_dict

_Container = agent_pb2.Response.GetContainers.Container


def describe_containers(view: AgentView, *, show_nested: bool, show_standalone: bool) -> Iterator[_Container]:
    """The running containers: those of executors, and what is asked for of the others."""
    for executor, container in _running(view):
        yield _describe(container, executor)
    for container in view.containerizer.containers():
        if container.termination is not None:
            continue
        is_nested = container.id.parent is not None
        if (is_nested and show_nested) or (container.config.kind is ContainerKind.STANDALONE and show_standalone):
            yield _describe(container, None)


def container_table(view: AgentView) -> dict[str, Handler]:
    """The pages and who answers."""

    async def containers(request: web.BaseRequest) -> web.StreamResponse:
        wanted = query_of(request).get("container_id")
        running = _running(view)
        shown = [_page(executor, container) for executor, container in running if wanted in (None, str(container.id))]
        return await json_page(request, dumps(shown))

    async def statistics(request: web.BaseRequest) -> web.StreamResponse:
        shown = [_page(executor, container) for executor, container in _running(view)]
        brief = [{name: entry[name] for name in entry if name not in ("container_id", "status")} for entry in shown]
        return await json_page(request, dumps(brief))

    async def debug(request: web.BaseRequest) -> web.StreamResponse:
        return await json_page(request, dumps({"pending": []}))

    return {"/containers": containers, "/monitor/statistics": statistics, "/containerizer/debug": debug}


def _running(view: AgentView) -> Iterator[tuple[ExecutorRecord, Container]]:
    for executor in view.core.executors():
        container = view.containerizer.find(ContainerId(executor.container_id))
        if container is not None and container.termination is None:
            yield executor, container


def _page(executor: ExecutorRecord, container: Container) -> dict[str, Any]:
    return {
        "container_id": str(container.id),
        "executor_id": executor.executor_id,
        "executor_name": executor.info.name,
        "framework_id": executor.framework_id,
        "source": executor.info.source,
        "statistics": message_to_dict(container.statistics()),
        "status": message_to_dict(container.status()),
    }


def _describe(container: Container, executor: ExecutorRecord | None) -> _Container:
    told = _Container()
    told.container_id.CopyFrom(container.id.to_proto())
    if executor is not None:
        told.framework_id.value = executor.framework_id
        told.executor_id.value = executor.executor_id
        told.executor_name = executor.info.name
    told.container_status.CopyFrom(container.status())
    told.resource_statistics.CopyFrom(container.statistics())
    return told
