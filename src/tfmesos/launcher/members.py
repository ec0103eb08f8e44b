"""The tasks of a gang's present attempt, and who is one no longer. Pure."""

from dataclasses import dataclass, field

from tfmesos.launcher.addresses import ClusterAddresses, TaskAddress
from tfmesos.launcher.events import NewTask
from tfmesos.launcher.placement import TaskKey
from tfmesos.launcher.statuses import FINISHED, TERMINAL, UNREACHABLE, Status
from tfmesos.launcher.tasks import TaskView

WAITING = "TASK_STAGING"
BEGUN = frozenset({"TASK_STARTING", "TASK_RUNNING", FINISHED, "TASK_FAILED"})
"""States of a task whose sandbox is there, or was never to be."""

UNREACHABLE_WAIT_S = 60.0
"""How long an agent that the master cannot reach may take to come back."""

LOCAL_AGENT = "this machine"


@dataclass(slots=True)
class Member:
    """One task of the gang. `task` is None before it is placed, and for the task on the launcher's own machine."""

    key: TaskKey
    is_local: bool = False
    task: NewTask | None = None
    address: str = ""
    state: str = WAITING
    launched_at: float = 0.0
    is_launched: bool = False
    has_run: bool = False
    ended: bool = False
    is_followed: bool = False
    unreachable_until: float | None = None

    def observe(self, state: str, now: float) -> None:
        """Take in a state as the master tells it."""
        self.state = state
        self.has_run = self.has_run or state in ("TASK_RUNNING", FINISHED)
        self.unreachable_until = now + UNREACHABLE_WAIT_S if state == UNREACHABLE else None

    @property
    def is_live(self) -> bool:
        """Launched, and its end is not known."""
        return self.is_launched and not self.ended

    @property
    def hostname(self) -> str:
        """What its agent is called."""
        return LOCAL_AGENT if self.is_local else self.task.placed.hostname if self.task else ""

    def status(self, state: str, message: str) -> Status:
        """A state that we, not its agent, say it is in."""
        task_id, agent_id = (self.task.task_id, self.task.placed.agent_id) if self.task else ("", "")
        return Status(task_id=task_id, agent_id=agent_id, state=state, message=message)

    def view(self) -> TaskView:
        """As the outside sees it."""
        return TaskView(
            job=self.key.job, index=self.key.index, address=self.address, agent=self.hostname, state=self.state
        )


@dataclass(slots=True)
class Members:
    """All tasks in order, found by their id; ids of earlier attempts are remembered as abandoned."""

    all: list[Member]
    attempt: int = 0
    by_id: dict[str, Member] = field(default_factory=dict)

    def start_attempt(self) -> int:
        """Forget the ids of the last attempt; returns the number of the new one, from 1."""
        self.attempt += 1
        self.by_id.clear()
        self.all = [Member(key=member.key, is_local=member.is_local) for member in self.all]
        return self.attempt

    def launched(self, task: NewTask, now: float) -> None:
        """A task is on its way to its agent."""
        member = self.of(task.placed.key)
        member.task, member.address, member.launched_at, member.is_launched = task, task.address.text, now, True
        self.by_id[task.task_id] = member

    def addresses(self, local: TaskAddress | None) -> ClusterAddresses:
        """Where all of them listen, the one on the launcher's own machine at `local`."""
        found = [member.task.address if member.task else local for member in self.all]
        return ClusterAddresses(tuple(address for address in found if address is not None))

    def of(self, key: TaskKey) -> Member:
        """The member for a task of the job."""
        return next(member for member in self.all if member.key == key)

    @property
    def live(self) -> list[Member]:
        """Those whose end is awaited, the one on this machine included."""
        return [member for member in self.all if member.is_live]

    def abandon(self, member: Member) -> None:
        """Wait for it no longer; should it come back it is killed as a stranger."""
        member.ended = True
        if member.task:
            self.by_id.pop(member.task.task_id, None)


def is_terminal(state: str) -> bool:
    """Whether no other state follows (TASK_UNKNOWN included: nobody knows the task)."""
    return state in TERMINAL
