"""The last words about a job."""

import pytest

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


def words(message: str, *lines: str, reason: str = "", exit_status: int = 1, image: str | None = None) -> str:
    failed = FailedTask(
        key=TaskKey("worker", 0),
        task=None,
        hostname="node7",
        status=status("w", "FAILED", message, reason=reason),
        exit_status=exit_status,
    )
    return build_outcome(Ending(exit_status=exit_status, failed=failed), lines, image=image).text


def test_out_of_memory_is_said_with_numbers_and_what_to_do() -> None:
    message = "Memory limit exceeded: Requested: 96MB Maximum Used: 97MB\n\nMEMORY STATISTICS: \ncache 0\n"

    text = words(message, reason="REASON_CONTAINER_LIMITATION_MEMORY")

    assert "out of memory: used 97MB of 96MB, raise mem of 'worker' (tfrun: -Mw)" in text
    assert "STATISTICS" not in text


@pytest.mark.parametrize(
    "said",
    [
        'runc run failed: exec: "python3": executable file not found in $PATH',
        "executable file `python3` not found in $PATH: No such file or directory",
        "Failed to execute command: No such file or directory",
    ],
)
def test_an_image_without_python3_is_told(said: str) -> None:
    hint = "the image 'busybox' has no python3, which TFMesos needs to start a task"

    assert hint in words("Command exited with status 1", said, image="busybox")
    assert hint in words(said, image="busybox")
    assert "has no python3" not in words(said)


def test_an_agent_without_docker_is_told() -> None:
    said = "Failed to launch container: None of the enabled containerizers (mesos) could create a container for the"

    assert "start it with --containerizers=docker,mesos, or leave out -C DOCKER" in words(said, image="tf:1")


def test_a_missing_file_of_the_user_is_no_missing_python() -> None:
    said = "python3: can't open file '/x/train.py': [Errno 2] No such file or directory"

    assert "has no python3" not in words("Command exited with status 2", said, image="tf:1")


def test_a_bus_error_in_a_container_points_at_shared_memory() -> None:
    message = "Command terminated with signal Bus error"

    assert "/dev/shm: make it larger, as with --shm 2g" in words(message, exit_status=135, image="tf:1")
    assert "/dev/shm" not in words(message, exit_status=135)


def test_a_failed_pull_is_told_with_state_reason_source_and_message() -> None:
    failed = FailedTask(
        key=TaskKey("worker", 1),
        task=None,
        hostname="node7",
        status=status(
            "w",
            "FAILED",
            "Failed to pull image 'nosuch' from registry.example.org: manifest unknown",
            reason="REASON_CONTAINER_LAUNCH_FAILED",
            source="SOURCE_AGENT",
        ),
        exit_status=1,
    )

    outcome = build_outcome(Ending(exit_status=1, failed=failed, stopped=2), (), "/s/runs/1", image="nosuch")

    assert outcome.text.splitlines() == [
        "worker:1 failed on agent node7",
        "  TASK_FAILED (REASON_CONTAINER_LAUNCH_FAILED, SOURCE_AGENT): "
        "Failed to pull image 'nosuch' from registry.example.org: manifest unknown",
        "  exit status 1",
        "  2 other tasks were stopped by us",
    ]
