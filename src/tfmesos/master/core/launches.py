"""ACCEPT and DECLINE: offers become tasks or go back."""

from collections.abc import Iterable
from math import isnan

from tfmesos.master.core.books import Framework, Offer
from tfmesos.master.core.ledger import Ledger
from tfmesos.master.core.operations import Operations
from tfmesos.master.core.starts import Starts
from tfmesos.master.ids import OfferId
from tfmesos.master.validation import operation_error
from tfmesos.resources import Resources
from tfmesos.wire import mesos_pb2, scheduler_pb2

_Operation = mesos_pb2.Offer.Operation
_OPERATION_COUNTS = {number: f"operations/{name.lower()}" for name, number in _Operation.Type.items()}
_Reasons = mesos_pb2.TaskStatus
_DEFAULT_REFUSE_S = 5.0
_MAX_REFUSE_S = 365 * 24 * 3600.0


class Launches:
    """Answers to offers."""

    def __init__(self, ledger: Ledger, operations: Operations, allocation_interval_s: float) -> None:
        self._ledger = ledger
        self._books = ledger.books
        self._starts = Starts(ledger)
        self._operations = operations
        self._allocation_interval_s = allocation_interval_s

    def decline(self, framework: Framework, decline: scheduler_pb2.Call.Decline) -> None:
        """Give the offers back, hidden from the framework for a while; unknown ones are ignored."""
        known = [framework.offers[OfferId(one.value)] for one in decline.offer_ids if one.value in framework.offers]
        framework.counts["offers/declined"] += len(known)
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
        framework.counts["offers/accepted"] += len(offers)
        rest = sum((offer.resources for offer in offers), Resources())
        for operation in accept.operations:
            framework.counts["operations"] += 1
            framework.counts[_OPERATION_COUNTS[operation.type]] += 1
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
                self._starts.drop(framework, task, mesos_pb2.TASK_DROPPED, _Reasons.REASON_INVALID_OFFERS, text)
            if not _is_launch(operation):
                self._operations.refuse(framework, operation, f"Operation attempted with invalid offers: {error}")

    def _apply(self, framework: Framework, offer: Offer, operation: _Operation, rest: Resources) -> Resources:
        """Apply one operation; returns what it leaves of the offers."""
        match operation.type:
            case _Operation.UNKNOWN:
                return rest
            case _Operation.LAUNCH:
                return self._starts.launch(framework, offer, operation, rest)
            case _Operation.LAUNCH_GROUP:
                return self._starts.launch_group(framework, offer, operation, rest)
            case kind:
                text = f"{_Operation.Type.Name(kind)} is not supported by this master"
                self._operations.refuse(framework, operation, operation_error(operation) or text)
        return rest


def _tasks_of(operation: _Operation) -> Iterable[mesos_pb2.TaskInfo]:
    if operation.type == _Operation.LAUNCH:
        return operation.launch.task_infos
    return operation.launch_group.task_group.tasks if operation.type == _Operation.LAUNCH_GROUP else ()


def _is_launch(operation: _Operation) -> bool:
    return operation.type in (_Operation.LAUNCH, _Operation.LAUNCH_GROUP, _Operation.UNKNOWN)
