"""Builders and short words for the tests of the agent's core."""

from __future__ import annotations

from collections.abc import Sequence

from tests.agent.in_test_master import KILLING_STATE, command_task, framework
from tfmesos.agent.core import Action, AgentCore, CoreSettings, ExecutorRecord, Order, Report, SendEvent, TaskKey
from tfmesos.wire import executor_pb2, mesos_pb2

UUID = b"0123456789abcdef"
Call, Event = executor_pb2.Call, executor_pb2.Event


def info(framework_id: str = "f", *, checkpoint: bool = False) -> mesos_pb2.FrameworkInfo:
    made = framework(KILLING_STATE)
    made.id.value = framework_id
    made.checkpoint = checkpoint
    return made


def build_core(*, resizes_containers: bool = False) -> AgentCore:
    return AgentCore(
        CoreSettings(
            max_completed_frameworks=3,
            max_completed_executors=5,
            registration_timeout_s=60,
            reregistration_timeout_s=2,
            shutdown_grace_s=5,
            resizes_containers=resizes_containers,
        )
    )


def executor_info(executor_id: str = "e", kind: str = "CUSTOM") -> mesos_pb2.ExecutorInfo:
    made = mesos_pb2.ExecutorInfo(type=mesos_pb2.ExecutorInfo.Type.Value(kind))
    made.executor_id.value = executor_id
    return made


def executor_order(
    *task_ids: str, framework_id: str = "f", executor_id: str = "e", is_group: bool = False, checkpoint: bool = False
) -> Order:
    kind = "DEFAULT" if is_group else "CUSTOM"
    return Order(
        framework=info(framework_id, checkpoint=checkpoint),
        tasks=tuple(command_task(task_id) for task_id in task_ids),
        executor=executor_info(executor_id, kind),
        is_group=is_group,
    )


def command_order(task: mesos_pb2.TaskInfo, framework_id: str = "f") -> Order:
    return Order(framework=info(framework_id), tasks=(task,))


def executor_of(core: AgentCore, executor_id: str = "e", framework_id: str = "f") -> ExecutorRecord:
    found = core.find_executor(framework_id, executor_id)
    assert found is not None
    return found


def running_executor(core: AgentCore, *task_ids: str, checkpoint: bool = False) -> ExecutorRecord:
    """A subscribed custom executor with these tasks, delivered."""
    for task_id in task_ids:
        core.run(executor_order(task_id, checkpoint=checkpoint), "c1")
    executor = executor_of(core)
    core.forked(executor, 5)
    core.opened(executor, 0)
    core.subscribed(executor, Call.Subscribe(), 0)
    return executor


def running_command(core: AgentCore, container_id: str, task: mesos_pb2.TaskInfo) -> ExecutorRecord:
    core.run(command_order(task), container_id)
    executor = executor_of(core, task.task_id.value)
    core.forked(executor, 5)
    core.opened(executor, 0)
    return executor


def status(
    task_id: str, state: mesos_pb2.TaskState.ValueType, uuid: bytes = b"0123456789abcdef"
) -> mesos_pb2.TaskStatus:
    made = mesos_pb2.TaskStatus(state=state, source=mesos_pb2.TaskStatus.SOURCE_EXECUTOR, uuid=uuid)
    made.task_id.value = task_id
    return made


def reports(actions: Sequence[Action]) -> list[tuple[str, str, str]]:
    """Task, state and message of each report."""
    return [
        (action.key.task_id, mesos_pb2.TaskState.Name(action.status.state), action.status.message)
        for action in actions
        if isinstance(action, Report)
    ]


def events(actions: Sequence[Action]) -> list[str]:
    """The types of the events that are sent."""
    return [Event.Type.Name(action.event.type) for action in actions if isinstance(action, SendEvent)]


def kinds(actions: Sequence[Action]) -> list[str]:
    return [type(action).__name__ for action in actions]


def key(task_id: str, framework_id: str = "f") -> TaskKey:
    return TaskKey(framework_id, task_id)
