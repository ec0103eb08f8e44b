"""Drives the core: feeds it events and carries its actions out. Decides nothing."""

import asyncio
import contextlib
import logging
from collections.abc import Callable
from typing import assert_never

from google.protobuf.message import Message

from tfmesos.master.clock import Clock
from tfmesos.master.core import MasterCore, Registry
from tfmesos.master.core.books import Books
from tfmesos.master.core.events import (
    AgentPonged,
    Announce,
    Answer,
    BindStream,
    CancelTimer,
    DriverCalled,
    EndStream,
    Event,
    Link,
    LinkBroken,
    Log,
    PeerSaid,
    Record,
    Send,
    SetTimer,
    Started,
    StreamBroken,
    Tell,
    TimeCame,
    Timer,
)
from tfmesos.master.core.registry import Operation
from tfmesos.master.ids import FrameworkId, StreamId
from tfmesos.transport import LibprocessMessage, LibprocessNode, Pid, StreamReply
from tfmesos.wire import DecodeError, decode, encode_record, master_pb2, scheduler_pb2
from tfmesos.wire.driver_call import decode_driver_call
from tfmesos.wire.json_codec import missing_fields
from tfmesos.wire.media import encode
from tfmesos.wire.names import message_class, message_name

_log = logging.getLogger(__name__)
_OBSERVER = "slave-observer("
_NUMBER_LENGTH = 18
_MASTER = "master"
_LAST_SYNC_S = 5.0


class Subscriber:
    """An open event stream and who it belongs to."""

    def __init__(self, reply: StreamReply, media: str) -> None:
        self.reply = reply
        self.media = media
        self.framework_id: FrameworkId | None = None


class Engine:
    """One per master, on one event loop."""

    def __init__(self, core: MasterCore, node: LibprocessNode, clock: Clock, registry: Registry) -> None:
        self._core = core
        self._node = node
        self._clock = clock
        self._registry = registry
        self._timers: dict[Timer, asyncio.TimerHandle] = {}
        self._subscribers: dict[StreamId, Subscriber] = {}
        self._watcher: Callable[[master_pb2.Event], None] | None = None
        self._syncing: asyncio.Task[None] | None = None
        self._has_unsynced = False
        self._is_closed = False

    @property
    def books(self) -> Books:
        """What the master knows; for readers."""
        return self._core.books

    def start(self) -> None:
        """Begin the periodic work."""
        self.submit(Started())

    async def close(self) -> None:
        """Take no more events in; timers and streams end, and what was recorded is on disk."""
        self._is_closed = True
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()
        self._subscribers.clear()
        if self._syncing is not None:
            with contextlib.suppress(TimeoutError):  # a full disk shall not keep the program from ending
                await asyncio.wait_for(self._syncing, _LAST_SYNC_S)
        self._registry.close()

    def submit(self, event: Event) -> Answer | None:
        """Let the core handle an event; returns what the caller shall get, if that is not 202."""
        if self._is_closed:
            return None
        answer = None
        for action in self._core.handle(event, self._clock.now()):
            match action:
                case Tell(stream_id=stream_id, event=told):
                    self._tell(stream_id, told)
                case Send(pid=pid, message=message, from_id=from_id):
                    self._node.send(pid, from_id, message_name(message), message.SerializeToString())
                case SetTimer(timer=timer, delay_s=delay_s):
                    self._set_timer(timer, delay_s)
                case CancelTimer(timer=timer):
                    self._cancel_timer(timer)
                case Log(text=text, is_warning=is_warning):
                    _log.log(logging.WARNING if is_warning else logging.INFO, "%s", _printable(text))
                case BindStream(stream_id=stream_id, framework_id=framework_id):
                    self._subscribers[stream_id].framework_id = framework_id
                case EndStream(stream_id=stream_id):
                    self._end_stream(stream_id)
                case Link(pid=pid):
                    self._node.link(pid, self._break_link, reconnect=True)
                case Record(operation=operation):
                    self._record(operation)
                case Announce(event=announced):
                    if self._watcher is not None:
                        self._watcher(announced)
                case Answer():
                    answer = action
                case _:
                    assert_never(action)
        return answer

    async def wait_recorded(self) -> None:
        """Until all that was recorded so far is on disk."""
        if self._syncing is not None:
            await asyncio.shield(self._syncing)

    def watch(self, watcher: Callable[[master_pb2.Event], None] | None) -> None:
        """Have each announcement told to `watcher` from now on; None: nobody watches any more."""
        self._watcher = watcher
        self._core.announcements.is_wanted = watcher is not None

    def add_stream(self, stream_id: StreamId, subscriber: Subscriber) -> None:
        """A stream opened; the core may write to it."""
        self._subscribers[stream_id] = subscriber

    def drop_stream(self, stream_id: StreamId) -> None:
        """A stream is over; unless the core ended it, it is told."""
        subscriber = self._subscribers.pop(stream_id, None)
        if subscriber is not None and subscriber.framework_id is not None:
            self.submit(StreamBroken(subscriber.framework_id, stream_id))

    def receive(self, message: LibprocessMessage) -> bool:
        """Take a libprocess message; false if there is no such process (Mesos 1.11: 404)."""
        if message.to_id == _MASTER:
            self._hear(message)
            return True
        observer = _observer_number(message.to_id)
        if observer not in self.books.agents_by_observer:
            return False
        if message.name.endswith(".PongSlaveMessage"):
            self.submit(AgentPonged(observer))
        return True

    def _hear(self, message: LibprocessMessage) -> None:
        cls = message_class(message.name)
        if cls is None:
            _log.debug("dropped unknown message %s from %s", message.name, message.sender)
            return
        body: Message
        is_forced = False
        try:
            if cls is scheduler_pb2.Call:
                body, is_forced = decode_driver_call(message.body)
            else:
                body = decode(cls, message.body)
        except DecodeError as error:
            _log.warning("dropped %s from %s: %s", message.name, message.sender, error)
            return
        if not body.IsInitialized():
            _log.warning("dropped %s from %s: %s", message.name, message.sender, missing_fields(body))
            return
        if isinstance(body, scheduler_pb2.Call):
            self.submit(DriverCalled(message.sender, body, is_forced))
        else:
            self.submit(PeerSaid(message.sender, body))

    def _record(self, operation: Operation) -> None:
        self._registry.record(operation)
        self._has_unsynced = True
        if self._syncing is None or self._syncing.done():
            self._syncing = asyncio.get_running_loop().create_task(self._sync())

    async def _sync(self) -> None:
        """Have the disk keep up. Only operators' answers wait for it: a kill -9 takes nothing of what was written."""
        while self._has_unsynced:
            self._has_unsynced = False
            await self._registry.sync()

    def _break_link(self, pid: Pid) -> None:
        self.submit(LinkBroken(pid))

    def _tell(self, stream_id: StreamId, event: Message) -> None:
        subscriber = self._subscribers.get(stream_id)
        if subscriber is not None:
            subscriber.reply.send(encode_record(encode(event, subscriber.media)))

    def _end_stream(self, stream_id: StreamId) -> None:
        subscriber = self._subscribers.pop(stream_id, None)
        if subscriber is not None:
            subscriber.reply.end()

    def _set_timer(self, timer: Timer, delay_s: float) -> None:
        self._cancel_timer(timer)
        self._timers[timer] = asyncio.get_running_loop().call_later(delay_s, self._fire, timer)

    def _cancel_timer(self, timer: Timer) -> None:
        handle = self._timers.pop(timer, None)
        if handle is not None:
            handle.cancel()

    def _fire(self, timer: Timer) -> None:
        self._timers.pop(timer, None)
        self.submit(TimeCame(timer))


def _observer_number(to_id: str) -> int:
    """The n of `slave-observer(n)`; 0 for anything else."""
    number = to_id.removeprefix(_OBSERVER).removesuffix(")")
    is_number = number.isascii() and number.isdigit() and len(number) <= _NUMBER_LENGTH
    return int(number) if to_id.startswith(_OBSERVER) and is_number else 0


def _printable(text: str) -> str:
    """One line whatever names others chose."""
    return text if text.isprintable() else text.encode("unicode_escape").decode()
