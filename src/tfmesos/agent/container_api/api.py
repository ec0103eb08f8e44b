"""Which call about containers does what."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import suppress

from aiohttp import web

from tfmesos.agent.container_api.input import BadInput, container_of, read_calls, write_input
from tfmesos.agent.container_api.media import Answer, chosen_answer, message_medium, refused_request
from tfmesos.agent.container_api.output import OutputAnswer
from tfmesos.agent.container_api.validation import call_fault, kill_signal, subject
from tfmesos.agent.containerizer import (
    Container,
    ContainerConfig,
    ContainerId,
    Containerizer,
    ContainerKind,
    LaunchFailed,
)
from tfmesos.agent.isolators import Limitation
from tfmesos.agent.sandboxes.work_dir import WorkDir
from tfmesos.agent.users import user_name
from tfmesos.supervision import ConsoleBusy, SupervisionError, Termination
from tfmesos.transport import reply
from tfmesos.wire import agent_pb2, mesos_pb2
from tfmesos.wire.media import chosen_media, encode

_Call = agent_pb2.Call
_NO_CONSOLE = "I/O switchboard server was disabled for this container"
_log = logging.getLogger(__name__)

_Launch = _Call.LaunchContainer | _Call.LaunchNestedContainer | _Call.LaunchNestedContainerSession


class ContainerApi:
    """Answers the calls about containers."""

    def __init__(self, containerizer: Containerizer, work_dir: WorkDir, heartbeat_s: float) -> None:
        self._containerizer = containerizer
        self._work_dir = work_dir
        self._heartbeat_s = heartbeat_s
        self._launches: set[asyncio.Task[web.Response]] = set()
        self._answers: Mapping[
            _Call.Type.ValueType, Callable[[agent_pb2.Call, web.BaseRequest], Awaitable[web.StreamResponse]]
        ] = {
            _Call.LAUNCH_CONTAINER: self._launch,
            _Call.LAUNCH_NESTED_CONTAINER: self._launch,
            _Call.WAIT_CONTAINER: self._wait,
            _Call.WAIT_NESTED_CONTAINER: self._wait,
            _Call.KILL_CONTAINER: self._kill,
            _Call.KILL_NESTED_CONTAINER: self._kill,
            _Call.REMOVE_CONTAINER: self._remove,
            _Call.REMOVE_NESTED_CONTAINER: self._remove,
            _Call.LAUNCH_NESTED_CONTAINER_SESSION: self._session,
            _Call.ATTACH_CONTAINER_OUTPUT: self._attach_output,
        }

    def answers(self, call_type: _Call.Type.ValueType) -> bool:
        """Whether calls of this type are about containers."""
        return call_type in self._answers or call_type == _Call.ATTACH_CONTAINER_INPUT

    async def handle(self, call: agent_pb2.Call, request: web.BaseRequest) -> web.StreamResponse:
        """Answer a call that came in a plain body, and whose inner message is there."""
        refusal = refused_request(request, call.type)
        if refusal is not None:
            return refusal
        fault = call_fault(call)
        if fault:
            return reply(400, f"Failed to validate agent::Call: {fault}")
        return await self._answers[call.type](call, request)

    async def handle_stream(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer a request that is a stream of calls."""
        medium = message_medium(request)
        if not isinstance(medium, str):
            return medium
        calls = read_calls(request, medium)
        try:
            first = await anext(calls, None)
            if first is None:
                raise BadInput("Received EOF while reading request body")
            fault = call_fault(container_of(first))
            if fault:
                return reply(400, f"Failed to validate agent::Call: {fault}")
            return await self._attach_input(first, calls)
        except BadInput as error:
            return reply(400, str(error))

    async def _launch(self, call: agent_pb2.Call, request: web.BaseRequest) -> web.StreamResponse:
        launch = call.launch_container if call.type == _Call.LAUNCH_CONTAINER else call.launch_nested_container
        if isinstance(launch, _Call.LaunchContainer) and launch.limits:
            return reply(400, "resource limits are not supported by this agent yet")
        config = self._config(launch)
        running = asyncio.create_task(self._launch_and_open(config), name=f"LAUNCH of {config.id}")
        self._launches.add(running)
        running.add_done_callback(self._launches.discard)
        return await asyncio.shield(running)  # whoever asked for it may go away meanwhile

    async def _launch_and_open(self, config: ContainerConfig) -> web.Response:
        if self._is_known(config.id):
            return reply(202)
        try:
            container = await self._containerizer.launch(config)
        except LaunchFailed as error:
            return reply(400, str(error))
        await container.open_gate()
        _log.info("container %s: launched for a call", config.id)
        return reply(200)

    async def _wait(self, call: agent_pb2.Call, request: web.BaseRequest) -> web.StreamResponse:
        container = await self._find(call)
        if container is None:
            return _unknown(call)
        termination = await container.wait()
        response = agent_pb2.Response(type=agent_pb2.Response.Type.Value(_Call.Type.Name(call.type)))
        is_nested = call.type == _Call.WAIT_NESTED_CONTAINER
        found = response.wait_nested_container if is_nested else response.wait_container
        _tell(termination, container.limitation, found)
        media = chosen_media(request.headers.get("Accept"))
        assert media is not None
        return reply(200, encode(response, media), media)

    async def _kill(self, call: agent_pb2.Call, request: web.BaseRequest) -> web.StreamResponse:
        container_id = ContainerId.from_proto(subject(call))
        if self._containerizer.abort(container_id):
            return reply(200)
        container = self._containerizer.find(container_id)
        if container is None or container.termination is not None:
            return reply(404, f"Container '{container_id}' cannot be found (or is already killed)")
        try:
            container.signal(kill_signal(call))
        except ProcessLookupError:
            if not container.is_ending:  # it waits at its gate (Mesos 1.11: destroyed, having no process yet)
                container.kill(0.0)
                return reply(200)
            return reply(500, "Unable to send signal to container: No such process")
        return reply(200)

    async def _remove(self, call: agent_pb2.Call, request: web.BaseRequest) -> web.StreamResponse:
        container = await self._find(call)
        if container is None:
            return _unknown(call)
        if container.config.kind not in (ContainerKind.NESTED, ContainerKind.STANDALONE):
            return reply(400, f"Container {container.id} belongs to a task or an executor")
        if container.termination is None:
            return reply(500, f"Failed to remove container: Container {container.id} has not terminated yet")
        try:
            await self._containerizer.remove(container)
        except OSError as error:
            return reply(500, f"Failed to remove container: {error.strerror}: {error.filename}")
        return reply(200)

    async def _session(self, call: agent_pb2.Call, request: web.BaseRequest) -> web.StreamResponse:
        launch = call.launch_nested_container_session
        answer = chosen_answer(request)
        if not isinstance(answer, Answer):
            return answer
        try:
            container = await self._containerizer.launch(self._config(launch, is_debug=True))
        except LaunchFailed as error:
            return reply(400, str(error))
        try:
            return await self._show(container, answer, request, is_new=True)
        finally:
            container.kill(0.0)

    async def _attach_output(self, call: agent_pb2.Call, request: web.BaseRequest) -> web.StreamResponse:
        answer = chosen_answer(request)
        if not isinstance(answer, Answer):
            return answer
        container = await self._find(call)
        if container is None:
            return _unknown(call)
        if not container.has_console:
            return reply(500, _NO_CONSOLE)
        return await self._show(container, answer, request)

    async def _show(
        self, container: Container, answer: Answer, request: web.BaseRequest, *, is_new: bool = False
    ) -> web.StreamResponse:
        try:
            console = await container.attach()
        except SupervisionError as error:
            return reply(500, str(error))
        async with console:
            output = OutputAnswer(answer, self._heartbeat_s)
            await output.begin(request)
            if is_new:
                await container.open_gate()
            return await output.serve(request, console)

    async def _attach_input(self, call: agent_pb2.Call, calls: AsyncIterator[agent_pb2.Call]) -> web.StreamResponse:
        container = await self._find(call)
        if container is None:
            return _unknown(call)
        if not container.has_console:
            return reply(500, _NO_CONSOLE)
        try:
            console = await container.attach(output=False, input=True)
        except ConsoleBusy:
            return reply(409, "Multiple input connections are not allowed")
        except SupervisionError as error:
            return reply(500, str(error))
        async with console:
            writing = asyncio.ensure_future(write_input(calls, console))
            ended = asyncio.ensure_future(container.wait())
            try:
                await asyncio.wait([writing, ended], return_when=asyncio.FIRST_COMPLETED)
                if writing.done():
                    writing.result()
            finally:
                await _cancel(writing, ended)
        return reply(200)

    def _is_known(self, container_id: ContainerId) -> bool:
        return self._containerizer.find(container_id) is not None or self._containerizer.is_launching(container_id)

    async def _find(self, call: agent_pb2.Call) -> Container | None:
        """The container that a call is about; one whose launch is under way is waited for."""
        container_id = ContainerId.from_proto(subject(call))
        await self._containerizer.wait_launched(container_id)
        return self._containerizer.find(container_id)

    def _config(self, launch: _Launch, *, is_debug: bool = False) -> ContainerConfig:
        container_id = ContainerId.from_proto(launch.container_id)
        is_standalone = container_id.parent is None
        resources = launch.resources if isinstance(launch, _Call.LaunchContainer) else ()
        return ContainerConfig(
            id=container_id,
            kind=ContainerKind.STANDALONE if is_standalone else ContainerKind.NESTED,
            command=launch.command if launch.HasField("command") else mesos_pb2.CommandInfo(),
            directory=self._work_dir.standalone(container_id.value) if is_standalone else "",
            user=launch.command.user or (user_name(os.geteuid()) if is_standalone else ""),
            container=launch.container if launch.HasField("container") else None,
            resources=tuple(resources),
            is_debug=is_debug,
            checkpoint=is_standalone,
        )


def _unknown(call: agent_pb2.Call) -> web.Response:
    return reply(404, f"Container {ContainerId.from_proto(subject(call))} cannot be found")


def _tell(
    termination: Termination,
    limitation: Limitation | None,
    found: agent_pb2.Response.WaitContainer | agent_pb2.Response.WaitNestedContainer,
) -> None:
    found.SetInParent()
    if termination.wait_status is not None:
        found.exit_status = termination.wait_status
    if termination.message:
        found.message = termination.message
    if limitation is not None:
        found.state, found.reason, found.message = mesos_pb2.TASK_FAILED, limitation.reason, limitation.message
        found.limitation.resources.extend(limitation.resources)


async def _cancel(*tasks: asyncio.Task[object] | asyncio.Future[object]) -> None:
    for task in tasks:
        task.cancel()
    for task in tasks:
        with suppress(asyncio.CancelledError, BadInput):
            await task
