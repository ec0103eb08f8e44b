"""LAUNCH and LAUNCH_GROUP: the operations of an ACCEPT that start tasks."""

from collections.abc import Iterable

from tfmesos.master.core.books import Agent, Executor, Framework, Offer, Task
from tfmesos.master.core.ledger import Ledger
from tfmesos.master.core.statuses import made_status, partition_state
from tfmesos.master.ids import AgentId, ExecutorId
from tfmesos.master.validation import LaunchContext, group_error, task_error
from tfmesos.resources import Resources, ResourcesError
from tfmesos.wire import internal_pb2, mesos_pb2
from tfmesos.wire.tasks import build_task

_Operation = mesos_pb2.Offer.Operation
_Reasons = mesos_pb2.TaskStatus


class Starts:
    """Starts tasks out of what an ACCEPT has left, or says why not."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._books = ledger.books

    def launch(self, framework: Framework, offer: Offer, operation: _Operation, rest: Resources) -> Resources:
        """Each task by itself; returns what they leave."""
        if not operation.HasField("launch"):
            return rest
        agent = self._books.agents[offer.agent_id]
        self._books.counts["messages_launch_tasks"] += 1
        if error := _operation_error(operation):
            for task in operation.launch.task_infos:
                self.drop(framework, task, mesos_pb2.TASK_ERROR, _Reasons.REASON_TASK_INVALID, error)
            return rest
        for task in operation.launch.task_infos:
            rest = self._launch_task(framework, agent, prepared(task, framework, offer.role), rest)
        return rest

    def launch_group(self, framework: Framework, offer: Offer, operation: _Operation, rest: Resources) -> Resources:
        """All tasks of the group or none; returns what they leave. A group without tasks is nothing at all."""
        tasks = operation.launch_group.task_group.tasks
        if not tasks:
            return rest
        agent = self._books.agents[offer.agent_id]
        error = _operation_error(operation)
        if error is None:
            executor = _copy_of(operation.launch_group.executor)
            _allocate(executor.resources, offer.role)
            infos = [_prepared_member(task, executor, framework, offer.role) for task in tasks]
            context = self._context(framework, agent, executor, rest)
            error = group_error(infos, executor, context)
        if error is not None:
            for task in tasks:
                self.drop(framework, task, mesos_pb2.TASK_ERROR, _Reasons.REASON_TASK_GROUP_INVALID, error)
            return rest
        starts_executor = context.executor is None
        if starts_executor:
            rest -= self._add_executor(framework, agent, executor)
        for info in infos:
            resources = Resources.from_proto(info.resources)
            rest -= resources
            self._add_task(framework, agent, info, resources)
        self._ledger.send(agent, run_group_message(framework, agent, executor, infos, starts_executor))
        return rest

    def drop(
        self,
        framework: Framework,
        task: mesos_pb2.TaskInfo,
        state: "mesos_pb2.TaskState.ValueType",
        reason: "mesos_pb2.TaskStatus.Reason.ValueType",
        text: str,
    ) -> None:
        """Say that a task will not be; TASK_DROPPED only to those who know it."""
        if state == mesos_pb2.TASK_DROPPED:
            state = partition_state(framework, state)
        agent_id = AgentId(task.agent_id.value)
        self._ledger.warn(f"task {task.task_id.value!r} of {framework} refused: {text}")
        status = made_status(task.task_id.value, state, reason, text, now=self._ledger.now, agent_id=agent_id)
        self._ledger.tell_status(framework, status)

    def _launch_task(self, framework: Framework, agent: Agent, info: mesos_pb2.TaskInfo, rest: Resources) -> Resources:
        resources = Resources.from_proto(info.resources)
        has_executor = info.HasField("executor")
        context = self._context(framework, agent, info.executor if has_executor else None, rest)
        if error := task_error(info, resources, Resources.from_proto(info.executor.resources), context):
            self.drop(framework, info, mesos_pb2.TASK_ERROR, _Reasons.REASON_TASK_INVALID, error)
            return rest
        starts_executor = context.executor is None
        if has_executor and starts_executor:
            rest -= self._add_executor(framework, agent, info.executor)
        rest -= resources
        self._add_task(framework, agent, info, resources)
        self._ledger.send(agent, run_task_message(framework, agent, info, starts_executor))
        return rest

    def _context(
        self, framework: Framework, agent: Agent, executor: mesos_pb2.ExecutorInfo | None, rest: Resources
    ) -> LaunchContext:
        running = None
        if executor is not None:
            running = agent.executors.get(framework.id, {}).get(ExecutorId(executor.executor_id.value))
        return LaunchContext(
            framework_id=framework.id,
            agent_id=agent.id,
            agent_capabilities=agent.capabilities,
            live_task_ids=framework.tasks,
            unreachable_task_ids=framework.unreachable,
            executor=running.info if running else None,
            available=rest,
        )

    def _add_executor(self, framework: Framework, agent: Agent, info: mesos_pb2.ExecutorInfo) -> Resources:
        resources = Resources.from_proto(info.resources)
        self._ledger.add_executor(framework, agent, Executor(_copy_of(info), resources))
        return resources

    def _add_task(self, framework: Framework, agent: Agent, info: mesos_pb2.TaskInfo, resources: Resources) -> None:
        self._ledger.add_task(framework, agent, Task(build_task(info, framework.id), resources))


def prepared(task: mesos_pb2.TaskInfo, framework: Framework, role: str) -> mesos_pb2.TaskInfo:
    """A copy with what Mesos fills in: the role of the resources, the executor's framework, the health check's type."""
    info = mesos_pb2.TaskInfo()
    info.CopyFrom(task)
    _allocate(info.resources, role)
    if info.HasField("executor"):
        _allocate(info.executor.resources, role)
        if not info.executor.HasField("framework_id"):
            info.executor.framework_id.value = framework.id
    if info.HasField("health_check") and not info.health_check.HasField("type"):
        if info.health_check.HasField("command"):
            info.health_check.type = mesos_pb2.HealthCheck.COMMAND
        elif info.health_check.HasField("http"):
            info.health_check.type = mesos_pb2.HealthCheck.HTTP
    return info


def _prepared_member(
    task: mesos_pb2.TaskInfo, executor: mesos_pb2.ExecutorInfo, framework: Framework, role: str
) -> mesos_pb2.TaskInfo:
    """A copy as for a task alone; who gives no executor has the group's (Mesos 1.11)."""
    info = prepared(task, framework, role)
    if not info.HasField("executor"):
        info.executor.CopyFrom(executor)
    return info


def run_task_message(
    framework: Framework, agent: Agent, info: mesos_pb2.TaskInfo, launch_executor: bool
) -> internal_pb2.RunTaskMessage:
    """What the agent gets; it must be told the resource version that it announced, if it did."""
    message = internal_pb2.RunTaskMessage(pid=str(framework.pid), launch_executor=launch_executor)
    message.framework.CopyFrom(framework.info)
    message.task.CopyFrom(info)
    if agent.resource_version:
        message.resource_version_uuids.add().uuid.value = agent.resource_version
    return message


def run_group_message(
    framework: Framework,
    agent: Agent,
    executor: mesos_pb2.ExecutorInfo,
    infos: Iterable[mesos_pb2.TaskInfo],
    launch_executor: bool,
) -> internal_pb2.RunTaskGroupMessage:
    """What the agent gets for a task group."""
    message = internal_pb2.RunTaskGroupMessage(launch_executor=launch_executor)
    message.framework.CopyFrom(framework.info)
    message.executor.CopyFrom(executor)
    message.task_group.tasks.extend(infos)
    if agent.resource_version:
        message.resource_version_uuids.add().uuid.value = agent.resource_version
    return message


def _copy_of(info: mesos_pb2.ExecutorInfo) -> mesos_pb2.ExecutorInfo:
    """A copy that keeps nothing else alive."""
    copy = mesos_pb2.ExecutorInfo()
    copy.CopyFrom(info)
    return copy


def _operation_error(operation: _Operation) -> str | None:
    """What is wrong with it as a whole: one malformed resource spoils all its tasks (Mesos 1.11)."""
    if operation.HasField("id"):
        return f"The `id` field cannot be set on {_Operation.Type.Name(operation.type)} operations"
    is_group = operation.type == _Operation.LAUNCH_GROUP
    tasks = operation.launch_group.task_group.tasks if is_group else operation.launch.task_infos
    try:
        Resources.from_proto(operation.launch_group.executor.resources)
        for task in tasks:
            Resources.from_proto(task.resources)
            Resources.from_proto(task.executor.resources)
    except ResourcesError as error:
        return str(error)
    return None


def _allocate(resources: "Iterable[mesos_pb2.Resource]", role: str) -> None:
    """Fill the role in where it is missing; the old format becomes the new one."""
    messages = list(resources)
    if any(one.HasField("role") or one.HasField("reservation") for one in messages):
        renewed = [one for message in messages for one in Resources.from_proto([message]).to_proto("post")]
        del resources[:]  # type: ignore[attr-defined]
        resources.extend(renewed)  # type: ignore[attr-defined]
    for resource in resources:
        if not resource.HasField("allocation_info"):
            resource.allocation_info.role = role
