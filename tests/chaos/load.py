"""A framework that keeps an agent busy with small tasks, and knows of each how it has to end."""

from __future__ import annotations

import asyncio
import os
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from enum import Enum, auto
from pathlib import Path
from random import Random

from tfmesos.client import NotSubscribed, SchedulerClient
from tfmesos.discovery import build_detector
from tfmesos.resources import Resources, scalars
from tfmesos.wire import mesos_pb2, scheduler_pb2
from tfmesos.wire.text import TERMINAL_STATES, state_name

_NEED = scalars(cpus=0.1, mem=16)
_EXECUTOR_NEED = scalars(cpus=0.1, mem=32, disk=1)
_PER_OFFER = 6
_KILL_GRACE_S = 0.3
_ASK_AGAIN_S = 3.0


_HEARSAY = (mesos_pb2.TaskStatus.REASON_RECONCILIATION, mesos_pb2.TaskStatus.REASON_AGENT_REREGISTERED)


class Fate(Enum):
    """How a task ends."""

    FINISH = auto()
    FAIL = auto()
    BE_KILLED = auto()
    BE_KILLED_DEAF = auto()
    """It ignores SIGTERM."""
    FINISH_IN_EXECUTOR = auto()
    BE_KILLED_IN_EXECUTOR = auto()
    """All of these share one custom executor."""
    FINISH_IN_GROUP = auto()
    BE_KILLED_IN_GROUP = auto()
    """Each of these is a group of its own."""


_IN_EXECUTOR = (Fate.FINISH_IN_EXECUTOR, Fate.BE_KILLED_IN_EXECUTOR)
_IN_GROUP = (Fate.FINISH_IN_GROUP, Fate.BE_KILLED_IN_GROUP)
_TO_BE_KILLED = (Fate.BE_KILLED, Fate.BE_KILLED_DEAF, Fate.BE_KILLED_IN_EXECUTOR, Fate.BE_KILLED_IN_GROUP)
_WEIGHTS = {fate: 1 if fate in _IN_GROUP else 6 for fate in Fate}
"""A group's executor is a program to be started."""

_SCRIPTS = {
    Fate.FINISH: "echo start >> {file}; sleep {seconds}; echo end >> {file}",
    Fate.FAIL: "echo start >> {file}; sleep {seconds}; echo end >> {file}; exit 3",
    Fate.BE_KILLED: "echo start >> {file}; sleep 1000; echo end >> {file}",
    Fate.BE_KILLED_DEAF: "trap '' TERM; echo start >> {file}; while :; do sleep 1000; done",
    Fate.FINISH_IN_GROUP: "echo start >> {file}; sleep {seconds}; echo end >> {file}",
    Fate.BE_KILLED_IN_GROUP: "echo start >> {file}; sleep 1000; echo end >> {file}",
}
_EXPECTED = {
    Fate.FINISH: (mesos_pb2.TASK_FINISHED, "Command exited with status 0"),
    Fate.FAIL: (mesos_pb2.TASK_FAILED, "Command exited with status 3"),
    Fate.BE_KILLED: (mesos_pb2.TASK_KILLED, "Command terminated with signal Terminated"),
    Fate.BE_KILLED_DEAF: (mesos_pb2.TASK_KILLED, "Command terminated with signal Killed"),
    Fate.FINISH_IN_EXECUTOR: (mesos_pb2.TASK_FINISHED, "done"),
    Fate.BE_KILLED_IN_EXECUTOR: (mesos_pb2.TASK_KILLED, "killed"),
    Fate.FINISH_IN_GROUP: (mesos_pb2.TASK_FINISHED, "Command exited with status 0"),
    Fate.BE_KILLED_IN_GROUP: (mesos_pb2.TASK_KILLED, "Command terminated with signal Terminated"),
}


@dataclass(slots=True)
class Sent:
    """A task and what was heard of it; updates that came again count once."""

    fate: Fate
    file: Path
    is_unknown: bool = False
    """Nobody knows of it: it was lost with the master that it was sent to."""
    hearsay: set[mesos_pb2.TaskState.ValueType] = field(default_factory=set)
    """What the master said that the task's state was."""
    updates: dict[bytes, mesos_pb2.TaskStatus] = field(default_factory=dict)

    @property
    def ends(self) -> list[mesos_pb2.TaskStatus]:
        return [status for status in self.updates.values() if status.state in TERMINAL_STATES]

    @property
    def lines(self) -> list[str]:
        """What the task itself has written down."""
        return self.file.read_text().split() if self.file.exists() else []

    def faults(self) -> Iterator[str]:
        """What is wrong with what was heard."""
        if self.is_unknown:
            if self.updates or self.lines:
                yield f"{self.fate.name}: nobody knows of it, but it ran"
            return
        told = [f"{state_name(status.state)} {status.message!r}" for status in self.updates.values()]
        if len(self.ends) != 1:
            yield f"{self.fate.name}: {len(self.ends)} ends: {told}"
            return
        end, lines = self.ends[0], self.lines
        if not self.hearsay & TERMINAL_STATES <= {end.state}:
            yield f"{self.fate.name}: the master told {set(map(state_name, self.hearsay))}, but: {told}"
        if lines.count("start") > 1:
            yield f"{self.fate.name}: ran {lines.count('start')} times: {told}"
        if end.state in (mesos_pb2.TASK_DROPPED, mesos_pb2.TASK_LOST):
            if lines:
                yield f"{self.fate.name}: ran, but: {told}"
        elif end.reason == mesos_pb2.TaskStatus.REASON_TASK_KILLED_DURING_LAUNCH or not lines:
            if end.state != mesos_pb2.TASK_KILLED or lines:
                yield f"{self.fate.name}: {lines}, but: {told}"
        elif (end.state, end.message) != _EXPECTED[self.fate] and not self._was_killed_otherwise(end):
            yield f"{self.fate.name}: {lines}: {told}"

    def _was_killed_otherwise(self, end: mesos_pb2.TaskStatus) -> bool:
        """Before the shell had read `trap`; or so long after SIGTERM, with the agent away, that SIGKILL was due."""
        signals = [_EXPECTED[fate][1] for fate in (Fate.BE_KILLED, Fate.BE_KILLED_DEAF)]
        return self.fate in _TO_BE_KILLED and end.state == mesos_pb2.TASK_KILLED and end.message in signals


class Load:
    """Launches tasks as long as `is_open`; `wait_all_ended` returns when each has had its end."""

    def __init__(self, master: str, directory: Path, mark: str, random: Random) -> None:
        """`mark`: NAME=VALUE for the environment of the tasks."""
        self.sent: dict[str, Sent] = {}
        self.is_open = True
        self._directory = directory
        self._mark = mark
        self._random = random
        self._alive: dict[str, mesos_pb2.AgentID] = {}
        self._nothing_alive = asyncio.Event()
        info = mesos_pb2.FrameworkInfo(
            user="root", name="load", checkpoint=True, failover_timeout=600.0, roles=["load"]
        )
        kinds = mesos_pb2.FrameworkInfo.Capability
        for kind in (kinds.PARTITION_AWARE, kinds.TASK_KILLING_STATE, kinds.MULTI_ROLE):
            info.capabilities.add(type=kind)
        self._client = SchedulerClient(build_detector(master), info)

    async def run(self) -> None:
        """Be the framework, until cancelled."""
        async with self._client, asyncio.TaskGroup() as group:
            group.create_task(self._ask_again())
            async for event in self._client:
                match event.type:
                    case scheduler_pb2.Event.OFFERS:
                        for offer in event.offers.offers:
                            group.create_task(self._take(offer))
                    case scheduler_pb2.Event.UPDATE:
                        await self._hear(event.update.status)

    async def wait_all_ended(self, timeout_s: float) -> None:
        """No task is sent any more, and each has ended."""
        self.is_open = False
        async with asyncio.timeout(timeout_s):
            while self._alive:
                self._nothing_alive.clear()
                await self._nothing_alive.wait()

    async def leave(self) -> None:
        """The framework is completed: what still runs of it has to end."""
        await self._client.teardown()

    @property
    def alive(self) -> list[str]:
        return list(self._alive)

    def faults(self) -> list[str]:
        """What was wrong with the tasks' ends; empty if nothing."""
        return [f"{task_id}: {fault}" for task_id, sent in self.sent.items() for fault in sent.faults()]

    def summary(self) -> str:
        ends = Counter(state_name(end.state) for sent in self.sent.values() for end in sent.ends)
        return ", ".join(f"{count} {name}" for name, count in sorted(ends.items()))

    async def _take(self, offer: mesos_pb2.Offer) -> None:
        room = Resources.from_proto(offer.resources)
        operations: list[mesos_pb2.Offer.Operation] = []
        while self.is_open and len(operations) < _PER_OFFER:
            part, more = room.find(_NEED, "load"), room.find(_NEED + _EXECUTOR_NEED, "load")
            if part is None or more is None:
                break
            room -= more
            operations.append(self._launch(self._task(offer, part), more - part))
        with suppress(NotSubscribed):  # the master is gone; whether it has taken them, `_ask_again` finds out
            await self._client.accept([offer.id], operations, mesos_pb2.Filters(refuse_seconds=0.1))

    def _launch(self, task: mesos_pb2.TaskInfo, for_executor: Resources) -> mesos_pb2.Offer.Operation:
        self._alive[task.task_id.value] = task.agent_id
        if self.sent[task.task_id.value].fate not in _IN_GROUP:
            launch = mesos_pb2.Offer.Operation(type=mesos_pb2.Offer.Operation.LAUNCH)
            launch.launch.task_infos.append(task)
            return launch
        group = mesos_pb2.Offer.Operation(type=mesos_pb2.Offer.Operation.LAUNCH_GROUP)
        executor = group.launch_group.executor
        executor.type = mesos_pb2.ExecutorInfo.DEFAULT
        executor.executor_id.value = f"group-of-{task.task_id.value}"
        executor.framework_id.value = self._client.framework_id or ""
        executor.resources.extend(for_executor.to_proto())
        group.launch_group.task_group.tasks.append(task)
        return group

    def _task(self, offer: mesos_pb2.Offer, part: Resources) -> mesos_pb2.TaskInfo:
        task_id = f"task-{len(self.sent)}"
        (fate,) = self._random.choices(list(_WEIGHTS), list(_WEIGHTS.values()))
        file = self._directory / task_id
        self.sent[task_id] = Sent(fate, file)
        task = mesos_pb2.TaskInfo(name=task_id)
        task.task_id.value = task_id
        task.agent_id.CopyFrom(offer.agent_id)
        task.resources.extend(part.to_proto("post", offer.allocation_info.role))
        seconds = round(self._random.uniform(0, 1.0), 3)
        task.kill_policy.grace_period.nanoseconds = int(_KILL_GRACE_S * 1e9)
        if fate in _IN_EXECUTOR:
            task.executor.CopyFrom(self._executor())
            task.data = f"{file} {seconds if fate is Fate.FINISH_IN_EXECUTOR else 1000}".encode()
        else:
            task.command.CopyFrom(self._marked(mesos_pb2.CommandInfo()))
            task.command.value = _SCRIPTS[fate].format(file=file, seconds=seconds)
        return task

    def _executor(self) -> mesos_pb2.ExecutorInfo:
        executor = mesos_pb2.ExecutorInfo(type=mesos_pb2.ExecutorInfo.CUSTOM)
        executor.executor_id.value = "worker"
        executor.framework_id.value = self._client.framework_id or ""
        command = self._marked(executor.command)
        command.shell, command.value = False, sys.executable
        command.arguments.extend([sys.executable, str(Path(__file__).with_name("load_executor.py"))])
        return executor

    def _marked(self, command: mesos_pb2.CommandInfo) -> mesos_pb2.CommandInfo:
        name, _, value = self._mark.partition("=")
        search = os.environ.get("PYTHONPATH", "")
        for variable, text in ((name, value), ("PATH", "/usr/bin:/bin"), ("PYTHONPATH", search)):
            command.environment.variables.add(name=variable, value=text)
        return command

    async def _hear(self, status: mesos_pb2.TaskStatus) -> None:
        task_id = status.task_id.value
        sent = self.sent[task_id]
        if not status.uuid and status.reason in _HEARSAY:
            if not sent.ends:  # else it was asked for before its end was acknowledged, and answered afterwards
                sent.hearsay.add(status.state)
            if status.state in (mesos_pb2.TASK_UNKNOWN, mesos_pb2.TASK_GONE) and not sent.updates:
                sent.is_unknown = True
                self._end(task_id)
            return
        sent.updates[status.uuid or b"without"] = status
        await self._client.acknowledge(status)
        if status.state in TERMINAL_STATES:
            self._end(task_id)
        elif status.state == mesos_pb2.TASK_RUNNING and self._is_to_be_killed(task_id):
            await self._client.kill(status.task_id, status.agent_id)

    def _end(self, task_id: str) -> None:
        self._alive.pop(task_id, None)
        if not self._alive:
            self._nothing_alive.set()

    def _is_to_be_killed(self, task_id: str) -> bool:
        return self.sent[task_id].fate in _TO_BE_KILLED

    async def _ask_again(self) -> None:
        """A launch or a kill may be lost with the agent or the master that it was sent to."""
        while True:
            await asyncio.sleep(_ASK_AGAIN_S)
            alive = [(mesos_pb2.TaskID(value=task_id), agent_id) for task_id, agent_id in self._alive.items()]
            if alive:
                await self._client.reconcile(alive)
            for task_id, agent_id in alive:
                if self._is_to_be_killed(task_id.value):
                    await self._client.kill(task_id, agent_id)
