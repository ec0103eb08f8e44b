"""A gang under events in any order, and broken gangs that the machine must catch.

Invariants, named as in the rules below: WHOLE (all tasks are launched in one step or none), FRESH (no task id is used
twice), BOUNDED (at most three attempts), ANSWERED (every offer is answered at most once, and all when it is over),
FITS (no more is used than is offered), ENDED (it is over only when every task ended, or was given up after a kill),
QUIET (after the end only strangers are killed).
"""

from collections.abc import Iterable, Sequence
from random import Random

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import Phase as HypothesisPhase
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from tests.launcher.builders import offer, only, status
from tfmesos.launcher import Job
from tfmesos.launcher.addresses import TaskAddress
from tfmesos.launcher.events import (
    Action,
    Decline,
    Event,
    Finish,
    Kill,
    KillLocal,
    Launch,
    LaunchFailed,
    LocalEnded,
    MasterRefused,
    NewTask,
    OfferRescinded,
    OffersArrived,
    StartLocal,
    StatusArrived,
    StopAsked,
    Subscribed,
    TimePassed,
)
from tfmesos.launcher.gang import Gang
from tfmesos.launcher.gang_options import GangOptions
from tfmesos.launcher.phases import Phase
from tfmesos.launcher.placement import Offer, Placed
from tfmesos.launcher.retries import ATTEMPTS
from tfmesos.launcher.statuses import TERMINAL
from tfmesos.resources import Resources

JOBS = (Job("ps", 1, cmd="serve"), Job("worker", 2, cmd="work"))
STATES = ["STARTING", "RUNNING", "FINISHED", "FAILED", "KILLED", "LOST", "DROPPED", "ERROR", "UNREACHABLE", "KILLING"]
MESSAGES = ["", "Command exited with status 98", "Command exited with status 3"]
RESOURCES = [f"cpus:{cpus};mem:9999;ports:[10-{ports}]" for cpus, ports in ((1, 10), (2, 12), (9, 30))]


class GangMachine(RuleBasedStateMachine):
    """Plays the master to a gang."""

    kind: type[Gang] = Gang
    local: TaskAddress | None = None

    @initialize(seed=st.integers(0, 3), limit_s=st.sampled_from([None, None, 10.0]))
    def begin(self, seed: int, limit_s: float | None) -> None:
        self.now = 0.0
        options = GangOptions(jobs=JOBS, local_address=self.local, time_limit_s=limit_s)
        self.gang = self.kind(options, Random(seed), self.now)
        self.number = 0
        self.offered: dict[str, Offer] = {}
        self.launched: dict[str, NewTask] = {}
        self.ended: set[str] = set()
        self.killed: set[str] = set()
        self.launches = 0
        self.is_over = False
        self.local_runs = False
        self.tell(Subscribed())

    def tell(self, event: Event) -> None:
        was_over = self.is_over
        actions = self.gang.handle(event, self.now)
        if was_over:
            assert all(isinstance(action, Kill) for action in actions), "QUIET"
        self.note(actions)

    def note(self, actions: list[Action]) -> None:
        launches = only(actions, Launch)
        if launches:
            self.launches += 1
            assert self.launches <= ATTEMPTS, "BOUNDED"
            assert sum(len(launch.tasks) for launch in launches) == (2 if self.local else 3), "WHOLE"
        for launch in launches:
            self.note_launch(launch)
        for decline in only(actions, Decline):
            self.answer(decline.offer_ids)
        self.killed |= {kill.task_id for kill in only(actions, Kill)}
        if only(actions, StartLocal):
            assert not self.local_runs, "WHOLE"
            self.local_runs = True
        assert self.local or not only(actions, KillLocal)
        if only(actions, Finish):
            assert not self.is_over, "QUIET"
            self.is_over = True
            assert self.launched.keys() <= self.ended | self.killed, "ENDED"
            assert not self.offered, "ANSWERED"

    def note_launch(self, launch: Launch) -> None:
        used = Resources()
        for task in launch.tasks:
            assert task.task_id not in self.launched, "FRESH"
            self.launched[task.task_id] = task
            used = used + task.placed.resources
        there = Resources()
        for offer_id in launch.offer_ids:
            there = there + self.offered[offer_id].resources
        assert there.contains(used), "FITS"
        self.answer(launch.offer_ids)

    def answer(self, offer_ids: Iterable[str]) -> None:
        for offer_id in offer_ids:
            assert offer_id in self.offered, "ANSWERED"
            del self.offered[offer_id]

    @rule(texts=st.lists(st.sampled_from(RESOURCES), min_size=1, max_size=3), seconds=st.floats(0, 3))
    def offers_arrive(self, texts: list[str], seconds: float) -> None:
        self.now += seconds
        offers = []
        for text in texts:
            self.number += 1
            offers.append(offer(str(self.number), text, f"agent-{self.number % 3}"))
        if not self.is_over:
            self.offered.update({one.id: one for one in offers})
            self.tell(OffersArrived(tuple(offers)))

    @precondition(lambda self: self.offered)
    @rule(data=st.data())
    def an_offer_is_rescinded(self, data: st.DataObject) -> None:
        offer_id = data.draw(st.sampled_from(sorted(self.offered)))
        del self.offered[offer_id]
        self.tell(OfferRescinded(offer_id))

    @precondition(lambda self: self.launched)
    @rule(data=st.data(), state=st.sampled_from(STATES), message=st.sampled_from(MESSAGES))
    def a_status_arrives(self, data: st.DataObject, state: str, message: str) -> None:
        task_id = data.draw(st.sampled_from(sorted(self.launched)))
        one = status(task_id, state, message)
        if one.state in TERMINAL:
            self.ended.add(task_id)
        self.tell(StatusArrived(one))

    @precondition(lambda self: self.launched)
    @rule()
    def all_run(self) -> None:
        for task_id in sorted(self.launched.keys() - self.ended):
            self.tell(StatusArrived(status(task_id, "RUNNING")))

    @precondition(lambda self: self.killed - self.ended)
    @rule()
    def the_killed_end(self) -> None:
        for task_id in sorted(self.killed - self.ended):
            self.ended.add(task_id)
            self.tell(StatusArrived(status(task_id, "KILLED")))

    @precondition(lambda self: self.launched)
    @rule(data=st.data())
    def a_launch_fails(self, data: st.DataObject) -> None:
        task_id = data.draw(st.sampled_from(sorted(self.launched)))
        self.ended.add(task_id)
        self.tell(LaunchFailed((task_id,), "lost"))

    @precondition(lambda self: self.local_runs)
    @rule(status=st.sampled_from([0, 98, 3]))
    def the_local_task_ends(self, status: int) -> None:
        self.local_runs = False
        self.tell(LocalEnded(status, f"Command exited with status {status}"))

    @rule(really=st.sampled_from([True, False, False, False]))
    def the_master_refuses(self, really: bool) -> None:
        if really and not self.is_over:
            self.ended |= self.launched.keys()
            self.offered.clear()
            self.tell(MasterRefused("Framework has been removed"))

    @rule(seconds=st.floats(0, 40))
    def time_passes(self, seconds: float) -> None:
        self.now += seconds
        self.tell(TimePassed())

    @rule()
    def subscribed_again(self) -> None:
        self.offered.clear()
        self.tell(Subscribed())

    @rule(at_once=st.booleans())
    def the_user_stops(self, at_once: bool) -> None:
        self.tell(StopAsked(130, "interrupted", at_once))

    @invariant()
    def it_is_over_when_it_says_so(self) -> None:
        assert (self.gang.phase is Phase.OVER) == self.is_over

    @invariant()
    def it_does_not_sleep_past_what_it_holds(self) -> None:
        held = bool(self.offered) and not self.is_over
        assert not held or self.gang.wakes_at is not None, "ANSWERED"

    def teardown(self) -> None:
        """Whatever happened, a stop and enough time end it."""
        if self.is_over:
            return
        self.tell(StopAsked(130, "interrupted", False))
        for _ in range(3):
            self.now += 120
            self.tell(TimePassed())
        assert self.is_over, "ENDED"


GangMachine.TestCase.settings = settings(max_examples=50, stateful_step_count=25, deadline=None)
TestGangMachine = GangMachine.TestCase


class LocalGangMachine(GangMachine):
    """The same with worker 0 on the launcher's machine."""

    local = TaskAddress(job="worker", index=0, host="here", port=1)


LocalGangMachine.TestCase.settings = GangMachine.TestCase.settings
TestLocalGangMachine = LocalGangMachine.TestCase


class ForgetsTheKill(Gang):
    """A gang that leaves its tasks running when it ends."""

    def _kill_live(self, grace_s: float | None) -> None:
        for member in self._members.live:
            self._members.abandon(member)


class ReusesIds(Gang):
    """A gang that numbers every attempt 1."""

    def _launch(self, placed: Sequence[Placed], now: float) -> None:
        self._members.attempt = 0
        super()._launch(placed, now)


class HoardsOffers(Gang):
    """A gang that never gives an incomplete set back."""

    @property
    def wakes_at(self) -> float | None:
        return min(self._timers.values(), default=None) if self._timers.keys() - {"explain"} else None


@pytest.mark.parametrize("broken", [ForgetsTheKill, ReusesIds, HoardsOffers])
def test_the_machine_catches_a_broken_gang(broken: type[Gang]) -> None:
    class Broken(GangMachine):
        kind = broken

    quick = settings(
        max_examples=2000,  # ends at the first that fails; 300 have been too few for some of them
        derandomize=True,
        stateful_step_count=25,
        deadline=None,
        database=None,
        phases=[HypothesisPhase.generate],
        report_multiple_bugs=False,
        suppress_health_check=list(HealthCheck),
    )
    with pytest.raises(AssertionError):
        run_state_machine_as_test(Broken, settings=quick)
