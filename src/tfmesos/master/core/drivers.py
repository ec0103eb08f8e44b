"""Scheduler drivers: subscriptions and calls over libprocess (Mesos 1.11: `Master::receive`)."""

from collections.abc import Callable

from tfmesos.master.core.books import Framework
from tfmesos.master.core.driver_messages import OldMessage, call_of
from tfmesos.master.core.endings import Endings
from tfmesos.master.core.events import Send
from tfmesos.master.core.ledger import Ledger
from tfmesos.master.core.subscriptions import Subscriptions
from tfmesos.master.ids import FrameworkId
from tfmesos.master.validation import call_error
from tfmesos.transport import Pid
from tfmesos.wire import internal_pb2, scheduler_pb2

_Call = scheduler_pb2.Call
_HTTP_ONLY = (_Call.RECONCILE_OPERATIONS, _Call.ACKNOWLEDGE_OPERATION_STATUS)


class Drivers:
    """Lets only the driver that subscribed speak for its framework."""

    def __init__(
        self,
        ledger: Ledger,
        subscriptions: Subscriptions,
        endings: Endings,
        obey: Callable[[Framework, _Call], None],
    ) -> None:
        self._ledger = ledger
        self._books = ledger.books
        self._subscriptions = subscriptions
        self._endings = endings
        self._obey = obey

    def call(self, sender: Pid, call: _Call, *, is_forced: bool) -> None:
        """Do what a driver asks for; what makes no sense is dropped, as it has no answer."""
        if error := call_error(call):
            self._ledger.warn(f"dropped a call of {sender}: {error}")
        elif not sender:
            self._ledger.warn("dropped a driver's call: it does not say from where it comes")
        elif call.type == _Call.SUBSCRIBE:
            self._subscriptions.subscribe(sender, call.subscribe, is_forced=is_forced)
        elif call.type in _HTTP_ONLY:
            self._ledger.warn(f"dropped {_Call.Type.Name(call.type)} of {sender}: drivers have no such call")
        else:
            framework = self._framework(sender, FrameworkId(call.framework_id.value))
            if framework is not None:
                self._obey(framework, call)

    def hear(self, sender: Pid, message: OldMessage) -> None:
        """A message of a driver older than calls."""
        is_forced = isinstance(message, internal_pb2.ReregisterFrameworkMessage) and message.failover
        self.call(sender, call_of(message), is_forced=is_forced)

    def deactivate(self, sender: Pid, message: internal_pb2.DeactivateFrameworkMessage) -> None:
        """The driver was aborted: no more offers until it subscribes again."""
        framework = self._framework(sender, FrameworkId(message.framework_id.value))
        if framework is not None:
            self._subscriptions.abort(framework)

    def break_link(self, pid: Pid) -> None:
        """The connection to a driver ended."""
        for framework in self._books.connected_frameworks():
            if framework.pid == pid:
                self._endings.disconnect(framework)

    def _framework(self, sender: Pid, framework_id: FrameworkId) -> Framework | None:
        """The framework that this driver speaks for; a driver that does not know its link broke is told."""
        framework = self._books.frameworks.get(framework_id)
        if framework is None or not sender or framework.pid != sender:
            self._ledger.warn(f"dropped a call of {sender}: not from the driver of framework {framework_id!r}")
            return None
        if not framework.is_connected:
            self._ledger.emit(Send(sender, internal_pb2.FrameworkErrorMessage(message="Framework disconnected")))
            return None
        return framework
