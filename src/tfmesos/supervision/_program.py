"""From a Program to its main process: cgroups, user, directory, files, session, execution.

posix_spawn does it without copying this process (glibc: as vfork), in a third less time than fork and execve. What it
cannot do for the child, this single-threaded process does for a moment itself: be in the cgroups, be the user, be in
the directory.
"""

import errno
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager

from tfmesos.supervision._cgroups import inside
from tfmesos.supervision._frames import Program

_DEFAULT_PATH = b"/bin:/usr/bin"
"""glibc: execvp(3), when the environment has no PATH."""
_SEARCH_ON = (errno.ENOENT, errno.ENOTDIR, errno.EACCES, errno.ESTALE, errno.ENODEV, errno.ETIMEDOUT)
"""glibc: posix/execvpe.c: with these the search goes on."""
_NO_PROCESS = (errno.EAGAIN, errno.ENOMEM)


APPENDING = os.O_WRONLY | os.O_APPEND | os.O_CREAT
SpawnAction = tuple[int, int, int] | tuple[int, int, bytes, int, int]


class Streams(ABC):
    """Where a program's stdin, stdout and stderr lead.

    `open` is called once, as the program's user and in its directory, `close_ends` after that in any case.
    """

    terminal: bytes | None = None
    """The path of what shall be the program's controlling terminal, once it is open."""

    @abstractmethod
    def open(self) -> Sequence[int]:
        """The program's ends, in the order of their numbers. Raises StartError."""

    @abstractmethod
    def close_ends(self) -> None:
        """The program has them by now, or was not started."""


class StartError(Exception):
    """The program could not be started; str() is the text for the user.

    `is_execution`: its surroundings were there, the file itself could not be executed.
    """

    def __init__(self, text: str, *, is_execution: bool = False) -> None:
        super().__init__(text)
        self.is_execution = is_execution

    @classmethod
    def of(cls, what: str, subject: bytes, reason: str | None, *, is_execution: bool = False) -> "StartError":
        """All texts have one form."""
        return cls(f"cannot {what} '{os.fsdecode(subject)}': {reason}", is_execution=is_execution)

    def print_to(self, descriptor: int) -> None:
        """Who looks for the program's output finds this."""
        os.write(descriptor, f"{self}\n".encode("utf-8", "surrogateescape"))


def start_program(program: Program, streams: Streams | None = None) -> int:
    """Pid of its main process, which is executing the file by now; `streams` None: its files. Raises StartError."""
    streams = streams or Files(program)
    with in_cgroups(program), as_user(program), in_directory(program.directory):
        if program.has_terminal:
            return _spawn(program, (), None)
        try:
            return _spawn(program, streams.open(), streams.terminal)
        finally:
            streams.close_ends()


@contextmanager
def in_cgroups(program: Program) -> Iterator[None]:
    """This process is in the program's cgroups meanwhile. Raises StartError."""
    with ExitStack() as stay:
        try:
            stay.enter_context(inside(program.cgroups))
        except OSError as error:
            raise StartError.of("enter the cgroup", error.filename, error.strerror) from error
        yield


@contextmanager
def as_user(program: Program) -> Iterator[None]:
    """This process is the program's user meanwhile. Raises StartError."""
    if _is_already(program.uid, program.gid):
        yield
        return
    before = os.getresuid(), os.getresgid(), os.getgroups()
    try:
        _become_user(program)
        yield
    finally:
        (ruid, euid, suid), (rgid, egid, sgid), groups = before
        os.setresuid(ruid, euid, suid)  # if one of these fails, this supervisor ends with the error, and all with it
        if euid == 0:  # else nothing could be changed
            os.setresgid(rgid, egid, sgid)
            os.setgroups(groups)


def _is_already(uid: int | None, gid: int | None) -> bool:
    """Whether nothing is to be changed; without being root nothing could be, not even to the same groups."""
    if uid is None and gid is None:
        return True
    return os.geteuid() != 0 and uid in (None, os.geteuid()) and gid in (None, os.getegid())


def _become_user(program: Program) -> None:
    """For what follows and for the child; the saved user id stays, to come back.

    Nothing of it is left to the program: execve makes the saved ids equal to the effective ones, and takes the
    capabilities. Meanwhile the user cannot trace this process (kernel: the ids differ, it is not dumpable).
    """
    try:
        os.setgroups(program.groups)
        if program.gid is not None:
            os.setresgid(program.gid, program.gid, -1)
        if program.uid is not None:
            os.setresuid(program.uid, program.uid, -1)
    except OSError as error:
        raise StartError.of("become user", f"{program.uid}:{program.gid}".encode(), error.strerror) from error


@contextmanager
def in_directory(directory: bytes) -> Iterator[None]:
    """This process is there meanwhile. Raises StartError."""
    try:
        os.chdir(directory)
    except OSError as error:
        raise StartError.of("enter the working directory", directory, error.strerror) from error
    try:
        yield
    finally:
        os.chdir(b"/")


class Files(Streams):
    """stdin is /dev/null, stdout and stderr are files that the program writes itself."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._opened: list[int] = []

    def open(self) -> list[int]:
        """As Streams."""
        self._opened.append(open_file(b"/dev/null", os.O_RDONLY))
        self._opened.append(open_file(self._program.stdout, APPENDING))
        self._opened.append(open_file(self._program.stderr, APPENDING))
        return self._opened

    def close_ends(self) -> None:
        """As Streams."""
        for descriptor in self._opened:
            os.close(descriptor)


def open_file(path: bytes, flags: int) -> int:
    """Raises StartError."""
    try:
        return os.open(path, flags, 0o644)
    except OSError as error:
        raise StartError.of("open", path, error.strerror) from error


def _spawn(program: Program, files: Sequence[int], terminal: bytes | None) -> int:
    """Execute as execvp(3) would with the program's environment."""
    environment = dict(entry.split(b"=", 1) for entry in program.environment)
    name = program.executable
    argv = [program.argv[0] or name, *program.argv[1:]] if program.argv else [name]
    actions: list[SpawnAction] = [(os.POSIX_SPAWN_DUP2, descriptor, number) for number, descriptor in enumerate(files)]
    if terminal:  # the leader of a session without one gets what it opens (kernel: tty_ioctl(4), TIOCSCTTY)
        actions[0] = (os.POSIX_SPAWN_OPEN, 0, terminal, os.O_RDWR, 0)

    def execute(path: bytes, argv: list[bytes]) -> int:
        if program.has_terminal:
            return os.posix_spawn(path, argv, environment)
        return spawn_session(path, argv, environment, actions)

    try:
        return execute_first(execute, candidates(name, environment.get(b"PATH", _DEFAULT_PATH)), argv)
    except OSError as error:
        failure = StartError.of("execute", name, error.strerror, is_execution=error.errno not in _NO_PROCESS)
        if failure.is_execution:
            failure.print_to(files[2] if files else 2)
        raise failure from error


def spawn_session(
    path: bytes, argv: list[bytes], environment: dict[bytes, bytes], actions: Sequence[SpawnAction]
) -> int:
    """Pid of a process that leads a session of its own.

    With Pythons built with a glibc before 2.26 (no POSIX_SPAWN_SETSID) it is this supervisor that leads one.
    """
    try:
        return os.posix_spawn(path, argv, environment, file_actions=actions, setsid=True)
    except NotImplementedError:
        pass
    if os.getsid(0) != os.getpid():
        os.setsid()
    return os.posix_spawn(path, argv, environment, file_actions=actions, setpgroup=0)


def execute_first(execute: Callable[[bytes, list[bytes]], int], paths: list[bytes], argv: list[bytes]) -> int:
    """The first of `paths` that can be; else raises what speaks most against it: a file that must not be executed."""
    failure: OSError = FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
    for path in paths:
        try:
            return execute(path, argv)
        except OSError as error:
            if error.errno == errno.ENOEXEC:
                return execute(b"/bin/sh", [b"/bin/sh", path, *argv[1:]])
            if error.errno not in _SEARCH_ON:
                raise
            if error.errno == errno.EACCES:
                failure = error
    raise failure


def candidates(name: bytes, path: bytes) -> list[bytes]:
    """Where a program of this name may be, along a PATH."""
    if not name:
        return []
    return [name] if b"/" in name else [os.path.join(directory or b".", name) for directory in path.split(b":")]
