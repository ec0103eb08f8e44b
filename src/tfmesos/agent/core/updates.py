"""Which status updates are on their way to the master: the pure core.

Mesos 1.11: per task one stream in order; at most one update of a stream is outstanding; it is
sent again after 10 s, 20 s, … 10 min until acknowledged; nothing is sent while the agent is not registered; the
acknowledgement of a terminal update ends the stream. `latest_state` tells the master what has become of the task.

Times are seconds of any one monotonic clock.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field

from tfmesos.agent.core.records import TaskKey
from tfmesos.wire import internal_pb2
from tfmesos.wire.text import TERMINAL_STATES

RETRY_FIRST_S = 10.0
RETRY_MAX_S = 600.0
_STALE_KEPT = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Acknowledged:
    """What an acknowledgement did: whether it fitted, whether the stream has ended, and what to send next."""

    fitted: bool
    ended: bool = False
    send: internal_pb2.StatusUpdate | None = None


@dataclass(slots=True)
class _Stream:
    key: TaskKey
    pending: deque[internal_pb2.StatusUpdate] = field(default_factory=deque)
    retry_s: float = RETRY_FIRST_S
    due: float | None = None  # when the head is sent again; None while nothing is outstanding
    has_ended: bool = False  # a terminal update was queued: nothing may follow it


class StatusUpdates:
    """The streams of all tasks. Starts paused: an agent that is not registered sends nothing."""

    def __init__(self) -> None:
        self._streams: dict[TaskKey, _Stream] = {}
        self._retries: list[tuple[float, TaskKey]] = []  # a heap; entries that no longer agree with `due` are stale
        self._is_paused = True

    @property
    def is_paused(self) -> bool:
        return self._is_paused

    def add(self, update: internal_pb2.StatusUpdate, now: float) -> internal_pb2.StatusUpdate | None:
        """Queue an update that has a uuid; it is the caller's no longer. Returned if it is to be sent now.

        An update after a terminal one of the same task raises ValueError.
        """
        key = TaskKey(update.framework_id.value, update.status.task_id.value)
        stream = self._streams.get(key)
        if stream is None:
            stream = self._streams[key] = _Stream(key)
        if stream.has_ended:
            raise ValueError(f"task {key.task_id} has had its terminal update")
        stream.has_ended = update.status.state in TERMINAL_STATES
        stream.pending.append(update)
        if len(stream.pending) > 1 or self._is_paused:
            return None
        return self._send_head(stream, now)

    def acknowledge(self, key: TaskKey, uuid: bytes, now: float) -> Acknowledged:
        """Take the acknowledgement of the outstanding update; any other is ignored (`fitted` is False)."""
        stream = self._streams.get(key)
        if stream is None or not stream.pending or stream.pending[0].uuid != uuid:
            return Acknowledged(fitted=False)
        stream.pending.popleft()
        stream.due = None
        stream.retry_s = RETRY_FIRST_S
        if stream.pending:
            return Acknowledged(fitted=True, send=None if self._is_paused else self._send_head(stream, now))
        if stream.has_ended:
            del self._streams[key]
        return Acknowledged(fitted=True, ended=stream.has_ended)

    def has_ended(self, key: TaskKey) -> bool:
        """Whether a terminal update of the task is still to be acknowledged."""
        stream = self._streams.get(key)
        return stream is not None and stream.has_ended

    def pause(self) -> None:
        """Send nothing until `resume`: the registration is lost."""
        self._is_paused = True
        self._retries.clear()
        for stream in self._streams.values():
            stream.due = None

    def resume(self, now: float) -> list[internal_pb2.StatusUpdate]:
        """The agent is registered: what to send now, the head of every stream."""
        self._is_paused = False
        self._retries.clear()
        for stream in self._streams.values():
            stream.retry_s = RETRY_FIRST_S
        return [self._send_head(stream, now) for stream in self._streams.values() if stream.pending]

    def deadline(self) -> float | None:
        """When `retry` has something to do, if ever."""
        while self._retries:
            due, key = self._retries[0]
            stream = self._streams.get(key)
            if stream is not None and stream.due == due:
                return due
            heapq.heappop(self._retries)
        return None

    def retry(self, now: float) -> list[internal_pb2.StatusUpdate]:
        """What was not acknowledged in time and is to be sent again; each waits twice as long from now."""
        late = []
        while (due := self.deadline()) is not None and due <= now:
            _, key = heapq.heappop(self._retries)
            stream = self._streams[key]
            stream.retry_s = min(stream.retry_s * 2, RETRY_MAX_S)
            late.append(self._send_head(stream, now))
        return late

    def forget_framework(self, framework_id: str) -> None:
        """Drop all streams of a framework that is gone."""
        for key in [key for key in self._streams if key.framework_id == framework_id]:
            del self._streams[key]

    def head(self, key: TaskKey) -> internal_pb2.StatusUpdate | None:
        """The update whose acknowledgement is awaited next."""
        stream = self._streams.get(key)
        return stream.pending[0] if stream is not None and stream.pending else None

    def keys(self) -> Iterator[TaskKey]:
        """The tasks that still have a stream."""
        return iter(self._streams)

    def _send_head(self, stream: _Stream, now: float) -> internal_pb2.StatusUpdate:
        head = stream.pending[0]
        head.latest_state = stream.pending[-1].status.state
        stream.due = now + stream.retry_s
        heapq.heappush(self._retries, (stream.due, stream.key))
        if len(self._retries) > 4 * len(self._streams) + _STALE_KEPT:
            self._drop_stale()
        return head

    def _drop_stale(self) -> None:
        """Entries of acknowledged updates would pile up behind one that is never acknowledged."""
        streams = self._streams.values()
        self._retries = [(stream.due, stream.key) for stream in streams if stream.due is not None]
        heapq.heapify(self._retries)
