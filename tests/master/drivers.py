"""Frameworks on libprocess: what a scheduler driver says to a core in memory, and hears of it."""

from __future__ import annotations

from typing import TypeVar

from google.protobuf.message import Message

from tests.master.world import World, framework_info
from tfmesos.master.core.events import DriverCalled, LinkBroken
from tfmesos.transport import Pid
from tfmesos.wire import internal_pb2, mesos_pb2, scheduler_pb2

M = TypeVar("M", bound=Message)
Call = scheduler_pb2.Call


class Driver:
    """A framework on libprocess."""

    def __init__(self, world: World, port: int, framework_id: str | None = None) -> None:
        self.world = world
        self.pid = Pid(f"scheduler-{port}", "127.0.0.1", port)
        self.id = framework_id or ""

    def take(self, kind: type[M]) -> list[M]:
        heard = self.world.sent.pop(self.pid, [])
        self.world.sent[self.pid] = [one for one in heard if not isinstance(one, kind)]
        return [one for one in heard if isinstance(one, kind)]

    def subscribe(self, *, is_forced: bool = False) -> Driver:
        call = Call(type=Call.SUBSCRIBE)
        call.subscribe.framework_info.CopyFrom(framework_info(failover_timeout=60.0, id=self.id or None))
        if self.id:
            call.framework_id.value = self.id
        self.world.do(DriverCalled(self.pid, call, is_forced))
        for one in self.world.sent.get(self.pid, []):
            if isinstance(one, internal_pb2.FrameworkRegisteredMessage | internal_pb2.FrameworkReregisteredMessage):
                self.id = one.framework_id.value
        return self

    def call(self, kind: str, **fields: object) -> None:
        call = Call(type=Call.Type.Value(kind))
        call.framework_id.value = self.id
        if fields:
            part = getattr(call, kind.lower())
            part.MergeFrom(type(part)(**fields))
        self.world.do(DriverCalled(self.pid, call, is_forced=False))

    def offers(self) -> list[mesos_pb2.Offer]:
        return [offer for one in self.take(internal_pb2.ResourceOffersMessage) for offer in one.offers]

    def break_link(self) -> None:
        self.world.do(LinkBroken(self.pid))
