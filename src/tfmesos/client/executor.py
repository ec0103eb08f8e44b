"""The executor client: asyncio around the session core."""

import asyncio
import time
import uuid
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable
from random import Random
from types import TracebackType
from typing import Any, assert_never

from tfmesos.client._calls import PROTOBUF, TEXT_LIMIT, CallLink
from tfmesos.client._executor_moves import (
    Action,
    CallOver,
    CallRefused,
    Deliver,
    Disconnect,
    EventArrived,
    Failed,
    Finish,
    Input,
    LeaveWanted,
    MessageWanted,
    Refused,
    Send,
    StartTimer,
    StopTimer,
    Subscribe,
    Timer,
    TimerFired,
    UpdateWanted,
)
from tfmesos.client._executor_session import ExecutorSession
from tfmesos.client._inbox import Inbox
from tfmesos.client._moves import Target
from tfmesos.client._records import read_messages
from tfmesos.client._timers import Timers
from tfmesos.client.errors import CallRejected
from tfmesos.client.executor_environment import ExecutorEnvironment
from tfmesos.transport import HttpConnection, HttpStream, TransportError
from tfmesos.wire import DecodeError, RecordIOError, executor_pb2, mesos_pb2

_PATH = "/slave(1)/api/v1/executor"
_CONNECT_TIMEOUT_S = 10.0
_BEFORE_SUBSCRIPTION = frozenset({403, 404, 503})
"""Mesos 1.11: what calls are answered by an agent that was started again: 404 before its routes are set up, 503 while
it recovers, 403 until the executor has subscribed there. A busy executor may hear it before the end of the stream."""


class ExecutorClient:
    """A v1 executor. Use it as a context manager and iterate over it for its events.

    HEARTBEAT is not yielded; SUBSCRIBED is, each time. With checkpointing a lost agent is waited for (as long as
    MESOS_RECOVERY_TIMEOUT says) and subscribed to anew, telling it all that it has not acknowledged; without, or when
    it does not return, a SHUTDOWN is yielded as if it had sent one. The iteration ends MESOS_EXECUTOR_SHUTDOWN_GRACE_
    PERIOD after a SHUTDOWN, after an ERROR event (yielded), and by `leave`; it raises SubscriptionRejected or
    CallRejected.
    """

    def __init__(
        self,
        environment: ExecutorEnvironment,
        *,
        on_disconnected: Callable[[], None] = lambda: None,
        random: Random | None = None,
    ) -> None:
        """`on_disconnected` is called, perhaps more than once, when the agent is lost; SUBSCRIBED says it is back."""
        self._environment = environment
        self._on_disconnected = on_disconnected
        self._core = ExecutorSession(environment, random or Random())
        self._group = asyncio.TaskGroup()
        self._inbox: Inbox[executor_pb2.Event] = Inbox()
        self._timers: Timers[Timer] = Timers(lambda timer: self._handle(TimerFired(timer)))
        self._streaming: asyncio.Task[None] | None = None
        self._calls: CallLink | None = None
        self._is_overdue = False
        token = environment.token
        self._headers = {} if token is None else {"Authorization": f"Bearer {token}"}

    @property
    def is_overdue(self) -> bool:
        """Whether the iteration ended because the grace after a SHUTDOWN is over (the agent kills what is left)."""
        return self._is_overdue

    @property
    def has_unacknowledged(self) -> bool:
        """Whether an update is still to be acknowledged by the agent."""
        return self._core.unacknowledged > 0

    def update(self, status: mesos_pb2.TaskStatus) -> None:
        """Send a status, and again after each new subscription until the agent acknowledges it; never waits.

        Filled in: uuid (a new one), timestamp unless set, executor id, source.
        """
        complete = mesos_pb2.TaskStatus()
        complete.CopyFrom(status)
        complete.uuid = uuid.uuid4().bytes
        complete.source = mesos_pb2.TaskStatus.SOURCE_EXECUTOR
        complete.executor_id.value = self._environment.executor_id
        if not complete.HasField("timestamp"):
            complete.timestamp = time.time()
        self._handle(UpdateWanted(complete))

    def message(self, data: bytes) -> None:
        """Send a message to the framework; never waits. It is lost if there is no subscription."""
        self._handle(MessageWanted(data))

    def leave(self) -> None:
        """After a SHUTDOWN: end the iteration as soon as the agent has all that was sent, acknowledged or not.

        Of a framework that is gone it acknowledges nothing.
        """
        self._handle(LeaveWanted())

    async def __aenter__(self) -> "ExecutorClient":
        await self._group.__aenter__()
        self._perform(self._core.start())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._inbox.finish(None)
        self._timers.stop_all()
        self._disconnect()
        if isinstance(error, asyncio.CancelledError):
            await self._group.__aexit__(kind, error, trace)
        else:
            await self._group.__aexit__(None, None, None)

    def __aiter__(self) -> AsyncIterator[executor_pb2.Event]:
        return self

    async def __anext__(self) -> executor_pb2.Event:
        return await self._inbox.get()

    def _handle(self, event: Input) -> None:
        self._perform(self._core.handle(event))

    def _perform(self, actions: Iterable[Action]) -> None:
        for action in actions:
            match action:
                case Subscribe(call):
                    self._streaming = self._spawn(self._subscribe(call))
                case Disconnect():
                    self._disconnect()
                    self._on_disconnected()
                case Send(call):
                    self._send(call)
                case Deliver(event):
                    self._inbox.put(event)
                case StartTimer(timer, delay_s):
                    self._timers.start(timer, delay_s)
                case StopTimer(timer):
                    self._timers.stop(timer)
                case Finish(error, is_overdue):
                    self._is_overdue = is_overdue
                    self._inbox.finish(error)
                case _:
                    assert_never(action)

    def _spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        return self._group.create_task(work)

    def _disconnect(self) -> None:
        streaming = self._streaming
        if streaming is not None and streaming is not asyncio.current_task():
            streaming.cancel()
        link, self._calls = self._calls, None
        if link is not None:
            link.close()

    def _send(self, call: executor_pb2.Call) -> None:
        """Calls leave in the order of their tasks: each waits for nothing before it writes but the first connection."""
        if self._calls is None:
            target = Target(self._environment.agent, _PATH)
            self._calls = CallLink(target, self._headers, _CONNECT_TIMEOUT_S)
        self._spawn(self._post(self._calls, call))

    async def _post(self, link: CallLink, call: executor_pb2.Call) -> None:
        fault = await _fault_of(link, call)
        if fault is not None and link is self._calls:
            self._handle(fault)
        if link is self._calls:
            self._handle(CallOver())

    async def _subscribe(self, call: executor_pb2.Call) -> None:
        try:
            async with await HttpConnection.open(self._environment.agent, _CONNECT_TIMEOUT_S) as connection:
                outcome: Input = await self._follow(connection, call)
        except (TransportError, RecordIOError, DecodeError) as error:
            outcome = Failed(str(error))
        self._handle(outcome)

    async def _follow(self, connection: HttpConnection, call: executor_pb2.Call) -> Input:
        """Report the stream until it ends; how it ended."""
        headers = {"Content-Type": PROTOBUF, "Accept": PROTOBUF, **self._headers}
        stream = await connection.stream("POST", _PATH, headers, call.SerializeToString())
        if stream.status != 200:
            return Refused(stream.status, (await stream.read(TEXT_LIMIT)).decode(errors="replace"))
        await self._read_events(stream)
        return Failed("the agent ended the stream")

    async def _read_events(self, stream: HttpStream) -> None:
        async for events in read_messages(stream, executor_pb2.Event):
            for event in events:
                self._handle(EventArrived(event))
            await self._inbox.wait_room()


async def _fault_of(link: CallLink, call: executor_pb2.Call) -> Input | None:
    """Make a call; what went wrong."""
    try:
        answer = await link.post(call.SerializeToString())
    except TransportError as error:
        return Failed(f"the connection for calls: {error}")
    if answer.status == 202:
        return None
    name = executor_pb2.Call.Type.Name(call.type)
    if answer.status in _BEFORE_SUBSCRIPTION:
        return Failed(f"the agent knows no subscription: {answer.status} to {name}")
    return CallRefused(CallRejected(name, answer.status, answer.body.decode(errors="replace")))
