"""The life of a gang, example by example: its stop, its waiting, its task on the launcher's own machine."""

import pytest

from tests.launcher.builders import only, total
from tests.launcher.play import PLENTY, Play, ending, killed
from tfmesos.launcher import Job
from tfmesos.launcher.addresses import TaskAddress
from tfmesos.launcher.events import (
    AskSurvey,
    Decline,
    Ending,
    Kill,
    KillLocal,
    LocalEnded,
    MasterRefused,
    Say,
    StartLocal,
    StopAsked,
    Surveyed,
)
from tfmesos.launcher.phases import Phase
from tfmesos.launcher.survey import Survey


def test_ctrl_c_kills_within_the_grace_and_a_second_one_at_once() -> None:
    play = Play()
    tasks = play.run()

    first = only(play.tell(StopAsked(130, "interrupted", False)), Kill)
    second = only(play.tell(StopAsked(130, "interrupted", True)), Kill)

    assert [kill.grace_s for kill in first] == [None] * 3
    assert [kill.grace_s for kill in second] == [0] * 3
    for task in tasks[1:]:
        play.says(task.task_id, "KILLED")
    assert ending(play.says(tasks[0].task_id, "KILLED")) == Ending(exit_status=130, text="interrupted", stopped=3)


def test_a_stop_before_anything_runs_ends_at_once() -> None:
    play = Play()
    play.offers("cpus:1")

    actions = play.tell(StopAsked(130, "interrupted", False))

    assert ending(actions).exit_status == 130
    assert only(actions, Decline)


def test_tasks_that_do_not_answer_are_not_waited_for_for_ever() -> None:
    play = Play()
    play.run()
    play.tell(StopAsked(130, "interrupted", False))

    assert ending(play.wait(14)).exit_status == 130


def test_the_time_limit() -> None:
    play = Play(Job("worker", 1, cmd="work"), time_limit_s=5.0)
    (task,) = play.run()

    assert killed(play.wait(5)) == [task.task_id]
    assert ending(play.says(task.task_id, "KILLED")) == Ending(
        exit_status=124, text="the time limit of 5 s is over", stopped=1
    )


def test_a_time_limit_that_is_over_together_with_another_timer_ends_the_job() -> None:
    play = Play(Job("worker", 1, gpus=9, cmd="work"), time_limit_s=8.0)

    assert ending(play.wait(8.1)).exit_status == 124


def test_a_job_that_waits_says_why_within_ten_seconds_and_once() -> None:
    play = Play(Job("worker", 1, gpus=9, cmd="work"))
    survey = Survey(agents=(total("a", gpus=8),), offered=("a",), role="*")

    assert not only(play.wait(7.9), AskSurvey)
    assert only(play.wait(0.2), AskSurvey)
    (said,) = only(play.tell(Surveyed(survey)), Say)
    assert said.text == "waiting: worker:0 needs 9 gpus, largest possible 8 (1 agent: 1 too few gpus)"
    assert only(play.wait(8), AskSurvey)
    assert not play.tell(Surveyed(survey))


def test_a_master_that_does_not_tell_of_its_agents_is_named() -> None:
    play = Play()
    play.wait(8)

    (said,) = only(play.tell(Surveyed(None)), Say)
    assert said.text == "waiting: no offer holds all 3 tasks, and the master does not tell of its agents"


def test_an_embedded_cluster_that_is_slow_is_explained_within_ten_seconds() -> None:
    play = Play(embedded=True)
    nobody = Survey(agents=(), offered=(), role="*")

    assert only(play.wait(1), AskSurvey)
    assert not play.tell(Surveyed(nobody))
    assert only(play.wait(7), AskSurvey)
    assert only(play.tell(Surveyed(nobody)), Say)


@pytest.mark.parametrize("option", ["embedded", "fail_fast"])
def test_what_never_fits_ends_where_that_is_wanted(option: str) -> None:
    play = Play(Job("worker", 1, gpus=9, cmd="work"), **{option: True})
    survey = Survey(agents=(total("a", gpus=8),), offered=("a",), role="*")

    end = ending(play.tell(Surveyed(survey)))

    assert (end.exit_status, end.never_fits) == (69, True)


def test_an_embedded_cluster_is_asked_as_soon_as_its_offer_does_not_suffice() -> None:
    assert only(Play(Job("worker", 1, gpus=9, cmd="work"), embedded=True).offers(PLENTY), AskSurvey)


LOCAL = TaskAddress(job="worker", index=0, host="10.0.0.9", port=7)


def test_a_local_worker_starts_when_the_others_run_and_decides_with_them() -> None:
    play = Play(local_address=LOCAL)
    ps, worker = play.launch()
    play.says(ps.task_id, "RUNNING")

    (start,) = only(play.says(worker.task_id, "RUNNING"), StartLocal)
    assert start.everyone.of("worker") == {0: "10.0.0.9:7", 1: worker.address.text}
    play.says(worker.task_id, "FINISHED")
    assert killed(play.tell(LocalEnded(0, "")))
    assert ending(play.says(ps.task_id, "KILLED")).exit_status == 0


def test_the_failure_of_a_local_worker_is_the_jobs() -> None:
    play = Play(local_address=LOCAL)
    ps, worker = play.run()
    play.tell(LocalEnded(5, "Command exited with status 5"))
    play.says(ps.task_id, "KILLED")

    end = ending(play.says(worker.task_id, "KILLED"))

    assert (end.exit_status, end.stopped) == (5, 2)


def test_the_status_of_a_local_worker_is_the_one_it_was_told_with() -> None:
    play = Play(Job("worker", 1, cmd="work"), local_address=LOCAL)

    end = ending(play.tell(LocalEnded(2, "the variable A has too many bytes")))

    assert end.exit_status == 2


def test_a_local_worker_is_ended_with_the_others() -> None:
    play = Play(local_address=LOCAL)
    play.run()

    assert only(play.tell(StopAsked(130, "interrupted", False)), KillLocal)


def test_a_local_worker_that_does_not_end_is_not_waited_for_for_ever_when_the_master_is_lost() -> None:
    play = Play(local_address=LOCAL)
    play.run()

    assert only(play.tell(MasterRefused("Framework has been removed")), KillLocal)
    assert ending(play.wait(15)).exit_status == 1


def test_a_job_of_one_local_worker_needs_no_offer() -> None:
    play = Play(Job("worker", 1, cmd="work"), local_address=LOCAL)

    assert play.gang.phase is Phase.RUNNING
    assert ending(play.tell(LocalEnded(0, ""))).exit_status == 0
