"""Offer operations that start no tasks: this master has none of them, and says so."""

from tfmesos.master.core.books import Framework
from tfmesos.master.core.ledger import Ledger
from tfmesos.master.ids import AgentId
from tfmesos.wire import mesos_pb2, scheduler_pb2

_Event = scheduler_pb2.Event
_Wanted = scheduler_pb2.Call.ReconcileOperations.Operation


class Operations:
    """Answers by UPDATE_OPERATION_STATUS; none of its answers is to be acknowledged."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._books = ledger.books

    def refuse(self, framework: Framework, operation: mesos_pb2.Offer.Operation, text: str) -> None:
        """Say that it will not be done, if it has an id to say so of."""
        self._ledger.warn(f"operation of {framework} refused: {text}")
        if operation.HasField("id"):
            event = _Event(type=_Event.UPDATE_OPERATION_STATUS)
            status = event.update_operation_status.status
            status.operation_id.CopyFrom(operation.id)
            status.state = mesos_pb2.OPERATION_ERROR
            status.message = text
            self._ledger.tell(framework, event)

    def reconcile(self, framework: Framework, reconcile: scheduler_pb2.Call.ReconcileOperations) -> None:
        """Say how the operations asked for stand: none is known, so it depends on where they would be."""
        for wanted in reconcile.operations:
            event = _Event(type=_Event.UPDATE_OPERATION_STATUS)
            status = event.update_operation_status.status
            status.operation_id.CopyFrom(wanted.operation_id)
            status.state, reason = self._state(wanted)
            status.message = f"Reconciliation: {reason}"
            if wanted.HasField("agent_id"):
                status.agent_id.CopyFrom(wanted.agent_id)
            if wanted.HasField("resource_provider_id"):
                status.resource_provider_id.CopyFrom(wanted.resource_provider_id)
            self._ledger.tell(framework, event)

    def _state(self, wanted: _Wanted) -> tuple["mesos_pb2.OperationState.ValueType", str]:
        if not wanted.HasField("agent_id"):
            return mesos_pb2.OPERATION_UNKNOWN, "Operation is unknown and no 'agent_id' was provided"
        agent_id = AgentId(wanted.agent_id.value)
        if agent_id in self._books.agents:
            return mesos_pb2.OPERATION_UNKNOWN, "Operation is unknown"
        if agent_id in self._books.recovered_agents:
            return mesos_pb2.OPERATION_RECOVERING, "Agent is recovering"
        if agent_id in self._books.unreachable_agents:
            return mesos_pb2.OPERATION_UNREACHABLE, "Agent is unreachable"
        if agent_id in self._books.gone_agents:
            return mesos_pb2.OPERATION_GONE_BY_OPERATOR, "Agent marked gone by operator"
        return mesos_pb2.OPERATION_UNKNOWN, "Both operation and agent are unknown"
