"""One program: what it gets, how it ends."""

import asyncio
import json
import os
import resource
import select
import signal
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tfmesos.supervision import ProcessSpec, SupervisionError, Supervisors, Termination, open_pidfd, process_start_time
from tfmesos.supervision._program import StartError, start_program
from tfmesos.supervision._translation import to_program
from tfmesos.supervision._tree import children_by_parent, children_of
from tfmesos.supervision.processes import pidfd_by_syscall

BuildSpec = Callable[..., ProcessSpec]


async def run(supervisors: Supervisors, spec: ProcessSpec) -> Termination:
    child = await supervisors.launch(spec)
    await child.release()
    async with asyncio.timeout(30):
        return await child.wait()


async def test_waits_at_the_gate_until_it_is_released(
    supervisors: Supervisors, build_spec: BuildSpec, tmp_path: Path
) -> None:
    # given a supervisor at its gate
    child = await supervisors.launch(build_spec("sh", "-c", "echo started; exit 3"))
    assert not (tmp_path / "stdout").exists()
    assert child.start_time == process_start_time(child.pid)
    # when it is released
    await child.release()
    # then the program runs, and its end is told to everyone who asks
    assert child.task_pid is not None
    both = await asyncio.gather(child.wait(), child.wait())
    assert set(both) == {Termination(wait_status=3 << 8, killed=False)}
    assert (tmp_path / "stdout").read_text() == "started\n"


@pytest.mark.parametrize("status", [0, 1, 2, 77, 126, 127, 128, 254, 255])
async def test_exit_statuses(supervisors: Supervisors, build_spec: BuildSpec, status: int) -> None:
    assert (await run(supervisors, build_spec("sh", "-c", f"exit {status}"))).wait_status == status << 8


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL, signal.SIGHUP, signal.SIGUSR1, signal.SIGPIPE])
async def test_signals(supervisors: Supervisors, build_spec: BuildSpec, number: signal.Signals) -> None:
    termination = await run(supervisors, build_spec("sh", "-c", f"kill -{number.value} $$"))
    assert termination == Termination(wait_status=number.value, killed=False)


SHOW = """
import json, os, signal, sys
print(json.dumps({
    "argv": [os.fsencode(a).hex() for a in sys.argv[1:]],
    "environment": {k.hex(): v.hex() for k, v in os.environb.items()},
    "directory": os.getcwd(), "leads_session": os.getsid(0) == os.getpid(),
    "stdin": os.readlink("/proc/self/fd/0"),
    "files": sorted(f for f in os.listdir("/proc/self/fd") if os.path.exists("/proc/self/fd/" + f)),
    "status": {l.split(":")[0]: l.split()[1] for l in open("/proc/self/status") if l.startswith("Sig")},
    "ids": [os.getresuid(), os.getresgid(), os.getgroups()],
}))
"""


async def show(supervisors: Supervisors, spec: ProcessSpec) -> dict[str, Any]:
    argv = (sys.executable, "-I", "-S", "-c", SHOW, *spec.argv)
    termination = await run(supervisors, replace(spec, argv=argv))
    assert termination == Termination(wait_status=0, killed=False)
    with open(spec.stdout, "rb") as file:  # noqa: ASYNC230
        shown: dict[str, Any] = json.load(file)
    return shown


async def test_arguments_and_environment_arrive_byte_for_byte(
    supervisors: Supervisors, build_spec: BuildSpec, tmp_path: Path
) -> None:
    argv = ("", "a b", "line\nbreak", "ünïcödé 💥", "--", "$HOME", "'\"\\", "\udcff raw")
    environment = {"EMPTY": "", "LINES": "a\n\nb", "EQUALS": "a=b=c", "RAW": "\udcfe", "LONG": "x" * (120 << 10)}
    shown = await show(supervisors, replace(build_spec(*argv), environment=environment))
    assert shown["argv"] == [os.fsencode(argument).hex() for argument in argv]
    got = {bytes.fromhex(name): bytes.fromhex(value) for name, value in shown["environment"].items()}
    got.pop(b"LC_CTYPE", None)  # Python's own (PEP 538)
    assert got == {os.fsencode(name): os.fsencode(value) for name, value in environment.items()}


async def test_a_program_starts_clean(supervisors: Supervisors, build_spec: BuildSpec, tmp_path: Path) -> None:
    shown = await show(supervisors, build_spec())
    assert shown["directory"] == str(tmp_path)
    assert shown["leads_session"]
    assert shown["stdin"] == "/dev/null"
    assert shown["files"] == ["0", "1", "2"]
    assert int(shown["status"]["SigBlk"], 16) == 0
    ignored = {number + 1 for number in range(64) if int(shown["status"]["SigIgn"], 16) >> number & 1}
    assert ignored <= {signal.SIGPIPE, signal.SIGXFSZ} | {32, 33}  # by the Python that shows it, and by glibc's spawn


async def test_output_is_appended_to_the_byte(supervisors: Supervisors, build_spec: BuildSpec, tmp_path: Path) -> None:
    (tmp_path / "stdout").write_bytes(b"before\n")
    script = "import os\nfor i in range(500): os.write(1, b'%6d' % i + bytes(range(256)))\nos.write(2, b'no newline')"
    await run(supervisors, build_spec(sys.executable, "-I", "-S", "-c", script))
    expected = b"before\n" + b"".join(b"%6d" % i + bytes(range(256)) for i in range(500))
    assert (tmp_path / "stdout").read_bytes() == expected
    assert (tmp_path / "stderr").read_bytes() == b"no newline"


@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
async def test_another_user(supervisors: Supervisors, build_spec: BuildSpec, tmp_path: Path) -> None:
    # given a directory of user 12345
    sandbox = Path("/tmp") / f"tfmesos-test-{os.getpid()}"
    sandbox.mkdir()
    try:
        os.chown(sandbox, 12345, 54321)
        spec = replace(
            build_spec(), directory=str(sandbox), stdout=f"{sandbox}/stdout", stderr=f"{sandbox}/stderr",
            uid=12345, gid=54321, groups=(54321, 4242),
        )  # fmt: skip
        # when the program shows itself (the system's python: ours may lie where only root can read)
        termination = await run(supervisors, replace(spec, argv=("sh", "-c", "id -u; id -g; id -G; id -ru")))
        # then it and its files are that user's
        assert termination.wait_status == 0
        assert (sandbox / "stdout").read_text().split() == ["12345", "54321", "54321", "4242", "12345"]
        assert (sandbox / "stdout").stat().st_uid == 12345
    finally:
        for file in sandbox.iterdir():
            file.unlink()
        sandbox.rmdir()


@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
async def test_another_user_may_not_write_where_only_root_may(
    supervisors: Supervisors, build_spec: BuildSpec, tmp_path: Path
) -> None:
    directory = tmp_path / "roots"
    directory.mkdir(mode=0o755)
    for parent in (directory, *directory.parents):
        if parent.stat().st_mode & 0o005 != 0o005:
            parent.chmod(0o755)
    spec = replace(build_spec("true"), directory="/", stdout=str(directory / "stdout"), uid=12345, gid=12345)
    termination = await run(supervisors, spec)
    assert termination.message == f"cannot open '{directory}/stdout': Permission denied"


@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user, to be no longer root")
@pytest.mark.parametrize(("uid", "status"), [(12345, 0), (0, 1)])
def test_who_is_not_root_can_run_programs_as_itself_only(build_spec: BuildSpec, uid: int, status: int) -> None:
    program = to_program(replace(build_spec("true"), uid=uid, gid=uid, groups=(7,)), has_terminal=True)
    program.directory = b"/"
    pid = os.fork()
    if pid == 0:
        try:
            os.setgroups([])
            os.setresgid(12345, 12345, 12345)
            os.setresuid(12345, 12345, 12345)
            start_program(program)
            os._exit(0)
        except StartError:
            os._exit(1)
        finally:
            os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == status


class TestPrograms:
    """Which file is executed."""

    async def test_a_name_is_searched_in_the_programs_own_path(
        self, supervisors: Supervisors, build_spec: BuildSpec, tmp_path: Path
    ) -> None:
        self.write(tmp_path / "first" / "tool", "#!/bin/sh\nexit 1\n", mode=0o644)
        self.write(tmp_path / "second" / "tool", "#!/bin/sh\nexit 42\n")
        path = f"{tmp_path}/none:{tmp_path}/first:{tmp_path}/second"
        assert (await run(supervisors, build_spec("tool", PATH=path))).wait_status == 42 << 8

    async def test_a_path_is_relative_to_the_working_directory(
        self, supervisors: Supervisors, build_spec: BuildSpec, tmp_path: Path
    ) -> None:
        self.write(tmp_path / "bin" / "tool", "#!/bin/sh\nexit 42\n")
        assert (await run(supervisors, build_spec("bin/tool"))).wait_status == 42 << 8
        assert (await run(supervisors, build_spec("tool", PATH="bin"))).wait_status == 42 << 8

    async def test_a_script_without_interpreter_line_is_the_shells(
        self, supervisors: Supervisors, build_spec: BuildSpec, tmp_path: Path
    ) -> None:
        self.write(tmp_path / "tool", "echo $1 $#\nexit 42\n")
        assert (await run(supervisors, build_spec("./tool", "a b", "c"))).wait_status == 42 << 8
        assert (tmp_path / "stdout").read_text() == "a b 2\n"

    async def test_argv_is_complete_and_apart_from_the_executable(
        self, supervisors: Supervisors, build_spec: BuildSpec, tmp_path: Path
    ) -> None:
        spec = replace(build_spec("other name", "-c", "echo $0"), executable="sh")
        await run(supervisors, spec)
        await run(supervisors, replace(spec, argv=(), executable="true"))
        assert (tmp_path / "stdout").read_text() == "other name\n"

    @pytest.mark.parametrize(
        ("name", "reason"),
        [
            ("nowhere", "No such file or directory"),
            ("", "No such file or directory"),
            ("./locked", "Permission denied"),
            ("/", "Permission denied"),
            ("./orphan", "No such file or directory"),
        ],
    )
    async def test_what_cannot_be_executed_exits_with_1_and_says_why(
        self, supervisors: Supervisors, build_spec: BuildSpec, tmp_path: Path, name: str, reason: str
    ) -> None:
        self.write(tmp_path / "locked", "#!/bin/sh\n", mode=0o644)
        self.write(tmp_path / "orphan", "#!/no/such/interpreter\n")
        child = await supervisors.launch(build_spec(name))
        await child.release()
        text = f"cannot execute '{name}': {reason}"
        assert child.task_pid is None
        assert await child.wait() == Termination(wait_status=1 << 8, killed=False, message=text)
        assert (tmp_path / "stderr").read_text() == text + "\n"

    async def test_too_much_is_said_so(self, supervisors: Supervisors, build_spec: BuildSpec) -> None:
        termination = await run(supervisors, build_spec("true", BIG="x" * (1 << 20)))
        assert termination.message == "cannot execute 'true': Argument list too long"

    @staticmethod
    def write(path: Path, text: str, mode: int = 0o755) -> None:
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        path.chmod(mode)


async def test_a_missing_directory_is_named(supervisors: Supervisors, build_spec: BuildSpec) -> None:
    spec = replace(build_spec("true"), directory="/no/such/directory")
    text = "cannot enter the working directory '/no/such/directory': No such file or directory"
    assert await run(supervisors, spec) == Termination(wait_status=None, killed=False, message=text)


async def test_a_log_file_that_cannot_be_opened_is_named(supervisors: Supervisors, build_spec: BuildSpec) -> None:
    spec = build_spec("true", stdout="/no/stdout")
    text = "cannot open '/no/stdout': No such file or directory"
    assert await run(supervisors, spec) == Termination(wait_status=None, killed=False, message=text)


async def test_two_hundred_at_once(supervisors: Supervisors, build_spec: BuildSpec, tmp_path: Path) -> None:
    specs = [build_spec("sh", "-c", f"echo {i}; exit {i}", stdout=f"{tmp_path}/{i}.out") for i in range(200)]
    ends = await asyncio.gather(*(run(supervisors, spec) for spec in specs))
    assert [end.wait_status for end in ends] == [i << 8 for i in range(200)]
    assert [(tmp_path / f"{i}.out").read_text() for i in range(200)] == [f"{i}\n" for i in range(200)]


async def test_without_descriptors_no_fork_server_starts_and_none_is_left(build_spec: BuildSpec) -> None:
    before = os.listdir("/proc/self/fd")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    lowest_free = os.dup(0)
    os.close(lowest_free)
    try:
        for free in (0, 2):
            resource.setrlimit(resource.RLIMIT_NOFILE, (lowest_free + free, hard))
            with pytest.raises(SupervisionError, match="Too many open files"):
                await Supervisors().launch(build_spec("true"))
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert os.listdir("/proc/self/fd") == before


async def test_no_descriptor_is_left_behind(build_spec: BuildSpec) -> None:
    before = os.listdir("/proc/self/fd")
    supervisors = Supervisors()
    await asyncio.gather(*(run(supervisors, build_spec("true")) for _ in range(10)))
    running = await supervisors.launch(build_spec("sleep", "1000"))
    await running.release()
    await supervisors.close()
    assert (await running.wait()).killed
    assert os.listdir("/proc/self/fd") == before


async def test_the_record_tells_the_end(supervisors: Supervisors, build_spec: BuildSpec, tmp_path: Path) -> None:
    # given a program with a record
    records = tmp_path / "records"
    records.mkdir()
    child = await supervisors.launch(replace(build_spec("sleep", "1000"), record_dir=str(records)))
    gated = read_record(records)
    assert (gated["life"]["stage"], gated["pid"], gated["start_time"]) == ("gated", child.pid, child.start_time)
    assert {path.name: path.stat().st_mode & 0o777 for path in records.iterdir()} == {
        "record.json": 0o600,
        "control.sock": 0o600,
    }
    await child.release()
    running = read_record(records)["life"]
    assert (running["stage"], running["task_pid"]) == ("running", child.task_pid)
    # when it is killed
    child.kill(5.0)
    await child.wait()
    # then its record says so, and nothing else is left there
    ended = read_record(records)["life"]
    assert [ended[name] for name in ("stage", "killed", "wait_status", "message")] == ["ended", True, 15, None]
    assert os.listdir(records) == ["record.json"]


def read_record(directory: Path) -> dict[str, Any]:
    record: dict[str, Any] = json.loads((directory / "record.json").read_text())
    return record


async def test_without_a_place_for_its_record_no_program_starts(
    supervisors: Supervisors, build_spec: BuildSpec
) -> None:
    with pytest.raises(SupervisionError, match="cannot write in '/no/records': No such file or directory"):
        await supervisors.launch(replace(build_spec("true"), record_dir="/no/records"))


async def test_a_record_that_was_taken_away_ends_no_program(
    supervisors: Supervisors, build_spec: BuildSpec, tmp_path: Path
) -> None:
    records = tmp_path / "records"
    records.mkdir()
    child = await supervisors.launch(replace(build_spec("sh", "-c", "exit 3"), record_dir=str(records)))
    for file in records.iterdir():
        file.unlink()
    records.rmdir()
    await child.release()
    assert await child.wait() == Termination(wait_status=3 << 8, killed=False)


def test_pythons_built_on_old_systems_start_programs_too(tmp_path: Path) -> None:
    """Without POSIX_SPAWN_SETSID: in the session of a supervisor of its own, leading a process group."""
    spec = ProcessSpec(id="1", argv=("sh",), environment={}, directory="/", stdout="", stderr="")
    program = to_program(spec, has_terminal=False)
    program.stdout = program.stderr = os.fsencode(tmp_path / "stdout")
    program.argv = [b"sh", b"-c", b"cut -d' ' -f1,5,6 /proc/$$/stat"]
    pid = os.fork()
    if pid == 0:
        spawn = os.posix_spawn

        def old_spawn(*arguments: Any, setsid: bool = False, **others: Any) -> int:
            if setsid:
                raise NotImplementedError
            return spawn(*arguments, **others)

        try:
            os.posix_spawn = old_spawn
            os.waitpid(start_program(program), 0)
        finally:
            os._exit(0)
    os.waitpid(pid, 0)
    task, group, session = (tmp_path / "stdout").read_text().split()
    assert (task, session) == (group, str(pid))


@pytest.mark.parametrize("open_one", [open_pidfd, pidfd_by_syscall])
def test_a_pidfd_tells_the_end(open_one: Callable[[int], int]) -> None:
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(writer)
        os.read(reader, 1)
        os._exit(0)
    pidfd = open_one(pid)
    assert select.select([pidfd], [], [], 0)[0] == []
    os.close(writer)
    assert select.select([pidfd], [], [], 20)[0] == [pidfd]
    os.waitpid(pid, 0)
    os.close(pidfd)
    os.close(reader)
    with pytest.raises(ProcessLookupError):
        open_one(pid)


def test_children_are_found_without_the_kernels_lists_too() -> None:
    """CONFIG_PROC_CHILDREN is not everywhere."""
    pids = [os.posix_spawn("/bin/sleep", ["sleep", "1000"], {}) for _ in range(2)]
    try:
        assert set(children_of(os.getpid())) >= set(pids)
        assert set(children_by_parent(os.getpid())) >= set(pids)
        assert children_of(pids[0]) == children_by_parent(pids[0]) == []
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
