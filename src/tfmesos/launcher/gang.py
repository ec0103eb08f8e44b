"""The life of a gang of tasks, from the first offer to the last task's end. Pure."""

from collections.abc import Sequence
from dataclasses import replace
from random import Random
from typing import assert_never

from tfmesos.launcher.addresses import ClusterAddresses
from tfmesos.launcher.events import (
    Action,
    AllRun,
    AskSurvey,
    ConnectionFailed,
    Ending,
    Event,
    FailedTask,
    Finish,
    FinishLogs,
    FollowLogs,
    Kill,
    KillLocal,
    LaunchFailed,
    LaunchImpossible,
    LocalEnded,
    MasterRefused,
    OfferRescinded,
    OffersArrived,
    Reconcile,
    Revive,
    Say,
    StartLocal,
    StatusArrived,
    StopAsked,
    Subscribed,
    Surveyed,
    TimePassed,
)
from tfmesos.launcher.fetching import NEXT_WORD_S, fetching_text
from tfmesos.launcher.gang_options import GangOptions
from tfmesos.launcher.members import BEGUN, UNREACHABLE_WAIT_S, Member, Members, is_terminal
from tfmesos.launcher.phases import Phase, PhaseKeeper
from tfmesos.launcher.placement import Offer, Placed, TaskKey, build_wishes
from tfmesos.launcher.placing import Placing, new_task, refuse
from tfmesos.launcher.retries import may_retry
from tfmesos.launcher.statuses import FINISHED, UNREACHABLE, Status, exit_status, removal_text
from tfmesos.launcher.success import has_succeeded, stragglers
from tfmesos.launcher.survey import Survey
from tfmesos.launcher.tasks import TaskView

EXPLAIN_AFTER_S = 8.0
EXPLAIN_EMBEDDED_S = 1.0
STRAGGLER_S = 10.0
END_MARGIN_S = 10.0
TIME_LIMIT_STATUS = 124


class Gang:
    """One job. Feed it every event in order; it wants to be fed TimePassed at `wakes_at`."""

    def __init__(self, options: GangOptions, random: Random, now: float) -> None:
        self._options = options
        self._phases = PhaseKeeper()
        local = options.local_address
        self._local_key = TaskKey(local.job, local.index) if local else None
        wishes = build_wishes(options.jobs, without=[self._local_key] if self._local_key else [])
        self._placing = Placing(wishes, options.role, random)
        keys = [TaskKey(job.name, index) for job in options.jobs for index in job.indices]
        self._members = Members(all=[Member(key=key, is_local=key == self._local_key) for key in keys])
        self._everyone = ClusterAddresses(())
        self._timers: dict[str, float] = {}
        self._ending: Ending | None = None
        self._said = ""
        self._waiting_since = now
        self._actions: list[Action] = []
        if options.time_limit_s is not None:
            self._timers["limit"] = now + options.time_limit_s

    # -- what is seen of it

    @property
    def phase(self) -> Phase:
        """Where the gang is."""
        return self._phases.phase

    @property
    def wakes_at(self) -> float | None:
        """When it wants TimePassed; None: not before another event."""
        times = list(self._timers.values())
        if self._placing.expires_at is not None:
            times.append(self._placing.expires_at)
        times += [member.unreachable_until for member in self._members.all if member.unreachable_until is not None]
        return min(times, default=None)

    @property
    def tasks(self) -> tuple[TaskView, ...]:
        """All tasks as they are."""
        return tuple(member.view() for member in self._members.all)

    @property
    def everyone(self) -> ClusterAddresses:
        """The addresses of the present attempt; empty before the first."""
        return self._everyone

    # -- what it is told

    def handle(self, event: Event, now: float) -> list[Action]:
        """Take one event; returns what to do, in order."""
        self._actions = []
        if self.phase is not Phase.OVER:
            self._handle(event, now)
        elif isinstance(event, StatusArrived):
            self._kill_stranger(event.status)
        return self._actions

    def _handle(self, event: Event, now: float) -> None:
        match event:
            case Subscribed():
                self._subscribed(now)
            case OffersArrived(offers):
                self._offers_arrived(offers, now)
            case OfferRescinded(offer_id):
                self._placing.rescinded(offer_id)
            case StatusArrived(status):
                self._status_arrived(status, now)
            case LaunchFailed(task_ids, text):
                self._launch_failed(task_ids, text, now)
            case LaunchImpossible(text):
                self._end(Ending(exit_status=2, text=text), now)
            case MasterRefused(text):
                self._lost(Ending(exit_status=1, text=removal_text(text)), now)
            case ConnectionFailed(text, status):
                self._lost(Ending(exit_status=status, text=text), now)
            case Surveyed(survey):
                self._surveyed(survey, now)
            case LocalEnded(status, text):
                self._local_ended(status, text, now)
            case StopAsked(status, text, at_once):
                self._stop(Ending(exit_status=status, text=text), now, at_once=at_once)
            case TimePassed():
                self._time_passed(now)
            case _:
                assert_never(event)

    # -- placing

    def _subscribed(self, now: float) -> None:
        self._placing.forget_offers()
        placed = [member.task for member in self._members.live if member.task]
        if placed:
            self._do(Reconcile(tuple((task.task_id, task.placed.agent_id) for task in placed)))
        if self.phase in (Phase.RETREATING, Phase.ENDING) and "stragglers" not in self._timers:
            self._kill_live(None)
        if self.phase is Phase.PLACING:
            self._await_offers(now)

    def _await_offers(self, now: float) -> None:
        self._waiting_since = now
        self._timers["explain"] = now + (EXPLAIN_EMBEDDED_S if self._options.embedded else EXPLAIN_AFTER_S)
        if self._placing.is_trivial:
            self._launch((), now)

    def _offers_arrived(self, offers: tuple[Offer, ...], now: float) -> None:
        if self.phase is not Phase.PLACING:
            self._do(refuse(offers))
            return
        placed = self._placing.try_offers(offers, now)
        if placed is not None:
            self._launch(placed, now)
        elif self._options.embedded:
            self._do(AskSurvey())

    def _launch(self, placed: Sequence[Placed], now: float) -> None:
        attempt = self._members.start_attempt()
        self._timers.pop("explain", None)
        self._phases.enter(Phase.STARTING, f"attempt {attempt}")
        tasks = [new_task(one, attempt) for one in placed]
        for task in tasks:
            self._members.launched(task, now)
        self._everyone = self._members.addresses(self._options.local_address)
        self._actions += self._placing.launches(tasks, self._everyone)
        if self._options.image is not None:
            self._timers["fetching"] = now + NEXT_WORD_S[0]
        self._look(now)

    def _surveyed(self, survey: Survey | None, now: float) -> None:
        if self.phase is not Phase.PLACING:
            return
        shortage = self._placing.explain(survey)
        if shortage.is_final and (self._options.embedded or self._options.fail_fast):
            self._end(Ending(exit_status=69, text=shortage.text, never_fits=True), now)
        elif shortage.text != self._said and now - self._waiting_since >= EXPLAIN_AFTER_S:
            self._said = shortage.text
            self._do(Say(f"waiting: {shortage.text}"))

    # -- running

    def _status_arrived(self, status: Status, now: float) -> None:
        member = self._members.by_id.get(status.task_id)
        if member is None or member.ended:
            self._kill_stranger(status)
            return
        member.observe(status.state, now)
        if status.state in BEGUN:
            self._follow(member, status)
        if is_terminal(status.state):
            self._ended(member, status, now)
        self._look(now)

    def _follow(self, member: Member, status: Status) -> None:
        if member.task and not member.is_followed:
            member.is_followed = True
            self._do(FollowLogs(member.task, status.executor_id or status.task_id))

    def _kill_stranger(self, status: Status) -> None:
        """A task that we gave up came back: nobody else would end it."""
        if not is_terminal(status.state) and status.state != UNREACHABLE and status.state != "TASK_KILLING":
            self._do(Kill(status.task_id, status.agent_id, None))

    def _ended(self, member: Member, status: Status, now: float) -> None:
        member.ended = True
        if member.is_followed:
            self._do(FinishLogs(status.task_id))
        if status.state == FINISHED or self.phase not in (Phase.STARTING, Phase.RUNNING):
            return
        self._failed(member, status, exit_status(status.message), now)

    def _failed(self, member: Member, status: Status, number: int, now: float) -> None:
        """A task ended as it should not, with this exit status."""
        all_run = self.phase is Phase.RUNNING
        if may_retry(member, status, attempt=self._members.attempt, all_run=all_run, now=now):
            self._retreat(member, status, now)
            return
        failed = FailedTask(
            key=member.key, task=member.task, hostname=member.hostname, status=status, exit_status=number
        )
        self._end(Ending(exit_status=number, failed=failed), now)

    def _launch_failed(self, task_ids: Sequence[str], text: str, now: float) -> None:
        for task_id in task_ids:
            member = self._members.by_id.get(task_id)
            if member is not None and not member.ended and member.task:
                self._status_arrived(member.status("TASK_DROPPED", text), now)

    def _local_ended(self, status: int, text: str, now: float) -> None:
        member = next(member for member in self._members.all if member.is_local)
        member.ended = True
        member.state = "TASK_FAILED" if status else FINISHED
        if status and self.phase is Phase.RUNNING:
            self._failed(member, member.status(member.state, text), status, now)
        self._look(now)

    # -- looking at the whole

    def _look(self, now: float) -> None:
        """Go on to the next phase if all of its conditions hold."""
        if self.phase is Phase.STARTING and all(member.has_run or member.is_local for member in self._members.all):
            self._phases.enter(Phase.RUNNING, "all run")
            self._start_local(now)
            self._do(AllRun())
        if self.phase is Phase.RUNNING and has_succeeded(self._members.all):
            self._succeed(now)
        if self.phase is Phase.RETREATING and not self._members.live:
            self._place_again(now)
        if self.phase is Phase.ENDING:
            self._look_at_end(now)

    def _start_local(self, now: float) -> None:
        local = self._options.local_address
        if local and self._local_key:
            member = self._members.of(self._local_key)
            member.is_launched, member.has_run, member.launched_at = True, True, now
            member.address, member.state = local.text, "TASK_RUNNING"
            self._do(StartLocal(address=local, everyone=self._everyone))

    def _retreat(self, member: Member, status: Status, now: float) -> None:
        self._phases.enter(Phase.RETREATING, f"{member.key}: {status.state}")
        why = f"{status.state} {status.message}".strip()
        self._do(Say(f"{member.key} did not start on {member.hostname} ({why}); placing all tasks anew"))
        self._kill_live(None)
        self._timers["abandon"] = now + self._options.grace_s + END_MARGIN_S

    def _place_again(self, now: float) -> None:
        self._timers.pop("abandon", None)
        self._phases.enter(Phase.PLACING, "all gone")
        self._do(Revive())
        self._await_offers(now)

    # -- ending

    def _succeed(self, now: float) -> None:
        self._ending = Ending(exit_status=0)
        self._phases.enter(Phase.ENDING, "success")
        if stragglers(self._members.all):
            self._timers["stragglers"] = now + STRAGGLER_S
        else:
            self._kill_for_end(None, now)

    def _end(self, ending: Ending, now: float) -> None:
        if self._ending is not None:
            return
        self._ending = replace(ending, stopped=len(self._members.live))
        if self.phase is Phase.PLACING:
            self._actions += self._placing.want_nothing()
        self._phases.enter(Phase.ENDING, ending.text or "failure")
        self._kill_for_end(None, now)
        self._look(now)

    def _stop(self, ending: Ending, now: float, *, at_once: bool) -> None:
        self._end(ending, now)
        if self.phase is Phase.ENDING and (at_once or "stragglers" in self._timers):
            self._timers.pop("stragglers", None)
            self._kill_for_end(0.0 if at_once else None, now)

    def _lost(self, ending: Ending, now: float) -> None:
        """There is no framework any more: nothing is left to wait for but what runs here."""
        ending = self._ending or replace(ending, stopped=len(self._members.live))
        for member in self._members.live:
            if not member.is_local:
                self._members.abandon(member)
        self._kill_for_end(None, now)
        if self.phase is not Phase.ENDING:
            self._phases.enter(Phase.ENDING, ending.text)
        self._ending = ending
        self._look_at_end(now)

    def _kill_for_end(self, grace_s: float | None, now: float) -> None:
        self._kill_live(grace_s)
        grace = self._options.grace_s if grace_s is None else grace_s
        self._timers["abandon"] = now + grace + (END_MARGIN_S if grace_s is None else 2.0)

    def _kill_live(self, grace_s: float | None) -> None:
        for member in self._members.live:
            if member.is_local:
                self._do(KillLocal(self._options.grace_s if grace_s is None else grace_s))
            elif member.task:
                self._do(Kill(member.task.task_id, member.task.placed.agent_id, grace_s))

    def _look_at_end(self, now: float) -> None:
        if "stragglers" in self._timers and not stragglers(self._members.all):
            del self._timers["stragglers"]
            self._kill_for_end(None, now)
        if not self._members.live and self._ending is not None:
            self._timers.clear()
            self._placing.forget_offers()
            self._phases.enter(Phase.OVER, "none left")
            self._do(Finish(self._ending))

    # -- time

    def _time_passed(self, now: float) -> None:
        for name in [name for name, at in self._timers.items() if at <= now]:
            if self._timers.pop(name, None) is not None:  # else an earlier one has ended the job
                self._timer_fired(name, now)
        self._actions += self._placing.give_back(now)
        for member in self._members.all:
            if member.unreachable_until is not None and member.unreachable_until <= now:
                self._give_up(member, now)

    def _timer_fired(self, name: str, now: float) -> None:
        match name:
            case "limit":
                text = f"the time limit of {self._options.time_limit_s:g} s is over"
                self._stop(Ending(exit_status=TIME_LIMIT_STATUS, text=text), now, at_once=False)
            case "explain":
                soon = now < self._waiting_since + EXPLAIN_AFTER_S
                self._timers["explain"] = self._waiting_since + EXPLAIN_AFTER_S if soon else now + EXPLAIN_AFTER_S
                self._do(AskSurvey())
            case "fetching":
                self._tell_fetching(now)
            case "stragglers":
                self._kill_for_end(None, now)
            case "abandon":
                for member in self._members.live:
                    self._members.abandon(member)
                self._look(now)

    def _tell_fetching(self, now: float) -> None:
        """A slow start is no fault while an image is pulled: it has no limit, only a word now and then."""
        text = fetching_text(self._options.image or "", self._members.all, now)
        if text and self.phase is Phase.STARTING:
            self._do(Say(text))
            self._timers["fetching"] = now + NEXT_WORD_S[1]

    def _give_up(self, member: Member, now: float) -> None:
        """Its agent did not come back in time."""
        member.unreachable_until = None
        if member.task is None or member.ended:
            return
        status = member.status(UNREACHABLE, f"its agent was unreachable for {UNREACHABLE_WAIT_S:g} s")
        self._members.abandon(member)
        if member.is_followed:
            self._do(FinishLogs(member.task.task_id))
        if self.phase in (Phase.STARTING, Phase.RUNNING):
            self._failed(member, status, exit_status(status.message), now)
        self._look(now)

    def _do(self, action: Action) -> None:
        self._actions.append(action)
