"""From allocations to OFFERS events, and the end of offers nobody answers."""

from collections import defaultdict

from tfmesos.master.allocator import Allocation
from tfmesos.master.core.books import Offer
from tfmesos.master.core.descriptions import offer_message
from tfmesos.master.core.events import OfferOver, SetTimer
from tfmesos.master.core.ledger import Ledger
from tfmesos.master.ids import FrameworkId, OfferId
from tfmesos.wire import scheduler_pb2


class Offering:
    """Makes offers of what the allocator gives."""

    def __init__(self, ledger: Ledger, offer_timeout_s: float | None) -> None:
        self._ledger = ledger
        self._offer_timeout_s = offer_timeout_s

    def offer_all(self) -> None:
        """Run the allocator; each framework gets one event with all its new offers."""
        self._ledger.wants_allocation = False
        events: defaultdict[FrameworkId, scheduler_pb2.Event] = defaultdict(
            lambda: scheduler_pb2.Event(type=scheduler_pb2.Event.OFFERS)
        )
        for allocation in self._ledger.allocator.allocate(self._ledger.now):
            self._add(allocation, events[allocation.framework_id])
        for framework_id, event in events.items():
            self._ledger.tell(self._ledger.books.frameworks[framework_id], event)

    def expire(self, offer_id: OfferId) -> None:
        """Nobody answered in time."""
        if offer_id in self._ledger.books.offers:
            self._ledger.withdraw_offers([self._ledger.books.offers[offer_id]], rescind=True)

    def _add(self, allocation: Allocation, event: scheduler_pb2.Event) -> None:
        books = self._ledger.books
        offer = Offer(
            books.new_offer_id(),
            allocation.framework_id,
            allocation.agent_id,
            allocation.role,
            allocation.resources,
        )
        self._ledger.add_offer(offer)
        if self._offer_timeout_s is not None:
            self._ledger.emit(SetTimer(OfferOver(offer.id), self._offer_timeout_s))
        framework = books.frameworks[offer.framework_id]
        event.offers.offers.append(offer_message(offer, framework, books.agents[offer.agent_id]))
