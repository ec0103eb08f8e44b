"""Moves that touch the books and the allocator at once, so that the two never disagree."""

from collections.abc import Iterable

from google.protobuf.message import Message

from tfmesos.master import allocator as alloc
from tfmesos.master.core.announcements import Announcements
from tfmesos.master.core.books import Agent, Books, Executor, Framework, Offer, Task
from tfmesos.master.core.driver_messages import message_of
from tfmesos.master.core.events import Action, CancelTimer, Log, OfferOver, Record, Send, Tell
from tfmesos.master.core.lifecycle import step_task
from tfmesos.master.core.registry import Operation
from tfmesos.master.ids import AgentId, ExecutorId
from tfmesos.resources import Resources
from tfmesos.wire import mesos_pb2, scheduler_pb2
from tfmesos.wire.tasks import remember_status
from tfmesos.wire.text import reason_name, source_name, state_name

_Event = scheduler_pb2.Event
_EVENT_COUNTS = {number: f"events/{name.lower()}" for name, number in _Event.Type.items()}


class Ledger:
    """The books, the allocator, and the actions that the event at hand leads to."""

    def __init__(self, books: Books, allocator: alloc.Allocator) -> None:
        self.books = books
        self.allocator = allocator
        self.now = 0.0
        self.wants_allocation = False
        self.lighter_drains: dict[AgentId, Agent] = {}
        """Draining agents that lost a task by the event at hand."""
        self._actions: list[Action] = []
        self.announce = Announcements(self.emit)
        """What subscribed operators are told; tasks are announced here, frameworks and agents by who moves them."""

    def emit(self, *actions: Action) -> None:
        """Want something done."""
        self._actions.extend(actions)

    def drain(self) -> list[Action]:
        """All that is wanted, in order; once."""
        actions, self._actions = self._actions, []
        return actions

    def log(self, text: str) -> None:
        """A life cycle changed."""
        self.emit(Log(text))

    def warn(self, text: str) -> None:
        """Something was refused or ignored."""
        self.emit(Log(text, is_warning=True))

    def tell(self, framework: Framework, event: scheduler_pb2.Event) -> None:
        """Send an event to a framework; nothing if it is not connected."""
        if not framework.is_connected:
            return
        self._count_event(framework, event)
        if framework.stream_id is not None:
            self.emit(Tell(framework.stream_id, event))
        elif (message := message_of(event, framework.id, self.books)) is not None:
            self.emit(Send(framework.pid, message))

    def tell_status(self, framework: Framework, status: mesos_pb2.TaskStatus) -> None:
        """Send an UPDATE to a framework; nothing if it is not connected."""
        if not framework.is_connected:
            return
        event = _Event(type=_Event.UPDATE)
        event.update.status.CopyFrom(status)
        self.tell(framework, event)

    def send(self, agent: Agent, message: Message) -> None:
        """Send a message to an agent."""
        self.emit(Send(agent.pid, message))

    def record(self, operation: Operation) -> None:
        """Change what outlives this master."""
        self.books.registry.apply(operation)
        self.emit(Record(operation))

    def inform(self, event: alloc.AllocatorEvent) -> None:
        """Tell the allocator."""
        self.allocator.handle(event, self.now)

    # --- offers ---

    def add_offer(self, offer: Offer) -> None:
        """Enter an offer for resources that the allocator gave."""
        self.books.offers[offer.id] = offer
        self.books.frameworks[offer.framework_id].offers[offer.id] = offer
        self.books.agents[offer.agent_id].offers[offer.id] = offer

    def take_offer(self, offer: Offer) -> None:
        """Strike an offer; its resources are the caller's to use or give back."""
        del self.books.offers[offer.id]
        del self.books.frameworks[offer.framework_id].offers[offer.id]
        del self.books.agents[offer.agent_id].offers[offer.id]
        self.emit(CancelTimer(OfferOver(offer.id)))

    def withdraw_offers(self, offers: Iterable[Offer], *, refuse_s: float = 0.0, rescind: bool = False) -> None:
        """Strike offers and give their resources back; with `rescind` their frameworks are told."""
        for offer in list(offers):
            self.take_offer(offer)
            self.give_back(offer, offer.resources, refuse_s)
            if rescind:
                event = _Event(type=_Event.RESCIND)
                event.rescind.offer_id.value = offer.id
                self.tell(self.books.frameworks[offer.framework_id], event)

    def give_back(self, offer: Offer, resources: Resources, refuse_s: float = 0.0) -> None:
        """Resources of an offer that was taken are free again."""
        self.inform(
            alloc.ResourcesRecovered(
                framework_id=offer.framework_id,
                agent_id=offer.agent_id,
                role=offer.role,
                resources=resources,
                refuse_s=refuse_s,
            )
        )

    # --- tasks and executors ---

    def add_task(self, framework: Framework, agent: Agent, task: Task) -> None:
        """Enter a task whose resources the allocator counts as given to the framework already.

        An unreachable one of the same id, be it itself, is forgotten.
        """
        framework.unreachable.pop(task.id, None)
        framework.tasks[task.id] = task
        agent.tasks.setdefault(framework.id, {})[task.id] = task
        self.announce.task_added(task)

    def update_task(self, task: Task, status: mesos_pb2.TaskStatus, latest: "mesos_pb2.TaskState.ValueType") -> None:
        """A status was forwarded; `latest` may be further than it. An ended task's resources are free."""
        message = task.message
        task.revision += 1
        message.status_update_state = status.state
        if status.uuid:
            message.status_update_uuid = status.uuid
        self.announce.task_updated(task, status, latest)
        remember_status(message, status)
        if step_task(message, latest):
            self._count_end(task, status)
            self._release(task)

    def close_task(self, task: Task) -> None:
        """Move a task from the live to the completed ones."""
        framework = self.books.frameworks[task.framework_id]
        if framework.unreachable.pop(task.id, None) is None:
            self._strike(task)
        framework.completed.append(task)

    def lose_task(self, task: Task) -> None:
        """Move a task from the live ones to those on unreachable agents."""
        self._strike(task)
        framework = self.books.frameworks[task.framework_id]
        framework.unreachable[task.id] = task
        while len(framework.unreachable) > self.books.limits.unreachable_tasks:
            framework.unreachable.popitem(last=False)

    def add_executor(self, framework: Framework, agent: Agent, executor: Executor) -> None:
        """Enter an executor whose resources the allocator counts as given already."""
        executor_id = ExecutorId(executor.info.executor_id.value)
        agent.executors.setdefault(framework.id, {})[executor_id] = executor

    def remove_executor(self, framework: Framework, agent: Agent, executor_id: ExecutorId) -> Executor | None:
        """Strike an executor and free its resources; None if there is none."""
        executors = agent.executors.get(framework.id, {})
        executor = executors.pop(executor_id, None)
        if executor is None:
            return None
        if not executors:
            del agent.executors[framework.id]
        self.inform(
            alloc.ResourcesRecovered(framework_id=framework.id, agent_id=agent.id, resources=executor.resources)
        )
        return executor

    def _strike(self, task: Task) -> None:
        self._release(task)
        del self.books.frameworks[task.framework_id].tasks[task.id]
        agent = self.books.agents[task.agent_id]
        del agent.tasks[task.framework_id][task.id]
        if not agent.tasks[task.framework_id]:
            del agent.tasks[task.framework_id]
        if agent.drain is not None:
            self.lighter_drains[agent.id] = agent

    def _release(self, task: Task) -> None:
        if not task.holds:
            return
        task.holds = False
        self.inform(
            alloc.ResourcesRecovered(framework_id=task.framework_id, agent_id=task.agent_id, resources=task.resources)
        )

    def _count_end(self, task: Task, status: mesos_pb2.TaskStatus) -> None:
        state = state_name(task.message.state).lower()
        source, reason = source_name(status.source).lower(), reason_name(status.reason).lower()
        self.books.counts[state.replace("task_", "tasks_", 1)] += 1
        if status.HasField("reason"):
            self.books.counts[f"{state}/{source}/{reason}"] += 1
        self.books.frameworks[task.framework_id].counts[f"tasks/terminal/{state}"] += 1

    def _count_event(self, framework: Framework, event: scheduler_pb2.Event) -> None:
        framework.counts["events"] += 1
        framework.counts[_EVENT_COUNTS[event.type]] += 1
        if event.type == _Event.OFFERS:
            framework.counts["offers/sent"] += len(event.offers.offers)
        elif event.type == _Event.RESCIND:
            framework.counts["offers/rescinded"] += 1
