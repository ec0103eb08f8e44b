"""What to run, and how it ended."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Console:
    """Stdin and output of a program that can be attached to.

    `tty`: they are a terminal of `rows` and `columns`, the program's controlling one, and all output is stdout's;
    else stdin is a pipe, as are stdout and stderr. The files of the ProcessSpec get all output in either case.
    """

    tty: bool = False
    rows: int = 24
    columns: int = 80


@dataclass(frozen=True, slots=True, kw_only=True)
class LogLimit:
    """A log file that reaches `max_bytes` becomes <name>.1, that one <name>.2 …; `max_files` old ones are kept."""

    max_bytes: int
    max_files: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Starter:
    """A program that makes the main process in the supervisor's place: a container runtime.

    `argv` is searched in a usual PATH, which is its whole environment. It runs as this process' user, in the directory
    of `pid_file`, with the streams of the ProcessSpec, which it hands on, inside the ProcessSpec's cgroups. When it
    ends with 0, the main process has begun, as a child that it has left behind, and `pid_file` holds its pid. Else the
    last line of `log_file` tells why there is none: an object of JSON with `level` "error" and `msg`.
    `console_socket`: for a console that is a terminal; there it hands over the one that it has made.
    """

    argv: tuple[str, ...]
    pid_file: str
    log_file: str
    console_socket: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessSpec:
    """One program to run under a supervisor.

    `argv` is complete, argv[0] included; `executable` (default: argv[0]) is what is executed, searched as execvp does:
    a name without a slash in the PATH of `environment`, one with a slash relative to `directory`; a script without `#!`
    is given to /bin/sh. An empty argv, or an empty argv[0], becomes the executable's name (Python cannot pass it).
    `environment` is the whole environment; texts reach the program as `os.fsencode` makes bytes of them.
    `stdout` and `stderr` are files, appended to, made if missing, opened as the program's user; stdin is /dev/null.
    `cgroups`: the cgroup.procs file of each cgroup that the program's first process is in from its start on, at most
    one of a hierarchy; the supervisor stays outside. A cgroup that cannot be entered: the program is not started.
    `cgroup_directories`: what goes with the last program in it, the innermost first. The supervisor removes them, if
    empty, when the program ends, this process is gone, and no other is expected (which finds them there, then).
    `starter`: what makes the main process; `executable`, `argv`, `environment`, `directory` and the user are its affair
    then (`uid` and `gid` still own the files, whose paths are absolute). A kill meanwhile ends it.
    `epilogue`: a command, complete, run once in / when nothing of the program is left and nobody else will clean up
    after it: where `cgroup_directories` are removed, before that.
    `console`: stdin and the output can be attached to (`Supervised.console`); needs `record_dir`.
    `log_limit`: how large the two files may grow; None: without limit.
    `uid`, `gid` None: as this process; with a uid or gid given, `groups` are all the supplementary groups.
    `record_dir`: an existing directory where the supervisor keeps record.json, readable and writable by this process'
    user only (None: nowhere): what it was asked and how the program ended.
    `detached`: supervisor and program outlive this process and `Supervisors.close`; `Supervisors.adopt` finds them by
    their `record_dir`, which is needed. Nobody adopts them for `recovery_timeout_s`: the supervisor ends the program.
    `mark`: the name of a variable of `environment` whose value no other program has: by it the processes of a detached
    program are found if supervisor and fork server are both lost without an owner.
    `grace_s`: between SIGTERM and SIGKILL when the supervisor ends the program by itself, because this process or the
    fork server was lost (at most 3 s are granted then; a detached one goes on), and in `Supervisors.close`.
    """

    id: str
    argv: tuple[str, ...]
    executable: str | None = None
    environment: Mapping[str, str]
    directory: str
    stdout: str
    stderr: str
    record_dir: str | None = None
    uid: int | None = None
    gid: int | None = None
    groups: tuple[int, ...] = ()
    cgroups: tuple[str, ...] = ()
    cgroup_directories: tuple[str, ...] = ()
    starter: Starter | None = None
    epilogue: tuple[str, ...] = ()
    grace_s: float = 3.0
    detached: bool = False
    recovery_timeout_s: float = 900.0
    mark: str | None = None
    console: Console | None = None
    log_limit: LogLimit | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Termination:
    """How a program ended; made when nothing of its tree is left.

    `wait_status`: of its main process, as os.waitpid gives it. None: the program had no end of its own, because its
    supervisor or the fork server was lost, or because it was never started (a directory that cannot be entered). A
    program that cannot be executed counts as exited with status 1 (Mesos 1.11: the command executor), with the reason
    in `message` and in its stderr.
    `killed`: a kill was asked for, by whomever. `message`: a line for a person, None if there is nothing to say.
    `has_run`: False only from `Supervisors.adopt`, if it is certain that the program was never started.
    """

    wait_status: int | None
    killed: bool
    message: str | None = None
    has_run: bool = True
