"""What makes a program in a supervisor's place: a container runtime, which leaves it to the supervisor and ends."""

import os
from posixpath import dirname

from tfmesos.supervision._frames import Program
from tfmesos.supervision._program import (
    Files,
    SpawnAction,
    StartError,
    Streams,
    as_user,
    candidates,
    execute_first,
    in_cgroups,
    in_directory,
    spawn_session,
)
from tfmesos.supervision._search_path import SEARCH_PATH

_PATH = SEARCH_PATH.encode()
_MAX_LOG = 64 << 10
_EXECUTION = r'exec(?:utable file)?:? [`"\'](?P<file>.*?)[`"\']:? (?P<reason>.*)'
"""runc 1.1: `exec: "x": permission denied`; crun 1.8: `executable file `x` not found in $PATH: No such file …`."""


class Starting:
    """The starter of a program, while it is at work."""

    def __init__(self, program: Program, streams: Streams | None) -> None:
        """Start it. Raises StartError."""
        self._executable = program.executable
        self._pid_file, self._log_file, _, *self._argv = program.starter
        self._stderr: int | None = None
        streams = streams or Files(program)
        try:
            with as_user(program):
                ends = streams.open()
            self._stderr = os.dup(ends[2])
            with in_cgroups(program), in_directory(dirname(self._pid_file)):
                self.pid = self._spawn([(os.POSIX_SPAWN_DUP2, end, number) for number, end in enumerate(ends)])
                """Its own."""
        except BaseException:
            self._close()
            raise
        finally:
            streams.close_ends()

    def main_pid(self, wait_status: int) -> int:
        """The pid of the program, now that the starter has ended like this. Raises StartError."""
        try:
            if wait_status == 0:
                return self._read_pid()
            failure = self._failure(wait_status)
            if failure.is_execution and self._stderr is not None:
                failure.print_to(self._stderr)
            raise failure
        finally:
            self._close()

    def _spawn(self, actions: list[SpawnAction]) -> int:
        def execute(path: bytes, argv: list[bytes]) -> int:
            return spawn_session(path, argv, {b"PATH": _PATH}, actions)

        try:
            return execute_first(execute, candidates(self._argv[0], _PATH), self._argv)
        except OSError as error:
            raise StartError.of("execute", self._argv[0], error.strerror) from error

    def _close(self) -> None:
        if self._stderr is not None:
            os.close(self._stderr)
            self._stderr = None

    def _read_pid(self) -> int:
        try:
            with open(self._pid_file, "rb") as file:
                return int(file.read())
        except OSError as error:
            raise StartError.of("read", self._pid_file, error.strerror) from error
        except ValueError as error:
            raise StartError.of("read", self._pid_file, "it holds no pid") from error

    def _failure(self, wait_status: int) -> StartError:
        import re  # only for failures

        message = _last_error(self._log_file)
        if message is None:
            ending = f"it ended with {os.waitstatus_to_exitcode(wait_status)} and told no reason"
            return StartError.of("make the container by", self._argv[0], ending)
        execution = re.search(_EXECUTION, message, re.DOTALL)
        if execution is None:
            return StartError(f"cannot make the container: {message}")
        return StartError.of("execute", os.fsencode(execution["file"]), execution["reason"], is_execution=True)


def _last_error(path: bytes) -> str | None:
    import json  # large, and only wanted when something fails

    try:
        with open(path, "rb") as file:
            lines = file.read(_MAX_LOG).splitlines()
    except OSError:
        return None
    for line in reversed(lines):
        try:
            entry = json.loads(line)
        except ValueError:
            continue
        if isinstance(entry, dict) and entry.get("level") == "error" and entry.get("msg"):
            return str(entry["msg"])
    return None
