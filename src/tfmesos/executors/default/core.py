"""The default executor as a pure state machine: events and the time in, actions out.

A task is LAUNCHING, then RUNNING, then over; from either it may start to be killed. One that fails or was killed takes
the rest of its group with it; other groups go on (Mesos 1.11).
"""

from collections.abc import Callable, Sequence
from signal import SIGKILL, SIGTERM
from typing import assert_never

from tfmesos.executors.default.ends import last_status, refused_status
from tfmesos.executors.default.member import Cause, Member
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
from tfmesos.wire import mesos_pb2

_Capability = mesos_pb2.FrameworkInfo.Capability
_Reason = mesos_pb2.TaskStatus


class Core:
    """All tasks of one executor."""

    def __init__(self, *, ip: str, new_id: Callable[[], str]) -> None:
        """`ip`: what tasks are told as MESOS_CONTAINER_IP; `new_id` makes ids for containers."""
        self._ip = ip
        self._new_id = new_id
        self._parent = mesos_pb2.ContainerID()
        self._tells_killing = False
        self._members: dict[str, Member] = {}
        self._has_launched = False
        self._is_shutting_down = False

    @property
    def is_done(self) -> bool:
        """Whether there is nothing left to do: all tasks are over, or it is to end before it had any."""
        return not self._members and (self._has_launched or self._is_shutting_down)

    @property
    def is_shut_down(self) -> bool:
        """Whether it is to end and nothing is left; what was told need not be acknowledged any more."""
        return self._is_shutting_down and not self._members

    @property
    def tasks(self) -> Sequence[str]:
        """The ids of the tasks that are not over."""
        return [member.task.task_id.value for member in self._members.values()]

    def handle(self, event: Input, now: float) -> list[Action]:
        """Take one event."""
        match event:
            case Subscribed(container_id, framework):
                self._parent.CopyFrom(container_id)
                self._tells_killing = any(
                    item.type == _Capability.TASK_KILLING_STATE for item in framework.capabilities
                )
                return [ResumeChecks()]
            case Disconnected():
                return [PauseChecks()]
            case GroupArrived(tasks):
                return self._launch(tasks)
            case KillArrived(task_id, grace_s):
                return self._on_kill(task_id, grace_s, now)
            case ShutdownArrived(grace_s):
                return self._on_shutdown(grace_s, now)
            case _:
                member = self._members.get(event.container)
                return [] if member is None else self._on_container(member, event, now)

    def _on_container(
        self,
        member: Member,
        event: Launched | LaunchRefused | Signalled | Waited | HealthTold | CheckTold | FoundHopeless | TimerFired,
        now: float,
    ) -> list[Action]:
        match event:
            case Launched():
                return self._on_launched(member)
            case LaunchRefused(_, text):
                return self._end(member, refused_status(member, text), now)
            case Signalled(_, number):
                member.is_signalled = member.is_signalled or number == member.signal
                return []
            case Waited(_, result):
                return self._end(member, last_status(member, result), now)
            case HealthTold(_, is_healthy):
                member.health = is_healthy
                return self._news(member, _Reason.REASON_TASK_HEALTH_CHECK_STATUS_UPDATED)
            case CheckTold(_, status):
                member.check = status
                return self._news(member, _Reason.REASON_TASK_CHECK_STATUS_UPDATED)
            case FoundHopeless():
                return self._kill(member, Cause.UNHEALTHY, member.grace_s, now)
            case TimerFired(_, timer):
                return self._on_timer(member, timer, now)
            case _:
                assert_never(event)

    def _launch(self, tasks: Sequence[mesos_pb2.TaskInfo]) -> list[Action]:
        if self._is_shutting_down:
            return []  # the agent tells of them when this executor has ended
        self._has_launched = True
        group: list[Member] = []
        for task in tasks:
            container_id = mesos_pb2.ContainerID(value=self._new_id(), parent=self._parent)
            group.append(Member(task, container_id, group))
        self._members |= {member.container: member for member in group}
        starting = [Update(member.build_status(mesos_pb2.TASK_STARTING)) for member in group]
        return [*starting, *(Launch(member.build_launch(self._ip)) for member in group)]

    def _on_launched(self, member: Member) -> list[Action]:
        if member.is_running:
            return []
        member.is_running = True
        shown: list[Action] = [Link(member.task.task_id.value, member.container), Wait(member.container_id)]
        if member.cause is not None:
            again = [] if member.is_signalled else [Signal(member.container_id, member.signal)]
            return [*shown, *again]
        shown.append(Update(member.build_status(mesos_pb2.TASK_RUNNING)))
        task = member.task
        if task.HasField("check") or task.HasField("health_check"):
            shown.append(StartChecks(member.container_id, task))
        if task.HasField("max_completion_time"):
            delay_s = task.max_completion_time.nanoseconds / 1e9
            shown.append(StartTimer(member.container, Timer.COMPLETION, delay_s))
        return shown

    def _news(self, member: Member, reason: mesos_pb2.TaskStatus.Reason.ValueType) -> list[Action]:
        if not member.is_running or member.cause is not None:
            return []
        return [Update(member.build_news(reason))]

    def _on_kill(self, task_id: str, grace_s: float | None, now: float) -> list[Action]:
        member = next((each for each in self._members.values() if each.task.task_id.value == task_id), None)
        if member is None:
            return []
        return self._kill(member, Cause.ASKED, member.grace_s if grace_s is None else grace_s, now)

    def _on_shutdown(self, grace_s: float, now: float) -> list[Action]:
        self._is_shutting_down = True
        return [
            action
            for member in self._members.values()
            for action in self._kill(member, Cause.ASKED, min(member.grace_s, grace_s), now)
        ]

    def _on_timer(self, member: Member, timer: Timer, now: float) -> list[Action]:
        match timer:
            case Timer.COMPLETION:
                return self._kill(member, Cause.OUT_OF_TIME, 0.0, now)
            case Timer.GRACE:
                return self._signal(member, SIGKILL)
            case _:
                assert_never(timer)

    def _kill(self, member: Member, cause: Cause, grace_s: float, now: float) -> list[Action]:
        """Begin to kill, or bring the end nearer: who is being killed can only be killed sooner."""
        deadline = now + grace_s
        if member.cause is not None:
            if deadline >= member.deadline or member.signal == SIGKILL:
                return []
            member.deadline = deadline
            return [StartTimer(member.container, Timer.GRACE, grace_s)]
        member.cause, member.deadline = cause, deadline
        is_told = self._tells_killing and cause is not Cause.OUT_OF_TIME
        return [
            StopChecks(member.container),
            *([Update(member.build_status(mesos_pb2.TASK_KILLING))] if is_told else []),
            *self._signal(member, SIGTERM),
            StartTimer(member.container, Timer.GRACE, grace_s),
        ]

    def _signal(self, member: Member, number: int) -> list[Action]:
        member.signal, member.is_signalled = number, False
        return [Signal(member.container_id, number)]

    def _end(self, member: Member, status: mesos_pb2.TaskStatus, now: float) -> list[Action]:
        del self._members[member.container]
        actions: list[Action] = [Forget(member.container), Update(status)]
        if status.state == mesos_pb2.TASK_FINISHED:
            return actions
        rest = [other for other in member.group if other.container in self._members and other.cause is None]
        for other in rest:
            actions += self._kill(other, Cause.ASKED, other.grace_s, now)
        return actions
