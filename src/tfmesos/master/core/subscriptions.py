"""The life of frameworks: subscribe, update, suppress and revive, disconnect, end."""

from collections.abc import Iterable

from tfmesos.master import allocator as alloc
from tfmesos.master.core.books import Framework
from tfmesos.master.core.events import (
    Answer,
    BindStream,
    CancelTimer,
    EndStream,
    FailoverOver,
    HeartbeatDue,
    SetTimer,
    Tell,
)
from tfmesos.master.core.ledger import Ledger
from tfmesos.master.core.lifecycle import FrameworkState
from tfmesos.master.core.registry import EndFramework
from tfmesos.master.core.statuses import task_status
from tfmesos.master.flags import MasterFlags
from tfmesos.master.ids import ExecutorId, FrameworkId, StreamId
from tfmesos.master.validation import FrameworkRules, framework_error, framework_roles, role_error, update_error
from tfmesos.resources import thousandths
from tfmesos.wire import internal_pb2, mesos_pb2, scheduler_pb2

HEARTBEAT_INTERVAL_S = 15.0
_LEAST_RECOVERY_S = 60.0
_Event = scheduler_pb2.Event
_Capability = mesos_pb2.FrameworkInfo.Capability


class Subscriptions:
    """Frameworks come, change and go."""

    def __init__(self, ledger: Ledger, flags: MasterFlags) -> None:
        self._ledger = ledger
        self._books = ledger.books
        self._flags = flags

    def subscribe(self, stream_id: StreamId, subscribe: scheduler_pb2.Call.Subscribe) -> None:
        """Bind the stream to a new or returning framework, or say why not and end the stream."""
        info = mesos_pb2.FrameworkInfo()
        info.CopyFrom(subscribe.framework_info)
        self._books.counts[f"messages_{'re' if info.id.value else ''}register_framework"] += 1
        known = self._books.frameworks.get(FrameworkId(info.id.value))
        error = framework_error(info, subscribe.suppressed_roles, self._rules())
        if error is None and known is not None and known.info.principal != info.principal:
            error = "Changing framework's principal is not allowed."
        if error is not None:
            self._ledger.warn(f"refused a subscription of '{info.name}': {error}")
            self._end_with_error(stream_id, error)
        elif known is None:
            self._add(info, stream_id, subscribe.suppressed_roles)
        else:
            self._return(known, info, stream_id, subscribe.suppressed_roles)

    def recover(self, info: mesos_pb2.FrameworkInfo) -> Framework:
        """Enter a framework that only a returning agent knows; it has its failover_timeout to subscribe.

        A minute at least: the master went away, not the framework (Mesos 1.11 ends it at once if it has no timeout).
        """
        kept = mesos_pb2.FrameworkInfo()
        kept.CopyFrom(info)
        framework = Framework(kept, FrameworkState.RECOVERED, self._ledger.now, self._books.limits)
        self._books.frameworks[framework.id] = framework
        self._inform_allocator(framework)
        self._ledger.inform(alloc.FrameworkSetActive(framework_id=framework.id, is_active=False))
        self._ledger.emit(SetTimer(FailoverOver(framework.id), max(_LEAST_RECOVERY_S, kept.failover_timeout)))
        self._ledger.log(f"recovered {framework}")
        self._ledger.announce.framework_added(framework)
        return framework

    def update(self, framework: Framework, update: scheduler_pb2.Call.UpdateFramework) -> None:
        """UPDATE_FRAMEWORK: answered at once."""
        if error := framework_error(update.framework_info, update.suppressed_roles, self._rules()):
            self._ledger.emit(Answer(400, f"Supplied FrameworkInfo is not valid: {error}"))
            return
        if error := update_error(framework.info, update.framework_info):
            self._ledger.emit(Answer(400, f"FrameworkInfo update is not valid: {error}"))
            return
        is_changed = framework.info != update.framework_info
        self._replace_info(framework, update.framework_info, update.suppressed_roles)
        if is_changed:
            self._ledger.announce.framework_updated(framework)
        self._tell_agents(framework)
        self._ledger.wants_allocation = True
        self._ledger.emit(Answer(200))

    def heartbeat(self, framework_id: FrameworkId, stream_id: StreamId) -> None:
        """Send one and ask for the next, if the stream still is the framework's."""
        framework = self._books.frameworks.get(framework_id)
        if framework is not None and framework.stream_id == stream_id:
            self._ledger.tell(framework, _Event(type=_Event.HEARTBEAT))
            self._ledger.emit(SetTimer(HeartbeatDue(framework_id, stream_id), HEARTBEAT_INTERVAL_S))

    def disconnect(self, framework_id: FrameworkId, stream_id: StreamId) -> None:
        """The stream broke: offers end, and without a failover_timeout the framework does."""
        framework = self._books.frameworks.get(framework_id)
        if framework is None or framework.stream_id != stream_id:
            return
        self._unbind(framework)
        framework.life.step(FrameworkState.DISCONNECTED)
        self._ledger.log(f"{framework} disconnected")
        self._ledger.withdraw_offers(framework.offers.values())
        self._ledger.inform(alloc.FrameworkSetActive(framework_id=framework_id, is_active=False))
        if framework.info.failover_timeout <= 0:
            self.remove(framework, "disconnected")
        else:
            self._ledger.emit(SetTimer(FailoverOver(framework_id), framework.info.failover_timeout))

    def give_up(self, framework_id: FrameworkId) -> None:
        """The failover_timeout is over."""
        framework = self._books.frameworks.get(framework_id)
        if framework is not None and not framework.is_connected:
            self.remove(framework, "did not come back within its failover_timeout")

    def tear_down(self, framework_id: FrameworkId) -> None:
        """An operator wants the framework gone."""
        framework = self._books.frameworks.get(framework_id)
        if framework is None:
            self._ledger.emit(Answer(400, "No framework found with specified ID"))
            return
        self.remove(framework, "torn down by an operator")
        self._ledger.emit(Answer(200))

    def remove(self, framework: Framework, cause: str) -> None:
        """End a framework: its tasks are killed on all agents, without updates; its stream ends."""
        self._ledger.log(f"removed {framework}: {cause}")
        self._ledger.withdraw_offers(framework.offers.values())
        self._shut_down_on_agents(framework)
        if framework.stream_id is not None:
            self._ledger.emit(EndStream(framework.stream_id))
            self._unbind(framework)
        self._ledger.emit(CancelTimer(FailoverOver(framework.id)))
        framework.life.step(FrameworkState.REMOVED)
        framework.unregistered_s = self._ledger.now
        self._ledger.announce.framework_removed(framework)
        self._ledger.inform(alloc.FrameworkRemoved(framework_id=framework.id))
        del self._books.frameworks[framework.id]
        self._remember(framework)
        self._ledger.wants_allocation = True

    def suppress(self, framework: Framework, roles: Iterable[str]) -> None:
        """SUPPRESS: no more offers for these roles (none given: all)."""
        chosen = self._chosen_roles(framework, roles, "SUPPRESS")
        if chosen is not None:
            framework.suppressed |= chosen
            self._ledger.inform(alloc.OffersSuppressed(framework_id=framework.id, roles=chosen))

    def revive(self, framework: Framework, roles: Iterable[str]) -> None:
        """REVIVE: offers again, whatever was refused, at once (none given: all roles)."""
        chosen = self._chosen_roles(framework, roles, "REVIVE")
        if chosen is not None:
            framework.suppressed -= chosen
            self._ledger.inform(alloc.OffersRevived(framework_id=framework.id, roles=chosen))
            self._ledger.wants_allocation = True

    def _rules(self) -> FrameworkRules:
        return FrameworkRules(
            whitelist=self._flags.roles,
            root_submissions=self._flags.root_submissions,
            completed=self._books.registry.completed,
        )

    def _end_with_error(self, stream_id: StreamId, text: str) -> None:
        event = _Event(type=_Event.ERROR)
        event.error.message = text
        self._ledger.emit(Tell(stream_id, event), EndStream(stream_id))

    def _add(self, info: mesos_pb2.FrameworkInfo, stream_id: StreamId, suppressed: Iterable[str]) -> None:
        is_new = not info.id.value
        if is_new:
            info.id.value = self._books.new_framework_id()
        framework = Framework(info, FrameworkState.CONNECTED, self._ledger.now, self._books.limits)
        framework.suppressed = frozenset(suppressed)
        self._books.frameworks[framework.id] = framework
        self._inform_allocator(framework)
        self._ledger.log(f"subscribed {framework}")
        self._ledger.announce.framework_added(framework)
        if not is_new:
            self._tell_agents(framework)  # Mesos 1.11 takes an unknown id for that of a framework before a failover
        self._bind(framework, stream_id)

    def _return(
        self, framework: Framework, info: mesos_pb2.FrameworkInfo, stream_id: StreamId, suppressed: Iterable[str]
    ) -> None:
        if framework.stream_id is not None:
            self._end_with_error(framework.stream_id, "Framework failed over")
            self._unbind(framework)
        self._ledger.withdraw_offers(framework.offers.values())
        info.user = framework.info.user
        info.checkpoint = framework.info.checkpoint
        framework.life.step(FrameworkState.CONNECTED)
        framework.reregistered_s = self._ledger.now
        self._replace_info(framework, info, suppressed)
        self._ledger.inform(alloc.FrameworkSetActive(framework_id=framework.id, is_active=True))
        self._ledger.emit(CancelTimer(FailoverOver(framework.id)))
        self._tell_agents(framework)
        self._ledger.log(f"{framework} subscribed again")
        self._ledger.announce.framework_updated(framework)
        self._bind(framework, stream_id)

    def _bind(self, framework: Framework, stream_id: StreamId) -> None:
        framework.stream_id = stream_id
        framework.counts["calls"] += 1
        framework.counts["calls/subscribe"] += 1
        self._ledger.emit(BindStream(stream_id, framework.id))
        event = _Event(type=_Event.SUBSCRIBED)
        event.subscribed.framework_id.value = framework.id
        event.subscribed.heartbeat_interval_seconds = HEARTBEAT_INTERVAL_S
        event.subscribed.master_info.CopyFrom(self._books.master)
        self._ledger.tell(framework, event)
        self.heartbeat(framework.id, stream_id)
        self._ledger.wants_allocation = True

    def _unbind(self, framework: Framework) -> None:
        if framework.stream_id is not None:
            self._ledger.emit(CancelTimer(HeartbeatDue(framework.id, framework.stream_id)))
        framework.stream_id = None

    def _replace_info(self, framework: Framework, info: mesos_pb2.FrameworkInfo, suppressed: Iterable[str]) -> None:
        framework.info = mesos_pb2.FrameworkInfo()
        framework.info.CopyFrom(info)
        framework.suppressed = frozenset(suppressed)
        roles = framework_roles(info)
        gone = [offer for offer in framework.offers.values() if offer.role not in roles]
        self._ledger.withdraw_offers(gone, rescind=True)
        self._inform_allocator(framework)

    def _inform_allocator(self, framework: Framework) -> None:
        self._ledger.inform(
            alloc.FrameworkSet(
                framework_id=framework.id,
                roles=frozenset(framework_roles(framework.info)),
                suppressed=framework.suppressed,
                traits=framework_traits(framework),
            )
        )

    def _tell_agents(self, framework: Framework) -> None:
        for agent in self._books.connected_agents():
            self._ledger.send(agent, update_framework_message(framework))

    def _shut_down_on_agents(self, framework: Framework) -> None:
        shutdown = internal_pb2.ShutdownFrameworkMessage()
        shutdown.framework_id.value = framework.id
        for agent in self._books.connected_agents():
            self._ledger.send(agent, shutdown)
        reason = mesos_pb2.TaskStatus.REASON_FRAMEWORK_REMOVED
        for task in list(framework.tasks.values()):
            if not task.is_terminal:
                text = f"Framework {framework.id} removed"
                status = task_status(task, mesos_pb2.TASK_KILLED, reason, text, self._ledger.now)
                self._ledger.update_task(task, status, status.state)
            self._ledger.close_task(task)
        for agent, executor in list(self._books.executors_of(framework.id)):
            self._ledger.remove_executor(framework, agent, ExecutorId(executor.info.executor_id.value))

    def _remember(self, framework: Framework) -> None:
        self._ledger.record(EndFramework(framework_id=framework.id))
        completed = self._books.completed_frameworks
        completed[framework.id] = framework
        while len(completed) > self._books.limits.completed_frameworks:
            completed.popitem(last=False)

    def _chosen_roles(self, framework: Framework, roles: Iterable[str], what: str) -> frozenset[str] | None:
        own = frozenset(framework_roles(framework.info))
        chosen = frozenset(roles) or own
        wrong = sorted(role for role in chosen if role_error(role) or role not in own)
        if wrong:
            self._ledger.warn(f"dropped {what} of {framework}: role '{wrong[0]}' is not one of its own")
            return None
        return chosen


def framework_traits(framework: Framework) -> alloc.FrameworkTraits:
    """What the allocator has to know of a framework."""
    return alloc.FrameworkTraits(
        gpu_aware=framework.has(_Capability.GPU_RESOURCES),
        multi_role=framework.has(_Capability.MULTI_ROLE),
        revocable=framework.has(_Capability.REVOCABLE_RESOURCES),
        refinement=framework.has(_Capability.RESERVATION_REFINEMENT),
        minimums={
            role: tuple(
                tuple((name, thousandths(quantity.value)) for name, quantity in one.quantities.items())
                for one in filters.min_allocatable_resources.quantities
            )
            for role, filters in framework.info.offer_filters.items()
            if filters.HasField("min_allocatable_resources")
        },
    )


def update_framework_message(framework: Framework) -> internal_pb2.UpdateFrameworkMessage:
    """What agents are told of a framework that came back or changed."""
    message = internal_pb2.UpdateFrameworkMessage(pid=str(framework.pid))
    message.framework_id.value = framework.id
    message.framework_info.CopyFrom(framework.info)
    return message
