"""The life of frameworks: subscribe, update, suppress and revive."""

from collections.abc import Iterable
from typing import TypeAlias

from tfmesos.master import allocator as alloc
from tfmesos.master.core.books import Framework
from tfmesos.master.core.channels import FAILED_OVER, Channel, Channels
from tfmesos.master.core.events import Answer, CancelTimer, FailoverOver, Send, SetTimer
from tfmesos.master.core.ledger import Ledger
from tfmesos.master.core.lifecycle import FrameworkState
from tfmesos.master.flags import MasterFlags
from tfmesos.master.ids import FrameworkId
from tfmesos.master.validation import (
    FrameworkRules,
    constraints_error,
    framework_error,
    framework_roles,
    role_error,
    update_error,
)
from tfmesos.resources import thousandths
from tfmesos.transport import Pid
from tfmesos.wire import internal_pb2, mesos_pb2, scheduler_pb2

_Wishes: TypeAlias = scheduler_pb2.Call.Subscribe | scheduler_pb2.Call.UpdateFramework
_LEAST_RECOVERY_S = 60.0
_Capability = mesos_pb2.FrameworkInfo.Capability


class Subscriptions:
    """Frameworks come and change."""

    def __init__(self, ledger: Ledger, flags: MasterFlags, channels: Channels) -> None:
        self._ledger = ledger
        self._books = ledger.books
        self._flags = flags
        self._channels = channels

    def subscribe(self, channel: Channel, subscribe: scheduler_pb2.Call.Subscribe, *, is_forced: bool = True) -> None:
        """Bind the channel to a new or returning framework, or say why not.

        `is_forced`: whoever was reached before must go. A driver that only retries does not force.
        """
        info = mesos_pb2.FrameworkInfo()
        info.CopyFrom(subscribe.framework_info)
        self._books.counts[f"messages_{'re' if info.id.value else ''}register_framework"] += 1
        known = self._books.frameworks.get(FrameworkId(info.id.value))
        if error := self._subscription_error(info, subscribe, known, channel if not is_forced else None):
            self._ledger.warn(f"refused a subscription of '{info.name}': {error}")
            self._channels.refuse(channel, error)
        elif known is not None:
            self._return(known, info, channel, subscribe, is_forced=is_forced)
        elif not self._is_retry(info, channel):
            self._add(info, channel, subscribe)

    def resume(self) -> None:
        """Enter the frameworks of drivers from before the restart, as if nothing had been."""
        for kept in self._books.registry.drivers.values():
            info = mesos_pb2.FrameworkInfo()
            info.CopyFrom(kept.info)
            framework = Framework(info, FrameworkState.CONNECTED, self._ledger.now, self._books.limits)
            framework.pid = Pid.parse(kept.pid)
            framework.suppressed = frozenset(kept.suppressed.split())
            if kept.constraints is not None:
                framework.offer_constraints.CopyFrom(kept.constraints)
            self._books.frameworks[framework.id] = framework
            self._inform_allocator(framework)
            self._ledger.log(f"expecting the driver of {framework} at {framework.pid}")
            self._channels.resume(framework)

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
        error = framework_error(update.framework_info, update.suppressed_roles, self._rules())
        if error := error or constraints_error(update.offer_constraints):
            self._ledger.emit(Answer(400, f"Supplied FrameworkInfo is not valid: {error}"))
            return
        if error := update_error(framework.info, update.framework_info):
            self._ledger.emit(Answer(400, f"FrameworkInfo update is not valid: {error}"))
            return
        is_changed = framework.info != update.framework_info
        self._replace_info(framework, update.framework_info, update)
        self._channels.renew(framework)
        if is_changed:
            self._ledger.announce.framework_updated(framework)
        self._tell_agents(framework)
        self._ledger.wants_allocation = True
        self._ledger.emit(Answer(200))

    def suppress(self, framework: Framework, roles: Iterable[str]) -> None:
        """SUPPRESS: no more offers for these roles (none given: all)."""
        chosen = self._chosen_roles(framework, roles, "SUPPRESS")
        if chosen is not None:
            framework.suppressed |= chosen
            self._channels.renew(framework)
            self._ledger.inform(alloc.OffersSuppressed(framework_id=framework.id, roles=chosen))

    def revive(self, framework: Framework, roles: Iterable[str]) -> None:
        """REVIVE: offers again, whatever was refused, at once (none given: all roles)."""
        chosen = self._chosen_roles(framework, roles, "REVIVE")
        if chosen is not None:
            framework.suppressed -= chosen
            self._channels.renew(framework)
            self._ledger.inform(alloc.OffersRevived(framework_id=framework.id, roles=chosen))
            self._ledger.wants_allocation = True

    def abort(self, framework: Framework) -> None:
        """Its driver was aborted: no more offers until it subscribes again."""
        framework.is_aborted = True
        self._channels.renew(framework)
        self._ledger.withdraw_offers(framework.offers.values(), rescind=True)
        self._ledger.inform(alloc.FrameworkSetActive(framework_id=framework.id, is_active=False))

    def _subscription_error(
        self,
        info: mesos_pb2.FrameworkInfo,
        subscribe: scheduler_pb2.Call.Subscribe,
        known: Framework | None,
        expected: Channel | None,
    ) -> str | None:
        error = framework_error(info, subscribe.suppressed_roles, self._rules())
        if error := error or constraints_error(subscribe.offer_constraints):
            return error
        if known is not None and known.info.principal != info.principal:
            return "Changing framework's principal is not allowed."
        is_elsewhere = known is not None and known.life.state is not FrameworkState.RECOVERED and known.pid != expected
        return FAILED_OVER if expected is not None and is_elsewhere else None

    def _is_retry(self, info: mesos_pb2.FrameworkInfo, channel: Channel) -> bool:
        """A driver that does not know yet that it has subscribed is told again (Mesos 1.11)."""
        if info.id.value or not isinstance(channel, Pid):
            return False
        known = next((one for one in self._books.connected_frameworks() if one.pid == channel), None)
        if known is not None:
            self._ledger.emit(Send(channel, self._channels.greeting(known, is_again=False)))
        return known is not None

    def _rules(self) -> FrameworkRules:
        return FrameworkRules(
            whitelist=self._flags.roles,
            root_submissions=self._flags.root_submissions,
            completed=self._books.registry.completed,
        )

    def _add(self, info: mesos_pb2.FrameworkInfo, channel: Channel, wishes: _Wishes) -> None:
        is_new = not info.id.value
        if is_new:
            info.id.value = self._books.new_framework_id()
        framework = Framework(info, FrameworkState.CONNECTED, self._ledger.now, self._books.limits)
        _wish(framework, wishes)
        self._books.frameworks[framework.id] = framework
        self._inform_allocator(framework)
        self._ledger.log(f"subscribed {framework}")
        self._ledger.announce.framework_added(framework)
        self._channels.open(framework, channel)
        if not is_new:
            self._tell_agents(framework)  # Mesos 1.11 takes an unknown id for that of a framework before a failover
        self._ledger.wants_allocation = True

    def _return(
        self,
        framework: Framework,
        info: mesos_pb2.FrameworkInfo,
        channel: Channel,
        wishes: _Wishes,
        *,
        is_forced: bool,
    ) -> None:
        self._channels.fail_over(framework, channel)
        self._ledger.withdraw_offers(framework.offers.values(), rescind=framework.pid == channel)
        info.user = framework.info.user
        info.checkpoint = framework.info.checkpoint
        framework.life.step(FrameworkState.CONNECTED)
        framework.is_aborted = False
        framework.reregistered_s = self._ledger.now
        self._replace_info(framework, info, wishes)
        self._ledger.inform(alloc.FrameworkSetActive(framework_id=framework.id, is_active=True))
        self._ledger.emit(CancelTimer(FailoverOver(framework.id)))
        self._ledger.log(f"{framework} subscribed again")
        self._ledger.announce.framework_updated(framework)
        self._channels.open(framework, channel, is_forced=is_forced)
        self._tell_agents(framework)
        self._ledger.wants_allocation = True

    def _replace_info(self, framework: Framework, info: mesos_pb2.FrameworkInfo, wishes: _Wishes) -> None:
        framework.info = mesos_pb2.FrameworkInfo()
        framework.info.CopyFrom(info)
        _wish(framework, wishes)
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

    def _chosen_roles(self, framework: Framework, roles: Iterable[str], what: str) -> frozenset[str] | None:
        own = frozenset(framework_roles(framework.info))
        chosen = frozenset(roles) or own
        wrong = sorted(role for role in chosen if role_error(role) or role not in own)
        if wrong:
            self._ledger.warn(f"dropped {what} of {framework}: role '{wrong[0]}' is not one of its own")
            return None
        return chosen


def _wish(framework: Framework, wishes: _Wishes) -> None:
    """Take over what it wants to be offered, wholly anew (Mesos 1.11)."""
    framework.suppressed = frozenset(wishes.suppressed_roles)
    framework.offer_constraints = scheduler_pb2.OfferConstraints()
    framework.offer_constraints.CopyFrom(wishes.offer_constraints)


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
        constraints=dict(framework.offer_constraints.role_constraints),
    )


def update_framework_message(framework: Framework) -> internal_pb2.UpdateFrameworkMessage:
    """What agents are told of a framework that came back or changed."""
    message = internal_pb2.UpdateFrameworkMessage(pid=str(framework.pid))
    message.framework_id.value = framework.id
    message.framework_info.CopyFrom(framework.info)
    return message
