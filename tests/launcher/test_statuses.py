"""Exit statuses out of Mesos' messages."""

import signal

import pytest

from tfmesos.launcher.statuses import SIGNALS, exit_status


@pytest.mark.parametrize(
    ("message", "status"),
    [
        ("Command exited with status 3", 3),
        ("Command exited with status 127", 127),
        ("Container exited with status 1", 1),
        ("Command terminated with signal Killed", 137),
        ("Command terminated with signal Terminated", 143),
        ("Command terminated with signal Segmentation fault (core dumped)", 139),
        ("Command exited with status 0", 1),
        ("Command terminated with signal Something new", 1),
        ("Executor terminated", 1),
        ("", 1),
    ],
)
def test_the_exit_status_is_read_from_the_message(message: str, status: int) -> None:
    assert exit_status(message) == status


def test_the_names_of_signals_are_those_of_this_systems_libc() -> None:
    assert [signal.strsignal(number) for number in range(1, 32)] == list(SIGNALS)
