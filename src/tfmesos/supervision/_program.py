"""From a fork of the supervisor to the program: session, signals, user, directory, files, execve."""

import errno
import os
from signal import SIG_DFL, SIG_SETMASK, SIGHUP, SIGINT, SIGPIPE, SIGQUIT, SIGTERM, SIGXFSZ, pthread_sigmask, signal

from tfmesos.supervision._frames import Program

_IGNORED = (SIGPIPE, SIGXFSZ, SIGINT, SIGQUIT, SIGHUP, SIGTERM)
"""By Python and by us; execve keeps what is ignored."""
_DEFAULT_PATH = b"/bin:/usr/bin"
"""glibc: execvp(3), when the environment has no PATH."""
_SEARCH_ON = (errno.ENOENT, errno.ENOTDIR, errno.ESTALE, errno.ENODEV, errno.ETIMEDOUT)
"""glibc: posix/execvpe.c: these and EACCES let the search go on."""

EXECUTING = b"x"
"""First byte of a report: the program could not be executed; anything else: not even its surroundings were there."""


def fork_program(program: Program) -> tuple[int, int]:
    """Pid of the new main process, and a descriptor that ends (executed) or tells why not: EXECUTING or "-", a text."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid:
        os.close(writer)
        return pid, reader
    try:
        _become(program, writer)
    finally:
        os._exit(1)


def _become(program: Program, report: int) -> None:
    kind = b"-"
    try:
        _prepare(program)
        kind = EXECUTING
        _execute(program)
    except _CannotError as error:
        text = str(error).encode("utf-8", "surrogateescape")
        if kind == EXECUTING:
            os.write(2, text + b"\n")
        os.write(report, kind + text)


class _CannotError(Exception):
    """A step failed; str() is the text for the user."""

    def __init__(self, what: str, subject: bytes | str | int, cause: OSError) -> None:
        if isinstance(subject, bytes):
            subject = os.fsdecode(subject)
        super().__init__(f"cannot {what} {subject!r}: {cause.strerror}")


def _prepare(program: Program) -> None:
    if not program.has_terminal:
        os.setsid()
    for number in _IGNORED:
        signal(number, SIG_DFL)
    pthread_sigmask(SIG_SETMASK, ())
    _switch_user(program)
    try:
        os.chdir(program.directory)
    except OSError as error:
        raise _CannotError("enter the working directory", program.directory, error) from error
    if not program.has_terminal:
        _open_files(program)


def _switch_user(program: Program) -> None:
    try:
        if program.uid is not None or program.gid is not None:
            os.setgroups(program.groups)
        if program.gid is not None:
            os.setresgid(program.gid, program.gid, program.gid)
        if program.uid is not None:
            os.setresuid(program.uid, program.uid, program.uid)
    except OSError as error:
        raise _CannotError("become user", f"{program.uid}:{program.gid}", error) from error


def _open_files(program: Program) -> None:
    append = os.O_WRONLY | os.O_APPEND | os.O_CREAT
    files = ((0, b"/dev/null", os.O_RDONLY), (1, program.stdout, append), (2, program.stderr, append))
    for target, path, flags in files:
        try:
            opened = os.open(path, flags, 0o644)
        except OSError as error:
            raise _CannotError("open", path, error) from error
        os.dup2(opened, target)
        os.close(opened)


def _execute(program: Program) -> None:
    """Replace this process as execvp(3) would with the program's environment; returns never."""
    name = program.executable
    environment = dict(entry.split(b"=", 1) for entry in program.environment)
    argv = list(program.argv) or [name]
    argv[0] = argv[0] or name
    failure: OSError = FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
    for path in _candidates(name, environment.get(b"PATH", _DEFAULT_PATH)):
        try:
            _execute_file(path, argv, environment)
        except PermissionError as error:
            failure = error
        except OSError as error:
            if error.errno not in _SEARCH_ON:
                raise _CannotError("execute", name, error) from error
    raise _CannotError("execute", name, failure)


def _candidates(name: bytes, path: bytes) -> list[bytes]:
    if not name:
        return []
    return [name] if b"/" in name else [os.path.join(directory or b".", name) for directory in path.split(b":")]


def _execute_file(path: bytes, argv: list[bytes], environment: dict[bytes, bytes]) -> None:
    try:
        os.execve(path, argv, environment)
    except OSError as error:
        if error.errno != errno.ENOEXEC:
            raise
        os.execve(b"/bin/sh", [b"/bin/sh", path, *argv[1:]], environment)
