"""Event streams of executors: one each, the newest."""

from __future__ import annotations

import asyncio

from tfmesos.agent.membership.identity import Identity
from tfmesos.transport import StreamReply
from tfmesos.wire import executor_pb2, mesos_pb2
from tfmesos.wire.media import JSON, encode
from tfmesos.wire.recordio import encode_record

HEARTBEAT_S = 1800.0  # Mesos 1.11: 30 minutes, the first one after as long
STREAM_LIMIT = 16 * 1024 * 1024
"""Bytes that an executor may leave unread before its stream is cut off."""


class ExecutorStream:
    """One answer to a SUBSCRIBE."""

    def __init__(self, media: str) -> None:
        self.reply = StreamReply(media, limit=STREAM_LIMIT)
        self._media = media
        self._heartbeat = self._plan_heartbeat()

    def send(self, event: executor_pb2.Event) -> None:
        """Add an event, never waiting."""
        if self._media == JSON and event.HasField("subscribed"):  # `checkpoint` is no field of a v1 AgentInfo
            event.subscribed.agent_info.ClearField("checkpoint")
        self.reply.send(encode_record(encode(event, self._media)))

    def end(self) -> None:
        """Finish it."""
        self._heartbeat.cancel()
        self.reply.end()

    def _plan_heartbeat(self) -> asyncio.TimerHandle:
        return asyncio.get_running_loop().call_later(HEARTBEAT_S, self._beat)

    def _beat(self) -> None:
        self.send(executor_pb2.Event(type=executor_pb2.Event.HEARTBEAT))
        self._heartbeat = self._plan_heartbeat()


class ExecutorStreams:
    """All of them, by container."""

    def __init__(self, identity: Identity) -> None:
        self._identity = identity
        self._agent = mesos_pb2.AgentInfo()
        self._streams: dict[str, ExecutorStream] = {}

    def describe_agent(self, agent_id: str) -> None:
        """What executors are told of this agent from now on."""
        self._agent = self._identity.described(agent_id)

    def open(self, container_id: str, media: str) -> ExecutorStream:
        """A new stream; an older one of the same container is ended."""
        self.close(container_id)
        stream = self._streams[container_id] = ExecutorStream(media)
        return stream

    def send(self, container_id: str, event: executor_pb2.Event) -> None:
        """Tell an executor, if it has a stream."""
        stream = self._streams.get(container_id)
        if stream is None:
            return
        if event.type == executor_pb2.Event.SUBSCRIBED:
            event.subscribed.agent_info.CopyFrom(self._agent)
        stream.send(event)

    def close(self, container_id: str) -> None:
        """End an executor's stream. Idempotent."""
        stream = self._streams.pop(container_id, None)
        if stream is not None:
            stream.end()

    def lost(self, container_id: str, stream: ExecutorStream) -> bool:
        """A stream's client is gone (or it was ended); whether it was the executor's only one."""
        stream.end()
        if self._streams.get(container_id) is not stream:
            return False
        del self._streams[container_id]
        return True

    def close_all(self) -> None:
        """End all."""
        for container_id in list(self._streams):
            self.close(container_id)
