"""What scheduler drivers (v0, libprocess) say and hear in place of calls and events (Mesos 1.11: sched.cpp)."""

from google.protobuf.message import Message

from tfmesos.master.core.books import Books
from tfmesos.master.ids import AgentId, FrameworkId
from tfmesos.transport import NO_PID
from tfmesos.wire import internal_pb2, mesos_pb2, scheduler_pb2

_Call = scheduler_pb2.Call
_Event = scheduler_pb2.Event

OldMessage = (
    internal_pb2.RegisterFrameworkMessage
    | internal_pb2.ReregisterFrameworkMessage
    | internal_pb2.UnregisterFrameworkMessage
    | internal_pb2.LaunchTasksMessage
    | internal_pb2.KillTaskMessage
    | internal_pb2.ReviveOffersMessage
    | internal_pb2.ResourceRequestMessage
    | internal_pb2.StatusUpdateAcknowledgementMessage
    | internal_pb2.ReconcileTasksMessage
    | internal_pb2.FrameworkToExecutorMessage
)
"""What drivers older than `mesos.scheduler.Call` send."""


def call_of(message: OldMessage) -> _Call:
    """The call that this message is today."""
    call = _Call()
    match message:
        case internal_pb2.RegisterFrameworkMessage() | internal_pb2.ReregisterFrameworkMessage():
            call.type = _Call.SUBSCRIBE
            call.subscribe.framework_info.CopyFrom(message.framework)
            if message.framework.HasField("id"):
                call.framework_id.CopyFrom(message.framework.id)
            return call
        case internal_pb2.UnregisterFrameworkMessage():
            call.type = _Call.TEARDOWN
        case internal_pb2.LaunchTasksMessage():
            _fill_launch(call, message)
        case internal_pb2.KillTaskMessage():
            call.type = _Call.KILL
            call.kill.task_id.CopyFrom(message.task_id)
        case internal_pb2.ReviveOffersMessage():
            call.type = _Call.REVIVE
            call.revive.roles.extend(message.roles)
        case internal_pb2.ResourceRequestMessage():
            call.type = _Call.REQUEST
            call.request.SetInParent()
            call.request.requests.extend(message.requests)
        case internal_pb2.StatusUpdateAcknowledgementMessage():
            call.type = _Call.ACKNOWLEDGE
            call.acknowledge.agent_id.CopyFrom(message.slave_id)
            call.acknowledge.task_id.CopyFrom(message.task_id)
            call.acknowledge.uuid = message.uuid
        case internal_pb2.ReconcileTasksMessage():
            call.type = _Call.RECONCILE
            call.reconcile.SetInParent()
            for status in message.statuses:
                wanted = call.reconcile.tasks.add(task_id=status.task_id)
                if status.HasField("agent_id"):
                    wanted.agent_id.CopyFrom(status.agent_id)
        case internal_pb2.FrameworkToExecutorMessage():
            call.type = _Call.MESSAGE
            call.message.agent_id.CopyFrom(message.slave_id)
            call.message.executor_id.CopyFrom(message.executor_id)
            call.message.data = message.data
    call.framework_id.CopyFrom(message.framework_id)
    return call


def message_of(event: _Event, framework_id: FrameworkId, books: Books) -> Message | None:
    """What a driver gets for this event; None if it has no message for it."""
    match event.type:
        case _Event.OFFERS:
            return _offers(event.offers, books)
        case _Event.RESCIND:
            return internal_pb2.RescindResourceOfferMessage(offer_id=event.rescind.offer_id)
        case _Event.UPDATE:
            return _update(event.update.status, framework_id, books)
        case _Event.MESSAGE:
            said = internal_pb2.ExecutorToFrameworkMessage(data=event.message.data)
            said.slave_id.CopyFrom(event.message.agent_id)
            said.executor_id.CopyFrom(event.message.executor_id)
            said.framework_id.value = framework_id
            return said
        case _Event.FAILURE if event.failure.HasField("executor_id"):
            exited = internal_pb2.ExitedExecutorMessage(status=event.failure.status)
            exited.slave_id.CopyFrom(event.failure.agent_id)
            exited.executor_id.CopyFrom(event.failure.executor_id)
            exited.framework_id.value = framework_id
            return exited
        case _Event.FAILURE:
            return internal_pb2.LostSlaveMessage(slave_id=event.failure.agent_id)
        case _Event.ERROR:
            return internal_pb2.FrameworkErrorMessage(message=event.error.message)
    return None


def _fill_launch(call: _Call, message: internal_pb2.LaunchTasksMessage) -> None:
    """No tasks: the offers are declined."""
    if not message.tasks:
        call.type = _Call.DECLINE
        call.decline.offer_ids.extend(message.offer_ids)
        call.decline.filters.CopyFrom(message.filters)
        return
    call.type = _Call.ACCEPT
    call.accept.offer_ids.extend(message.offer_ids)
    call.accept.filters.CopyFrom(message.filters)
    operation = call.accept.operations.add(type=mesos_pb2.Offer.Operation.LAUNCH)
    operation.launch.task_infos.extend(message.tasks)


def _offers(offers: _Event.Offers, books: Books) -> internal_pb2.ResourceOffersMessage:
    """With the agents' pids: a driver sends messages for executors straight to the agent."""
    message = internal_pb2.ResourceOffersMessage(offers=offers.offers)
    message.pids.extend(str(books.agents[AgentId(offer.agent_id.value)].pid) for offer in offers.offers)
    return message


def _update(status: mesos_pb2.TaskStatus, framework_id: FrameworkId, books: Books) -> internal_pb2.StatusUpdateMessage:
    """A driver acknowledges only what has a uuid and the pid of an agent."""
    agent = books.agents.get(AgentId(status.agent_id.value)) if status.uuid else None
    message = internal_pb2.StatusUpdateMessage(pid=str(agent.pid if agent else NO_PID))
    update = message.update
    update.framework_id.value = framework_id
    update.status.CopyFrom(status)
    update.timestamp = status.timestamp
    update.uuid = status.uuid
    if status.HasField("agent_id"):
        update.slave_id.CopyFrom(status.agent_id)
    if status.HasField("executor_id"):
        update.executor_id.CopyFrom(status.executor_id)
    return message
