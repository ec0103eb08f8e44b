"""What the master orders: run, kill, shut down, acknowledge. Only the master that the agent is registered with may."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

from tfmesos.agent.core import NANOSECONDS, Order, TaskKey
from tfmesos.agent.membership.mailbox import M, Mailbox
from tfmesos.agent.membership.registrar import Membership
from tfmesos.agent.runner.runner import Runner
from tfmesos.transport import Pid
from tfmesos.wire import internal_pb2, mesos_pb2

_log = logging.getLogger(__name__)
_REFUSED = "offer operations are not supported by this agent yet"


class Orders:
    """Takes the master's messages about tasks, frameworks and resources."""

    def __init__(
        self,
        membership: Membership,
        runner: Runner,
        keep_resources: Callable[[Sequence[mesos_pb2.Resource]], None],
        answer: Callable[[internal_pb2.UpdateOperationStatusMessage], None],
    ) -> None:
        self._membership = membership
        self._runner = runner
        self._answer = answer
        self._keep_resources = keep_resources

    def listen(self, mailbox: Mailbox) -> None:
        """Take the messages of the master."""
        self._on(mailbox, internal_pb2.RunTaskMessage, self._run_task)
        self._on(mailbox, internal_pb2.RunTaskGroupMessage, self._run_task_group)
        self._on(mailbox, internal_pb2.KillTaskMessage, self._kill_task)
        self._on(mailbox, internal_pb2.StatusUpdateAcknowledgementMessage, self._acknowledge)
        self._on(mailbox, internal_pb2.ShutdownFrameworkMessage, self._shut_down_framework)
        self._on(mailbox, internal_pb2.ShutdownExecutorMessage, self._shut_down_executor)
        self._on(mailbox, internal_pb2.UpdateFrameworkMessage, self._update_framework)
        self._on(mailbox, internal_pb2.FrameworkToExecutorMessage, self._message)
        self._on(mailbox, internal_pb2.DrainSlaveMessage, self._drain)
        self._on(mailbox, internal_pb2.CheckpointResourcesMessage, self._checkpoint_resources)
        self._on(mailbox, internal_pb2.ApplyOperationMessage, self._refuse_operation)

    def _on(self, mailbox: Mailbox, kind: type[M], handle: Callable[[M], None]) -> None:
        def handle_from_master(sender: Pid, message: M) -> None:
            if self._membership.is_master(sender):
                handle(message)
            else:
                _log.warning("dropped %s from %s: not this agent's master", kind.__name__, sender)

        mailbox.on(kind, handle_from_master)

    def _run_task(self, message: internal_pb2.RunTaskMessage) -> None:
        task = message.task
        executor = task.executor if task.HasField("executor") else None
        launches = message.launch_executor if message.HasField("launch_executor") else None
        self._run(Order(framework=message.framework, tasks=(task,), executor=executor, launches_executor=launches))

    def _run_task_group(self, message: internal_pb2.RunTaskGroupMessage) -> None:
        launches = message.launch_executor if message.HasField("launch_executor") else None
        for task in message.task_group.tasks:
            if not task.HasField("executor"):
                task.executor.CopyFrom(message.executor)
        self._run(
            Order(
                framework=message.framework,
                tasks=tuple(message.task_group.tasks),
                executor=message.executor,
                is_group=True,
                launches_executor=launches,
            )
        )

    def _run(self, order: Order) -> None:
        """Mesos 1.11 drops, silently, what is for another agent, or of a framework without an id, or nothing at all."""
        strays = [task.task_id.value for task in order.tasks if task.agent_id.value != self._membership.agent_id]
        if strays or not order.tasks or not order.framework.id.value:
            _log.warning("dropped tasks %s: they are not for this agent", strays)
            return
        self._runner.run(order)

    def _kill_task(self, message: internal_pb2.KillTaskMessage) -> None:
        policy = message.kill_policy
        grace_s = policy.grace_period.nanoseconds / NANOSECONDS if policy.HasField("grace_period") else None
        self._runner.kill(TaskKey(message.framework_id.value, message.task_id.value), grace_s)

    def _acknowledge(self, message: internal_pb2.StatusUpdateAcknowledgementMessage) -> None:
        self._runner.acknowledge(TaskKey(message.framework_id.value, message.task_id.value), message.uuid)

    def _shut_down_framework(self, message: internal_pb2.ShutdownFrameworkMessage) -> None:
        self._runner.shut_down_framework(message.framework_id.value)

    def _shut_down_executor(self, message: internal_pb2.ShutdownExecutorMessage) -> None:
        self._runner.shut_down_executor(message.framework_id.value, message.executor_id.value)

    def _update_framework(self, message: internal_pb2.UpdateFrameworkMessage) -> None:
        if message.HasField("framework_info"):
            self._runner.update_framework(message.framework_info)

    def _message(self, message: internal_pb2.FrameworkToExecutorMessage) -> None:
        self._runner.message(message.framework_id.value, message.executor_id.value, message.data)

    def _drain(self, message: internal_pb2.DrainSlaveMessage) -> None:
        self._runner.drain(message.config)

    def _checkpoint_resources(self, message: internal_pb2.CheckpointResourcesMessage) -> None:
        """The master's list is complete; tasks that need the volumes among them are refused when they come."""
        self._keep_resources(list(message.resources))

    def _refuse_operation(self, message: internal_pb2.ApplyOperationMessage) -> None:
        """Masters send this only to agents that announce resource providers, which this one does not."""
        answer = internal_pb2.UpdateOperationStatusMessage()
        if message.HasField("framework_id"):
            answer.framework_id.CopyFrom(message.framework_id)
        answer.slave_id.value = self._membership.agent_id or ""
        answer.operation_uuid.CopyFrom(message.operation_uuid)
        answer.status.state = mesos_pb2.OPERATION_FAILED
        answer.status.message = _REFUSED
        if message.operation_info.HasField("id"):
            answer.status.operation_id.CopyFrom(message.operation_info.id)
        answer.latest_status.CopyFrom(answer.status)
        self._answer(answer)
