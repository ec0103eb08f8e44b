"""A master core with frameworks and agents around it, all in memory: what they said and were told."""

from __future__ import annotations

from collections import defaultdict
from random import Random
from typing import TypeVar

from google.protobuf.message import Message

from tests.master.mirror import Mirror
from tfmesos.master.core import MasterCore, build_allocator
from tfmesos.master.core.events import (
    Action,
    AgentPonged,
    Announce,
    Answer,
    BindStream,
    Called,
    CancelTimer,
    DriverCalled,
    EndStream,
    Event,
    LinkBroken,
    Log,
    OperatorEvent,
    PeerSaid,
    Record,
    Send,
    SetTimer,
    Started,
    StreamBroken,
    Subscribed,
    Tell,
    TimeCame,
    Timer,
)
from tfmesos.master.core.registry import Operation, RegistryState
from tfmesos.master.flags import MasterFlags
from tfmesos.master.ids import FrameworkId, StreamId
from tfmesos.resources import Resources, parse_attributes
from tfmesos.transport import Pid
from tfmesos.wire import internal_pb2, master_pb2, mesos_pb2, scheduler_pb2
from tfmesos.wire.text import state_name

Call = scheduler_pb2.Call
Capability = mesos_pb2.FrameworkInfo.Capability
M = TypeVar("M", bound=Message)
MODERN = (Capability.RESERVATION_REFINEMENT, Capability.PARTITION_AWARE, Capability.TASK_KILLING_STATE)
PLAIN_AGENT = (1, 2, 3, 7, 8)


def flags(**changes: object) -> MasterFlags:
    return MasterFlags(registry="in_memory", **changes)  # type: ignore[arg-type]


def framework_info(**fields: object) -> mesos_pb2.FrameworkInfo:
    capabilities = fields.pop("capabilities", MODERN)
    framework_id = fields.pop("id", None)
    info = mesos_pb2.FrameworkInfo(user="nobody", name="test", **fields)  # type: ignore[arg-type]
    for capability in capabilities:  # type: ignore[attr-defined]
        info.capabilities.add(type=capability)
    if framework_id is not None:
        info.id.value = str(framework_id)
    return info


class World:
    """Drives a core; `told[stream]` and `sent[pid]` hold what it said, until taken."""

    def __init__(
        self, master_flags: MasterFlags | None = None, registry: RegistryState | None = None, master_id: str = "M"
    ) -> None:
        self.flags = master_flags or flags()
        self.registry = registry or RegistryState(self.flags.max_completed_frameworks)
        self.allocator = build_allocator(self.flags, Random(0))
        info = mesos_pb2.MasterInfo(id=master_id, ip=0, port=5050)
        self.core = MasterCore(self.flags, info, self.allocator, self.registry)
        self.now = 1000.0
        self.told: defaultdict[str, list[scheduler_pb2.Event]] = defaultdict(list)
        self.sent: defaultdict[Pid, list[Message]] = defaultdict(list)
        self.timers: dict[Timer, float] = {}
        self.owners: dict[str, FrameworkId] = {}
        self.ended: set[str] = set()
        self.answers: list[Answer] = []
        self.recorded: list[Operation] = []
        self.announced: list[master_pb2.Event] = []
        self.log: list[str] = []
        self._streams = 0
        self.do(Started())
        self.mirror = Mirror(self.core.books)
        self.core.announcements.is_wanted = True

    def do(self, event: Event) -> None:
        for action in self.core.handle(event, self.now):
            self._carry_out(action)

    def _carry_out(self, action: Action) -> None:
        match action:
            case Tell(stream_id=stream_id, event=event):
                assert stream_id not in self.ended
                self.told[stream_id].append(event)
            case Send(pid=pid, message=message):
                assert message.IsInitialized(), message
                self.sent[pid].append(message)
            case SetTimer(timer=timer, delay_s=delay_s):
                self.timers[timer] = self.now + delay_s
            case CancelTimer(timer=timer):
                self.timers.pop(timer, None)
            case EndStream(stream_id=stream_id):
                self.ended.add(stream_id)
            case BindStream(stream_id=stream_id, framework_id=framework_id):
                self.owners[stream_id] = framework_id
            case Announce(event=announced):
                self.announced.append(announced)
                self.mirror.take(announced)
            case Answer():
                self.answers.append(action)
            case Record(operation=operation):
                self.recorded.append(operation)
            case Log(text=text):
                self.log.append(text)

    def wait(self, seconds: float) -> None:
        """Let time pass; timers go off in order."""
        end = self.now + seconds
        while self.timers and min(self.timers.values()) <= end:
            timer = min(self.timers, key=lambda one: self.timers[one])
            self.now = max(self.now, self.timers.pop(timer))
            self.do(TimeCame(timer))
        self.now = end

    def restarted(self) -> World:
        """A new master that finds the registry of this one, at the same time; agents and frameworks must come again."""
        state = RegistryState(self.flags.max_completed_frameworks)
        for operation in self.recorded:
            state.apply(operation)
        assert state == self.registry
        successor = World(self.flags, state, self.core.books.master.id + "+")
        successor.now = self.now
        successor.recorded = list(state.operations())
        return successor

    # --- frameworks ---

    def subscribe(self, info: mesos_pb2.FrameworkInfo | None = None, suppressed: tuple[str, ...] = ()) -> Framework:
        self._streams += 1
        stream_id = StreamId(f"stream-{self._streams}")
        subscribe = Call.Subscribe(suppressed_roles=suppressed)
        subscribe.framework_info.CopyFrom(info or framework_info())
        self.do(Subscribed(stream_id, subscribe))
        return Framework(self, stream_id)

    def ask(self, event: OperatorEvent) -> int:
        """The status that an operator gets."""
        self.do(event)
        return self.answers.pop().status

    def call(self, framework_id: FrameworkId, kind: str, **fields: object) -> None:
        """A call of a framework, whichever way it is connected."""
        call = Call(type=Call.Type.Value(kind))
        call.framework_id.value = framework_id
        part = getattr(call, kind.lower()) if hasattr(call, kind.lower()) else None
        if part is not None:
            part.SetInParent()
            part.MergeFrom(type(part)(**fields))
        framework = self.core.books.frameworks.get(framework_id)
        if framework is not None and framework.pid:
            self.do(DriverCalled(framework.pid, call, is_forced=False))
        else:
            self.do(Called(framework_id, call))

    # --- agents ---

    def register(self, resources: str = "cpus:4;mem:4096;ports:[31000-31009]", port: int = 5051) -> Agent:
        agent = Agent(self, Pid("slave(1)", "127.0.0.1", port), resources)
        agent.register()
        return agent


class Framework:
    def __init__(self, world: World, stream_id: StreamId) -> None:
        self.world = world
        self.stream_id = stream_id

    @property
    def id(self) -> FrameworkId:
        return self.world.owners[self.stream_id]

    def take(self) -> list[scheduler_pb2.Event]:
        return self.world.told.pop(self.stream_id, [])

    def take_offers(self) -> list[mesos_pb2.Offer]:
        return [offer for event in self.take() for offer in event.offers.offers]

    def take_statuses(self) -> list[mesos_pb2.TaskStatus]:
        return [event.update.status for event in self.take() if event.type == scheduler_pb2.Event.UPDATE]

    def states(self) -> list[str]:
        return [state_name(status.state) for status in self.take_statuses()]

    def call(self, kind: str, **fields: object) -> None:
        self.world.call(self.id, kind, **fields)

    def break_stream(self) -> None:
        self.world.do(StreamBroken(self.id, self.stream_id))

    def accept(self, offers: list[mesos_pb2.Offer], tasks: list[mesos_pb2.TaskInfo], refuse_s: float = 5.0) -> None:
        operation = mesos_pb2.Offer.Operation(type=mesos_pb2.Offer.Operation.LAUNCH)
        operation.launch.task_infos.extend(tasks)
        self.call(
            "ACCEPT",
            offer_ids=[offer.id for offer in offers],
            operations=[operation] if tasks else [],
            filters=mesos_pb2.Filters(refuse_seconds=refuse_s),
        )

    def decline(self, offers: list[mesos_pb2.Offer], refuse_s: float = 5.0) -> None:
        self.call("DECLINE", offer_ids=[one.id for one in offers], filters=mesos_pb2.Filters(refuse_seconds=refuse_s))

    def acknowledge(self, status: mesos_pb2.TaskStatus) -> None:
        self.call("ACKNOWLEDGE", agent_id=status.agent_id, task_id=status.task_id, uuid=status.uuid)


class Agent:
    def __init__(self, world: World, pid: Pid, resources: str, capabilities: tuple[int, ...] = PLAIN_AGENT) -> None:
        self.world = world
        self.pid = pid
        self.resources = resources
        self.capabilities = capabilities
        self.attributes = ""
        self.id = ""
        self._updates = 0

    def say(self, message: Message) -> None:
        self.world.do(PeerSaid(self.pid, message))

    def take(self, kind: type[M]) -> list[M]:
        """The messages of one kind; all others are dropped."""
        return [message for message in self.world.sent.pop(self.pid, []) if isinstance(message, kind)]

    def info(self) -> mesos_pb2.AgentInfo:
        info = mesos_pb2.AgentInfo(hostname="host", port=self.pid.port, checkpoint=True)
        info.resources.extend(Resources.parse(self.resources).to_proto("pre"))
        info.attributes.extend(parse_attributes(self.attributes))
        if self.id:
            info.id.value = self.id
        return info

    def register(self) -> None:
        message = internal_pb2.RegisterSlaveMessage(slave=self.info(), version="1.11.0")
        for capability in self.capabilities:
            message.agent_capabilities.add(type=capability)
        self.say(message)
        for answer in self.world.sent[self.pid]:
            if isinstance(answer, internal_pb2.SlaveRegisteredMessage):
                self.id = answer.slave_id.value

    def reregister(
        self,
        tasks: list[mesos_pb2.Task] | None = None,
        frameworks: list[mesos_pb2.FrameworkInfo] | None = None,
        executors: list[mesos_pb2.ExecutorInfo] | None = None,
    ) -> None:
        message = internal_pb2.ReregisterSlaveMessage(slave=self.info(), version="1.11.0")
        message.tasks.extend(tasks or [])
        message.frameworks.extend(frameworks or [])
        message.executor_infos.extend(executors or [])
        for capability in self.capabilities:
            message.agent_capabilities.add(type=capability)
        self.say(message)

    def break_link(self) -> None:
        self.world.do(LinkBroken(self.pid))

    def pong(self) -> None:
        books = self.world.core.books
        agent = books.agents_by_pid.get(self.pid)
        if agent is not None:
            self.world.do(AgentPonged(agent.observer))

    def update(self, task_id: str, framework_id: str, state: int, latest: int | None = None) -> bytes:
        self._updates += 1
        uuid = self._updates.to_bytes(16, "big")
        message = internal_pb2.StatusUpdateMessage(pid=str(self.pid))
        update = message.update
        update.framework_id.value = framework_id
        update.slave_id.value = self.id
        update.executor_id.value = task_id
        update.timestamp = self.world.now
        update.uuid = uuid
        update.latest_state = latest if latest is not None else state  # type: ignore[assignment]
        update.status.task_id.value = task_id
        update.status.state = state  # type: ignore[assignment]
        self.say(message)
        return uuid


def task(task_id: str, offer: mesos_pb2.Offer, resources: str = "cpus:1;mem:64") -> mesos_pb2.TaskInfo:
    info = mesos_pb2.TaskInfo(name=task_id)
    info.task_id.value = task_id
    info.agent_id.CopyFrom(offer.agent_id)
    info.resources.extend(Resources.parse(resources).to_proto())
    info.command.value = "true"
    return info
