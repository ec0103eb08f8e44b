"""The scheduler client: asyncio around the subscription core."""

from collections.abc import AsyncIterator, Iterable, Sequence
from random import Random
from types import TracebackType

from tfmesos.discovery import Detector, Leader
from tfmesos.wire import mesos_pb2, scheduler_pb2


class SchedulerClient:
    """A v1 scheduler. Use it as a context manager and iterate over it for its events.

    HEARTBEAT is not yielded; SUBSCRIBED is, each time. A lost stream is subscribed anew, with the same framework id and
    a capped back-off. The iteration ends after an ERROR event (yielded) or `teardown()`; it raises MasterUnreachable
    or SubscriptionRejected.
    Calls wait for a subscription and are repeated when it is lost before the answer, except those about offers, which
    a lost subscription makes void: they raise NotSubscribed. All raise CallRejected with the master's text.
    """

    def __init__(
        self,
        detector: Detector,
        framework_info: mesos_pb2.FrameworkInfo,
        *,
        suppressed_roles: Sequence[str] = (),
        connect_timeout_s: float | None = None,
        reconnect_timeout_s: float | None = None,
        random: Random | None = None,
    ) -> None:
        """How long the first (`connect_timeout_s`) and later subscriptions may take; None: for ever."""
        raise NotImplementedError

    @property
    def framework_id(self) -> str | None:
        """The id the master gave, None before the first SUBSCRIBED."""
        raise NotImplementedError

    @property
    def leader(self) -> Leader | None:
        """The master that is (being) subscribed to, None before it is known."""
        raise NotImplementedError

    @property
    def is_subscribed(self) -> bool:
        """Whether a subscription stands now."""
        raise NotImplementedError

    @property
    def local_host(self) -> str | None:
        """Our own address on the way to the master, None while there is no connection."""
        raise NotImplementedError

    async def __aenter__(self) -> "SchedulerClient":
        raise NotImplementedError

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        raise NotImplementedError

    def __aiter__(self) -> AsyncIterator[scheduler_pb2.Event]:
        raise NotImplementedError

    async def call(self, call: scheduler_pb2.Call) -> None:
        """Make any call but SUBSCRIBE; the framework id is filled in."""
        raise NotImplementedError

    async def accept(
        self,
        offer_ids: Iterable[mesos_pb2.OfferID],
        operations: Iterable[mesos_pb2.Offer.Operation],
        filters: mesos_pb2.Filters | None = None,
    ) -> None:
        """ACCEPT offers of one agent."""
        raise NotImplementedError

    async def decline(self, offer_ids: Iterable[mesos_pb2.OfferID], refuse_s: float | None = None) -> None:
        """DECLINE; `refuse_s` None: the master's default of 5 s."""
        raise NotImplementedError

    async def kill(
        self, task_id: mesos_pb2.TaskID, agent_id: mesos_pb2.AgentID | None = None, grace_s: float | None = None
    ) -> None:
        """KILL a task; `grace_s` overrides its kill policy."""
        raise NotImplementedError

    async def acknowledge(self, status: mesos_pb2.TaskStatus) -> None:
        """ACKNOWLEDGE a status; does nothing for one without uuid (the master made it; it must not be acknowledged)."""
        raise NotImplementedError

    async def reconcile(self, tasks: Iterable[tuple[mesos_pb2.TaskID, mesos_pb2.AgentID | None]] = ()) -> None:
        """RECONCILE these tasks; all that the master knows if none is given."""
        raise NotImplementedError

    async def suppress(self, roles: Iterable[str] = ()) -> None:
        """SUPPRESS offers for these roles (none given: all)."""
        raise NotImplementedError

    async def revive(self, roles: Iterable[str] = ()) -> None:
        """REVIVE offers for these roles (none given: all): filters are dropped."""
        raise NotImplementedError

    async def teardown(self) -> None:
        """TEARDOWN: the master ends all tasks and forgets the framework; the iteration ends."""
        raise NotImplementedError
