"""The last words about a job."""

from tests.launcher.builders import status
from tfmesos.launcher.events import Ending, FailedTask
from tfmesos.launcher.failure import build_outcome
from tfmesos.launcher.placement import TaskKey


def test_the_first_failure_is_told_in_full() -> None:
    failed = FailedTask(
        key=TaskKey("worker", 2),
        task=None,
        hostname="node7",
        status=status("w", "FAILED", "Command exited with status 1", reason="REASON_COMMAND_EXECUTOR_FAILED"),
        exit_status=1,
    )

    outcome = build_outcome(Ending(exit_status=1, failed=failed, stopped=3), ("x", "ValueError: no"), "/s/runs/1")

    assert outcome.text.splitlines() == [
        "worker:2 failed on agent node7",
        "  TASK_FAILED (REASON_COMMAND_EXECUTOR_FAILED, SOURCE_EXECUTOR): Command exited with status 1",
        "  exit status 1",
        "  the last 2 lines of its output:",
        "    x",
        "    ValueError: no",
        "  all of it: /s/runs/1 on node7",
        "  3 other tasks were stopped by us",
    ]
    assert outcome.failure is not None
    assert (outcome.failure.job, outcome.failure.index, outcome.failure.last_lines[-1]) == (
        "worker",
        2,
        "ValueError: no",
    )


def test_success_has_no_words() -> None:
    assert build_outcome(Ending(exit_status=0, stopped=2)).text == ""


def test_an_end_that_no_task_caused_says_what_was_stopped() -> None:
    outcome = build_outcome(Ending(exit_status=124, text="the time limit of 3 s is over", stopped=1))

    assert outcome.text == "the time limit of 3 s is over; 1 task was stopped by us"
