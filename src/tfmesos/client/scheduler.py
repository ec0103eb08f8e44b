"""The scheduler client: asyncio around the subscription core."""

import asyncio
from collections.abc import AsyncIterator, Coroutine, Iterable, Sequence
from random import Random
from types import TracebackType
from typing import Any, assert_never

from tfmesos.client._calls import PROTOBUF, TEXT_LIMIT, CallLink
from tfmesos.client._inbox import Inbox
from tfmesos.client._moves import (
    Action,
    Answered,
    ConnectingFailed,
    Deliver,
    Detect,
    DetectionFailed,
    Disconnect,
    EventArrived,
    Finish,
    Input,
    LeaderDetected,
    LeaveFinished,
    LeaveStarted,
    StartTimer,
    StopTimer,
    StreamEnded,
    Subscribe,
    Timer,
    TimerFired,
)
from tfmesos.client._records import read_messages
from tfmesos.client._subscription import RETRIED, State, Subscription
from tfmesos.client._timers import Timers
from tfmesos.client.errors import CallRejected, NotSubscribed
from tfmesos.discovery import Detector, Leader, Stranger, find_stranger
from tfmesos.transport import Address, HttpConnection, HttpStream, TransportError
from tfmesos.wire import DecodeError, RecordIOError, mesos_pb2, scheduler_pb2

_CONNECT_TIMEOUT_S = 10.0
_Call = scheduler_pb2.Call
_ABOUT_OFFERS = frozenset(
    {_Call.ACCEPT, _Call.DECLINE, _Call.ACCEPT_INVERSE_OFFERS, _Call.DECLINE_INVERSE_OFFERS, _Call.MESSAGE}
)
"""Void with their subscription (a MESSAGE would arrive twice): not to be repeated in the next one."""

_LOST_UNNOTICED = (403, "Framework is not subscribed")
"""Mesos 1.11: the master's answer when it has noticed the end of our stream before us."""


class SchedulerClient:
    """A v1 scheduler. Use it as a context manager and iterate over it for its events.

    HEARTBEAT is not yielded; SUBSCRIBED is, each time. A lost stream is subscribed anew, with the same framework id and
    a capped back-off. The iteration ends after an ERROR event (yielded) or `teardown()`; it raises MasterUnreachable,
    NotAMaster or SubscriptionRejected.
    Calls wait for a subscription and are repeated when it is lost before the answer, except those about offers, which
    a lost subscription makes void: they raise NotSubscribed. All raise CallRejected with the master's text.
    Leaving the context closes the connections: the master forgets the framework after its failover_timeout.
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
        self._detector = detector
        self._info = mesos_pb2.FrameworkInfo()
        self._info.CopyFrom(framework_info)
        self._suppressed_roles = tuple(suppressed_roles)
        self._core = Subscription(
            framework_id=framework_info.id.value or None,
            connect_timeout_s=connect_timeout_s,
            reconnect_timeout_s=reconnect_timeout_s,
            random=random or Random(),
        )
        self._group = asyncio.TaskGroup()
        self._inbox: Inbox[scheduler_pb2.Event] = Inbox()
        self._changed = asyncio.Event()
        self._timers: Timers[Timer] = Timers(self._on_timer)
        self._detecting: asyncio.Task[None] | None = None
        self._streaming: asyncio.Task[None] | None = None
        self._local_host: str | None = None
        self._calls: CallLink | None = None

    @property
    def framework_id(self) -> str | None:
        """The id the master gave, None before the first SUBSCRIBED."""
        return self._core.framework_id

    @property
    def leader(self) -> Leader | None:
        """The master that is (being) subscribed to, None before it is known."""
        return self._core.leader

    @property
    def is_subscribed(self) -> bool:
        """Whether a subscription stands now."""
        return self._core.state is State.SUBSCRIBED

    @property
    def trouble(self) -> str:
        """Why no subscription stands (if none does)."""
        return self._core.trouble

    @property
    def local_host(self) -> str | None:
        """Our own address on the way to the master (`localhost` for a unix socket), None before any connection."""
        return self._local_host

    async def __aenter__(self) -> "SchedulerClient":
        await self._group.__aenter__()
        self._perform(self._core.start())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop()
        try:
            if isinstance(error, asyncio.CancelledError):
                await self._group.__aexit__(kind, error, trace)
            else:
                await self._group.__aexit__(None, None, None)
        finally:
            await self._detector.close()

    def __aiter__(self) -> AsyncIterator[scheduler_pb2.Event]:
        return self

    async def __anext__(self) -> scheduler_pb2.Event:
        return await self._inbox.get()

    async def call(self, call: scheduler_pb2.Call) -> None:
        """Make any call but SUBSCRIBE; the framework id is filled in."""
        name = _Call.Type.Name(call.type)
        while True:
            link = await self._wait_link(name, call.type in _ABOUT_OFFERS)
            call.framework_id.value = self._core.framework_id or ""
            lost = await self._post(link, name, call)
            if lost is None:
                return
            if link is self._calls:
                self._handle(StreamEnded(lost))
            if call.type in _ABOUT_OFFERS or self._core.state is State.LEAVING:
                raise NotSubscribed(name)

    async def _post(self, link: CallLink, name: str, call: scheduler_pb2.Call) -> str | None:
        """None when the call was accepted; else how the subscription was lost. Raises CallRejected."""
        try:
            answer = await link.post(call.SerializeToString())
        except TransportError as error:
            return f"the connection for calls: {error}"
        if answer.status in (200, 202):
            return None
        text = answer.body.decode(errors="replace")
        if (answer.status, text) == _LOST_UNNOTICED:
            return text
        raise CallRejected(name, answer.status, text)

    async def accept(
        self,
        offer_ids: Iterable[mesos_pb2.OfferID],
        operations: Iterable[mesos_pb2.Offer.Operation],
        filters: mesos_pb2.Filters | None = None,
    ) -> None:
        """ACCEPT offers of one agent."""
        accept = _Call.Accept(offer_ids=offer_ids, operations=operations, filters=filters)
        await self.call(_Call(type=_Call.ACCEPT, accept=accept))

    async def decline(self, offer_ids: Iterable[mesos_pb2.OfferID], refuse_s: float | None = None) -> None:
        """DECLINE; `refuse_s` None: the master's default of 5 s."""
        decline = _Call.Decline(offer_ids=offer_ids)
        if refuse_s is not None:
            decline.filters.refuse_seconds = refuse_s
        await self.call(_Call(type=_Call.DECLINE, decline=decline))

    async def kill(
        self, task_id: mesos_pb2.TaskID, agent_id: mesos_pb2.AgentID | None = None, grace_s: float | None = None
    ) -> None:
        """KILL a task; `grace_s` overrides its kill policy."""
        kill = _Call.Kill(task_id=task_id, agent_id=agent_id)
        if grace_s is not None:
            kill.kill_policy.grace_period.nanoseconds = round(grace_s * 1e9)
        await self.call(_Call(type=_Call.KILL, kill=kill))

    async def acknowledge(self, status: mesos_pb2.TaskStatus) -> None:
        """ACKNOWLEDGE a status; does nothing for one without uuid (the master made it; it must not be acknowledged)."""
        if status.uuid:
            acknowledge = _Call.Acknowledge(agent_id=status.agent_id, task_id=status.task_id, uuid=status.uuid)
            await self.call(_Call(type=_Call.ACKNOWLEDGE, acknowledge=acknowledge))

    async def reconcile(self, tasks: Iterable[tuple[mesos_pb2.TaskID, mesos_pb2.AgentID | None]] = ()) -> None:
        """RECONCILE these tasks; all that the master knows if none is given."""
        reconcile = _Call.Reconcile()
        for task_id, agent_id in tasks:
            reconcile.tasks.add(task_id=task_id, agent_id=agent_id)
        await self.call(_Call(type=_Call.RECONCILE, reconcile=reconcile))

    async def suppress(self, roles: Iterable[str] = ()) -> None:
        """SUPPRESS offers for these roles (none given: all)."""
        await self.call(_Call(type=_Call.SUPPRESS, suppress=_Call.Suppress(roles=roles)))

    async def revive(self, roles: Iterable[str] = ()) -> None:
        """REVIVE offers for these roles (none given: all): filters are dropped."""
        await self.call(_Call(type=_Call.REVIVE, revive=_Call.Revive(roles=roles)))

    async def teardown(self) -> None:
        """TEARDOWN: the master ends all tasks and forgets the framework; the iteration ends."""
        await self._wait_link("TEARDOWN", False)
        self._handle(LeaveStarted())
        try:
            await self.call(_Call(type=_Call.TEARDOWN))
        finally:
            self._handle(LeaveFinished())

    async def _wait_link(self, name: str, is_about_offers: bool) -> CallLink:
        while self._calls is None:
            if is_about_offers or self._inbox.is_finished:
                raise NotSubscribed(name)
            self._changed.clear()
            await self._changed.wait()
        return self._calls

    def _handle(self, event: Input) -> None:
        self._perform(self._core.handle(event, asyncio.get_running_loop().time()))
        self._update_link()

    def _update_link(self) -> None:
        """Calls have a link exactly while the core is subscribed (or leaving)."""
        core = self._core
        if core.state not in (State.SUBSCRIBED, State.LEAVING):
            self._drop_link()
        elif self._calls is None and core.target is not None and core.stream_id is not None:
            self._calls = CallLink(core.target, {"Mesos-Stream-Id": core.stream_id}, _CONNECT_TIMEOUT_S)
        self._changed.set()

    def _drop_link(self) -> None:
        link, self._calls = self._calls, None
        if link is not None:
            link.close()

    def _perform(self, actions: Iterable[Action]) -> None:
        for action in actions:
            match action:
                case Detect(previous):
                    self._detecting = self._spawn(self._detect(previous))
                case Subscribe():
                    self._streaming = self._spawn(self._subscribe(action))
                case Disconnect():
                    self._cancel(self._streaming)
                    self._drop_link()
                case Deliver(event):
                    self._inbox.put(event)
                case StartTimer(timer, delay_s):
                    self._timers.start(timer, delay_s)
                case StopTimer(timer):
                    self._timers.stop(timer)
                case Finish(error):
                    self._inbox.finish(error)
                case _:
                    assert_never(action)

    def _spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        return self._group.create_task(work)

    def _cancel(self, task: asyncio.Task[None] | None) -> None:
        """A task that ends itself returns by itself."""
        if task is not None and task is not asyncio.current_task():
            task.cancel()

    def _stop(self) -> None:
        self._inbox.finish(None)
        self._timers.stop_all()
        self._cancel(self._detecting)
        self._cancel(self._streaming)
        self._drop_link()
        self._changed.set()

    def _on_timer(self, timer: Timer) -> None:
        if timer is Timer.LIVENESS and self._inbox.is_full:
            self._timers.start(timer, 1.0)  # it is the user who does not read: the master's silence means nothing
        else:
            self._handle(TimerFired(timer))

    async def _detect(self, previous: Leader | None) -> None:
        try:
            leader = await self._detector.detect(previous)
        except TransportError as error:
            self._handle(DetectionFailed(str(error)))
        else:
            self._handle(LeaderDetected(leader))

    async def _subscribe(self, action: Subscribe) -> None:
        try:
            connection = await HttpConnection.open(action.target.address, _CONNECT_TIMEOUT_S)
        except TransportError as error:
            self._handle(ConnectingFailed(str(error)))
            return
        self._local_host = connection.local_host
        async with connection:
            why = await self._follow(connection, action)
        if why is not None:
            self._handle(StreamEnded(why))

    async def _follow(self, connection: HttpConnection, action: Subscribe) -> str | None:
        """Report the stream until it ends; why it ended, None where the core knows."""
        headers = {"Content-Type": PROTOBUF, "Accept": PROTOBUF}
        body = self._subscribe_call(action.framework_id).SerializeToString()
        try:
            stream = await connection.stream("POST", action.target.path, headers, body)
            if stream.status != 200:
                self._handle(await _answer_of(stream, action.target.address))
                return None
            self._handle(Answered(status=200, stream_id=stream.headers.get("mesos-stream-id")))
            return await self._read_events(stream)
        except (TransportError, RecordIOError, DecodeError) as error:
            return str(error)

    async def _read_events(self, stream: HttpStream) -> str:
        async for events in read_messages(stream, scheduler_pb2.Event):
            for event in events:
                self._handle(EventArrived(event))
            await self._inbox.wait_room()
        return "the master ended the stream"

    def _subscribe_call(self, framework_id: str | None) -> scheduler_pb2.Call:
        call = _Call(type=_Call.SUBSCRIBE)
        call.subscribe.framework_info.CopyFrom(self._info)
        call.subscribe.suppressed_roles.extend(self._suppressed_roles)
        if framework_id is not None:
            call.framework_id.value = framework_id
            call.subscribe.framework_info.id.value = framework_id
        return call


async def _answer_of(stream: HttpStream, address: Address) -> Answered:
    """An answer that is no stream. Master and agent take calls at paths of the same name."""
    body = await stream.read(TEXT_LIMIT)
    answer = Answered(status=stream.status, location=stream.headers.get("location"), text=body.decode(errors="replace"))
    if answer.status == 307:
        return answer
    if "html" in stream.headers.get("content-type", "").lower():  # Mesos 1.11: errors are plain text
        return answer._replace(text="(a web page)", stranger=Stranger.WEB_SERVER)
    if answer.status in RETRIED:
        return answer
    stranger = await find_stranger(address)
    return answer._replace(stranger=stranger) if stranger is Stranger.AGENT else answer
