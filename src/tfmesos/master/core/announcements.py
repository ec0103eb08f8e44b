"""What operators that subscribed are told of (Mesos 1.11: the events of SUBSCRIBE in the v1 operator API).

An agent that becomes unreachable or is marked gone is not announced; its return is, as AGENT_ADDED (recorded: session
operator-agents). Nothing is said of offers, operations, weights and quota.
"""

from collections.abc import Callable

from tfmesos.master.core.books import Agent, Framework, Task
from tfmesos.master.core.descriptions import describe_agent, describe_framework
from tfmesos.master.core.events import Announce
from tfmesos.wire import master_pb2, mesos_pb2

_Event = master_pb2.Event
_Status = mesos_pb2.TaskStatus
_CHECKED = frozenset({_Status.REASON_TASK_CHECK_STATUS_UPDATED, _Status.REASON_TASK_HEALTH_CHECK_STATUS_UPDATED})
"""Updates that leave the state as it is and are announced all the same."""


class Announcements:
    """Makes the events, as things are at that moment; nothing is made while nobody watches."""

    def __init__(self, emit: Callable[[Announce], None]) -> None:
        self._emit = emit
        self.is_wanted = False
        """Whether somebody watches."""

    def task_added(self, task: Task) -> None:
        """A launch was accepted, or an agent brought a task."""
        if self.is_wanted:
            event = _Event(type=_Event.TASK_ADDED)
            event.task_added.task.CopyFrom(task.message)
            self._emit(Announce(event))

    def task_updated(self, task: Task, status: mesos_pb2.TaskStatus, latest: "mesos_pb2.TaskState.ValueType") -> None:
        """A status came, which the task does not remember yet: it counts if the state is new, or as a check's result.

        `latest` is the state that the agent knows, which may be further than that of the status.
        """
        if not self.is_wanted:
            return
        before = task.message.statuses
        if before and before[-1].state == status.state and status.reason not in _CHECKED:
            return
        event = _Event(type=_Event.TASK_UPDATED)
        event.task_updated.framework_id.CopyFrom(task.message.framework_id)
        event.task_updated.status.CopyFrom(status)
        event.task_updated.state = latest
        self._emit(Announce(event))

    def agent_added(self, agent: Agent) -> None:
        """An agent that was not known registered."""
        if self.is_wanted:
            event = _Event(type=_Event.AGENT_ADDED)
            describe_agent(event.agent_added.agent, agent)
            event.agent_added.agent.agent_info.ClearField("checkpoint")  # v0 only; GET_AGENTS shows it all the same
            self._emit(Announce(event))

    def agent_removed(self, agent: Agent) -> None:
        """An agent unregistered, or another one took its address."""
        if self.is_wanted:
            event = _Event(type=_Event.AGENT_REMOVED)
            event.agent_removed.agent_id.CopyFrom(agent.info.id)
            self._emit(Announce(event))

    def framework_added(self, framework: Framework) -> None:
        """A framework subscribed for the first time, or an agent brought one."""
        if self.is_wanted:
            event = _Event(type=_Event.FRAMEWORK_ADDED)
            describe_framework(event.framework_added.framework, framework)
            self._emit(Announce(event))

    def framework_updated(self, framework: Framework) -> None:
        """A framework subscribed again, or changed its FrameworkInfo."""
        if self.is_wanted:
            event = _Event(type=_Event.FRAMEWORK_UPDATED)
            describe_framework(event.framework_updated.framework, framework)
            self._emit(Announce(event))

    def framework_removed(self, framework: Framework) -> None:
        """A framework ended."""
        if self.is_wanted:
            event = _Event(type=_Event.FRAMEWORK_REMOVED)
            event.framework_removed.framework_info.CopyFrom(framework.info)
            self._emit(Announce(event))
