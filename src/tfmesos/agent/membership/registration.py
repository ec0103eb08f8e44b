"""Is this agent registered, and where: the pure core of its membership.

Mesos 1.11. The agent looks for a master, waits a random time, links to it, and sends its
registration again and again (a random part of a doubling back-off) until the master answers; then it lives by pings: a
ping that says `connected=false`, or none for the master's total ping time-out, makes it look for the master anew.

    SEEKING ──master found──▶ REGISTERING ──answer──▶ REGISTERED ──no ping, not connected, master lost──▶ SEEKING
       any ──shutdown ordered, id refused──▶ STOPPED
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from enum import Enum, auto
from random import Random

PING_TIMEOUT_S = 75.0  # Mesos 1.11: 15 s × 5, until the master says otherwise
RETRY_MIN_S = 0.2
RETRY_MAX_S = 60.0


class Membership(Enum):
    """Where the agent stands with its master."""

    SEEKING = auto()
    REGISTERING = auto()
    REGISTERED = auto()
    STOPPED = auto()


_LEGAL = {
    (Membership.SEEKING, Membership.REGISTERING),
    (Membership.REGISTERING, Membership.REGISTERING),  # another master leads now
    (Membership.REGISTERING, Membership.REGISTERED),
    (Membership.REGISTERING, Membership.SEEKING),
    (Membership.REGISTERED, Membership.SEEKING),
    (Membership.REGISTERED, Membership.REGISTERING),
    *((state, Membership.STOPPED) for state in Membership if state is not Membership.STOPPED),
}
_ASKED = (Membership.REGISTERING, Membership.REGISTERED)  # a late answer of a master that was left counts for nothing


@dataclass(frozen=True, slots=True)
class Detect:
    """Ask the detector who leads, whoever it was before."""


@dataclass(frozen=True, slots=True)
class Link:
    """Keep a connection to this master."""

    master: str


@dataclass(frozen=True, slots=True)
class Register:
    """Send a registration (a re-registration if there is an id) to this master."""

    master: str
    agent_id: str | None


@dataclass(frozen=True, slots=True)
class Doubt:
    """This master has not answered the first registration: find out whether it is one. Once for each that is found."""

    master: str


@dataclass(frozen=True, slots=True)
class Join:
    """The agent is registered: updates may flow. `is_new`: it has just got its id."""

    agent_id: str
    is_new: bool


@dataclass(frozen=True, slots=True)
class Leave:
    """The agent is not registered any more: updates must wait."""

    reason: str


@dataclass(frozen=True, slots=True)
class Stop:
    """The agent must end."""

    reason: str


Action = Detect | Link | Register | Doubt | Join | Leave | Stop


class Registration:
    """One agent's membership. Call `tick` when `deadline` has come."""

    def __init__(self, backoff_factor_s: float, random: Random, agent_id: str | None = None) -> None:
        """`agent_id`: that of the agent before, if this one goes on as the same."""
        self._backoff_factor_s = backoff_factor_s
        self._random = random
        self._state = Membership.SEEKING
        self._story: deque[tuple[float, Membership]] = deque(maxlen=20)
        self._master: str | None = None
        self._agent_id = agent_id
        self._deadline: float | None = None
        self._backoff_s = 0.0
        self._tries = 0
        self._is_linked = False
        self._ping_timeout_s = PING_TIMEOUT_S

    @property
    def state(self) -> Membership:
        return self._state

    @property
    def is_registered(self) -> bool:
        return self._state is Membership.REGISTERED

    @property
    def master(self) -> str | None:
        """The master's process id, if one is known."""
        return self._master

    @property
    def agent_id(self) -> str | None:
        return self._agent_id

    def deadline(self) -> float | None:
        return self._deadline

    def begin(self) -> list[Action]:
        """Start to look for a master."""
        return [Detect()]

    def found_master(self, master: str, now: float) -> list[Action]:
        """The detector says who leads."""
        if self._state is Membership.STOPPED:
            return []
        left: list[Action] = [Leave("another master leads")] if self.is_registered else []
        self._move(Membership.REGISTERING, now)
        self._master = master
        self._is_linked = False
        self._tries = 0
        self._backoff_s = max(2 * self._backoff_factor_s, RETRY_MIN_S)
        self._deadline = now + self._random.uniform(0, self._backoff_factor_s)
        return left

    def registered(self, sender: str, agent_id: str, ping_timeout_s: float | None, now: float) -> list[Action]:
        """The master gave (or repeated) an id."""
        if sender != self._master or self._state not in _ASKED:
            return []
        if self._agent_id not in (None, agent_id):
            return self._stop(f"the master gave this agent another id: {agent_id} instead of {self._agent_id}", now)
        is_new = self._agent_id is None
        self._agent_id = agent_id
        return self._join(ping_timeout_s, is_new, now)

    def reregistered(self, sender: str, agent_id: str, ping_timeout_s: float | None, now: float) -> list[Action]:
        """The master knows this agent again."""
        if sender != self._master or self._state not in _ASKED:
            return []
        if self._agent_id != agent_id:
            return self._stop(f"the master re-registered this agent as {agent_id}, it is {self._agent_id}", now)
        return self._join(ping_timeout_s, False, now)

    def pinged(self, connected: bool, now: float) -> list[Action]:
        """A master's observer asks; the answer (a pong) is the shell's, in every state."""
        if not self.is_registered:
            return []
        if not connected:
            return self._seek("the master says this agent is disconnected", now)
        self._deadline = now + self._ping_timeout_s
        return []

    def ordered_to_stop(self, sender: str, reason: str, now: float) -> list[Action]:
        """A master's ShutdownMessage; only the current master is obeyed."""
        if sender != self._master or self._state is Membership.STOPPED:
            return []
        return self._stop(reason, now)

    def lost_link(self, now: float) -> list[Action]:
        """The connection to the master broke.

        Mesos 1.11 waits for the pings to stop; asking at once who leads finds a restarted master sooner.
        """
        self._is_linked = False
        return self._seek("the connection to the master is lost", now) if self.is_registered else []

    def close(self, now: float) -> None:
        """The agent ends by its own will."""
        if self._state is not Membership.STOPPED:
            self._move(Membership.STOPPED, now)
        self._deadline = None

    def tick(self, now: float) -> list[Action]:
        """The deadline has come: register again, or the pings have stopped."""
        if self._deadline is None or now < self._deadline:
            return []
        if self.is_registered:
            return self._seek(f"no ping from the master for {self._ping_timeout_s:g} s", now)
        return self._try_to_register(now)

    def _try_to_register(self, now: float) -> list[Action]:
        assert self._master is not None
        self._deadline = now + self._random.uniform(RETRY_MIN_S / 2, self._backoff_s)
        self._backoff_s = min(self._backoff_s * 2, RETRY_MAX_S)
        links: list[Action] = [] if self._is_linked else [Link(self._master)]
        self._is_linked = True
        self._tries += 1
        doubts: list[Action] = [Doubt(self._master)] if self._tries == 2 else []
        return [*links, Register(self._master, self._agent_id), *doubts]

    def _join(self, ping_timeout_s: float | None, is_new: bool, now: float) -> list[Action]:
        self._ping_timeout_s = ping_timeout_s or PING_TIMEOUT_S
        self._deadline = now + self._ping_timeout_s
        if self.is_registered:  # a repeated answer
            return []
        assert self._agent_id is not None
        self._move(Membership.REGISTERED, now)
        return [Join(self._agent_id, is_new)]

    def _seek(self, reason: str, now: float) -> list[Action]:
        self._move(Membership.SEEKING, now)
        self._deadline = None
        return [Leave(reason), Detect()]

    def _stop(self, reason: str, now: float) -> list[Action]:
        self._move(Membership.STOPPED, now)
        self._deadline = None
        return [Stop(reason)]

    def _move(self, state: Membership, now: float) -> None:
        if (self._state, state) not in _LEGAL:
            raise AssertionError(f"{self._state} to {state} is not possible; before: {list(self._story)}")
        self._story.append((now, state))
        self._state = state
