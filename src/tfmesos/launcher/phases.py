"""The life of a gang: which phase may follow which. Only this file assigns `.phase`.

PLACING ──▶ STARTING ──▶ RUNNING ──▶ ENDING ──▶ OVER
   ▲           │            │
   └── RETREATING ◀─────────┘
"""

from collections import deque
from enum import Enum, auto


class Phase(Enum):
    """Where the gang as a whole is."""

    PLACING = auto()
    """Offers are collected until all of it fits."""
    STARTING = auto()
    """Everything is launched; not all tasks have run yet."""
    RUNNING = auto()
    """All tasks run, or have run: from here on a failure is the job's."""
    RETREATING = auto()
    """A part did not start: the rest is killed, then placed again."""
    ENDING = auto()
    """How it ends is decided; what is left is killed."""
    OVER = auto()
    """No task is left."""


ALLOWED = frozenset(
    {
        (Phase.PLACING, Phase.STARTING),
        (Phase.PLACING, Phase.ENDING),
        (Phase.STARTING, Phase.RUNNING),
        (Phase.STARTING, Phase.RETREATING),
        (Phase.STARTING, Phase.ENDING),
        (Phase.RUNNING, Phase.RETREATING),
        (Phase.RUNNING, Phase.ENDING),
        (Phase.RETREATING, Phase.PLACING),
        (Phase.RETREATING, Phase.ENDING),
        (Phase.ENDING, Phase.OVER),
    }
)


class PhaseKeeper:
    """The phase, and its story for the day when something is wrong."""

    def __init__(self) -> None:
        self.phase = Phase.PLACING
        self._story: deque[str] = deque(["PLACING"], maxlen=16)

    def enter(self, phase: Phase, why: str) -> None:
        """Go to another phase. Raises RuntimeError with the story where that is not allowed."""
        self._story.append(f"{phase.name} ({why})")
        if (self.phase, phase) not in ALLOWED:
            raise RuntimeError(f"a gang cannot do this: {' → '.join(self._story)}")
        self.phase = phase
