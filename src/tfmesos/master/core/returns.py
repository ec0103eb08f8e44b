"""What an agent brings when it re-registers, and how that fits with what the master knows."""

from tfmesos.master import allocator as alloc
from tfmesos.master.core.books import Agent, Executor, Task
from tfmesos.master.core.ledger import Ledger
from tfmesos.master.core.statuses import add_details, latest_status, task_status
from tfmesos.master.core.subscriptions import Subscriptions, update_framework_message
from tfmesos.master.core.updates import kill_message
from tfmesos.master.ids import ExecutorId, FrameworkId
from tfmesos.resources import Resources, ResourcesError
from tfmesos.wire import internal_pb2, mesos_pb2
from tfmesos.wire.text import TERMINAL_STATES

_Brought = list[tuple[FrameworkId, Executor]]


class Returns:
    """Takes over or compares the tasks, executors and frameworks of a returning agent."""

    def __init__(self, ledger: Ledger, subscriptions: Subscriptions) -> None:
        self._ledger = ledger
        self._books = ledger.books
        self._subscriptions = subscriptions

    def tasks_of(self, message: internal_pb2.ReregisterSlaveMessage) -> list[Task] | None:
        """The tasks it lists of frameworks that still exist; None if one makes no sense."""
        try:
            return [self._task(one) for one in message.tasks if self._is_wanted(one.framework_id, message)]
        except ResourcesError:
            return None

    def executors_of(self, message: internal_pb2.ReregisterSlaveMessage) -> _Brought | None:
        """The executors it lists of frameworks that still exist; None if one makes no sense."""
        try:
            return [
                (FrameworkId(one.framework_id.value), self._executor(one))
                for one in message.executor_infos
                if self._is_wanted(one.framework_id, message)
            ]
        except ResourcesError:
            return None

    def bring(
        self, agent: Agent, message: internal_pb2.ReregisterSlaveMessage, tasks: list[Task], executors: _Brought
    ) -> None:
        """Enter all that a (to this master) new agent has; the allocator is told afterwards, with the agent."""
        self._recover_frameworks(message)
        for task in tasks:
            framework = self._books.frameworks[task.framework_id]
            if task.id not in framework.tasks:
                task.message.agent_id.value = agent.id
                self._ledger.add_task(framework, agent, task)
        for framework_id, executor in executors:
            self._ledger.add_executor(self._books.frameworks[framework_id], agent, executor)

    def tell_states(self, agent: Agent, *, was_unreachable: bool) -> None:
        """Say to the frameworks how their tasks are."""
        text = "Unreachable agent re-reregistered" if was_unreachable else "Unknown agent reregistered"
        for task in agent.all_tasks():
            self._tell_returned(task, text)

    def compare(
        self, agent: Agent, message: internal_pb2.ReregisterSlaveMessage
    ) -> list[internal_pb2.ReconcileTasksMessage]:
        """Strike executors and adopt tasks as the agent has it; returns what it shall say about tasks it left out."""
        listed = _listed(message)
        self._recover_frameworks(message)
        self._adopt_unknown(agent, message)
        self._strike_executors(agent, message)
        reconciliations: dict[FrameworkId, internal_pb2.ReconcileTasksMessage] = {}
        for task in list(agent.all_tasks()):
            if (task.framework_id, task.id) not in listed:
                self._ask_for(task, reconciliations)
        return list(reconciliations.values())

    def tell_agent(self, agent: Agent, message: internal_pb2.ReregisterSlaveMessage) -> None:
        """Renew or end, on the agent, the frameworks that it knows; say again what was to be killed while it was away.

        After the confirmation: before it, an agent takes nothing from this master.
        """
        named = {FrameworkId(one.id.value): None for one in message.frameworks}
        for framework_id in named:
            framework = self._books.frameworks.get(framework_id)
            if framework is not None and framework.is_connected:
                self._ledger.send(agent, update_framework_message(framework))
            elif framework_id in self._books.registry.completed:
                shutdown = internal_pb2.ShutdownFrameworkMessage()
                shutdown.framework_id.value = framework_id
                self._ledger.send(agent, shutdown)
        listed = _listed(message)
        for task in agent.all_tasks():
            if task.is_killed and not task.is_terminal and (task.framework_id, task.id) in listed:
                self._ledger.send(agent, kill_message(task))

    def _is_wanted(self, framework_id: mesos_pb2.FrameworkID, message: internal_pb2.ReregisterSlaveMessage) -> bool:
        wanted = FrameworkId(framework_id.value)
        if wanted in self._books.registry.completed:
            return False
        return wanted in self._books.frameworks or any(one.id.value == wanted for one in message.frameworks)

    def _recover_frameworks(self, message: internal_pb2.ReregisterSlaveMessage) -> None:
        for info in message.frameworks:
            framework_id = FrameworkId(info.id.value)
            if (
                framework_id
                and framework_id not in self._books.frameworks
                and framework_id not in self._books.registry.completed
            ):
                self._subscriptions.recover(info)

    def _task(self, message: mesos_pb2.Task) -> Task:
        copy = mesos_pb2.Task()
        copy.CopyFrom(message)
        resources = _with_role(Resources.from_proto(copy.resources))
        return Task(copy, resources, holds=copy.state not in TERMINAL_STATES)

    def _executor(self, info: mesos_pb2.ExecutorInfo) -> Executor:
        copy = mesos_pb2.ExecutorInfo()
        copy.CopyFrom(info)
        return Executor(copy, _with_role(Resources.from_proto(copy.resources)))

    def _tell_returned(self, task: Task, text: str) -> None:
        framework = self._books.frameworks[task.framework_id]
        now = self._ledger.now
        status = task_status(task, task.message.state, mesos_pb2.TaskStatus.REASON_AGENT_REREGISTERED, text, now)
        add_details(status, task)
        self._ledger.tell_status(framework, status)

    def _adopt_unknown(self, agent: Agent, message: internal_pb2.ReregisterSlaveMessage) -> None:
        """Tasks and executors that run though the master has struck them (their agent was away): they use resources."""
        used = agent.used().unallocated()
        free = agent.total - used if agent.total.contains(used) else Resources()
        for framework_id, executor in self.executors_of(message) or ():
            executor_id = ExecutorId(executor.info.executor_id.value)
            needed = executor.resources.unallocated()
            if executor_id not in agent.executors.get(framework_id, {}) and free.contains(needed):
                free -= needed
                self._ledger.add_executor(self._books.frameworks[framework_id], agent, executor)
                self._use(agent, framework_id, executor.resources)
        for task in self.tasks_of(message) or ():
            framework = self._books.frameworks[task.framework_id]
            if task.id in framework.tasks or not task.holds:
                continue
            needed = task.resources.unallocated()
            if not free.contains(needed):
                self._ledger.warn(f"cannot adopt task {task.id} of {framework}: beyond the resources of {agent}")
                continue
            free -= needed
            task.message.agent_id.value = agent.id
            self._ledger.add_task(framework, agent, task)
            self._use(agent, framework.id, task.resources)
            self._tell_returned(task, "Unknown agent reregistered")

    def _use(self, agent: Agent, framework_id: FrameworkId, resources: Resources) -> None:
        self._ledger.withdraw_offers(agent.offers.values(), rescind=True)
        self._ledger.inform(alloc.ResourcesUsed(framework_id=framework_id, agent_id=agent.id, resources=resources))

    def _strike_executors(self, agent: Agent, message: internal_pb2.ReregisterSlaveMessage) -> None:
        listed = {(one.framework_id.value, one.executor_id.value) for one in message.executor_infos}
        for framework_id, executors in list(agent.executors.items()):
            framework = self._books.frameworks[framework_id]
            for executor_id in list(executors):
                if (framework_id, executor_id) not in listed:
                    self._ledger.remove_executor(framework, agent, ExecutorId(executor_id))

    def _ask_for(self, task: Task, reconciliations: dict[FrameworkId, internal_pb2.ReconcileTasksMessage]) -> None:
        framework_id = task.framework_id
        if framework_id not in reconciliations:
            reconciliations[framework_id] = internal_pb2.ReconcileTasksMessage()
            reconciliations[framework_id].framework_id.value = framework_id
            reconciliations[framework_id].framework.CopyFrom(self._books.frameworks[framework_id].info)
        reason = mesos_pb2.TaskStatus.REASON_RECONCILIATION
        status = latest_status(task, reason, "Reconciliation: Latest task state", self._ledger.now)
        reconciliations[framework_id].statuses.append(status)


def _listed(message: internal_pb2.ReregisterSlaveMessage) -> set[tuple[str, str]]:
    """The tasks that an agent knows."""
    return {(one.framework_id.value, one.task_id.value) for one in message.tasks}


def _with_role(resources: Resources) -> Resources:
    """Old agents list resources without the role they are allocated to."""
    return resources if all(key.allocated for key, _ in resources) else resources.allocated("*")
