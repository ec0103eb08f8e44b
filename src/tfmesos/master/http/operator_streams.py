"""SUBSCRIBE of the v1 operator API: who watches, and what they are told (Mesos 1.11)."""

import asyncio
from dataclasses import dataclass

from aiohttp import web

from tfmesos.master.engine import Engine
from tfmesos.master.http.operator_answers import StateAnswers
from tfmesos.transport import StreamReply
from tfmesos.wire import encode_record, master_pb2
from tfmesos.wire.media import JSON, encode

HEARTBEAT_INTERVAL_S = 15.0
STREAM_LIMIT = 16 * 1024 * 1024
"""Bytes beyond its first events that a subscriber may leave unread before it is dropped."""
_HEARTBEAT = master_pb2.Event(type=master_pb2.Event.HEARTBEAT)


@dataclass(eq=False, slots=True)
class _Watcher:
    """One open stream."""

    stream: StreamReply
    media: str
    heartbeat: asyncio.TimerHandle | None = None


class OperatorStreams:
    """All open streams, oldest first; with more than `limit` the oldest ends."""

    def __init__(self, engine: Engine, answers: StateAnswers, limit: int) -> None:
        self._engine = engine
        self._answers = answers
        self._limit = limit
        self._watchers: dict[_Watcher, None] = {}

    def __len__(self) -> int:
        return len(self._watchers)

    async def subscribe(self, request: web.BaseRequest, media: str) -> web.StreamResponse:
        """Serve a stream as long as it lasts: the state, a heartbeat, then every event that follows that state."""
        if media == JSON:
            await self._answers.prepare(master_pb2.Call.SUBSCRIBE)
        state = encode_record(self._answers.subscribed(HEARTBEAT_INTERVAL_S, as_json=media == JSON))
        watcher = _Watcher(StreamReply(media, limit=STREAM_LIMIT), media)
        self._add(watcher)
        try:
            watcher.stream.send(state)
            self._beat(watcher)
            return await watcher.stream.serve(request)
        finally:
            self._remove(watcher)

    def _add(self, watcher: _Watcher) -> None:
        if not self._watchers:
            self._engine.watch(self._tell)
        self._watchers[watcher] = None
        if len(self._watchers) > self._limit:
            oldest = next(iter(self._watchers))
            oldest.stream.end()
            self._remove(oldest)

    def _remove(self, watcher: _Watcher) -> None:
        if watcher.heartbeat is not None:
            watcher.heartbeat.cancel()
        if watcher in self._watchers:
            del self._watchers[watcher]
            if not self._watchers:
                self._engine.watch(None)

    def _beat(self, watcher: _Watcher) -> None:
        watcher.stream.send(encode_record(encode(_HEARTBEAT, watcher.media)))
        loop = asyncio.get_running_loop()
        watcher.heartbeat = loop.call_later(HEARTBEAT_INTERVAL_S, self._beat, watcher)

    def _tell(self, event: master_pb2.Event) -> None:
        """Write an event to all, encoded once for each medium."""
        records: dict[str, bytes] = {}
        for watcher in self._watchers:
            if watcher.media not in records:
                records[watcher.media] = encode_record(encode(event, watcher.media))
            watcher.stream.send(records[watcher.media])
