"""Programs that another program makes in the supervisor's place."""

import asyncio
import signal
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.supervision.conftest import Tree, Voice
from tfmesos.supervision import Console, ProcessSpec, Starter, Supervised, Supervisors, Termination

BuildSpec = Callable[..., ProcessSpec]
MAKE = 'setsid sh -c "$1" & echo $! > "$2"'
"""As a container runtime does: the program is left behind, its pid told."""


def with_starter(spec: ProcessSpec, directory: Path, script: str, program: str = "exit 0") -> ProcessSpec:
    pid_file = directory / "pid"
    argv = ("sh", "-c", script, "sh", program, str(pid_file))
    return replace(
        spec, starter=Starter(argv=argv, pid_file=str(pid_file), log_file=str(directory / "log")), argv=("unused",)
    )


async def run(supervisors: Supervisors, spec: ProcessSpec) -> Supervised:
    child = await supervisors.launch(spec)
    await child.release()
    return child


async def ended(supervisors: Supervisors, spec: ProcessSpec) -> Termination:
    async with asyncio.timeout(20):
        return await (await run(supervisors, spec)).wait()


@pytest.mark.parametrize(("program", "status"), [("exit 7", 7 << 8), ("kill -9 $$", 9), ("sleep 0.1; exit 3", 3 << 8)])
async def test_the_end_is_the_programs_own_be_it_quick_or_not(
    supervisors: Supervisors, build_spec: BuildSpec, tmp_path: Path, program: str, status: int
) -> None:
    termination = await ended(supervisors, with_starter(build_spec(), tmp_path, MAKE, program))
    assert (termination.wait_status, termination.message) == (status, None)


async def test_a_program_that_ends_before_its_starter_is_not_missed(
    supervisors: Supervisors, build_spec: BuildSpec, tmp_path: Path
) -> None:
    starter = "(setsid sh -c 'exit 5' & echo $! > \"$2\"); sleep 0.2"
    termination = await ended(supervisors, with_starter(build_spec(), tmp_path, starter))
    assert termination.wait_status == 5 << 8


async def test_it_has_the_programs_files_and_no_environment(
    supervisors: Supervisors, build_spec: BuildSpec, tmp_path: Path
) -> None:
    # given a program with a secret in its environment, which is the starter's to hand on
    spec = with_starter(build_spec(SECRET="x"), tmp_path, MAKE, "echo out; echo $SECRET $PWD >&2")
    # when it runs
    await ended(supervisors, spec)
    # then its output is in its files, and the starter knew nothing
    assert (tmp_path / "stdout").read_text() == "out\n"
    assert (tmp_path / "stderr").read_text() == f"{tmp_path}\n"


async def test_the_program_is_followed_and_killed_as_any_other(
    supervisors: Supervisors, build_spec: BuildSpec, tmp_path: Path, tree: Tree
) -> None:
    child = await run(
        supervisors, with_starter(build_spec(), tmp_path, MAKE, "sleep 1000 & (setsid sleep 1000 &); wait")
    )
    assert child.task_pid == int((tmp_path / "pid").read_text())
    tree.add_below(child.pid)
    child.kill(1.0)
    termination = await child.wait()
    assert (termination.wait_status, termination.killed) == (signal.SIGTERM, True)
    assert tree.left() == []


FAILURE = '{"level":"warning","msg":"slow"}\n{"level":"error","msg":%s}\n{"level":"info","msg":"done"}\n'


@pytest.mark.parametrize(
    ("message", "told"),
    [
        (
            '"runc run failed: exec: \\"nope\\": executable file not found in $PATH"',
            "executable file not found in $PATH",
        ),
        (
            '"executable file `nope` not found in $PATH: No such file or directory"',
            "not found in $PATH: No such file or directory",
        ),
    ],
)
async def test_a_file_that_cannot_be_executed_counts_as_exit_status_1(
    supervisors: Supervisors, build_spec: BuildSpec, tmp_path: Path, message: str, told: str
) -> None:
    (tmp_path / "log").write_text(FAILURE % message)
    termination = await ended(supervisors, with_starter(build_spec(), tmp_path, "exit 1"))
    text = f"cannot execute 'nope': {told}"
    assert (termination.wait_status, termination.message) == (1 << 8, text)
    assert (tmp_path / "stderr").read_text() == f"{text}\n"


@pytest.mark.parametrize(
    ("log", "text"),
    [
        (
            FAILURE % '"runc run failed: no such directory"',
            "cannot make the container: runc run failed: no such directory",
        ),
        ("no json\n", "cannot make the container by 'sh': it ended with 4 and told no reason"),
    ],
)
async def test_what_the_starter_cannot_do_is_no_end_of_the_program(
    supervisors: Supervisors, build_spec: BuildSpec, tmp_path: Path, tree: Tree, log: str, text: str
) -> None:
    # given a starter that fails and leaves something behind
    (tmp_path / "log").write_text(log)
    spec = with_starter(build_spec(), tmp_path, "sleep 1000 & exit 4")
    # when it is tried
    termination = await ended(supervisors, spec)
    # then nothing of that is left, and the reason is told
    assert (termination.wait_status, termination.message) == (None, text)


async def test_a_starter_that_is_missing_is_named(
    supervisors: Supervisors, build_spec: BuildSpec, tmp_path: Path
) -> None:
    starter = Starter(argv=("no-such-runtime",), pid_file=str(tmp_path / "pid"), log_file=str(tmp_path / "log"))
    termination = await ended(supervisors, replace(build_spec("true"), starter=starter))
    assert termination.message == "cannot execute 'no-such-runtime': No such file or directory"
    assert termination.wait_status is None


async def test_a_kill_ends_the_starter(
    supervisors: Supervisors, build_spec: BuildSpec, tmp_path: Path, tree: Tree, voice: Voice
) -> None:
    # given a starter that takes long
    spec = with_starter(build_spec(stdout=voice.path), tmp_path, "echo begun; sleep 1000")
    child = await supervisors.launch(spec)
    releasing = asyncio.ensure_future(child.release())
    await voice.lines(1)
    # when the program is killed
    tree.add_below(child.pid)
    child.kill(0.2)
    termination = await child.wait()
    await releasing
    # then it never starts
    assert (termination.wait_status, termination.killed) == (None, True)
    assert termination.message == "killed before it was started"
    assert tree.left() == []


async def test_a_program_that_comes_to_be_during_its_kill_is_asked_to_end_too(
    supervisors: Supervisors, build_spec: BuildSpec, tmp_path: Path, voice: Voice
) -> None:
    # given a starter that does not mind signals, and ends when its program has begun
    wait = "trap told=yes TERM; echo begun; until [ $told ]; do sleep 0.01; done"
    starter = f"mkfifo begin; {wait}; {MAKE}; read line < begin"
    program = "echo > begin; sleep 1000"
    child = await supervisors.launch(with_starter(build_spec(stdout=voice.path), tmp_path, starter, program))
    releasing = asyncio.ensure_future(child.release())
    await voice.lines(1)
    # when the program is killed with much grace
    child.kill(30.0)
    async with asyncio.timeout(10):
        termination = await child.wait()
    # then it does not take that
    await releasing
    assert (termination.wait_status, termination.killed) == (signal.SIGTERM, True)


HAND_OVER = """
import os, pty, socket, sys
master, slave = pty.openpty()
with socket.socket(socket.AF_UNIX) as connection:
    connection.connect(sys.argv[1])
    socket.send_fds(connection, [b"/dev/ptmx"], [master])
pid = os.fork()
if pid:
    open(sys.argv[2], "w").write(str(pid))
    os._exit(0)
for number in range(3):
    os.dup2(slave, number)
os.setsid()
os.execvp("sh", ["sh", "-c", "read line; echo got $line; exit 6"])
"""


async def test_the_terminal_that_a_runtime_makes_is_the_console(
    supervisors: Supervisors, build_spec: BuildSpec, tmp_path: Path
) -> None:
    # given a starter that hands over a terminal
    record = tmp_path / "record"
    record.mkdir()
    starter = Starter(
        argv=(sys.executable, "-c", HAND_OVER, "console.sock", "pid"),
        pid_file=str(tmp_path / "pid"),
        log_file=str(tmp_path / "log"),
        console_socket=str(tmp_path / "console.sock"),
    )
    spec = replace(build_spec("unused"), starter=starter, console=Console(tty=True), record_dir=str(record))
    # when somebody types
    child = await supervisors.launch(spec)
    async with asyncio.timeout(20):
        async with await child.console(output=True, input=True) as console:
            await console.write_stdin(b"hello\n")
            await child.release()
            said = b"".join([data async for _, data in console])
        termination = await child.wait()
    # then the program has it, what it says is seen and kept, and nothing is left of the way
    assert termination.wait_status == 6 << 8
    assert b"got hello" in said
    assert "got hello" in (tmp_path / "stdout").read_text()
    assert not (tmp_path / "console.sock").exists()
