"""Where the task goes and when the program is over: pure.

The state is one of waiting for an offer, launched, over. Mesos' own mesos-execute suppresses offers after the first one
that does not fit and then hangs for ever; this one declines for a while, says why, and goes on waiting.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tfmesos.cli.execute.request import Request
from tfmesos.cli.execute.texts import describe_misfit, describe_status
from tfmesos.resources import Resources
from tfmesos.wire import mesos_pb2
from tfmesos.wire.text import TERMINAL_STATES

__all__ = [
    "Accept",
    "Acknowledge",
    "Action",
    "Decline",
    "ExecuteCore",
    "Kill",
    "Note",
    "Over",
    "Print",
    "StartKillTimer",
    "Suppress",
]

REFUSE_S = 5.0
"""Mesos' default: long enough to be quiet, short enough to see what becomes free."""


@dataclass(frozen=True, slots=True)
class Print:
    """A line for standard output."""

    text: str


@dataclass(frozen=True, slots=True)
class Note:
    """A line for standard error."""

    text: str


@dataclass(frozen=True, slots=True)
class Accept:
    """Launch with this offer."""

    offer_id: mesos_pb2.OfferID
    operation: mesos_pb2.Offer.Operation


@dataclass(frozen=True, slots=True)
class Decline:
    """Give offers back."""

    offer_ids: tuple[mesos_pb2.OfferID, ...]
    refuse_s: float


@dataclass(frozen=True, slots=True)
class Suppress:
    """Ask for no more offers."""


@dataclass(frozen=True, slots=True)
class Acknowledge:
    """Tell that a status was seen."""

    status: mesos_pb2.TaskStatus


@dataclass(frozen=True, slots=True)
class StartKillTimer:
    """Call `kill_due` with the status so much later."""

    after_s: float
    status: mesos_pb2.TaskStatus


@dataclass(frozen=True, slots=True)
class Kill:
    """Kill a task."""

    task_id: mesos_pb2.TaskID
    agent_id: mesos_pb2.AgentID


@dataclass(frozen=True, slots=True)
class Over:
    """All tasks are over; end with this status."""

    exit_status: int


Action = Print | Note | Accept | Decline | Suppress | Acknowledge | StartKillTimer | Kill | Over


class ExecuteCore:
    """Takes events of one subscription after the other, returns what to do."""

    def __init__(self, request: Request) -> None:
        self._request = request
        self._is_launched = False
        self._has_seen_offers = False
        self._framework_id = mesos_pb2.FrameworkID()
        self._unfinished = {task.task_id.value for task in request.tasks}
        self._all_succeeded = True
        self._told: set[str] = set()
        wanted = [Resources.from_proto(task.resources).strip_reservations() for task in request.tasks]
        if request.executor is not None:
            wanted.append(Resources.from_proto(request.executor.resources))
        self._wanted = wanted

    @property
    def has_seen_offers(self) -> bool:
        """Whether the master has ever offered anything."""
        return self._has_seen_offers

    def subscribed(self, framework_id: mesos_pb2.FrameworkID) -> list[Action]:
        """The master took us in (again)."""
        self._framework_id = mesos_pb2.FrameworkID(value=framework_id.value)
        return [Print(f"Subscribed with ID {framework_id.value}")]

    def offers_arrived(self, offers: Sequence[mesos_pb2.Offer]) -> list[Action]:
        """Use the first that fits, give the others back, and say so when none did."""
        self._has_seen_offers = True
        actions: list[Action] = []
        spare: list[mesos_pb2.Offer] = []
        for offer in offers:
            parts = None if self._is_launched else self._fit(offer)
            if parts is None:
                spare.append(offer)
            else:
                actions += self._launch(offer, parts)
        if spare:
            actions.append(Decline(tuple(_copy_id(offer) for offer in spare), REFUSE_S))
        if self._is_launched:
            return [*actions, Suppress()] if spare else actions
        return actions + self._explain(spare)

    def launch_lost(self) -> list[Action]:
        """The subscription was lost before the master had the ACCEPT: another offer must do."""
        self._is_launched = False
        return [Note("The connection to the master was lost before the task was launched. Trying again.")]

    def updated(self, status: mesos_pb2.TaskStatus) -> list[Action]:
        """A task changed its state."""
        kept = mesos_pb2.TaskStatus()
        kept.CopyFrom(status)
        actions: list[Action] = [Print(describe_status(kept))]
        if kept.uuid:
            actions.append(Acknowledge(kept))
        if kept.state == mesos_pb2.TASK_RUNNING and self._request.kill_after_s is not None:
            actions.append(StartKillTimer(self._request.kill_after_s, kept))
        if kept.state in TERMINAL_STATES and kept.task_id.value in self._unfinished:
            self._unfinished.remove(kept.task_id.value)
            self._all_succeeded &= kept.state == mesos_pb2.TASK_FINISHED
            if not self._unfinished:
                actions.append(Over(0 if self._all_succeeded else 1))
        return actions

    def kill_due(self, status: mesos_pb2.TaskStatus) -> list[Action]:
        """The time of `--kill_after` is over."""
        if status.task_id.value not in self._unfinished:
            return []
        text = f"Asked to kill task '{status.task_id.value}' on agent '{status.agent_id.value}'"
        return [Kill(status.task_id, status.agent_id), Print(text)]

    def _fit(self, offer: mesos_pb2.Offer) -> list[Resources] | None:
        """What of the offer each task (and the executor) gets."""
        left = Resources.from_proto(offer.resources).unallocated()
        parts = []
        for wanted in self._wanted:
            part = left.find(wanted, self._request.framework.role)
            if part is None:
                return None
            left = left - part
            parts.append(part)
        return parts

    def _launch(self, offer: mesos_pb2.Offer, parts: list[Resources]) -> list[Action]:
        self._is_launched = True
        tasks = [_placed(task, offer, part) for task, part in zip(self._request.tasks, parts, strict=False)]
        operation = mesos_pb2.Offer.Operation()
        agent = offer.agent_id.value
        if self._request.executor is None:
            operation.type = mesos_pb2.Offer.Operation.LAUNCH
            operation.launch.task_infos.extend(tasks)
            text = f"Submitted task '{tasks[0].name}' to agent '{agent}'"
        else:
            operation.type = mesos_pb2.Offer.Operation.LAUNCH_GROUP
            operation.launch_group.executor.CopyFrom(self._placed_executor(self._request.executor, parts[-1]))
            operation.launch_group.task_group.tasks.extend(tasks)
            names = ", ".join(task.task_id.value for task in tasks)
            text = f"Submitted task group with tasks [ {names} ] to agent '{agent}'"
        return [Accept(_copy_id(offer), operation), Print(text)]

    def _placed_executor(self, executor: mesos_pb2.ExecutorInfo, part: Resources) -> mesos_pb2.ExecutorInfo:
        placed = mesos_pb2.ExecutorInfo()
        placed.CopyFrom(executor)
        placed.framework_id.CopyFrom(self._framework_id)
        del placed.resources[:]
        placed.resources.extend(part.to_proto())
        return placed

    def _explain(self, offers: Iterable[mesos_pb2.Offer]) -> list[Action]:
        """The reasons, each once: an agent's offer comes again every few seconds."""
        role = self._request.framework.role
        texts = dict.fromkeys(describe_misfit(self._wanted, role, offer) for offer in offers)
        news = [text for text in texts if text not in self._told]
        self._told.update(news)
        return [Note(text) for text in news]


def _placed(task: mesos_pb2.TaskInfo, offer: mesos_pb2.Offer, part: Resources) -> mesos_pb2.TaskInfo:
    placed = mesos_pb2.TaskInfo()
    placed.CopyFrom(task)
    placed.agent_id.CopyFrom(offer.agent_id)
    del placed.resources[:]
    placed.resources.extend(part.to_proto())
    return placed


def _copy_id(offer: mesos_pb2.Offer) -> mesos_pb2.OfferID:
    """Its own message: one that belongs to an offer keeps the whole event alive."""
    return mesos_pb2.OfferID(value=offer.id.value)
