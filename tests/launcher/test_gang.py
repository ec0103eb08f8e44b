"""The life of a gang, example by example: its place, its start, its failures."""

import pytest

from tests.launcher.builders import offer, only
from tests.launcher.play import PLENTY, PORTS, Play, ending, killed
from tfmesos.launcher import Job, carrier
from tfmesos.launcher.events import (
    AllRun,
    Decline,
    Ending,
    FinishLogs,
    FollowLogs,
    Launch,
    LaunchFailed,
    LaunchImpossible,
    MasterRefused,
    OfferRescinded,
    OffersArrived,
    Reconcile,
    Revive,
    Say,
    StopAsked,
    Subscribed,
    Suppress,
)
from tfmesos.launcher.phases import Phase


def test_the_whole_gang_is_launched_with_one_accept_for_each_agent() -> None:
    play = Play()

    actions = play.offers("cpus:1;mem:4096;" + PORTS, "cpus:2;mem:4096;" + PORTS)

    launches = only(actions, Launch)
    assert sorted(len(launch.tasks) for launch in launches) == [1, 2]
    assert len({task.task_id for launch in launches for task in launch.tasks}) == 3
    assert only(actions, Suppress)


def test_addresses_have_the_order_of_index_whoever_registers_first() -> None:
    play = Play(Job("worker", 2, cmd="work"), Job("ps", 1, cmd="serve"))
    tasks = play.launch()

    for task in reversed(tasks):
        play.says(task.task_id, "RUNNING")

    by_key = {str(task.placed.key): task.address.text for task in tasks}
    assert play.gang.everyone.spec() == {"worker": [by_key["worker:0"], by_key["worker:1"]], "ps": [by_key["ps:0"]]}


def test_no_part_of_a_gang_is_launched() -> None:
    play = Play()

    assert not only(play.offers("cpus:2.9;mem:4096;" + PORTS), Launch)


def test_offers_of_different_times_are_used_together() -> None:
    play = Play()
    play.offers("cpus:2;mem:4096;" + PORTS)

    actions = play.tell(OffersArrived((offer("late", "cpus:1;mem:4096;" + PORTS, "b"),)))

    assert len(only(actions, Launch)) == 2


def test_a_rescinded_offer_is_not_used() -> None:
    play = Play()
    play.offers("cpus:2;mem:4096;" + PORTS)
    play.tell(OfferRescinded("offer-0.0-0"))

    assert not only(play.tell(OffersArrived((offer("late", "cpus:1;mem:4096;" + PORTS, "b"),))), Launch)


def test_an_incomplete_set_of_offers_is_given_back_after_a_bounded_time() -> None:
    play = Play()
    play.offers("cpus:2;mem:4096;" + PORTS)
    at = play.gang.wakes_at
    assert at is not None

    actions = play.wait(30)

    (decline,) = only(actions, Decline)
    assert decline.offer_ids == ("offer-0.0-0",)
    assert 0 < decline.refuse_s < 30


def test_offers_that_come_while_the_gang_runs_are_refused_for_long() -> None:
    play = Play()
    play.run()

    (decline,) = only(play.offers(PLENTY), Decline)
    assert decline.refuse_s >= 300


def test_start_is_told_when_all_run() -> None:
    play = Play()
    first, second, third = play.launch()

    assert not only(play.says(first.task_id, "RUNNING") + play.says(second.task_id, "STARTING"), AllRun)
    assert not only(play.says(third.task_id, "RUNNING"), AllRun)
    assert only(play.says(second.task_id, "RUNNING"), AllRun)
    assert [view.state for view in play.gang.tasks] == ["TASK_RUNNING"] * 3


def test_logs_are_followed_from_the_first_sign_of_life_to_the_end() -> None:
    play = Play()
    task = play.launch()[0]

    assert [one.task for one in only(play.says(task.task_id, "STARTING"), FollowLogs)] == [task]
    assert not only(play.says(task.task_id, "RUNNING"), FollowLogs)
    assert [one.task_id for one in only(play.says(task.task_id, "FINISHED"), FinishLogs)] == [task.task_id]


def test_parameter_servers_are_stopped_when_the_workers_have_finished() -> None:
    play = Play()
    ps, one, two = play.run()
    play.says(one.task_id, "FINISHED")

    actions = play.says(two.task_id, "FINISHED")

    assert killed(actions) == [ps.task_id]
    assert ending(play.says(ps.task_id, "KILLED")) == Ending(exit_status=0)


def test_a_job_without_ps_ends_with_its_workers() -> None:
    play = Play(Job("worker", 1, cmd="work"))
    (task,) = play.run()

    assert ending(play.says(task.task_id, "FINISHED")).exit_status == 0


def test_a_chief_decides_and_the_others_get_a_moment_to_finish() -> None:
    play = Play(Job("chief", 1, cmd="a"), Job("worker", 1, cmd="b"), Job("ps", 1, cmd="c"))
    chief, worker, ps = play.run()

    assert not killed(play.says(chief.task_id, "FINISHED"))
    assert killed(play.says(worker.task_id, "FINISHED")) == [ps.task_id]
    assert ending(play.says(ps.task_id, "KILLED")).exit_status == 0


def test_whoever_does_not_finish_after_the_chief_is_stopped() -> None:
    play = Play(Job("chief", 1, cmd="a"), Job("worker", 1, cmd="b"))
    chief, worker = play.run()
    play.says(chief.task_id, "FINISHED")

    assert killed(play.wait(10)) == [worker.task_id]
    assert ending(play.says(worker.task_id, "FAILED", "Command exited with status 1")).exit_status == 0


def test_the_first_failure_ends_the_job_with_its_status() -> None:
    play = Play()
    ps, one, two = play.run()

    assert set(killed(play.says(one.task_id, "FAILED", "Command exited with status 7"))) == {ps.task_id, two.task_id}
    play.says(ps.task_id, "KILLED", "Command terminated with signal Terminated")
    end = ending(play.says(two.task_id, "FAILED", "Command exited with status 9"))

    assert (end.exit_status, end.stopped) == (7, 2)
    assert end.failed is not None
    assert str(end.failed.key) == "worker:0"


@pytest.mark.parametrize(
    "state", ["LOST", "DROPPED", "GONE", "GONE_BY_OPERATOR", "KILLED", "ERROR", "FAILED", "UNKNOWN"]
)
def test_every_other_end_of_a_running_task_fails_the_job(state: str) -> None:
    play = Play(Job("worker", 1, cmd="work"))
    (task,) = play.run()

    end = ending(play.says(task.task_id, state))

    assert end.exit_status == 1
    assert end.failed is not None
    assert end.failed.status.state == f"TASK_{state}"


def test_an_unreachable_task_is_waited_for_and_then_failed() -> None:
    play = Play(Job("worker", 1, cmd="work"))
    (task,) = play.run()

    assert not play.says(task.task_id, "UNREACHABLE")
    assert not play.wait(59)
    assert ending(play.wait(2)).exit_status == 1
    assert killed(play.says(task.task_id, "RUNNING")) == [task.task_id]


def test_an_unreachable_task_that_returns_in_time_goes_on() -> None:
    play = Play(Job("worker", 1, cmd="work"))
    (task,) = play.run()
    play.says(task.task_id, "UNREACHABLE")
    play.wait(30)

    assert not play.says(task.task_id, "RUNNING")
    assert not play.wait(60)
    assert ending(play.says(task.task_id, "FINISHED")).exit_status == 0


def test_a_dropped_part_kills_the_rest_and_all_is_tried_with_fresh_ids_and_ports() -> None:
    play = Play()
    tasks = play.launch()
    actions = play.says(tasks[0].task_id, "DROPPED", source="SOURCE_MASTER")
    assert set(killed(actions)) == {tasks[1].task_id, tasks[2].task_id}
    assert "did not start" in only(actions, Say)[0].text
    play.says(tasks[1].task_id, "KILLED")

    assert only(play.says(tasks[2].task_id, "KILLED"), Revive)
    again = play.launch()

    assert not {task.task_id for task in tasks} & {task.task_id for task in again}
    assert not {task.address.port for task in tasks} & {task.address.port for task in again}


def test_the_tries_are_bounded() -> None:
    play = Play(Job("worker", 1, cmd="work"))
    for _ in range(2):
        (task,) = play.launch()
        assert only(play.says(task.task_id, "LOST"), Revive)

    (task,) = play.launch()
    end = ending(play.says(task.task_id, "LOST"))

    assert end.failed is not None
    assert end.failed.status.state == "TASK_LOST"


def test_an_agent_that_cannot_start_a_task_is_tried_again() -> None:
    play = Play(Job("worker", 1, cmd="work"))
    (task,) = play.launch()

    assert only(play.says(task.task_id, "FAILED", "no such image", source="SOURCE_AGENT"), Revive)


@pytest.mark.parametrize(
    ("state", "message", "source"),
    [
        ("ERROR", "Task uses invalid resources", "SOURCE_MASTER"),
        ("FAILED", "Failed to launch container: Failed to parse docker image 'http://x': no", "SOURCE_AGENT"),
    ],
)
def test_an_invalid_task_is_not_tried_again(state: str, message: str, source: str) -> None:
    play = Play(Job("worker", 1, cmd="work"))
    (task,) = play.launch()

    end = ending(play.says(task.task_id, state, message, source=source))

    assert end.failed is not None
    assert end.failed.status.message == message


def test_a_program_that_fails_before_the_others_run_is_not_tried_again() -> None:
    play = Play()
    tasks = play.launch()
    play.says(tasks[0].task_id, "RUNNING")

    actions = play.says(tasks[0].task_id, "FAILED", "Command exited with status 2")

    assert play.gang.phase is Phase.ENDING
    assert len(killed(actions)) == 2


def test_a_taken_port_is_tried_again_even_if_all_run() -> None:
    play = Play()
    tasks = play.run()

    actions = play.says(tasks[1].task_id, "FAILED", f"Command exited with status {carrier.PORT_TAKEN}")

    assert set(killed(actions)) == {tasks[0].task_id, tasks[2].task_id}
    assert play.gang.phase is Phase.RETREATING


def test_that_status_much_later_is_the_programs_own() -> None:
    play = Play()
    tasks = play.run()
    play.now = 100

    play.says(tasks[1].task_id, "FAILED", f"Command exited with status {carrier.PORT_TAKEN}")

    assert play.gang.phase is Phase.ENDING


def test_a_task_of_an_abandoned_attempt_that_appears_is_killed() -> None:
    play = Play()
    tasks = play.launch()
    for task in tasks:
        play.says(task.task_id, "LOST")

    assert killed(play.says(tasks[0].task_id, "RUNNING")) == [tasks[0].task_id]


def test_a_launch_that_was_refused_is_tried_again() -> None:
    play = Play(Job("worker", 1, cmd="work"))
    (task,) = play.launch()

    assert only(play.tell(LaunchFailed((task.task_id,), "the subscription was lost")), Revive)


def test_what_linux_cannot_start_is_the_users_fault() -> None:
    play = Play(Job("worker", 1, cmd="work"))
    (task,) = play.launch()
    play.tell(LaunchFailed((task.task_id,), "not launched"))

    end = ending(play.tell(LaunchImpossible("worker:0: argument 1 has too many bytes")))

    assert (end.exit_status, end.text) == (2, "worker:0: argument 1 has too many bytes")


def test_a_new_subscription_asks_for_the_state_of_all_tasks() -> None:
    play = Play()
    tasks = play.run()

    (reconcile,) = only(play.tell(Subscribed()), Reconcile)

    assert {task_id for task_id, _ in reconcile.tasks} == {task.task_id for task in tasks}


def test_what_is_to_end_is_killed_again_under_a_new_subscription() -> None:
    play = Play()
    tasks = play.run()
    play.tell(StopAsked(130, "interrupted", False))

    assert set(killed(play.tell(Subscribed()))) == {task.task_id for task in tasks}


def test_a_removed_framework_was_torn_down_by_the_operator() -> None:
    play = Play()
    play.run()

    end = ending(play.tell(MasterRefused("Framework has been removed")))

    assert end.exit_status == 1
    assert "torn down by operator" in end.text


def test_any_other_word_of_the_master_is_passed_on() -> None:
    assert (
        ending(Play().tell(MasterRefused("Role 'x' is not allowed"))).text == "the master says: Role 'x' is not allowed"
    )
