"""The master as a pure core: an event and the time in, actions out."""

from collections.abc import Mapping
from random import Random
from typing import assert_never

from google.protobuf.message import Message

from tfmesos.master.allocator import Allocator, AllocatorOptions, HierarchicalAllocator
from tfmesos.master.core.announcements import Announcements
from tfmesos.master.core.books import Books, Framework, Limits
from tfmesos.master.core.channels import Channels
from tfmesos.master.core.drains import Drains
from tfmesos.master.core.driver_messages import OldMessage
from tfmesos.master.core.drivers import Drivers
from tfmesos.master.core.endings import Endings
from tfmesos.master.core.events import (
    Action,
    AgentDeactivated,
    AgentDrained,
    AgentMarkedGone,
    AgentPonged,
    AgentReactivated,
    AllocationDue,
    Answer,
    Called,
    DriverCalled,
    Event,
    FailoverOver,
    HeartbeatDue,
    LinkBroken,
    OfferOver,
    OperatorEvent,
    PeerSaid,
    PingDue,
    RecoveryOver,
    RemovalDue,
    ReregistrationOver,
    Send,
    SetTimer,
    Started,
    StreamBroken,
    Subscribed,
    TimeCame,
    Timer,
    TornDown,
    WeightsSet,
)
from tfmesos.master.core.launches import Launches
from tfmesos.master.core.ledger import Ledger
from tfmesos.master.core.observers import Observers
from tfmesos.master.core.offering import Offering
from tfmesos.master.core.operations import Operations
from tfmesos.master.core.partings import Partings
from tfmesos.master.core.registrations import Registrations
from tfmesos.master.core.registry import RegistryState
from tfmesos.master.core.returns import Returns
from tfmesos.master.core.subscriptions import Subscriptions
from tfmesos.master.core.updates import Updates
from tfmesos.master.core.weights import Weights
from tfmesos.master.flags import MasterFlags
from tfmesos.master.ids import AgentId
from tfmesos.wire import internal_pb2, mesos_pb2, scheduler_pb2

_Call = scheduler_pb2.Call


class MasterCore:
    """Sends each event to the part that knows what to do; parts share one ledger."""

    def __init__(
        self, flags: MasterFlags, master: mesos_pb2.MasterInfo, allocator: Allocator, registry: RegistryState
    ) -> None:
        limits = Limits(
            completed_frameworks=flags.max_completed_frameworks,
            completed_tasks=flags.max_completed_tasks_per_framework,
            unreachable_tasks=flags.max_unreachable_tasks_per_framework,
        )
        self._flags = flags
        self._ledger = Ledger(Books(master, limits, registry), allocator)
        self._channels = Channels(self._ledger)
        self._subscriptions = Subscriptions(self._ledger, flags, self._channels)
        self._endings = Endings(self._ledger, self._channels)
        self._drivers = Drivers(self._ledger, self._subscriptions, self._endings, self._obey)
        self._offering = Offering(self._ledger, flags.offer_timeout)
        self._operations = Operations(self._ledger)
        self._launches = Launches(self._ledger, self._operations, flags.allocation_interval)
        self._updates = Updates(self._ledger)
        returns = Returns(self._ledger, self._subscriptions)
        partings = Partings(self._ledger)
        self._drains = Drains(self._ledger, partings)
        self._weights = Weights(self._ledger, flags)
        self._observers = Observers(self._ledger, flags, partings)
        self._registrations = Registrations(
            self._ledger, flags, returns, partings=partings, drains=self._drains, observers=self._observers
        )

    @property
    def books(self) -> Books:
        """What the master knows; for readers."""
        return self._ledger.books

    @property
    def announcements(self) -> Announcements:
        """What operators that subscribed are told; to be switched on and off."""
        return self._ledger.announce

    def handle(self, event: Event, now: float) -> list[Action]:
        """Take an event in; at most one allocation runs, at its end."""
        self._ledger.now = now
        self._dispatch(event)
        if self._ledger.lighter_drains:
            self._drains.check_lighter()
        if self._ledger.wants_allocation:
            self._offering.offer_all()
        return self._ledger.drain()

    def _dispatch(self, event: Event) -> None:
        match event:
            case PeerSaid():
                self._hear(event)
            case DriverCalled(pid=pid, call=call, is_forced=is_forced):
                self._drivers.call(pid, call, is_forced=is_forced)
            case Called(framework_id=framework_id, call=call):
                framework = self.books.frameworks.get(framework_id)
                if framework is not None:
                    self._obey(framework, call)
            case Subscribed(stream_id=stream_id, subscribe=subscribe):
                self._subscriptions.subscribe(stream_id, subscribe)
            case StreamBroken(framework_id=framework_id, stream_id=stream_id):
                self._endings.break_stream(framework_id, stream_id)
            case (
                TornDown() | AgentMarkedGone() | AgentDrained() | AgentDeactivated() | AgentReactivated() | WeightsSet()
            ):
                self._obey_operator(event)
            case AgentPonged(observer=observer):
                self._observers.pong(observer)
            case LinkBroken(pid=pid):
                self._registrations.break_link(pid)
                self._drivers.break_link(pid)
            case Started():
                self._observers.start()
                self._subscriptions.resume()
                self._ledger.emit(SetTimer(AllocationDue(), self._flags.allocation_interval))
            case TimeCame(timer=timer):
                self._time_came(timer)
            case _:
                assert_never(event)

    def _obey_operator(self, event: OperatorEvent) -> None:
        match event:
            case TornDown(framework_id=framework_id):
                self._endings.tear_down(framework_id)
            case AgentMarkedGone(agent_id=agent_id):
                self._drains.mark_gone(agent_id)
            case AgentDrained():
                self._drains.drain(event)
            case AgentDeactivated(agent_id=agent_id):
                self._drains.deactivate(agent_id)
            case AgentReactivated(agent_id=agent_id):
                self._drains.reactivate(agent_id)
            case WeightsSet():
                self._weights.set(event)
            case _:
                assert_never(event)

    def _time_came(self, timer: Timer) -> None:
        match timer:
            case AllocationDue():
                self._ledger.emit(SetTimer(timer, self._flags.allocation_interval))
                self._ledger.wants_allocation = True
            case HeartbeatDue(framework_id=framework_id, stream_id=stream_id):
                self._channels.heartbeat(framework_id, stream_id)
            case FailoverOver(framework_id=framework_id):
                self._endings.give_up(framework_id)
            case PingDue(agent_id=agent_id, observer=observer):
                self._observers.ping(agent_id, observer)
            case ReregistrationOver(agent_id=agent_id):
                self._observers.give_up_disconnected(agent_id)
            case RecoveryOver():
                self._observers.give_up_recovered()
            case RemovalDue(agent_id=agent_id):
                self._observers.remove(agent_id)
            case OfferOver(offer_id=offer_id):
                self._offering.expire(offer_id)
            case _:
                assert_never(timer)

    def _obey(self, framework: Framework, call: scheduler_pb2.Call) -> None:
        framework.counts["calls"] += 1
        framework.counts[_CALL_COUNTS[call.type]] += 1
        if counted := _COUNTED_CALLS.get(call.type):
            self.books.counts[counted] += 1
        match call.type:
            case _Call.ACKNOWLEDGE:
                self._updates.acknowledge(framework, call.acknowledge)
            case _Call.ACCEPT:
                self._launches.accept(framework, call.accept)
            case _Call.DECLINE:
                self._launches.decline(framework, call.decline)
            case _Call.KILL:
                self._updates.kill(framework, call.kill)
            case _Call.RECONCILE:
                self._updates.reconcile(framework, call.reconcile)
            case _Call.RECONCILE_OPERATIONS:
                self._operations.reconcile(framework, call.reconcile_operations)
            case _Call.MESSAGE:
                self._updates.forward(framework, call.message)
            case _Call.SHUTDOWN:
                self._updates.shut_executor_down(framework, call.shutdown)
            case _Call.REVIVE:
                self._subscriptions.revive(framework, call.revive.roles)
            case _Call.SUPPRESS:
                self._subscriptions.suppress(framework, call.suppress.roles)
            case _Call.TEARDOWN:
                self._endings.remove(framework, "torn down by itself")
            case _Call.UPDATE_FRAMEWORK:
                self._subscriptions.update(framework, call.update_framework)
            case _Call.UNKNOWN:
                self._ledger.emit(Answer(501, "501 Not Implemented."))
            case _:
                self._ledger.warn(f"ignored {_Call.Type.Name(call.type)} of {framework}: not part of this master")

    def _hear(self, event: PeerSaid) -> None:
        message = event.message
        if counted := _COUNTED_MESSAGES.get(type(message)):
            self.books.counts[counted] += 1
        match message:
            case internal_pb2.RegisterSlaveMessage():
                self._registrations.register(event.sender, message)
            case internal_pb2.ReregisterSlaveMessage():
                self._registrations.reregister(event.sender, message)
            case (
                internal_pb2.StatusUpdateMessage()
                | internal_pb2.UpdateSlaveMessage()
                | internal_pb2.UnregisterSlaveMessage()
                | internal_pb2.ExitedExecutorMessage()
                | internal_pb2.ExecutorToFrameworkMessage()
            ):
                self._hear_known_agent(event, message)
            case internal_pb2.DeactivateFrameworkMessage():
                self._drivers.deactivate(event.sender, message)
            case _ if isinstance(message, OldMessage):
                self._drivers.hear(event.sender, message)
            case internal_pb2.AuthenticateMessage():
                error = internal_pb2.AuthenticationErrorMessage(error="No authenticator loaded")
                self._ledger.emit(Send(event.sender, error))
            case _:
                self._ledger.warn(f"ignored {type(message).__name__} from {event.sender}")

    def _hear_known_agent(self, event: PeerSaid, message: "_AgentMessage") -> None:
        """Only the agent itself, from where it registered, may speak for it."""
        slave_id = (
            message.update.slave_id if isinstance(message, internal_pb2.StatusUpdateMessage) else message.slave_id
        )
        agent = self.books.agents.get(AgentId(slave_id.value))
        if agent is None or agent.pid != event.sender:
            self._ledger.warn(f"ignored {type(message).__name__} of {event.sender}: not from a registered agent")
            return
        match message:
            case internal_pb2.StatusUpdateMessage():
                self._updates.status(agent, message)
            case internal_pb2.UpdateSlaveMessage():
                self._registrations.update(agent, message)
            case internal_pb2.UnregisterSlaveMessage():
                self._registrations.unregister(agent)
            case internal_pb2.ExitedExecutorMessage():
                self._updates.executor_exited(agent, message)
            case internal_pb2.ExecutorToFrameworkMessage():
                self._updates.executor_said(agent, message)
            case _:
                assert_never(message)


_CALL_COUNTS = {number: f"calls/{name.lower()}" for name, number in _Call.Type.items()}
_COUNTED_CALLS: Mapping[int, str] = {
    _Call.ACKNOWLEDGE: "messages_status_update_acknowledgement",
    _Call.DECLINE: "messages_decline_offers",
    _Call.KILL: "messages_kill_task",
    _Call.MESSAGE: "messages_framework_to_executor",
    _Call.RECONCILE: "messages_reconcile_tasks",
    _Call.RECONCILE_OPERATIONS: "messages_reconcile_operations",
    _Call.REQUEST: "messages_resource_request",
    _Call.REVIVE: "messages_revive_offers",
    _Call.SUPPRESS: "messages_suppress_offers",
    _Call.TEARDOWN: "messages_unregister_framework",
}
"""Mesos' metrics for calls: they keep the names of the messages that the calls replaced."""

_COUNTED_MESSAGES: Mapping[type[Message], str] = {
    internal_pb2.AuthenticateMessage: "messages_authenticate",
    internal_pb2.ExecutorToFrameworkMessage: "messages_executor_to_framework",
    internal_pb2.ExitedExecutorMessage: "messages_exited_executor",
    internal_pb2.RegisterSlaveMessage: "messages_register_slave",
    internal_pb2.ReregisterSlaveMessage: "messages_reregister_slave",
    internal_pb2.StatusUpdateMessage: "messages_status_update",
    internal_pb2.UnregisterSlaveMessage: "messages_unregister_slave",
    internal_pb2.UpdateSlaveMessage: "messages_update_slave",
}

_AgentMessage = (
    internal_pb2.StatusUpdateMessage
    | internal_pb2.UpdateSlaveMessage
    | internal_pb2.UnregisterSlaveMessage
    | internal_pb2.ExitedExecutorMessage
    | internal_pb2.ExecutorToFrameworkMessage
)


def build_allocator(flags: MasterFlags, random: Random) -> HierarchicalAllocator:
    """The allocator that the flags ask for."""
    options = AllocatorOptions(
        filter_gpu_resources=flags.filter_gpu_resources,
        minimums=flags.min_allocatable_resources,
        excluded_names=flags.fair_sharing_excluded_resource_names or (),
        random_roles=flags.role_sorter == "random",
        random_frameworks=flags.framework_sorter == "random",
    )
    return HierarchicalAllocator(options, random)
