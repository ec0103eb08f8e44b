"""The life of a program, by itself."""

import pytest
from hypothesis import Phase, assume, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from tfmesos.supervision._life import MAX_LOSS_GRACE_S, MIN_GRACE_S, NOT_EXECUTED, Action, Life, Stage

GRACES = st.floats(min_value=0, max_value=100)


class LifeMachine(RuleBasedStateMachine):
    """Random orders of everything that can happen; the tree is played by two flags."""

    life_class = Life

    def __init__(self) -> None:
        super().__init__()
        self.life = self.life_class()
        self.now = 0.0
        self.main_lives = False
        self.others_live = False
        self.starter_lives = False
        self.performed: list[Action] = []
        self.latest_end: float | None = None
        self.left_until: tuple[float, float] | None = None

    def perform(self, actions: list[Action]) -> None:
        self.performed += actions

    @initialize(
        past=st.sampled_from(["nothing", "the gate", "the gate", "the main process"]), others_live=st.booleans()
    )
    def begin(self, past: str, others_live: bool) -> None:
        """Mostly beyond the gate, where more can happen; often with a rest that has its grace, else a rare thing."""
        if past == "nothing":
            return
        self.open_gate(failure=None)
        self.others_live = others_live or past == "the main process"
        if past == "the main process":
            self.ask_to_kill(100.0)
            self.main_process_ends(15)

    def expect_end_within(self, grace_s: float) -> None:
        if self.main_lives or self.others_live or self.starter_lives:
            end = self.now + max(grace_s, MIN_GRACE_S)
            self.latest_end = end if self.latest_end is None else min(self.latest_end, end)

    @rule(failure=st.sampled_from([*[None] * 6, "execution", "surroundings"]), by_starter=st.booleans())
    def open_gate(self, failure: str | None, by_starter: bool = False) -> None:
        actions = self.life.release()
        self.perform(actions)
        if Action.START not in actions:
            return
        if by_starter:
            self.starter_lives = True
        else:
            self.start(failure)

    @precondition(lambda self: self.starter_lives)
    @rule(failure=st.sampled_from([None, None, "execution", "surroundings"]))
    def starter_ends(self, failure: str | None) -> None:
        self.starter_lives = False
        self.start(failure)

    def start(self, failure: str | None) -> None:
        if failure is None:
            self.main_lives = True
            self.perform(self.life.started())
            return
        is_own = self.life.stage is Stage.RUNNING
        executing = failure == "execution"
        self.perform(self.life.failed_to_start(failure, executing=executing, left=self.others_live, now=self.now))
        if is_own:
            assert self.life.wait_status == (NOT_EXECUTED if executing else None)
        else:
            assert self.life.wait_status is None

    @rule(grace_s=GRACES)
    def ask_to_kill(self, grace_s: float) -> None:
        self.perform(self.life.kill(grace_s, self.now))
        self.expect_end_within(grace_s)

    @rule(grace_s=GRACES, what=st.sampled_from(["the agent", "the fork server"]))
    def lose_someone(self, grace_s: float, what: str) -> None:
        self.perform(self.life.lose(what, grace_s, self.now))
        self.expect_end_within(min(grace_s, MAX_LOSS_GRACE_S))

    @rule(grace_s=GRACES, timeout_s=GRACES)
    def owner_leaves(self, grace_s: float, timeout_s: float) -> None:
        if self.life.stage is Stage.GATED:
            self.perform(self.life.leave("the agent", timeout_s, grace_s, self.now))
            assert Action.REPORT_ENDED in self.performed
        elif self.left_until is None:
            self.perform(self.life.leave("the agent", timeout_s, grace_s, self.now))
            if self.life.stage is Stage.RUNNING:
                self.left_until = self.now + timeout_s, grace_s

    @rule()
    def owner_comes(self) -> None:
        self.life.adopt()
        self.left_until = None

    @rule(passed_s=st.floats(min_value=0, max_value=10))
    def pass_time(self, passed_s: float) -> None:
        """Never past the deadline without a tick at it: the shell waits no longer."""
        end = self.now + passed_s
        if self.life.deadline is not None:
            end = min(end, self.life.deadline)
        self.now = end
        was_running = self.life.stage is Stage.RUNNING
        self.perform(self.life.tick(self.now))
        if was_running and self.left_until is not None and self.now >= self.left_until[0]:
            self.expect_end_within(self.left_until[1])

    @precondition(lambda self: self.main_lives or self.starter_lives)
    @rule()
    def program_starts_another(self) -> None:
        self.others_live = True

    @precondition(lambda self: self.main_lives)
    @rule(status=st.sampled_from([0, 256, 15, 9]))
    def main_process_ends(self, status: int) -> None:
        self.main_lives = False
        self.perform(self.life.reaped(status, left=self.others_live, now=self.now))
        if self.others_live:
            assert self.life.stage in (Stage.ENDING, Stage.STRIKING)

    @precondition(lambda self: self.others_live)
    @rule()
    def others_end(self) -> None:
        assume(self.life.stage in (Stage.ENDING, Stage.STRIKING))
        self.others_live = False
        left = self.main_lives or self.starter_lives
        self.perform(self.life.reaped(None, left=left, now=self.now))

    @invariant()
    def the_end_is_reported_once_and_only_when_nothing_is_left(self) -> None:
        ended = self.life.stage is Stage.ENDED
        assert self.performed.count(Action.REPORT_ENDED) == ended
        assert not (ended and (self.main_lives or self.others_live or self.starter_lives))

    @invariant()
    def it_starts_at_most_once(self) -> None:
        assert self.performed.count(Action.START) <= 1

    @invariant()
    def sigterm_comes_once_for_what_there_is_and_never_after_sigkill(self) -> None:
        if Action.REPORT_STARTED in self.performed:
            started = self.performed.index(Action.REPORT_STARTED)
            assert self.performed[started:].count(Action.TERMINATE_TREE) <= 1
            assert self.performed[:started].count(Action.TERMINATE_TREE) <= 1
        if Action.TERMINATE_TREE in self.performed and Action.KILL_TREE in self.performed:
            assert self.performed.index(Action.TERMINATE_TREE) < self.performed.index(Action.KILL_TREE)

    @invariant()
    def what_comes_late_is_asked_to_end_as_well(self) -> None:
        if Action.REPORT_STARTED in self.performed and self.main_lives and self.life.stage is Stage.ENDING:
            assert Action.TERMINATE_TREE in self.performed[self.performed.index(Action.REPORT_STARTED) :]

    @invariant()
    def asking_again_only_shortens_the_grace(self) -> None:
        if self.life.stage is Stage.ENDING:
            assert self.life.deadline is not None
            assert self.latest_end is not None
            assert self.life.deadline <= self.latest_end

    @invariant()
    def who_is_left_for_too_long_is_ended(self) -> None:
        if self.left_until is not None and self.now > self.left_until[0]:
            assert self.life.stage is not Stage.RUNNING

    @invariant()
    def whoever_outlives_the_grace_is_killed(self) -> None:
        is_there = self.main_lives or self.others_live or self.starter_lives
        if self.latest_end is not None and self.now > self.latest_end and is_there:
            assert Action.KILL_TREE in self.performed

    @invariant()
    def an_ending_life_wants_to_be_woken(self) -> None:
        is_left = self.life.stage is Stage.RUNNING and self.left_until is not None
        assert (self.life.deadline is not None) == (is_left or self.life.stage in (Stage.ENDING, Stage.STRIKING))


FAST = settings(max_examples=100, stateful_step_count=30, deadline=None)
FINDING = settings(FAST, max_examples=3000, derandomize=True, phases=[Phase.generate], report_multiple_bugs=False)


def test_life_keeps_its_promises_in_any_order() -> None:
    run_state_machine_as_test(LifeMachine, settings=FAST)


class ForgetfulLife(Life):
    """Broken on purpose: every kill starts the grace anew."""

    def kill(self, grace_s: float, now: float) -> list[Action]:
        actions = super().kill(grace_s, now)
        if self.stage is Stage.ENDING:
            self.deadline = now + max(grace_s, MIN_GRACE_S)
        return actions


class HastyLife(Life):
    """Broken on purpose: reports the end with the main process."""

    def reaped(self, main_status: int | None, *, left: bool, now: float) -> list[Action]:
        return super().reaped(main_status, left=left and main_status is None, now=now)


class DeafLife(Life):
    """Broken on purpose: once the main process has ended, hears of no loss any more."""

    def lose(self, what: str, grace_s: float, now: float) -> list[Action]:
        return [] if self.wait_status is not None else super().lose(what, grace_s, now)


class LateLife(Life):
    """Broken on purpose: what was asked to end before it was made is not asked."""

    def started(self) -> list[Action]:
        return super().started()[:2]


class PatientLife(Life):
    """Broken on purpose: forgets the time when the program is asked to end without an owner."""

    def leave(self, what: str, timeout_s: float, grace_s: float, now: float) -> list[Action]:
        actions = super().leave(what, timeout_s, grace_s, now)
        self.deadline = self.deadline if self.stage is Stage.RUNNING else None
        return actions


@pytest.mark.parametrize("broken", [ForgetfulLife, HastyLife, DeafLife, PatientLife, LateLife])
def test_a_broken_life_is_found_out(broken: type[Life]) -> None:
    class BrokenMachine(LifeMachine):
        life_class = broken

    with pytest.raises(AssertionError):
        run_state_machine_as_test(BrokenMachine, settings=FINDING)


def test_what_outlives_the_main_process_has_the_rest_of_the_grace() -> None:
    # given a program that was asked to end within 3 s
    life = Life()
    life.release()
    life.kill(3.0, now=0.0)
    # when its main process ends at once and a child does not
    # then the child is killed only when the grace is over
    assert life.reaped(15, left=True, now=0.1) == []
    assert life.tick(2.9) == []
    assert life.tick(3.0) == [Action.KILL_TREE]
    assert life.reaped(None, left=False, now=3.1)[-1] is Action.REPORT_ENDED
    assert life.wait_status == 15


def test_a_program_that_ends_by_itself_takes_its_rest_along_at_once() -> None:
    life = Life()
    life.release()
    assert life.reaped(0, left=True, now=5.0) == [Action.KILL_TREE]


def test_the_status_that_follows_from_a_loss_is_not_the_programs_own() -> None:
    life = Life()
    life.release()
    life.lose("the fork server", grace_s=1.0, now=0.0)
    life.reaped(15, left=False, now=0.1)
    assert (life.wait_status, life.killed, life.message) == (None, False, "the fork server was lost")


def test_a_loss_after_the_main_process_ended_changes_nothing() -> None:
    life = Life()
    life.release()
    life.reaped(0, left=True, now=0.0)
    life.lose("the fork server", grace_s=1.0, now=0.1)
    life.reaped(None, left=False, now=0.2)
    assert (life.wait_status, life.message) == (0, None)


def test_a_program_without_an_owner_has_its_whole_grace_when_the_time_is_over() -> None:
    # given a program left alone
    life = Life()
    life.release()
    life.started()
    life.leave("the agent", 900.0, 10.0, now=0.0)
    # when nobody comes
    assert life.tick(899.0) == []
    assert life.tick(900.0) == [Action.TERMINATE_TREE, Action.RECORD]
    # then it has its grace, and its end is not its own
    assert life.tick(909.0) == []
    assert life.tick(910.0) == [Action.KILL_TREE]
    life.reaped(9, left=False, now=910.0)
    assert (life.wait_status, life.killed, life.message) == (None, False, "nobody came back for it in time")


def test_a_kill_is_completed_without_an_owner() -> None:
    life = Life()
    life.release()
    life.kill(3.0, now=0.0)
    life.leave("the agent", 900.0, 10.0, now=1.0)
    assert life.tick(3.0) == [Action.KILL_TREE]


def test_a_step_that_cannot_be_tells_the_story() -> None:
    life = Life()
    life.kill(1.0, now=0.0)
    with pytest.raises(RuntimeError, match="no way to ended from gated > ended"):
        life._go(Stage.ENDED)
