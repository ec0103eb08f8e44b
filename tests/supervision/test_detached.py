"""Programs that outlive their owner: a child process is the owner, and is killed."""

import asyncio
import json
import os
import random
import signal
import sys
from collections.abc import AsyncIterator, Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tfmesos.supervision import (
    LetGo,
    OwnedElsewhere,
    ProcessSpec,
    Supervised,
    SupervisionError,
    Supervisors,
    Termination,
)
from tfmesos.supervision._place import Origin, encode, read
from tfmesos.supervision._record import LifeRecord
from tfmesos.supervision._tree import children_of

if TYPE_CHECKING:
    from tests.supervision.conftest import Tree, Voice

BuildSpec = Callable[..., ProcessSpec]

OWNER = """
import asyncio, json, sys
from tfmesos.supervision import ProcessSpec, Supervisors

async def main():
    supervisors = Supervisors()
    children = []
    for line in sys.stdin:
        command, argument = line.split(" ", 1)
        if command == "launch":
            children.append(await supervisors.launch(ProcessSpec(**json.loads(argument))))
        elif command == "release":
            await children[-1].release()
        elif command == "kill":
            children[-1].kill(float(argument))
        print(children[-1].pid, flush=True)

asyncio.run(main())
"""


class Owner:
    """Does as it is told, until it is killed."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.pid = process.pid

    async def tell(self, command: str, argument: str = "") -> int:
        """Returns the supervisor's pid."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(f"{command} {argument}\n".encode())
        async with asyncio.timeout(20):
            return int(await self.process.stdout.readline())

    async def launch(self, spec: ProcessSpec) -> int:
        return await self.tell("launch", json.dumps(asdict(spec)))

    async def run(self, spec: ProcessSpec) -> int:
        await self.launch(spec)
        return await self.tell("release")

    async def die(self) -> None:
        if self.process.returncode is None:
            self.process.kill()
        await self.process.communicate()


@pytest.fixture
async def owner() -> AsyncIterator[Owner]:
    pipe = asyncio.subprocess.PIPE
    owner = Owner(await asyncio.create_subprocess_exec(sys.executable, "-c", OWNER, stdin=pipe, stdout=pipe))
    yield owner
    await owner.die()


@pytest.fixture
def build_detached(build_spec: BuildSpec, tmp_path: Path) -> BuildSpec:
    def build(script: str, stdout: str | None = None) -> ProcessSpec:
        records = tmp_path / "records"
        records.mkdir()
        spec = build_spec("sh", "-c", script, stdout=stdout)
        return replace(spec, record_dir=str(records), detached=True, recovery_timeout_s=60.0)

    return build


async def adopt(supervisors: Supervisors, spec: ProcessSpec) -> Supervised:
    child = await expect(supervisors, spec)
    assert isinstance(child, Supervised)
    return child


async def expect(supervisors: Supervisors, spec: ProcessSpec) -> Supervised | Termination:
    assert spec.record_dir is not None
    async with asyncio.timeout(20):
        return await supervisors.adopt(spec.record_dir)


async def end_of(supervisors: Supervisors, spec: ProcessSpec) -> Termination:
    """Adopted while it is ending, or found ended."""
    child = await expect(supervisors, spec)
    return await child.wait() if isinstance(child, Supervised) else child


async def wait_until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(20):
        while not condition():  # noqa: ASYNC110
            await asyncio.sleep(0.01)


def record_of(spec: ProcessSpec) -> tuple[Origin, LifeRecord]:
    record = read(spec.record_dir or "")
    assert record is not None
    return record


def write_record(spec: ProcessSpec, origin: Origin, life: LifeRecord) -> None:
    Path(spec.record_dir or "", "record.json").write_bytes(encode(origin, life))


class TestAfterTheOwner:
    """It was killed -9; another one adopts what it had."""

    async def test_a_program_goes_on(
        self, owner: Owner, build_detached: BuildSpec, supervisors: Supervisors, voice: "Voice", tmp_path: Path
    ) -> None:
        # given a program whose owner was killed
        spec = build_detached('echo $$; read line < "$0"; exit $line'.replace("$0", str(tmp_path / "fifo")), voice.path)
        os.mkfifo(tmp_path / "fifo")
        pid = await owner.run(spec)
        (task_pid,) = await voice.lines(1)
        await owner.die()
        # when another owner adopts it
        child = await adopt(supervisors, spec)
        # then it has everything of it
        assert (child.pid, child.is_released) == (pid, True)
        await child.release()
        assert str(child.task_pid) == task_pid
        # and hears its end
        (tmp_path / "fifo").write_text("7\n")
        assert await child.wait() == Termination(wait_status=7 << 8, killed=False)
        # which is told to whomever comes later, too
        assert await expect(supervisors, spec) == Termination(wait_status=7 << 8, killed=False)

    async def test_an_adopted_one_can_be_killed_whole(
        self, owner: Owner, build_detached: BuildSpec, supervisors: Supervisors, voice: "Voice", tree: "Tree"
    ) -> None:
        spec = build_detached("setsid sh -c 'trap \"\" TERM; echo; exec sleep 1000' & echo; sleep 1000", voice.path)
        tree.add_below(await owner.run(spec))
        await voice.lines(2)
        await owner.die()
        child = await adopt(supervisors, spec)
        tree.add_below(child.pid)
        child.kill(0.1)
        assert await child.wait() == Termination(wait_status=15, killed=True)
        assert tree.left() == []

    async def test_what_ended_meanwhile_tells_its_true_status(
        self, owner: Owner, build_detached: BuildSpec, supervisors: Supervisors, tmp_path: Path
    ) -> None:
        spec = build_detached(f'read line < "{tmp_path}/fifo"; exit $line')
        os.mkfifo(tmp_path / "fifo")
        await owner.run(spec)
        await owner.die()
        (tmp_path / "fifo").write_text("7\n")
        await wait_until(lambda: record_of(spec)[1].has_ended)
        assert await expect(supervisors, spec) == Termination(wait_status=7 << 8, killed=False)

    async def test_a_kill_under_way_is_completed_in_time(
        self, owner: Owner, build_detached: BuildSpec, supervisors: Supervisors, voice: "Voice", tree: "Tree"
    ) -> None:
        # given a program deaf to SIGTERM, and an owner that dies while it kills
        spec = build_detached("trap '' TERM; echo ready; while :; do sleep 1000; done", voice.path)
        tree.add_below(await owner.run(spec))
        await voice.lines(1)
        await owner.tell("kill", "0.5")
        await owner.die()
        # then it ends in time, adopted or not
        child = await adopt(supervisors, spec)
        async with asyncio.timeout(10):
            assert await child.wait() == Termination(wait_status=9, killed=True)

    async def test_a_gate_that_was_not_opened_stays_shut(
        self, owner: Owner, build_detached: BuildSpec, supervisors: Supervisors, tmp_path: Path
    ) -> None:
        spec = build_detached("echo started")
        await owner.launch(spec)
        await owner.die()
        termination = await expect(supervisors, spec)
        assert termination == Termination(wait_status=None, killed=False, message="the agent was lost", has_run=False)
        assert not (tmp_path / "stdout").exists()

    async def test_a_program_that_nobody_adopts_is_ended(
        self, owner: Owner, build_detached: BuildSpec, supervisors: Supervisors, voice: "Voice"
    ) -> None:
        spec = build_detached("sh -c 'trap \"\" TERM; echo ready; exec sleep 1000' & sleep 1000", voice.path)
        await owner.run(replace(spec, recovery_timeout_s=0.2))
        await voice.lines(1)
        await owner.die()
        await voice.wait_silent()
        termination = await end_of(supervisors, spec)
        assert termination == Termination(wait_status=None, killed=False, message="nobody came back for it in time")

    async def test_one_that_came_back_stops_the_clock(
        self, owner: Owner, build_detached: BuildSpec, supervisors: Supervisors
    ) -> None:
        spec = build_detached("sleep 2; exit 3")
        await owner.run(replace(spec, recovery_timeout_s=1.5))
        await owner.die()
        child = await adopt(supervisors, spec)
        assert (await child.wait()).wait_status == 3 << 8

    async def test_its_fork_server_and_supervisors_hold_nothing_of_its_output(
        self, build_detached: BuildSpec, supervisors: Supervisors
    ) -> None:
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-c", OWNER, stdin=pipe, stdout=pipe, stderr=pipe
        )
        spec = build_detached("exec sleep 1000")
        owner = Owner(process)
        await owner.run(spec)
        async with asyncio.timeout(10):
            await owner.die()  # which reads until the end of stderr
        child = await adopt(supervisors, spec)
        child.kill(1.0)
        await child.wait()


class TestOwnership:
    """One owner at a time."""

    async def test_a_second_owner_is_refused(
        self, owner: Owner, build_detached: BuildSpec, supervisors: Supervisors
    ) -> None:
        spec = build_detached("exec sleep 1000")
        pid = await owner.run(spec)
        with pytest.raises(OwnedElsewhere, match=f"pid {pid}"):
            await expect(supervisors, spec)
        await owner.die()
        # of several who come at once, one gets it
        results = await asyncio.gather(*(expect(supervisors, spec) for _ in range(4)), return_exceptions=True)
        assert sorted(type(result).__name__ for result in results) == ["OwnedElsewhere"] * 3 + ["Supervised"]
        await supervisors.close(end_detached=True)

    async def test_an_owner_that_is_just_dying_is_waited_for(
        self, owner: Owner, build_detached: BuildSpec, supervisors: Supervisors
    ) -> None:
        spec = build_detached("exec sleep 1000")
        await owner.run(spec)
        adopting = asyncio.create_task(adopt(supervisors, spec))
        await asyncio.sleep(0)
        await owner.die()
        child = await adopting
        child.kill(1.0)
        assert (await child.wait()).killed

    async def test_closing_lets_go_of_what_has_started(
        self, build_detached: BuildSpec, supervisors: Supervisors, voice: "Voice", tree: "Tree"
    ) -> None:
        # given a detached program, one that waits at its gate, and a usual one
        first = Supervisors()
        spec = build_detached("echo ready; exec sleep 1000", voice.path)
        child = await first.launch(spec)
        await child.release()
        await voice.lines(1)
        tree.add_below(child.pid)
        (Path(spec.record_dir or "") / "gated").mkdir()
        gated = await first.launch(replace(spec, record_dir=f"{spec.record_dir}/gated"))
        usual = await first.launch(replace(spec, detached=False, record_dir=None))
        await usual.release()
        # when the owner closes
        async with asyncio.timeout(10):
            await first.close()
        # then the first one goes on
        assert (await gated.wait()).killed
        assert (await usual.wait()).killed
        with pytest.raises(LetGo):
            await child.wait()
        assert len(tree.left()) == 1
        # and can be adopted
        second = await adopt(supervisors, spec)
        assert second.task_pid == child.task_pid
        # and closing can end it, too
        await supervisors.close(end_detached=True)
        assert (await second.wait()).killed
        assert tree.left() == []

    async def test_without_a_record_dir_nothing_is_detached(
        self, build_spec: BuildSpec, supervisors: Supervisors
    ) -> None:
        with pytest.raises(SupervisionError, match="record_dir"):
            await supervisors.launch(replace(build_spec("true"), detached=True))


class TestLosses:
    """Of supervisors and fork servers, with an owner or without."""

    SCRIPT = "(setsid sh -c 'trap \"\" TERM; echo $$; exec sleep 1000' &); trap '' TERM; echo $$; sleep 1000; exit 1"

    @pytest.mark.parametrize("lost", [["pid"], ["pid", "server_pid"], ["server_pid", "pid"]])
    @pytest.mark.parametrize("when", ["before", "after"])
    async def test_nothing_is_left_and_the_status_is_unknown(
        self,
        owner: Owner,
        build_detached: BuildSpec,
        supervisors: Supervisors,
        voice: "Voice",
        tree: "Tree",
        lost: list[str],
        when: str,
    ) -> None:
        # given a tree whose owner was killed
        spec = build_detached(self.SCRIPT, voice.path)
        spec = replace(spec, environment={**spec.environment, "PLACE": spec.directory}, mark="PLACE")
        await owner.run(spec)
        await voice.lines(2)
        origin, _ = record_of(spec)
        tree.add_below(owner.pid)
        await owner.die()
        child = await adopt(supervisors, spec) if when == "after" else None
        # when others are lost, before or after it is adopted
        for name in lost:
            os.kill(getattr(origin, name), signal.SIGKILL)
        # then its end is told when nothing is left
        termination = await child.wait() if child else await end_of(supervisors, spec)
        assert (termination.wait_status, termination.killed) == (None, False)
        assert "its supervisor" in str(termination.message)
        assert tree.wait_gone(10.0) == []
        assert os.listdir(spec.record_dir) == ["record.json"]

    @pytest.mark.parametrize("owner_dies", ["before", "after", "never"])
    async def test_of_the_fork_server_alone_ends_nothing(
        self,
        owner: Owner,
        build_detached: BuildSpec,
        supervisors: Supervisors,
        voice: "Voice",
        tree: "Tree",
        owner_dies: str,
    ) -> None:
        spec = build_detached("(setsid sleep 1000 &); trap 'exit 7' TERM; echo $$; sleep 1000 & wait", voice.path)
        # given a program whose fork server was lost
        if owner_dies == "never":
            child = await supervisors.launch(spec)
            await child.release()
        else:
            await owner.run(spec)
        await voice.lines(1)
        origin, _ = record_of(spec)
        tree.add_below(origin.pid)
        if owner_dies == "before":
            await owner.die()
        os.kill(origin.server_pid, signal.SIGKILL)
        if owner_dies != "never":
            await owner.die()
            child = await adopt(supervisors, spec)
        # when it is killed
        child.kill(5.0)
        # then it was alive and had its grace
        async with asyncio.timeout(20):
            termination = await child.wait()
        assert (termination.wait_status, termination.killed) == (7 << 8, True)
        assert tree.wait_gone(10.0) == []
        assert os.listdir(spec.record_dir) == ["record.json"]

    async def test_of_both_with_the_first_owner(
        self, build_detached: BuildSpec, supervisors: Supervisors, voice: "Voice", tree: "Tree"
    ) -> None:
        spec = build_detached("sleep 1000 & echo ready; sleep 1000", voice.path)
        child = await supervisors.launch(spec)
        await child.release()
        await voice.lines(1)
        tree.add_below(child.pid)
        for pid in (record_of(spec)[0].server_pid, child.pid):
            os.kill(pid, signal.SIGKILL)
        async with asyncio.timeout(20):
            assert (await child.wait()).wait_status is None
        assert tree.wait_gone(10.0) == []

    async def test_of_the_fork_server_while_many_start(
        self, build_detached: BuildSpec, supervisors: Supervisors, tree: "Tree"
    ) -> None:
        # given many launches on their way
        spec = build_detached("exit 3")

        async def run(number: int) -> Termination:
            place = f"{spec.record_dir}/{number}"
            os.mkdir(place)
            child = await supervisors.launch(replace(spec, record_dir=place))
            await child.release()
            termination = await child.wait()
            assert await supervisors.adopt(place) == termination
            return termination

        runs = [asyncio.create_task(run(number)) for number in range(20)]
        await asyncio.sleep(random.uniform(0, 0.05))
        tree.add_below(os.getpid())
        # when the fork server is lost
        for pid in set(children_of(os.getpid())) - tree.others:
            os.kill(pid, signal.SIGKILL)
        # then each program has run, or says why not, and its record says the same
        async with asyncio.timeout(20):
            ends = await asyncio.gather(*runs)
        assert all(end.wait_status == 3 << 8 or end.message for end in ends)
        assert tree.wait_gone(10.0) == []

    async def test_a_supervisor_that_is_stopped_is_told(
        self, owner: Owner, build_detached: BuildSpec, supervisors: Supervisors, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        spec = build_detached("exec sleep 1000")
        pid = await owner.run(spec)
        await owner.die()
        os.kill(pid, signal.SIGSTOP)
        monkeypatch.setattr("tfmesos.supervision.supervisors._ANSWER_S", 0.1)
        with pytest.raises(SupervisionError, match=f"pid {pid}\\) does not answer"):
            await expect(supervisors, spec)
        os.kill(pid, signal.SIGCONT)
        child = await adopt(supervisors, spec)
        child.kill(1.0)
        await child.wait()


class TestRecords:
    """Adoption where there is nobody."""

    async def test_there_never_was_one(self, supervisors: Supervisors, tmp_path: Path) -> None:
        termination = await supervisors.adopt(str(tmp_path))
        message = f"there is no record in {str(tmp_path)!r}: it was never started"
        assert termination == Termination(wait_status=None, killed=False, message=message, has_run=False)

    async def test_the_machine_was_started_again(
        self, owner: Owner, build_detached: BuildSpec, supervisors: Supervisors
    ) -> None:
        # given the record of a running program, by another boot: its pid may be anyone's
        spec = build_detached("exec sleep 1000")
        await owner.run(spec)
        origin, life = record_of(spec)
        write_record(spec, replace(origin, boot_id="another"), life)
        # then it is not asked for
        termination = await expect(supervisors, spec)
        assert termination == Termination(wait_status=None, killed=False, message="the machine was started again")
        write_record(spec, origin, life)
        await owner.die()
        child = await adopt(supervisors, spec)
        child.kill(1.0)
        await child.wait()

    async def test_its_pid_is_another_process(
        self, owner: Owner, build_detached: BuildSpec, supervisors: Supervisors
    ) -> None:
        # given a record whose pids are those of this process, but not its start time
        spec = build_detached("exit 3")
        await owner.run(spec)
        await wait_until(lambda: record_of(spec)[1].has_ended)
        origin, _ = record_of(spec)
        life = LifeRecord("running", task_pid=os.getpid(), task_start_time=origin.start_time)
        write_record(spec, replace(origin, pid=os.getpid(), server_pid=os.getpid()), life)
        os.mknod(f"{spec.record_dir}/control.sock")
        # then nobody is asked, nor killed
        termination = await expect(supervisors, spec)
        assert isinstance(termination, Termination)
        assert termination.wait_status is None

    async def test_a_record_cannot_be_read(
        self, owner: Owner, build_detached: BuildSpec, supervisors: Supervisors, tree: "Tree"
    ) -> None:
        spec = build_detached("trap '' TERM; sleep 1000")
        pid = await owner.run(spec)
        tree.add_below(pid)
        await owner.die()
        os.truncate(f"{spec.record_dir}/record.json", 100)
        with pytest.raises(SupervisionError, match="no record of format 1"):
            await expect(supervisors, spec)
        assert tree.left() == []

    async def test_a_record_of_another_format_is_named(self, supervisors: Supervisors, tmp_path: Path) -> None:
        (tmp_path / "record.json").write_text('{"format": 99}')
        with pytest.raises(SupervisionError, match="no record of format 1"):
            await supervisors.adopt(str(tmp_path))


@pytest.mark.parametrize("is_detached", [False, True])
async def test_who_ends_without_an_owner_cleans_up_and_who_is_expected_back_does_not(
    owner: Owner, build_detached: BuildSpec, tree: "Tree", tmp_path: Path, is_detached: bool
) -> None:
    # given a program with something to do after it
    epilogue = ("sh", "-c", 'echo "$PWD" > "$0"', str(tmp_path / "epilogue"))
    spec = replace(build_detached("sleep 0.1"), epilogue=epilogue, detached=is_detached)
    await owner.run(spec)
    tree.add_below(owner.pid)
    # when its owner is lost before it ends
    await owner.die()
    # then that is done, unless the next owner will do it
    assert await asyncio.to_thread(tree.wait_gone, 20) == []
    assert (tmp_path / "epilogue").exists() is not is_detached
