"""What registration means for the agent: its messages, its sandboxes, its updates."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Sequence

from google.protobuf.message import Message

from tfmesos.agent.checkpoint import AgentKept, CheckpointStore, Recovered, ReservationsKept
from tfmesos.agent.core import Kind, Phase
from tfmesos.agent.membership.identity import Identity
from tfmesos.agent.runner.runner import Runner
from tfmesos.agent.sandboxes.work_dir import WorkDir
from tfmesos.resources import Resources, ResourcesError
from tfmesos.wire import internal_pb2, mesos_pb2

_log = logging.getLogger(__name__)


class AgentMember:
    """The `Member` of the registrar."""

    def __init__(
        self,
        identity: Identity,
        work_dir: WorkDir,
        runner: Runner,
        store: CheckpointStore,
        *,
        stop: Callable[[str], None],
        before: Recovered,
        boot_id: str,
        runtime_dir: str,
    ) -> None:
        """`before`: what the agent with the same id has kept."""
        self._identity = identity
        self._work_dir = work_dir
        self._runner = runner
        self._stop = stop
        self._store = store
        self._boot_id = boot_id
        self._runtime_dir = runtime_dir
        self._checkpointed: Sequence[mesos_pb2.Resource] = before.reservations.resources if before.reservations else ()

    def keep_resources(self, resources: Sequence[mesos_pb2.Resource]) -> None:
        """The master's complete list of reservations and volumes, to be told again at re-registration."""
        self._checkpointed = resources
        self._store.keep(ReservationsKept(message=internal_pb2.CheckpointResourcesMessage(resources=resources)))

    def build_registration(self, agent_id: str | None) -> Message:
        if agent_id is None:
            return self._identity.registration(self._checkpointed)
        message = self._identity.reregistration(agent_id, self._checkpointed)
        for framework in self._runner.core.frameworks.values():
            if not framework.is_ending:
                message.frameworks.append(framework.info)
                message.tasks.extend(record.task for record in framework.tasks.values())
                message.executor_infos.extend(
                    record.info
                    for record in framework.executors.values()
                    if record.kind is not Kind.COMMAND and record.phase is not Phase.TERMINATED
                )
        for framework in self._runner.core.completed_frameworks:
            archived = message.completed_frameworks.add(framework_info=framework.info)
            archived.tasks.extend(record.task for executor in framework.completed for record in executor.completed)
        for task in (*message.tasks, *(task for one in message.completed_frameworks for task in one.tasks)):
            _downgrade(task)
        for executor in message.executor_infos:
            _downgrade(executor)
        return message

    def build_resources_update(self, agent_id: str) -> Message:
        return self._identity.resources_update(agent_id)

    def joined(self, agent_id: str, is_new: bool) -> None:
        if is_new:
            self._enter(agent_id)
        info = self._identity.info(agent_id)
        self._store.keep(AgentKept(info=info, boot_id=self._boot_id, runtime_dir=self._runtime_dir))
        self._runner.joined(agent_id)

    def left(self) -> None:
        self._runner.left()

    def reconcile(self, reconciliations: list[internal_pb2.ReconcileTasksMessage]) -> None:
        for asked in reconciliations:
            known = self._runner.core.frameworks.get(asked.framework_id.value)
            info = asked.framework if asked.HasField("framework") else mesos_pb2.FrameworkInfo(id=asked.framework_id)
            self._runner.report_unknown(
                known.info if known else info, [status.task_id.value for status in asked.statuses]
            )

    def stopped(self, reason: str) -> None:
        self._stop(reason)

    def _enter(self, agent_id: str) -> None:
        """A directory that cannot be made keeps nobody from being registered; tasks will say so, too."""
        try:
            self._work_dir.enter_agent(agent_id)
        except OSError as error:
            _log.error("cannot make the directory of agent %s in %s: %s", agent_id, self._work_dir.path, error.strerror)


def _downgrade(held: mesos_pb2.Task | mesos_pb2.ExecutorInfo) -> None:
    """Masters hear of resources in the format from before refined reservations, where that can say it (recorded)."""
    with contextlib.suppress(ResourcesError):
        resources = Resources.from_proto(held.resources).to_proto("pre")
        del held.resources[:]
        held.resources.extend(resources)
