"""The life of one supervised program: pure; what happened and the time in, what to do out.

    GATED ──release──> RUNNING ──kill, loss──> ENDING ──grace over──> STRIKING ──nothing left──> ENDED
      └─kill, loss──> ENDED   └─main process ended, others live on──────^

RUNNING begins with what makes the program. In ENDING the tree had SIGTERM and may use its grace, also what outlives the
main process (Mesos 1.11 leaves it about a second); in STRIKING it had SIGKILL, repeated until nothing is left. A
program's own end kills its rest at once.

A detached program's owner may leave and another one adopt it; RUNNING without an owner ends when its time is over.

No dataclasses here: this file lives in each supervisor, and that module alone takes 2 MB.
"""

from enum import Enum

MAX_LOSS_GRACE_S = 3.0
"""Nobody is there any more to ask for longer, and 10 s after a loss nothing may be left."""
MIN_GRACE_S = 0.1
"""Even "at once" gives SIGTERM this time to be what ends a program: Mesos 1.11 reports that signal for grace 0."""
RESTRIKE_S = 0.5
NOT_EXECUTED = 1 << 8
"""The wait status of a program that exits with 1 (Mesos 1.11: what a file that cannot be executed ends with)."""
_NEVER = "killed before it was started"


class Stage(Enum):
    """Where a program's life stands."""

    GATED = "gated"
    RUNNING = "running"
    ENDING = "ending"
    STRIKING = "striking"
    ENDED = "ended"


class Action(Enum):
    """What the supervisor is to do."""

    START = "start the program"
    REPORT_STARTED = "say that it was executed, or could not be"
    RECORD = "write the record"
    TERMINATE_TREE = "SIGTERM to the whole tree"
    KILL_TREE = "SIGKILL to the whole tree"
    REPORT_ENDED = "say how it ended"


_NEXT = {
    Stage.GATED: {Stage.RUNNING, Stage.ENDED},
    Stage.RUNNING: {Stage.ENDING, Stage.STRIKING, Stage.ENDED},
    Stage.ENDING: {Stage.STRIKING, Stage.ENDED},
    Stage.STRIKING: {Stage.ENDED},
    Stage.ENDED: set[Stage](),
}


class Life:
    """One program's life; `deadline` is when `tick` wants to be called (None: not)."""

    def __init__(self) -> None:
        self.deadline: float | None = None
        self.killed = False
        self.wait_status: int | None = None
        self.message: str | None = None
        self.is_started = False
        self.is_given_up = False
        """Nobody is expected to come for it any more."""
        self._is_lost = False
        self._grace_s = 0.0
        self._stage = Stage.GATED
        self._story: list[Stage] = [Stage.GATED]

    @property
    def stage(self) -> Stage:
        """Where it stands."""
        return self._stage

    def release(self) -> list[Action]:
        """The gate was opened."""
        if self._stage is not Stage.GATED:
            return []
        self._go(Stage.RUNNING)
        return [Action.START]

    def started(self) -> list[Action]:
        """The program was executed; what made it may have had the signal that was for it."""
        self.is_started = True
        again = {Stage.ENDING: [Action.TERMINATE_TREE], Stage.STRIKING: [Action.KILL_TREE]}
        return [Action.RECORD, Action.REPORT_STARTED, *again.get(self._stage, [])]

    def failed_to_start(self, message: str, *, executing: bool, left: bool, now: float) -> list[Action]:
        """It could not be executed (which counts as exit status 1) or already its surroundings could not be made.

        `left`: of what should have made it something is there.
        """
        if self.killed:
            self.message = _NEVER
        elif not self._is_lost:
            self.message = message
            self.wait_status = NOT_EXECUTED if executing else None
        return [Action.REPORT_STARTED, *(self._strike(now) if left else self._end())]

    def reaped(self, main_status: int | None, *, left: bool, now: float) -> list[Action]:
        """Processes of the tree ended: the main one with `main_status`, if it was among them; are others left?"""
        if self._stage in (Stage.GATED, Stage.ENDED):
            return []
        if main_status is not None and not self._is_lost:
            self.wait_status = main_status
        if not left:
            return self._end()
        if main_status is not None and self._stage is Stage.RUNNING:
            return self._strike(now)
        return [Action.KILL_TREE] if self._stage is Stage.STRIKING else []

    def kill(self, grace_s: float, now: float) -> list[Action]:
        """Someone asked to end it within `grace_s`; asked again, the time left can only become shorter."""
        if self._stage is Stage.ENDED:
            return []
        self.killed = True
        if self._stage is Stage.GATED:
            self.message = _NEVER
            return self._end()
        return [Action.RECORD, *self._terminate(grace_s, now)]

    def lose(self, what: str, grace_s: float, now: float) -> list[Action]:
        """`what` the program's life hangs on is gone; a status that only follows from that is not the program's own."""
        if self._stage is Stage.ENDED:
            return []
        if not self.killed and self.wait_status is None:
            self._is_lost = True
            self.message = self.message or f"{what} was lost"
        if self._stage is Stage.GATED:
            return self._end()
        return [Action.RECORD, *self._terminate(min(grace_s, MAX_LOSS_GRACE_S), now)]

    def leave(self, what: str, timeout_s: float, grace_s: float, now: float) -> list[Action]:
        """Its owner went, another one may come within `timeout_s`; nobody who comes could open the gate."""
        if self._stage is Stage.GATED:
            return self.lose(what, grace_s, now)
        if self._stage is Stage.RUNNING:
            self.deadline = now + timeout_s
            self._grace_s = grace_s
        return []

    def adopt(self) -> None:
        """A new owner came."""
        if self._stage is Stage.RUNNING:
            self.deadline = None

    def tick(self, now: float) -> list[Action]:
        """Time passed."""
        if self.deadline is None or now < self.deadline:
            return []
        return self._abandon(now) if self._stage is Stage.RUNNING else self._strike(now)

    def _abandon(self, now: float) -> list[Action]:
        self._is_lost = self.is_given_up = True
        self.message = "nobody came back for it in time"
        return [*self._terminate(self._grace_s, now), Action.RECORD]

    def _terminate(self, grace_s: float, now: float) -> list[Action]:
        deadline = now + max(grace_s, MIN_GRACE_S)
        if self._stage is Stage.RUNNING:
            self._go(Stage.ENDING)
            self.deadline = deadline
            return [Action.TERMINATE_TREE]
        if self._stage is Stage.ENDING and self.deadline is not None:
            self.deadline = min(self.deadline, deadline)
        return []

    def _strike(self, now: float) -> list[Action]:
        if self._stage is not Stage.STRIKING:
            self._go(Stage.STRIKING)
        self.deadline = now + RESTRIKE_S
        return [Action.KILL_TREE]

    def _end(self) -> list[Action]:
        self._go(Stage.ENDED)
        self.deadline = None
        return [Action.RECORD, Action.REPORT_ENDED]

    def _go(self, stage: Stage) -> None:
        if stage not in _NEXT[self._stage]:
            raise RuntimeError(f"no way to {stage.value} from {' > '.join(s.value for s in self._story)}")
        self._stage = stage
        self._story.append(stage)
