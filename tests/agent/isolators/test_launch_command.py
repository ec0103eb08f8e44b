"""docker/runtime: what is executed, for every combination of what the task and its image say."""

from __future__ import annotations

import pytest

from tfmesos.agent.isolators import IsolationFailed
from tfmesos.agent.isolators.launch_command import launch_command
from tfmesos.wire import mesos_pb2

A, E, C = ("a", "b"), ("/entry", "point"), ("/cmd", "c")
SHELL = ("sh", "-c", "value")
NO_VALUE = "Failed to determine the launch command: Shell specified but no command value provided"
NOTHING = "Failed to determine the launch command: No executable is found"
TABLE: list[tuple[bool, bool, tuple[str, ...], tuple[str, ...], tuple[str, ...], tuple[str, ...] | str]] = [
    # shell, has a value, arguments, entrypoint, cmd: what is executed
    (True, True, (), (), (), SHELL),
    (True, True, (), (), C, SHELL),
    (True, True, (), E, (), SHELL),
    (True, True, (), E, C, SHELL),
    (True, True, A, (), (), SHELL),
    (True, True, A, (), C, SHELL),
    (True, True, A, E, (), SHELL),
    (True, True, A, E, C, SHELL),
    (True, False, (), (), (), NO_VALUE),
    (True, False, (), (), C, NO_VALUE),
    (True, False, (), E, (), NO_VALUE),
    (True, False, (), E, C, NO_VALUE),
    (True, False, A, (), (), NO_VALUE),
    (True, False, A, (), C, NO_VALUE),
    (True, False, A, E, (), NO_VALUE),
    (True, False, A, E, C, NO_VALUE),
    (False, True, (), (), (), ()),
    (False, True, (), (), C, ()),
    (False, True, (), E, (), ()),
    (False, True, (), E, C, ()),
    (False, True, A, (), (), A),
    (False, True, A, (), C, A),
    (False, True, A, E, (), A),
    (False, True, A, E, C, A),
    (False, False, (), (), (), NOTHING),
    (False, False, (), (), C, C),
    (False, False, (), E, (), E),
    (False, False, (), E, C, (*E, *C)),
    (False, False, A, (), (), NOTHING),
    (False, False, A, (), C, ("/cmd", *A)),
    (False, False, A, E, (), (*E, *A)),
    (False, False, A, E, C, (*E, *A)),
]


def _command(shell: bool, has_value: bool, arguments: tuple[str, ...]) -> mesos_pb2.CommandInfo:
    command = mesos_pb2.CommandInfo(shell=shell, arguments=arguments)
    if has_value:
        command.value = "value"
    return command


@pytest.mark.parametrize(("shell", "has_value", "arguments", "entrypoint", "cmd", "expected"), TABLE)
def test_the_command_follows_the_table(
    shell: bool,
    has_value: bool,
    arguments: tuple[str, ...],
    entrypoint: tuple[str, ...],
    cmd: tuple[str, ...],
    expected: tuple[str, ...] | str,
) -> None:
    command = _command(shell, has_value, arguments)

    if isinstance(expected, str):
        with pytest.raises(IsolationFailed) as refused:
            launch_command(command, entrypoint, cmd)
        assert str(refused.value) == expected
        return
    found = launch_command(command, entrypoint, cmd)

    assert found.argv == expected
    assert found.executable == ("value" if has_value and not shell else expected[0])


def test_all_combinations_are_in_the_table() -> None:
    assert len({row[:5] for row in TABLE}) == 2**5


def test_the_shell_is_what_is_said_if_nothing_is() -> None:
    assert launch_command(mesos_pb2.CommandInfo(value="echo it"), (), ()).argv == ("sh", "-c", "echo it")


def test_an_empty_value_is_one() -> None:
    assert launch_command(mesos_pb2.CommandInfo(value=""), E, C).argv == ("sh", "-c", "")
