"""Agents that go: disconnected for now, unreachable, or removed."""

from tfmesos.master import allocator as alloc
from tfmesos.master.core.books import Agent, Framework, Task
from tfmesos.master.core.events import CancelTimer, PingDue, ReregistrationOver, SetTimer
from tfmesos.master.core.ledger import Ledger
from tfmesos.master.core.lifecycle import AgentState
from tfmesos.master.core.statuses import partition_state, task_status
from tfmesos.master.ids import ExecutorId, FrameworkId
from tfmesos.wire import mesos_pb2, scheduler_pb2

_Status = mesos_pb2.TaskStatus
_MAX_UNREACHABLE = 102_400
"""Mesos 1.11: --registry_max_agent_count."""


class Partings:
    """What the end of an agent means for offers, tasks and frameworks."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._books = ledger.books

    def disconnect(self, agent: Agent, reregister_timeout_s: float) -> None:
        """The link broke: nothing is offered; frameworks without checkpoint lose what they have there."""
        agent.life.step(AgentState.DISCONNECTED)
        self._ledger.log(f"{agent} disconnected")
        self._ledger.inform(alloc.AgentSetActive(agent_id=agent.id, is_active=False))
        self._ledger.withdraw_offers(agent.offers.values(), rescind=True)
        for framework_id in {*agent.tasks, *agent.executors}:
            framework = self._books.frameworks[framework_id]
            if not framework.info.checkpoint:
                self._lose_everything(agent, framework)
        self._ledger.emit(SetTimer(ReregistrationOver(agent.id), reregister_timeout_s))

    def lose(self, agent: Agent, cause: str) -> None:
        """The agent is unreachable; it may come back later."""
        self._ledger.log(f"{agent} is unreachable: {cause}")
        self._books.counts["slave_removals"] += 1
        self._books.counts["slave_removals/reason_unhealthy"] += 1
        unreachable = self._books.unreachable_agents
        unreachable[agent.id] = self._ledger.now
        while len(unreachable) > _MAX_UNREACHABLE:
            unreachable.popitem(last=False)
        for task in list(agent.all_tasks()):
            self._make_unreachable(task, cause)
        self._remove(agent)

    def remove(self, agent: Agent, cause: str, reason: str) -> None:
        """The agent is gone for good, and so are its tasks: TASK_LOST, even to the partition-aware."""
        self._ledger.log(f"removed {agent}: {cause}")
        self._books.counts["slave_removals"] += 1
        self._books.counts[f"slave_removals/reason_{reason}"] += 1
        text = f"Agent {agent.info.hostname} removed: {cause}"
        for task in list(agent.all_tasks()):
            self._lose_task(task, _Status.REASON_AGENT_REMOVED, text)
        self._remove(agent)

    def _remove(self, agent: Agent) -> None:
        self._ledger.withdraw_offers(agent.offers.values(), rescind=True)
        self._drop_executors(agent)
        agent.life.step(AgentState.REMOVED)
        self._ledger.emit(CancelTimer(PingDue(agent.id, agent.observer)), CancelTimer(ReregistrationOver(agent.id)))
        self._ledger.inform(alloc.AgentRemoved(agent_id=agent.id))
        del self._books.agents[agent.id]
        del self._books.agents_by_observer[agent.observer]
        self._books.agents_by_pid.pop(agent.pid, None)
        for framework in self._books.connected_frameworks():
            event = scheduler_pb2.Event(type=scheduler_pb2.Event.FAILURE)
            event.failure.agent_id.value = agent.id
            self._ledger.tell(framework, event)

    def _lose_everything(self, agent: Agent, framework: Framework) -> None:
        text = f"Agent {agent.info.hostname} disconnected"
        for task in list(agent.tasks.get(framework.id, {}).values()):
            self._lose_task(task, _Status.REASON_AGENT_DISCONNECTED, text)
        for executor_id in list(agent.executors.get(framework.id, {})):
            self._ledger.remove_executor(framework, agent, executor_id)

    def _lose_task(self, task: Task, reason: "mesos_pb2.TaskStatus.Reason.ValueType", text: str) -> None:
        framework = self._books.frameworks[task.framework_id]
        if not task.is_terminal:
            status = task_status(task, mesos_pb2.TASK_LOST, reason, text, self._ledger.now)
            self._ledger.update_task(task, status, status.state)
            self._ledger.tell_status(framework, status)
        self._ledger.close_task(task)

    def _make_unreachable(self, task: Task, cause: str) -> None:
        framework = self._books.frameworks[task.framework_id]
        if task.is_terminal:
            self._ledger.close_task(task)
            return
        state = partition_state(framework, mesos_pb2.TASK_UNREACHABLE)
        status = task_status(task, state, _Status.REASON_AGENT_REMOVED, cause, self._ledger.now)
        status.unreachable_time.nanoseconds = round(self._ledger.now * 1e9)
        self._ledger.update_task(task, status, mesos_pb2.TASK_UNREACHABLE)
        self._ledger.tell_status(framework, status)
        self._ledger.lose_task(task)

    def _drop_executors(self, agent: Agent) -> None:
        for framework_id, executors in list(agent.executors.items()):
            framework = self._books.frameworks[FrameworkId(framework_id)]
            for executor_id in list(executors):
                self._ledger.remove_executor(framework, agent, ExecutorId(executor_id))
