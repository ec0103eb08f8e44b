"""Membership, by examples and by random orders of events."""

from __future__ import annotations

from random import Random

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from tfmesos.agent.membership.registration import (
    Action,
    Detect,
    Doubt,
    Join,
    Leave,
    Link,
    Membership,
    Register,
    Registration,
    Stop,
)

MASTER, OTHER = "master@10.0.0.1:5050", "master@10.0.0.2:5050"


def registration() -> Registration:
    return Registration(1.0, Random(7))


def registered() -> Registration:
    core = registration()
    core.found_master(MASTER, 0)
    core.tick(1)
    core.registered(MASTER, "S0", 75.0, 1)
    return core


def test_it_looks_for_a_master_waits_a_little_links_and_registers() -> None:
    core = registration()

    assert core.begin() == [Detect()]
    assert core.found_master(MASTER, 0) == []
    due = core.deadline()
    assert due is not None
    assert 0 <= due <= 1
    assert core.tick(due) == [Link(MASTER), Register(MASTER, None)]
    assert core.registered(MASTER, "S0", 75.0, 2) == [Join("S0", is_new=True)]
    assert core.deadline() == 77


def test_it_doubts_once_whether_it_is_a_master_that_does_not_answer() -> None:
    core = registration()
    for master in (MASTER, OTHER):
        core.found_master(master, 0)
        tries = [core.tick(now) for now in (100, 200, 300, 400)]
        assert [Doubt(master) in actions for actions in tries] == [False, True, False, False]


def test_it_asks_again_ever_more_slowly_up_to_a_minute() -> None:
    core = registration()
    core.found_master(MASTER, 0)
    now, waits = 0.0, []
    for _ in range(12):
        due = core.deadline()
        assert due is not None
        waits.append(due - now)
        now = due
        assert Register(MASTER, None) in core.tick(now)

    assert all(wait <= 60 for wait in waits)
    assert max(waits[:2]) <= 2
    assert max(waits) > 10


def test_answers_of_others_than_the_master_are_ignored() -> None:
    core = registration()
    core.found_master(MASTER, 0)
    core.tick(1)

    assert core.registered(OTHER, "S0", None, 1) == []
    assert core.ordered_to_stop(OTHER, "go", 1) == []
    assert not core.is_registered


def test_a_ping_that_says_disconnected_makes_it_register_again_with_its_id() -> None:
    core = registered()

    assert [type(action) for action in core.pinged(False, 5)] == [Leave, Detect]
    core.found_master(MASTER, 5)
    assert core.tick(6) == [Link(MASTER), Register(MASTER, "S0")]
    assert core.reregistered(MASTER, "S0", 10.0, 6) == [Join("S0", is_new=False)]
    assert core.deadline() == 16


def test_pings_keep_it_registered_and_their_absence_does_not() -> None:
    core = registered()
    core.pinged(True, 70)

    assert core.tick(76) == []
    assert [type(action) for action in core.tick(145)] == [Leave, Detect]


def test_another_id_stops_it() -> None:
    core = registered()

    assert isinstance(core.registered(MASTER, "S1", None, 2)[0], Stop)
    assert core.found_master(MASTER, 3) == []


def test_the_masters_order_stops_it() -> None:
    core = registered()

    assert core.ordered_to_stop(MASTER, "Machine is `DOWN`", 2) == [Stop("Machine is `DOWN`")]
    assert core.state is Membership.STOPPED
    assert core.deadline() is None


class Memberships(RuleBasedStateMachine):
    """Masters come and go, answer, ping, are silent."""

    def __init__(self) -> None:
        super().__init__()
        self.core = Registration(1.0, Random(1))
        self.now = 0.0
        self.joined = False
        self.stopped = False
        self._follow(self.core.begin())

    masters = st.sampled_from([MASTER, OTHER])

    def _follow(self, actions: list[Action]) -> None:
        for action in actions:
            match action:
                case Join():
                    assert not self.joined, "joins and leaves alternate"
                    self.joined = True
                case Leave():
                    assert self.joined, "joins and leaves alternate"
                    self.joined = False
                case Register():
                    assert not self.joined, "registers only while not registered"
                    assert action.agent_id == self.core.agent_id
                case Stop():
                    self.stopped = True
                case _:
                    pass

    @rule(master=masters)
    def find(self, master: str) -> None:
        self._follow(self.core.found_master(master, self.now))

    @rule(master=masters, again=st.booleans())
    def answer(self, master: str, again: bool) -> None:
        if self.core.state is Membership.SEEKING:
            return  # nobody was asked; a late answer of the old master is the next test's
        answer = self.core.reregistered if again and self.core.agent_id else self.core.registered
        self._follow(answer(master, "S0", 75.0, self.now))

    @rule(connected=st.booleans())
    def ping(self, connected: bool) -> None:
        self._follow(self.core.pinged(connected, self.now))

    @rule()
    def lose_link(self) -> None:
        self._follow(self.core.lost_link(self.now))

    @rule(seconds=st.floats(0, 100))
    def wait(self, seconds: float) -> None:
        self.now += seconds
        self._follow(self.core.tick(self.now))

    @invariant()
    def it_never_waits_for_nothing(self) -> None:
        if self.core.state in (Membership.REGISTERING, Membership.REGISTERED):
            assert self.core.deadline() is not None

    @invariant()
    def it_knows_whether_it_is_registered(self) -> None:
        assert self.stopped or self.joined == self.core.is_registered


TestMemberships = Memberships.TestCase
TestMemberships.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)


def test_a_late_answer_while_it_looks_for_a_master_is_ignored() -> None:
    core = registered()
    core.pinged(False, 2)

    assert core.registered(MASTER, "S0", 75.0, 3) == []
    assert core.state is Membership.SEEKING
