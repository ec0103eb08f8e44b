"""What is executed in a container with an image (pure; Mesos 1.11: docker/runtime.cpp, getLaunchCommand).

"+" concatenates; the first word is the program and argv[0]:

    shell  value  arguments  entrypoint  cmd    executed
    true   set    -          -           -      sh -c value
    true   unset  -          -           -      nothing: Shell specified but no command value provided
    false  set    -          -           -      value, with argv = the arguments
    false  unset  empty      empty       empty  nothing: No executable is found
    false  unset  empty      empty       set    cmd
    false  unset  empty      set         empty  entrypoint
    false  unset  empty      set         set    entrypoint + cmd
    false  unset  set        empty       empty  nothing: No executable is found
    false  unset  set        empty       set    cmd[0] + arguments
    false  unset  set        set         any    entrypoint + arguments
"""

from __future__ import annotations

from collections.abc import Sequence

from tfmesos.agent.isolators.errors import IsolationFailed
from tfmesos.agent.isolators.view import Command
from tfmesos.wire import mesos_pb2

_FAULT = "Failed to determine the launch command: "
_SHELL = "sh"


def launch_command(command: mesos_pb2.CommandInfo, entrypoint: Sequence[str], cmd: Sequence[str]) -> Command:
    """The program and its arguments; `sh` is looked for on the task's PATH. Raises IsolationFailed."""
    if command.shell:
        if not command.HasField("value"):
            raise IsolationFailed(f"{_FAULT}Shell specified but no command value provided")
        return Command(executable=_SHELL, argv=(_SHELL, "-c", command.value))
    if command.HasField("value"):
        return Command(executable=command.value, argv=tuple(command.arguments))
    words = _words(command.arguments, entrypoint, cmd)
    if not words:
        raise IsolationFailed(f"{_FAULT}No executable is found")
    return Command(executable=words[0], argv=words)


def _words(arguments: Sequence[str], entrypoint: Sequence[str], cmd: Sequence[str]) -> tuple[str, ...]:
    if entrypoint:
        return (*entrypoint, *(arguments or cmd))
    return (*cmd[:1], *(arguments or cmd[1:])) if cmd else ()
