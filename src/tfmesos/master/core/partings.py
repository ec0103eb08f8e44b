"""Agents that go: disconnected for now, unreachable, or removed."""

from collections.abc import Iterator

from tfmesos.master import allocator as alloc
from tfmesos.master.core.books import Agent, Framework, Task
from tfmesos.master.core.events import CancelTimer, PingDue, ReregistrationOver, SetTimer
from tfmesos.master.core.ledger import Ledger
from tfmesos.master.core.lifecycle import AgentState
from tfmesos.master.core.registry import LoseAgent, MarkAgentGone, RemoveAgent
from tfmesos.master.core.statuses import partition_state, task_status
from tfmesos.master.ids import AgentId, ExecutorId, FrameworkId
from tfmesos.wire import internal_pb2, mesos_pb2, scheduler_pb2

_Status = mesos_pb2.TaskStatus
_GONE_TEXT = "Agent has been marked gone"


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
        self._ledger.record(LoseAgent(agent_id=agent.id, at_s=self._ledger.now))
        for task in list(agent.all_tasks()):
            self._make_unreachable(task, cause)
        self._remove(agent)

    def lose_recovered(self, agent_id: AgentId) -> None:
        """An agent from before the restart did not come back in time."""
        self._ledger.log(f"agent {agent_id} ({self._books.recovered_agents.pop(agent_id).hostname}) is unreachable")
        self._books.counts["slave_removals"] += 1
        self._books.counts["recovery_slave_removals"] += 1
        self._ledger.record(LoseAgent(agent_id=agent_id, at_s=self._ledger.now))
        self._tell_failure(agent_id)

    def end(self, agent_id: AgentId) -> None:
        """An operator says that the agent will never be back: its tasks are gone, it is shut down if it is there."""
        self._ledger.log(f"agent {agent_id} is marked gone")
        self._ledger.record(MarkAgentGone(agent_id=agent_id, at_s=self._ledger.now))
        agent = self._books.agents.get(agent_id)
        if agent is None:
            self._books.recovered_agents.pop(agent_id, None)
            for task in [one for one in self._unreachable_tasks() if one.agent_id == agent_id]:
                self._make_gone(task)
            return
        self._books.counts["slave_removals"] += 1
        self._ledger.send(agent, internal_pb2.ShutdownMessage(message=_GONE_TEXT))
        for task in list(agent.all_tasks()):
            self._make_gone(task)
        self._remove(agent)

    def remove(self, agent: Agent, cause: str, reason: str) -> None:
        """The agent is gone for good, and so are its tasks: TASK_LOST, even to the partition-aware."""
        self._ledger.log(f"removed {agent}: {cause}")
        self._books.counts["slave_removals"] += 1
        self._books.counts[f"slave_removals/reason_{reason}"] += 1
        self._ledger.announce.agent_removed(agent)
        self._ledger.record(RemoveAgent(agent_id=agent.id))
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
        self._tell_failure(agent.id)

    def _tell_failure(self, agent_id: AgentId) -> None:
        for framework in self._books.connected_frameworks():
            event = scheduler_pb2.Event(type=scheduler_pb2.Event.FAILURE)
            event.failure.agent_id.value = agent_id
            self._ledger.tell(framework, event)

    def _unreachable_tasks(self) -> Iterator[Task]:
        for framework in self._books.frameworks.values():
            yield from framework.unreachable.values()

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

    def _make_gone(self, task: Task) -> None:
        framework = self._books.frameworks[task.framework_id]
        if not task.is_terminal:
            state = partition_state(framework, mesos_pb2.TASK_GONE_BY_OPERATOR)
            reason = _Status.REASON_AGENT_REMOVED_BY_OPERATOR
            status = task_status(task, state, reason, _GONE_TEXT, self._ledger.now)
            self._ledger.update_task(task, status, state)
            self._ledger.tell_status(framework, status)
        self._ledger.close_task(task)

    def _drop_executors(self, agent: Agent) -> None:
        for framework_id, executors in list(agent.executors.items()):
            framework = self._books.frameworks[FrameworkId(framework_id)]
            for executor_id in list(executors):
                self._ledger.remove_executor(framework, agent, ExecutorId(executor_id))
