"""ACCEPT and DECLINE: offers become tasks or go back."""

from collections.abc import Iterable
from math import isnan

from tfmesos.master.core.books import Agent, Executor, Framework, Offer, Task
from tfmesos.master.core.ledger import Ledger
from tfmesos.master.core.statuses import made_status, partition_state
from tfmesos.master.core.subscriptions import NO_PID_TEXT
from tfmesos.master.ids import AgentId, ExecutorId, OfferId
from tfmesos.master.validation import LaunchContext, task_error
from tfmesos.resources import Resources, ResourcesError
from tfmesos.wire import internal_pb2, mesos_pb2, scheduler_pb2
from tfmesos.wire.tasks import build_task

_Operation = mesos_pb2.Offer.Operation
_Reasons = mesos_pb2.TaskStatus
_DEFAULT_REFUSE_S = 5.0
_MAX_REFUSE_S = 365 * 24 * 3600.0


class Launches:
    """Answers to offers."""

    def __init__(self, ledger: Ledger, allocation_interval_s: float) -> None:
        self._ledger = ledger
        self._books = ledger.books
        self._allocation_interval_s = allocation_interval_s

    def decline(self, framework: Framework, decline: scheduler_pb2.Call.Decline) -> None:
        """Give the offers back, hidden from the framework for a while; unknown ones are ignored."""
        known = [framework.offers[OfferId(one.value)] for one in decline.offer_ids if one.value in framework.offers]
        self._ledger.withdraw_offers(dict.fromkeys(known), refuse_s=self.refuse_s(decline.filters))

    def accept(self, framework: Framework, accept: scheduler_pb2.Call.Accept) -> None:
        """Apply the operations in order to the sum of the offers; what they leave goes back as in a decline."""
        ids = [OfferId(one.value) for one in accept.offer_ids]
        if error := self._offers_error(framework, ids):
            self._refuse(framework, accept, ids, error)
            return
        offers = [framework.offers[offer_id] for offer_id in ids]
        for offer in offers:
            self._ledger.take_offer(offer)
        rest = sum((offer.resources for offer in offers), Resources())
        for operation in accept.operations:
            rest = self._apply(framework, offers[0], operation, rest)
        if rest:
            self._ledger.give_back(offers[0], rest, self.refuse_s(accept.filters))

    def refuse_s(self, filters: mesos_pb2.Filters) -> float:
        """How long refused resources stay hidden; 0: not at all. Mesos 1.11: 5 s unless said, a year at most."""
        wanted = filters.refuse_seconds
        if isnan(wanted) or wanted < 0:
            wanted = _DEFAULT_REFUSE_S
        return 0.0 if wanted == 0 else max(min(wanted, _MAX_REFUSE_S), self._allocation_interval_s)

    def _offers_error(self, framework: Framework, ids: list[OfferId]) -> str | None:
        if not ids:
            return "No offers specified"
        seen: set[OfferId] = set()
        for offer_id in ids:
            if offer_id in seen:
                return f"Duplicate offer {offer_id} in offer list"
            seen.add(offer_id)
        gone = next((offer_id for offer_id in ids if offer_id not in self._books.offers), None)
        if gone is not None:
            return f"Offer {gone} is no longer valid"
        return self._mixture_error(framework, [self._books.offers[offer_id] for offer_id in ids])

    def _mixture_error(self, framework: Framework, offers: list[Offer]) -> str | None:
        first = offers[0]
        for offer in offers:
            if offer.framework_id != framework.id:
                return (
                    f"Offer {offer.id} has invalid framework {offer.framework_id} "
                    f"while framework {framework.id} is expected"
                )
        for offer in offers:
            if offer.role != first.role:
                return (
                    "Aggregated offers must be allocated to the same role. "
                    f"Offer {offer.id} uses role '{offer.role}' but another is using role '{first.role}'"
                )
        for offer in offers:
            if offer.agent_id != first.agent_id:
                return (
                    "Aggregated offers must belong to one single agent. "
                    f"Offer {offer.id} uses agent {offer.agent_id} and agent {first.agent_id}"
                )
        return None

    def _refuse(
        self, framework: Framework, accept: scheduler_pb2.Call.Accept, ids: Iterable[OfferId], error: str
    ) -> None:
        self._ledger.warn(f"dropped ACCEPT of {framework}: {error}")
        valid = {offer_id: framework.offers[offer_id] for offer_id in ids if offer_id in framework.offers}
        self._ledger.withdraw_offers(valid.values())
        text = f"Task launched with invalid offers: {error}"
        for operation in accept.operations:
            for task in _tasks_of(operation):
                self._drop(framework, task, mesos_pb2.TASK_DROPPED, _Reasons.REASON_INVALID_OFFERS, text)
            if not _is_launch(operation):
                self._refuse_operation(framework, operation, f"Operation attempted with invalid offers: {error}")

    def _apply(self, framework: Framework, offer: Offer, operation: _Operation, rest: Resources) -> Resources:
        """Apply one operation; returns what it leaves of the offers."""
        match operation.type:
            case _Operation.UNKNOWN:
                return rest
            case _Operation.LAUNCH:
                return self._launch(framework, offer, operation, rest) if operation.HasField("launch") else rest
            case _Operation.LAUNCH_GROUP:
                text = "LAUNCH_GROUP is not supported by this master"
                for task in _tasks_of(operation):
                    reason = _Reasons.REASON_TASK_GROUP_INVALID
                    self._drop(framework, task, mesos_pb2.TASK_ERROR, reason, text)
            case kind:
                text = f"{_Operation.Type.Name(kind)} is not supported by this master"
                self._refuse_operation(framework, operation, text)
        return rest

    def _launch(self, framework: Framework, offer: Offer, operation: _Operation, rest: Resources) -> Resources:
        agent = self._books.agents[offer.agent_id]
        tasks = operation.launch.task_infos
        self._books.counts["messages_launch_tasks"] += 1
        if error := _operation_error(operation):
            for task in tasks:
                self._drop(framework, task, mesos_pb2.TASK_ERROR, _Reasons.REASON_TASK_INVALID, error)
            return rest
        for task in tasks:
            rest = self._launch_task(framework, agent, prepared(task, framework, offer.role), rest)
        return rest

    def _launch_task(self, framework: Framework, agent: Agent, info: mesos_pb2.TaskInfo, rest: Resources) -> Resources:
        resources = Resources.from_proto(info.resources)
        executor_resources = Resources.from_proto(info.executor.resources)
        running = self._running_executor(framework, agent, info)
        context = LaunchContext(
            framework_id=framework.id,
            agent_id=agent.id,
            agent_capabilities=agent.capabilities,
            live_task_ids=framework.tasks,
            unreachable_task_ids=framework.unreachable,
            executor=running.info if running else None,
            available=rest,
        )
        if error := task_error(info, resources, executor_resources, context):
            self._drop(framework, info, mesos_pb2.TASK_ERROR, _Reasons.REASON_TASK_INVALID, error)
            return rest
        rest -= resources
        starts_executor = running is None
        if info.HasField("executor") and starts_executor:
            rest -= executor_resources
            self._ledger.add_executor(framework, agent, Executor(copy_of(info.executor), executor_resources))
        self._ledger.add_task(framework, agent, Task(build_task(info, framework.id), resources))
        self._ledger.send(agent, run_task_message(framework, agent, info, starts_executor))
        return rest

    def _running_executor(self, framework: Framework, agent: Agent, info: mesos_pb2.TaskInfo) -> Executor | None:
        if not info.HasField("executor"):
            return None
        return agent.executors.get(framework.id, {}).get(ExecutorId(info.executor.executor_id.value))

    def _drop(
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

    def _refuse_operation(self, framework: Framework, operation: _Operation, text: str) -> None:
        self._ledger.warn(f"operation of {framework} refused: {text}")
        if not operation.HasField("id"):
            return
        event = scheduler_pb2.Event(type=scheduler_pb2.Event.UPDATE_OPERATION_STATUS)
        status = event.update_operation_status.status
        status.operation_id.CopyFrom(operation.id)
        status.state = mesos_pb2.OPERATION_ERROR
        status.message = text
        self._ledger.tell(framework, event)


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


def run_task_message(
    framework: Framework, agent: Agent, info: mesos_pb2.TaskInfo, launch_executor: bool
) -> internal_pb2.RunTaskMessage:
    """What the agent gets; it must be told the resource version that it announced, if it did."""
    message = internal_pb2.RunTaskMessage(pid=NO_PID_TEXT, launch_executor=launch_executor)
    message.framework.CopyFrom(framework.info)
    message.task.CopyFrom(info)
    if agent.resource_version:
        message.resource_version_uuids.add().uuid.value = agent.resource_version
    return message


def copy_of(info: mesos_pb2.ExecutorInfo) -> mesos_pb2.ExecutorInfo:
    """A copy that keeps nothing else alive."""
    copy = mesos_pb2.ExecutorInfo()
    copy.CopyFrom(info)
    return copy


def _tasks_of(operation: _Operation) -> Iterable[mesos_pb2.TaskInfo]:
    if operation.type == _Operation.LAUNCH:
        return operation.launch.task_infos
    return operation.launch_group.task_group.tasks if operation.type == _Operation.LAUNCH_GROUP else ()


def _is_launch(operation: _Operation) -> bool:
    return operation.type in (_Operation.LAUNCH, _Operation.LAUNCH_GROUP, _Operation.UNKNOWN)


def _operation_error(operation: _Operation) -> str | None:
    """What is wrong with a LAUNCH as a whole: one malformed resource spoils all its tasks (Mesos 1.11)."""
    if operation.HasField("id"):
        return "The `id` field cannot be set on LAUNCH operations"
    try:
        for task in operation.launch.task_infos:
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
