"""Running tasks: updates and acknowledgements, kills, reconciliation, messages between framework and executor."""

from tfmesos.master.core.books import Agent, Framework, Task
from tfmesos.master.core.ledger import Ledger
from tfmesos.master.core.statuses import latest_status, made_status, partition_state
from tfmesos.master.ids import AgentId, ExecutorId, FrameworkId, TaskId
from tfmesos.transport import Pid
from tfmesos.wire import internal_pb2, mesos_pb2, scheduler_pb2
from tfmesos.wire.text import TERMINAL_STATES

_Event = scheduler_pb2.Event
_RECONCILIATION = mesos_pb2.TaskStatus.REASON_RECONCILIATION
_UUID_BYTES = 16


class Updates:
    """What agents and frameworks say about running tasks."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._books = ledger.books

    # --- from agents ---

    def status(self, agent: Agent, message: internal_pb2.StatusUpdateMessage) -> None:
        """Forward a status and take note of it."""
        update = message.update
        framework = self._books.frameworks.get(FrameworkId(update.framework_id.value))
        if framework is None:
            self._books.counts["invalid_status_updates"] += 1
            self._ledger.warn(f"ignored a status update of unknown framework {update.framework_id.value!r}")
            return
        event = _Event(type=_Event.UPDATE)
        status = event.update.status
        _complete_status(status, update, is_acknowledged=bool(Pid.parse(message.pid)))
        self._ledger.tell(framework, event)
        task = agent.tasks.get(framework.id, {}).get(TaskId(status.task_id.value))
        if task is None:
            self._books.counts["invalid_status_updates"] += 1
            self._ledger.warn(f"status update of unknown task {status.task_id.value!r} of {framework}")
            return
        self._books.counts["valid_status_updates"] += 1
        latest = update.latest_state if update.HasField("latest_state") else status.state
        self._ledger.update_task(task, status, latest)

    def executor_exited(self, agent: Agent, message: internal_pb2.ExitedExecutorMessage) -> None:
        """A custom executor ended: its resources are free, its framework is told."""
        framework = self._books.frameworks.get(FrameworkId(message.framework_id.value))
        if framework is None:
            return
        executor_id = ExecutorId(message.executor_id.value)
        if self._ledger.remove_executor(framework, agent, executor_id) is None:
            self._ledger.warn(f"ignored the exit of unknown executor {executor_id!r} of {framework}")
            return
        event = _Event(type=_Event.FAILURE)
        event.failure.agent_id.value = agent.id
        event.failure.executor_id.value = executor_id
        event.failure.status = message.status
        self._ledger.tell(framework, event)

    def executor_said(self, agent: Agent, message: internal_pb2.ExecutorToFrameworkMessage) -> None:
        """Pass a message of an executor on."""
        framework = self._books.frameworks.get(FrameworkId(message.framework_id.value))
        verdict = "invalid" if framework is None else "valid"
        self._books.counts[f"{verdict}_executor_to_framework_messages"] += 1
        if framework is None:
            return
        event = _Event(type=_Event.MESSAGE)
        event.message.agent_id.value = agent.id
        event.message.executor_id.CopyFrom(message.executor_id)
        event.message.data = message.data
        self._ledger.tell(framework, event)

    # --- from frameworks ---

    def acknowledge(self, framework: Framework, acknowledge: scheduler_pb2.Call.Acknowledge) -> None:
        """Pass an acknowledgement on; the one of a task's end closes the task."""
        agent = self._books.agents.get(AgentId(acknowledge.agent_id.value))
        if agent is None or not agent.is_connected:
            self._books.counts["invalid_status_update_acknowledgements"] += 1
            return
        task = agent.tasks.get(framework.id, {}).get(TaskId(acknowledge.task_id.value))
        if task is not None:
            if not task.message.HasField("status_update_uuid"):
                self._books.counts["invalid_status_update_acknowledgements"] += 1
                return
            if _ends(task, acknowledge.uuid):
                self._ledger.close_task(task)
        self._books.counts["valid_status_update_acknowledgements"] += 1
        message = internal_pb2.StatusUpdateAcknowledgementMessage(uuid=acknowledge.uuid)
        message.slave_id.value = agent.id
        message.framework_id.value = framework.id
        message.task_id.value = acknowledge.task_id.value
        self._ledger.send(agent, message)

    def kill(self, framework: Framework, kill: scheduler_pb2.Call.Kill) -> None:
        """Have a task killed, now or when its agent is back; an unknown one is reconciled."""
        task = framework.tasks.get(TaskId(kill.task_id.value))
        if task is None:
            wanted = scheduler_pb2.Call.Reconcile.Task()
            wanted.task_id.CopyFrom(kill.task_id)
            if kill.HasField("agent_id"):
                wanted.agent_id.CopyFrom(kill.agent_id)
            self._reconcile_one(framework, wanted)
            return
        if kill.HasField("agent_id") and kill.agent_id.value != task.agent_id:
            self._ledger.warn(f"ignored a kill of task {task.id} of {framework}: it is not on {kill.agent_id.value!r}")
            return
        task.is_killed = True
        if kill.HasField("kill_policy"):
            task.kill_policy = mesos_pb2.KillPolicy()
            task.kill_policy.CopyFrom(kill.kill_policy)
        agent = self._books.agents[task.agent_id]
        if agent.is_connected:
            self._ledger.send(agent, kill_message(task))

    def reconcile(self, framework: Framework, reconcile: scheduler_pb2.Call.Reconcile) -> None:
        """Say the state of the tasks asked for, or of all."""
        if not reconcile.tasks:
            for task in framework.tasks.values():
                self._tell_latest(framework, task)
        for wanted in reconcile.tasks:
            self._reconcile_one(framework, wanted)

    def forward(self, framework: Framework, message: scheduler_pb2.Call.Message) -> None:
        """Pass a message to an executor on, if its agent is there."""
        agent = self._books.agents.get(AgentId(message.agent_id.value))
        if agent is None or not agent.is_connected:
            self._books.counts["invalid_framework_to_executor_messages"] += 1
            return
        self._books.counts["valid_framework_to_executor_messages"] += 1
        out = internal_pb2.FrameworkToExecutorMessage(data=message.data)
        out.slave_id.value = agent.id
        out.framework_id.value = framework.id
        out.executor_id.CopyFrom(message.executor_id)
        self._ledger.send(agent, out)

    def shut_executor_down(self, framework: Framework, shutdown: scheduler_pb2.Call.Shutdown) -> None:
        """Have an executor ended, if its agent is there."""
        agent = self._books.agents.get(AgentId(shutdown.agent_id.value))
        if agent is None or not agent.is_connected:
            return
        message = internal_pb2.ShutdownExecutorMessage()
        message.executor_id.CopyFrom(shutdown.executor_id)
        message.framework_id.value = framework.id
        self._ledger.send(agent, message)

    def _tell_latest(self, framework: Framework, task: Task) -> None:
        text = "Reconciliation: Latest task state"
        self._ledger.tell_status(framework, latest_status(task, _RECONCILIATION, text, self._ledger.now))

    def _reconcile_one(self, framework: Framework, wanted: scheduler_pb2.Call.Reconcile.Task) -> None:
        task = framework.tasks.get(TaskId(wanted.task_id.value))
        if task is not None:
            self._tell_latest(framework, task)
            return
        agent_id = AgentId(wanted.agent_id.value) if wanted.HasField("agent_id") else None
        lost = framework.unreachable.get(TaskId(wanted.task_id.value))
        if agent_id is None and lost is not None:
            agent_id = lost.agent_id
        recovered = self._books.recovered_agents
        if recovered and (agent_id is None or agent_id in recovered):
            return  # it may yet come back with the task (Mesos 1.11)
        self._ledger.tell_status(framework, self._unknown_status(framework, wanted.task_id.value, agent_id))

    def _unknown_status(self, framework: Framework, task_id: str, agent_id: AgentId | None) -> mesos_pb2.TaskStatus:
        now = self._ledger.now
        if agent_id in self._books.agents:
            state, text = mesos_pb2.TASK_GONE, "Reconciliation: Task is unknown to the agent"
        elif agent_id in self._books.unreachable_agents:
            state, text = mesos_pb2.TASK_UNREACHABLE, "Reconciliation: Task is unreachable"
        elif agent_id in self._books.gone_agents:
            state, text = mesos_pb2.TASK_GONE_BY_OPERATOR, "Reconciliation: Task is gone"
        else:
            state, text = mesos_pb2.TASK_UNKNOWN, "Reconciliation: Task is unknown"
        state = partition_state(framework, state)
        status = made_status(task_id, state, _RECONCILIATION, text, now=now, agent_id=agent_id)
        if agent_id is not None and agent_id in self._books.unreachable_agents:
            status.unreachable_time.nanoseconds = round(self._books.unreachable_agents[agent_id] * 1e9)
        return status


def kill_message(task: Task) -> internal_pb2.KillTaskMessage:
    """What the agent gets for a kill."""
    message = internal_pb2.KillTaskMessage()
    message.framework_id.value = task.framework_id
    message.task_id.value = task.id
    if task.kill_policy is not None:
        message.kill_policy.CopyFrom(task.kill_policy)
    return message


def _complete_status(status: mesos_pb2.TaskStatus, update: internal_pb2.StatusUpdate, *, is_acknowledged: bool) -> None:
    """Make `status` that of the update with what its envelope knows; the uuid only if it is to be acknowledged."""
    status.CopyFrom(update.status)
    if update.HasField("slave_id"):
        status.agent_id.CopyFrom(update.slave_id)
    if update.HasField("executor_id"):
        status.executor_id.CopyFrom(update.executor_id)
    status.timestamp = update.timestamp
    status.ClearField("uuid")
    if is_acknowledged and len(update.uuid) == _UUID_BYTES:
        status.uuid = update.uuid


def _ends(task: Task, uuid: bytes) -> bool:
    message = task.message
    return message.status_update_uuid == uuid and message.status_update_state in TERMINAL_STATES
