"""The lives of frameworks, agents and tasks: which step may follow which. Only this file assigns `.state`."""

from collections import deque
from collections.abc import Mapping
from enum import Enum
from typing import Generic, TypeVar

from tfmesos.wire import mesos_pb2
from tfmesos.wire.text import TERMINAL_STATES

_STORY_LENGTH = 12


class FrameworkState(Enum):
    """CONNECTED: has a stream. DISCONNECTED: may come back. RECOVERED: known through agents only. REMOVED: for good."""

    CONNECTED = "connected"
    DISCONNECTED = "disconnected"
    RECOVERED = "recovered"
    REMOVED = "removed"


class AgentState(Enum):
    """CONNECTED: linked. DISCONNECTED: its link broke, it may come back. REMOVED: not one of ours any more."""

    CONNECTED = "connected"
    DISCONNECTED = "disconnected"
    REMOVED = "removed"


FRAMEWORK_STEPS: Mapping[FrameworkState | None, frozenset[FrameworkState]] = {
    None: frozenset({FrameworkState.CONNECTED, FrameworkState.RECOVERED}),
    FrameworkState.CONNECTED: frozenset(
        {FrameworkState.CONNECTED, FrameworkState.DISCONNECTED, FrameworkState.REMOVED}
    ),
    FrameworkState.DISCONNECTED: frozenset({FrameworkState.CONNECTED, FrameworkState.REMOVED}),
    FrameworkState.RECOVERED: frozenset({FrameworkState.CONNECTED, FrameworkState.REMOVED}),
    FrameworkState.REMOVED: frozenset(),
}

AGENT_STEPS: Mapping[AgentState | None, frozenset[AgentState]] = {
    None: frozenset({AgentState.CONNECTED}),
    AgentState.CONNECTED: frozenset({AgentState.CONNECTED, AgentState.DISCONNECTED, AgentState.REMOVED}),
    AgentState.DISCONNECTED: frozenset({AgentState.CONNECTED, AgentState.REMOVED}),
    AgentState.REMOVED: frozenset(),
}

State = TypeVar("State", bound=Enum)


class IllegalStep(AssertionError):
    """A step that the table does not list: a fault of the master. Carries the object's last steps."""

    def __init__(self, name: str, wanted: Enum, story: tuple[str, ...]) -> None:
        super().__init__(f"{name}: {wanted.value} must not follow; its story: {' → '.join(story) or 'none'}")
        self.story = story


class Life(Generic[State]):
    """The state of one thing, with its last steps."""

    __slots__ = ("_name", "_steps", "_story", "state")

    def __init__(self, name: str, steps: Mapping[State | None, frozenset[State]], first: State) -> None:
        self._name = name
        self._steps = steps
        self._story: deque[str] = deque(maxlen=_STORY_LENGTH)
        self.state: State | None = None
        self.step(first)

    def step(self, state: State) -> None:
        """Take a step; raises IllegalStep if the table does not list it."""
        if state not in self._steps[self.state]:
            raise IllegalStep(self._name, state, self.story)
        self.state = state
        self._story.append(str(state.value))

    @property
    def story(self) -> tuple[str, ...]:
        """The last steps, oldest first."""
        return tuple(self._story)


def step_task(task: mesos_pb2.Task, state: "mesos_pb2.TaskState.ValueType") -> bool:
    """Move a task on; says whether it became terminal by this. What is over stays as it ended (Mesos 1.11)."""
    if task.state in TERMINAL_STATES:
        return False
    task.state = state
    return state in TERMINAL_STATES
