"""What stock Apache Mesos' peers said, twisted at random: nothing of it may upset the books."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

from tests.master.world import Agent, World, flags, framework_info, task
from tfmesos.master.core.events import Called, DriverCalled, PeerSaid, Subscribed
from tfmesos.master.http import state_json
from tfmesos.master.http.texts import TaskTexts, json_object
from tfmesos.master.ids import FrameworkId, StreamId
from tfmesos.master.validation import call_error
from tfmesos.transport import Pid
from tfmesos.wire import decode, internal_pb2, mesos_pb2, scheduler_pb2
from tfmesos.wire.json_codec import dumps
from tfmesos.wire.names import message_class

RECORDINGS = Path(__file__).parents[1] / "golden" / "transcripts"
TWIST = 0.05
BY_DRIVER = 0.1
DRIVER = Pid("scheduler-1", "127.0.0.1", 7001)
STRANGE: dict[int, list[Any]] = {
    FieldDescriptor.TYPE_DOUBLE: [0.0, -1.0, math.nan, math.inf, -math.inf, 1e300, 0.0004, 0.5],
    FieldDescriptor.TYPE_STRING: ["", "..", "a/b", "a\nb", "x" * 300, "*", "é", "\x00"],
    FieldDescriptor.TYPE_BYTES: [b"", b"\xff" * 16, b"abc"],
    FieldDescriptor.TYPE_BOOL: [True, False],
    FieldDescriptor.TYPE_UINT64: [0, 1, 2**64 - 1],
    FieldDescriptor.TYPE_INT64: [-1, 0, 2**63 - 1, -(2**63)],
}


def recorded_calls() -> list[scheduler_pb2.Call]:
    paths = [
        path
        for session in ("scheduler-protobuf", "mesos-execute")
        for path in sorted(RECORDINGS.glob(f"{session}/*-scheduler-to-master-*.bin"))
    ]
    return [decode(scheduler_pb2.Call, path.read_bytes()) for path in paths]


def recorded_messages() -> list[Message]:
    paths = sorted(RECORDINGS.glob("agent-restart*/*-agent-to-master-*Message.bin"))
    classes = [(message_class(f"mesos.internal.{path.stem.rpartition('-')[2]}"), path) for path in paths]
    return [decode(cls, path.read_bytes()) for cls, path in classes if cls is not None]


def is_list(value: Any) -> bool:
    return not isinstance(value, Message | str | bytes | bool | int | float)


def twist(message: Message, random: Random) -> None:
    """Change some values, lengths of lists and presences."""
    for field, value in list(message.ListFields()):
        if field.message_type is not None and field.message_type.GetOptions().map_entry:
            continue
        if is_list(value):
            twist_list(field, value, random)
        elif field.message_type is not None:
            twist(value, random)
        elif random.random() < TWIST and field.type in STRANGE:
            setattr(message, field.name, random.choice(STRANGE[field.type]))
        if random.random() < TWIST / 6:
            message.ClearField(field.name)


def twist_list(field: FieldDescriptor, values: Any, random: Random) -> None:
    if field.message_type is None:
        return
    for value in values:
        twist(value, random)
    if len(values) and random.random() < TWIST:
        values.add().CopyFrom(values[0])
    elif len(values) and random.random() < TWIST:
        del values[random.randrange(len(values))]


class Visit:
    """One master, one framework, one agent, and strange things said in their names."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.world = World(flags(min_allocatable_resources=()))
        self.agent = self.world.register("cpus:4;mem:4096;disk:10240;ports:[31000-32000]")
        self.framework = self.world.subscribe(framework_info(failover_timeout=10.0))
        self.streams = 0

    def call(self, call: scheduler_pb2.Call) -> None:
        twist(call, self.random)
        if not call.IsInitialized():
            return
        call.framework_id.value = "M-0000"
        if self.random.random() < BY_DRIVER:
            self.world.do(DriverCalled(DRIVER, call, is_forced=self.random.random() < 0.5))
            return
        if call.type == scheduler_pb2.Call.SUBSCRIBE:
            self.streams += 1
            self.world.do(Subscribed(StreamId(f"again-{self.streams}"), call.subscribe))
            return
        call.update_framework.framework_info.id.value = "M-0000"
        for offer_id in list(self.world.core.books.offers)[:1]:
            del call.accept.offer_ids[:]
            call.accept.offer_ids.add().value = offer_id
        for operation in call.accept.operations:
            for info in (*operation.launch.task_infos, *operation.launch_group.task_group.tasks):
                info.agent_id.value = self.agent.id
            if operation.HasField("launch_group"):
                operation.launch_group.executor.framework_id.value = "M-0000"
        if call_error(call) is None:
            self.world.do(Called(FrameworkId("M-0000"), call))

    def say(self, message: Message) -> None:
        twist(message, self.random)
        if not message.IsInitialized():
            return
        if isinstance(message, internal_pb2.ReregisterSlaveMessage):
            message.slave.id.value = self.random.choice([self.agent.id, "X-S0"])
        elif isinstance(message, internal_pb2.StatusUpdateMessage):
            message.update.slave_id.value, message.update.framework_id.value = self.agent.id, "M-0000"
            for task_id in self.tasks():
                message.update.status.task_id.value = task_id
        elif hasattr(message, "slave_id"):
            message.slave_id.value = self.agent.id
        self.world.do(PeerSaid(self.agent.pid, message))

    def tasks(self) -> Iterator[str]:
        framework = self.world.core.books.frameworks.get(FrameworkId("M-0000"))
        return iter(framework.tasks if framework else ())

    def check(self) -> None:
        books = self.world.core.books
        for agent in books.agents.values():
            dumps(state_json.full_agent_json(agent))
            has_shrunk = not agent.total.contains(agent.used().unallocated())
            assert has_shrunk or agent.total.contains((agent.used() + agent.offered()).unallocated())
            assert not (has_shrunk and agent.offers)
        texts = TaskTexts(lambda task: dumps(state_json.task_json(task)))
        for framework in books.frameworks.values():
            json_object(state_json.framework_json(framework, books, texts))


@pytest.mark.parametrize("seed", range(40))
def test_twisted_words_upset_nothing(seed: int) -> None:
    random = Random(seed)
    visit = Visit(random)
    calls, messages = recorded_calls(), recorded_messages()
    for _ in range(20):
        if random.random() < 0.6:
            visit.call(random.choice(calls))
        else:
            visit.say(random.choice(messages))
        visit.world.wait(random.choice([0.0, 0.5, 2.0]))
        visit.check()


@pytest.mark.parametrize("amount", [math.nan, math.inf, -math.inf, 1e300, -1.0])
def test_amounts_that_are_none_are_refused(amount: float) -> None:
    world = World()
    world.register()
    framework = world.subscribe()
    offers = framework.take_offers()
    wrong = task("t", offers[0])
    wrong.resources[0].scalar.value = amount
    framework.accept(offers, [wrong])
    assert framework.states() == ["TASK_ERROR"]


def test_an_agent_with_amounts_that_are_none_is_ignored() -> None:
    world = World()
    agent = world.register()
    other = Agent(world, replace(agent.pid, port=9), agent.resources)
    info = other.info()
    info.resources[0].scalar.value = math.nan
    other.say(internal_pb2.RegisterSlaveMessage(slave=info, version="1.11.0"))
    assert len(world.core.books.agents) == 1


def test_limits_that_are_no_numbers_are_refused() -> None:
    world = World()
    world.register()
    framework = world.subscribe()
    offers = framework.take_offers()
    wrong = task("t", offers[0])
    wrong.limits["cpus"].CopyFrom(mesos_pb2.Value.Scalar(value=math.nan))
    framework.accept(offers, [wrong])
    [status] = framework.take_statuses()
    assert status.message == "The cpu limit must be greater than or equal to the cpu request"
