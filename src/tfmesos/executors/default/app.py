"""The default executor put together: the core in its asyncio shell."""

import asyncio
import logging
import os
import uuid
from collections.abc import Coroutine, Iterable
from contextlib import suppress
from functools import partial
from typing import Any, assert_never

from tfmesos.checks import TaskChecks
from tfmesos.client import AgentClient, ClientError, ExecutorClient, ExecutorEnvironment
from tfmesos.executors.default.containers import Containers
from tfmesos.executors.default.core import Core
from tfmesos.executors.default.moves import (
    Action,
    CheckTold,
    Disconnected,
    Forget,
    FoundHopeless,
    GroupArrived,
    HealthTold,
    Input,
    KillArrived,
    Launch,
    Launched,
    LaunchRefused,
    Link,
    PauseChecks,
    ResumeChecks,
    ShutdownArrived,
    Signal,
    Signalled,
    StartChecks,
    StartTimer,
    StopChecks,
    Subscribed,
    Timer,
    TimerFired,
    Update,
    Wait,
    Waited,
)
from tfmesos.wire import executor_pb2, mesos_pb2
from tfmesos.wire.text import state_name

_log = logging.getLogger(__name__)
_LOOPBACK = "127.0.0.1"
_SPARE_S = 1.0
"""Of the shutdown grace, for telling the ends of the tasks."""
Event = executor_pb2.Event


async def run(environment: ExecutorEnvironment) -> int:
    """Run the groups that the agent sends until nothing is left of them; the exit status."""
    async with asyncio.TaskGroup() as group:
        shell = _Shell(environment, group)
        try:
            return await shell.follow()
        finally:
            await shell.close()


class _Shell:
    """Carries the core's actions out. What the agent must answer runs as a task of its own."""

    def __init__(self, environment: ExecutorEnvironment, group: asyncio.TaskGroup) -> None:
        self._environment = environment
        self._group = group
        self._core = Core(ip=environment.ip, new_id=lambda: str(uuid.uuid4()))
        self._client = ExecutorClient(environment, on_disconnected=partial(self._handle, Disconnected()))
        self._containers = Containers(AgentClient(environment.agent, token=environment.token), self._spawn)
        self._errands: set[asyncio.Task[None]] = set()
        self._timers: dict[tuple[str, Timer], asyncio.TimerHandle] = {}
        self._checks: dict[str, TaskChecks] = {}

    async def follow(self) -> int:
        """Until all is told, or the agent has no use for this executor any more."""
        try:
            async with self._client as client:
                async for event in client:
                    if event.type == Event.ERROR:
                        _log.error("the agent says: %s", event.error.message)
                        return 1
                    self._take(event)
                    if self._core.is_done and not client.has_unacknowledged:
                        return 0
                if not client.is_overdue:
                    return 0
        except ClientError as error:
            _log.error("%s", error)
            return 1
        _log.warning("out of time; tasks left: %s", ", ".join(self._core.tasks) or "none")
        return 1

    async def close(self) -> None:
        """Stop all that is under way."""
        for timer in self._timers.values():
            timer.cancel()
        for errand in self._errands:
            errand.cancel()
        for checks in self._checks.values():
            await checks.close()

    def _take(self, event: executor_pb2.Event) -> None:
        match event.type:
            case Event.SUBSCRIBED:
                subscribed = event.subscribed
                self._handle(Subscribed(subscribed.container_id, subscribed.framework_info))
            case Event.LAUNCH:
                self._handle(GroupArrived([event.launch.task]))
            case Event.LAUNCH_GROUP:
                self._handle(GroupArrived(list(event.launch_group.task_group.tasks)))
            case Event.KILL:
                self._handle(KillArrived(event.kill.task_id.value, _grace_s(event.kill)))
            case Event.SHUTDOWN:
                _log.info("asked to end")
                self._handle(ShutdownArrived(max(self._environment.shutdown_grace_s - _SPARE_S, 0.0)))

    def _handle(self, event: Input) -> None:
        self._perform(self._core.handle(event, asyncio.get_running_loop().time()))
        if self._core.is_shut_down:
            self._client.leave()

    def _perform(self, actions: Iterable[Action]) -> None:
        for action in actions:
            match action:
                case Update(status):
                    _log.info("%s: %s", status.task_id.value, f"{state_name(status.state)} {status.message}".rstrip())
                    self._client.update(status)
                case Launch():
                    self._spawn(self._launch(action))
                case Wait(container_id):
                    self._spawn(self._wait(container_id))
                case Signal(container_id, number):
                    sent = partial(self._handle, Signalled(container_id.value, number))
                    self._containers.want_signal(container_id, number, sent)
                case Link(task_id, container):
                    self._link(task_id, container)
                case StartTimer(container, timer, delay_s):
                    self._start_timer(container, timer, delay_s)
                case Forget(container):
                    self._forget(container)
                case _:
                    self._perform_check(action)

    def _perform_check(self, action: StartChecks | StopChecks | PauseChecks | ResumeChecks) -> None:
        match action:
            case StartChecks(container_id, task):
                self._start_checks(container_id, task)
            case StopChecks(container):
                self._stop_checks(container)
            case PauseChecks():
                for checks in self._checks.values():
                    checks.pause()
            case ResumeChecks():
                for checks in self._checks.values():
                    checks.resume()
            case _:
                assert_never(action)

    def _spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        errand = self._group.create_task(work)
        self._errands.add(errand)
        errand.add_done_callback(self._errands.discard)
        return errand

    async def _launch(self, action: Launch) -> None:
        container = action.launch.container_id.value
        refusal = await self._containers.launch(action.launch)
        self._handle(Launched(container) if refusal is None else LaunchRefused(container, refusal))

    async def _wait(self, container_id: mesos_pb2.ContainerID) -> None:
        result = await self._containers.wait(container_id)
        self._handle(Waited(container_id.value, result))

    def _start_timer(self, container: str, timer: Timer, delay_s: float) -> None:
        running = self._timers.pop((container, timer), None)
        if running is not None:
            running.cancel()
        loop = asyncio.get_running_loop()
        self._timers[container, timer] = loop.call_later(delay_s, self._on_timer, container, timer)

    def _on_timer(self, container: str, timer: Timer) -> None:
        del self._timers[container, timer]
        self._handle(TimerFired(container, timer))

    def _forget(self, container: str) -> None:
        self._containers.forget(container)
        self._stop_checks(container)
        for timer in Timer:
            running = self._timers.pop((container, timer), None)
            if running is not None:
                running.cancel()

    def _start_checks(self, container_id: mesos_pb2.ContainerID, task: mesos_pb2.TaskInfo) -> None:
        container = container_id.value
        checks = self._checks[container] = TaskChecks(
            task,
            host=_LOOPBACK,
            run_command=partial(self._containers.run_check, container_id),
            on_check=lambda status: self._handle(CheckTold(container, status)),
            on_health=lambda is_healthy: self._handle(HealthTold(container, is_healthy)),
            on_unhealthy=lambda: self._handle(FoundHopeless(container)),
        )
        checks.start()

    def _stop_checks(self, container: str) -> None:
        checks = self._checks.pop(container, None)
        if checks is not None:
            checks.pause()
            self._spawn(checks.close())

    def _link(self, task_id: str, container: str) -> None:
        """Mesos 1.11: `tasks/<task id>` shows a task's sandbox, so that nobody needs to know its container's id."""
        place = os.path.join(self._environment.sandbox, "tasks")
        link = os.path.join(place, task_id)
        try:
            os.makedirs(place, exist_ok=True)
            with suppress(FileNotFoundError):
                os.unlink(link)
            os.symlink(os.path.join(self._environment.sandbox, "containers", container), link)
        except OSError as error:
            _log.warning("%s: its sandbox cannot be shown: %s", task_id, error)


def _grace_s(kill: executor_pb2.Event.Kill) -> float | None:
    policy = kill.kill_policy
    return policy.grace_period.nanoseconds / 1e9 if policy.HasField("grace_period") else None
