"""How frameworks are reached: by the stream of a v1 scheduler, or by the pid of a scheduler driver."""

from typing import TypeAlias

from tfmesos.master.core.books import Framework
from tfmesos.master.core.events import BindStream, CancelTimer, EndStream, HeartbeatDue, Link, Send, SetTimer, Tell
from tfmesos.master.core.ledger import Ledger
from tfmesos.master.core.registry import ForgetDriver, KeepDriver
from tfmesos.master.ids import FrameworkId, StreamId
from tfmesos.master.validation import framework_roles
from tfmesos.transport import NO_PID, Pid
from tfmesos.wire import internal_pb2, mesos_pb2, scheduler_pb2

Channel: TypeAlias = StreamId | Pid
HEARTBEAT_INTERVAL_S = 15.0
FAILED_OVER = "Framework failed over"
_Event = scheduler_pb2.Event


class Channels:
    """Opens, takes away and closes them."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._books = ledger.books

    def open(self, framework: Framework, channel: Channel, *, is_forced: bool = True) -> None:
        """From now on the framework is reached here; it is told so."""
        is_again = framework.pid == channel and not is_forced
        if isinstance(channel, Pid):
            framework.pid = channel
            self.renew(framework)
            self._ledger.emit(Link(channel), Send(channel, self.greeting(framework, is_again=is_again)))
            return
        self._forget_driver(framework)
        framework.pid = NO_PID
        framework.stream_id = channel
        self._ledger.emit(BindStream(channel, framework.id))
        event = _Event(type=_Event.SUBSCRIBED)
        event.subscribed.framework_id.value = framework.id
        event.subscribed.heartbeat_interval_seconds = HEARTBEAT_INTERVAL_S
        event.subscribed.master_info.CopyFrom(self._books.master)
        self._ledger.tell(framework, event)
        self.heartbeat(framework.id, channel)

    def renew(self, framework: Framework) -> None:
        """The framework changed: what is kept of a driver follows. An aborted one wants no offers of any master."""
        if not framework.pid:
            return
        kept = _kept_driver(framework)
        if self._books.registry.drivers.get(framework.id) != kept:
            self._ledger.record(kept)

    def resume(self, framework: Framework) -> None:
        """A driver from before the restart goes on: it does not know of it. If it is not there, its link breaks."""
        self._ledger.emit(Link(framework.pid))

    def greeting(
        self, framework: Framework, *, is_again: bool
    ) -> internal_pb2.FrameworkRegisteredMessage | internal_pb2.FrameworkReregisteredMessage:
        """What a driver gets for its subscription; `is_again`: the same driver had one here before (Mesos 1.11)."""
        kind = internal_pb2.FrameworkReregisteredMessage if is_again else internal_pb2.FrameworkRegisteredMessage
        message = kind()
        message.framework_id.value = framework.id
        message.master_info.CopyFrom(self._books.master)
        return message

    def refuse(self, channel: Channel, text: str) -> None:
        """Say why a subscription is none; a stream ends."""
        if isinstance(channel, Pid):
            self._ledger.emit(Send(channel, internal_pb2.FrameworkErrorMessage(message=text)))
            return
        event = _Event(type=_Event.ERROR)
        event.error.message = text
        self._ledger.emit(Tell(channel, event), EndStream(channel))

    def fail_over(self, framework: Framework, heir: Channel) -> None:
        """Tell who was reached before that it is not any more; a driver may be its own heir."""
        if framework.stream_id is not None:
            self.refuse(framework.stream_id, FAILED_OVER)
            self.lose(framework)
        elif framework.is_connected and framework.pid != heir:
            self.refuse(framework.pid, FAILED_OVER)

    def lose(self, framework: Framework) -> None:
        """The framework cannot be reached any more; a driver's pid is remembered."""
        if framework.stream_id is not None:
            self._ledger.emit(CancelTimer(HeartbeatDue(framework.id, framework.stream_id)))
        framework.stream_id = None
        self._forget_driver(framework)

    def close(self, framework: Framework) -> None:
        """The framework has ended, and so does its stream."""
        if framework.stream_id is not None:
            self._ledger.emit(EndStream(framework.stream_id))
        self.lose(framework)

    def heartbeat(self, framework_id: FrameworkId, stream_id: StreamId) -> None:
        """Send one and ask for the next, if the stream still is the framework's."""
        framework = self._books.frameworks.get(framework_id)
        if framework is not None and framework.stream_id == stream_id:
            self._ledger.tell(framework, _Event(type=_Event.HEARTBEAT))
            self._ledger.emit(SetTimer(HeartbeatDue(framework_id, stream_id), HEARTBEAT_INTERVAL_S))

    def _forget_driver(self, framework: Framework) -> None:
        if framework.id in self._books.registry.drivers:
            self._ledger.record(ForgetDriver(framework_id=framework.id))


def _kept_driver(framework: Framework) -> KeepDriver:
    info = mesos_pb2.FrameworkInfo()
    info.CopyFrom(framework.info)
    unwanted = framework_roles(info) if framework.is_aborted else framework.suppressed
    constraints = None
    if framework.offer_constraints.role_constraints:
        constraints = scheduler_pb2.OfferConstraints()
        constraints.CopyFrom(framework.offer_constraints)
    return KeepDriver(info=info, pid=str(framework.pid), suppressed=" ".join(sorted(unwanted)), constraints=constraints)
