"""From allocations to OFFERS events, and the end of offers nobody answers."""

from collections import defaultdict

from tfmesos.master.allocator import Allocation
from tfmesos.master.core.books import Agent, Framework, Offer
from tfmesos.master.core.events import OfferOver, SetTimer
from tfmesos.master.core.ledger import Ledger
from tfmesos.master.ids import FrameworkId, OfferId
from tfmesos.wire import mesos_pb2, scheduler_pb2

_Capability = mesos_pb2.FrameworkInfo.Capability


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


def offer_message(offer: Offer, framework: Framework, agent: Agent) -> mesos_pb2.Offer:
    """The offer as this framework may see it: in the format and with the roles that it knows."""
    message = mesos_pb2.Offer(hostname=agent.info.hostname)
    message.id.value = offer.id
    message.framework_id.value = framework.id
    message.agent_id.value = agent.id
    resources = offer.resources
    if framework.has(_Capability.MULTI_ROLE):
        message.allocation_info.role = offer.role
    else:
        resources = resources.unallocated()
    is_refined = framework.has(_Capability.RESERVATION_REFINEMENT)
    message.resources.extend(resources.to_proto("post" if is_refined else "pre"))
    message.attributes.extend(agent.info.attributes)
    for executor_id in agent.executors.get(framework.id, {}):
        message.executor_ids.add().value = executor_id
    if agent.info.HasField("domain"):
        message.domain.CopyFrom(agent.info.domain)
    _set_url(message.url, agent)
    return message


def _set_url(url: mesos_pb2.URL, agent: Agent) -> None:
    url.scheme = "http"
    url.address.hostname = agent.info.hostname
    url.address.ip = agent.pid.host
    url.address.port = agent.pid.port
    url.path = f"/{agent.pid.id}"
