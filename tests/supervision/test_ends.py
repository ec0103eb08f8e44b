"""How programs are ended: asked to, and by the loss of each part that they hang on."""

import asyncio
import os
import random
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tfmesos.supervision import ProcessSpec, Supervised, SupervisionError, Supervisors, Termination
from tfmesos.supervision._tree import children_of

if TYPE_CHECKING:
    from tests.supervision.conftest import Tree, Voice

BuildSpec = Callable[..., ProcessSpec]

DEEP_TREE = """
trap '' TERM
echo $$
setsid sh -c 'echo $$; exec sleep 1000' &
(setsid sh -c 'trap "" TERM; sh -c "echo \\$\\$; exec sleep 1000" & echo $$; exec sleep 1000' &)
sh -c 'echo $$; kill -STOP $$' &
sleep 1000
echo over
"""
"""Says the pids of five processes: deaf to SIGTERM, in other sessions, double-forked, stopped."""
DEEP_TREE_SIZE = 5


async def start_deep_tree(supervisors: Supervisors, build_spec: BuildSpec, voice: "Voice") -> Supervised:
    child = await supervisors.launch(build_spec("sh", "-c", DEEP_TREE, stdout=voice.path))
    await child.release()
    await voice.lines(DEEP_TREE_SIZE)
    return child


class TestKill:
    """Asked for by the owner."""

    async def test_takes_the_whole_tree(
        self, supervisors: Supervisors, build_spec: BuildSpec, voice: "Voice", tree: "Tree"
    ) -> None:
        # given a tree with other sessions, double forks, deaf and stopped processes
        child = await start_deep_tree(supervisors, build_spec, voice)
        tree.add_below(child.pid)
        assert len(tree.pidfds) > DEEP_TREE_SIZE
        # when it is killed
        child.kill(0.1)
        # then its end is told when nothing of it is left
        assert await child.wait() == Termination(wait_status=9, killed=True)
        assert tree.left() == []
        await voice.wait_silent()

    @pytest.mark.parametrize("at_once", [True, False])
    async def test_takes_one_that_stops_its_supervisor(
        self, supervisors: Supervisors, build_spec: BuildSpec, voice: "Voice", tree: "Tree", at_once: bool
    ) -> None:
        # given a program that has stopped what watches over it, at once or after its start was told
        stop = "kill -STOP $PPID; echo stopped"
        stop_when_told = f"trap '{stop}' USR1; echo ready; while :; do sleep 1000 & wait; done"
        script = f"{stop}; sleep 1000" if at_once else stop_when_told
        child = await supervisors.launch(build_spec("sh", "-c", script, stdout=voice.path))
        releasing = asyncio.create_task(child.release())
        if not at_once:
            await asyncio.gather(releasing, voice.lines(1))
            child.signal(signal.SIGUSR1)
        assert await voice.lines(1) == ["stopped"]
        tree.add_below(child.pid)
        # when it is killed
        child.kill(0.0)
        # then nothing of it is left
        async with asyncio.timeout(20):
            assert (await child.wait()).killed
            await releasing
        assert tree.left() == []

    async def test_sigterm_reaches_everyone_and_the_grace_is_theirs(
        self, supervisors: Supervisors, build_spec: BuildSpec, voice: "Voice", tmp_path: Path
    ) -> None:
        # given a shell whose child in another session saves its work on SIGTERM, slower than the shell dies
        saver = "trap 'sleep 0.2; echo saved >> saved; exit 0' TERM; echo ready; while :; do sleep 0.05; done"
        script = f'setsid sh -c "{saver}" & wait'
        child = await supervisors.launch(build_spec("sh", "-c", script, stdout=voice.path))
        await child.release()
        await voice.lines(1)
        # when it is killed with enough grace
        child.kill(20.0)
        # then the child could finish
        assert await child.wait() == Termination(wait_status=15, killed=True)
        assert (tmp_path / "saved").read_text() == "saved\n"

    async def test_an_exit_status_is_kept(
        self, supervisors: Supervisors, build_spec: BuildSpec, voice: "Voice"
    ) -> None:
        script = "trap 'exit 5' TERM; echo ready; while :; do sleep 0.01; done"
        child = await supervisors.launch(build_spec("sh", "-c", script, stdout=voice.path))
        await child.release()
        await voice.lines(1)
        child.kill(20.0)
        assert await child.wait() == Termination(wait_status=5 << 8, killed=True)

    async def test_a_stopped_program_is_killed(
        self, supervisors: Supervisors, build_spec: BuildSpec, voice: "Voice"
    ) -> None:
        child = await supervisors.launch(build_spec("sh", "-c", "echo ready; kill -STOP $$", stdout=voice.path))
        await child.release()
        await voice.lines(1)
        child.kill(20.0)
        assert await child.wait() == Termination(wait_status=15, killed=True)

    async def test_again_only_shortens(self, supervisors: Supervisors, build_spec: BuildSpec, voice: "Voice") -> None:
        child = await start_deep_tree(supervisors, build_spec, voice)
        for grace_s in (1000.0, 0.2, 2000.0):
            child.kill(grace_s)
        async with asyncio.timeout(10):
            assert (await child.wait()).killed

    async def test_without_grace_it_still_ends_by_sigterm(
        self, supervisors: Supervisors, build_spec: BuildSpec
    ) -> None:
        child = await supervisors.launch(build_spec("sleep", "1000"))
        await child.release()
        child.kill(0.0)
        assert await child.wait() == Termination(wait_status=15, killed=True)

    async def test_at_the_gate_it_never_starts(
        self, supervisors: Supervisors, build_spec: BuildSpec, tmp_path: Path
    ) -> None:
        child = await supervisors.launch(build_spec("sh", "-c", "echo started"))
        child.kill(1.0)
        await child.release()
        termination = await child.wait()
        assert termination == Termination(wait_status=None, killed=True, message="killed before it was started")
        assert not (tmp_path / "stdout").exists()

    async def test_a_modest_fork_bomb(self, supervisors: Supervisors, build_spec: BuildSpec, voice: "Voice") -> None:
        # given processes that each start the next one and end, and now and then one that stays
        bomb = "echo x; n=0; while :; do n=$((n+1)); (sh -c 'sleep 0.01; (sleep 1000 &)' &); sleep 0.02; done"
        child = await supervisors.launch(build_spec("sh", "-c", bomb, stdout=voice.path))
        await child.release()
        await voice.lines(1)
        # when killed, then nothing is left
        child.kill(0.3)
        await child.wait()
        await voice.wait_silent()


async def test_the_rest_ends_with_the_main_process(
    supervisors: Supervisors, build_spec: BuildSpec, voice: "Voice"
) -> None:
    script = "(trap '' TERM; setsid sleep 1000 &) ; sleep 1000 & echo ready; exit 7"
    child = await supervisors.launch(build_spec("sh", "-c", script, stdout=voice.path))
    await child.release()
    assert await child.wait() == Termination(wait_status=7 << 8, killed=False)
    await voice.wait_silent()


class TestLosses:
    """kill -9 of each part alone."""

    async def test_of_a_supervisor(
        self, supervisors: Supervisors, build_spec: BuildSpec, voice: "Voice", tree: "Tree"
    ) -> None:
        # given two programs
        other = await supervisors.launch(build_spec("sleep", "1000"))
        await other.release()
        child = await start_deep_tree(supervisors, build_spec, voice)
        tree.add_below(child.pid)
        # when one's supervisor is lost
        os.kill(child.pid, signal.SIGKILL)
        # then its whole tree is ended, which is told when it is so; the other goes on
        termination = await child.wait()
        assert termination.wait_status is None
        assert not termination.killed
        assert termination.message == f"its supervisor (pid {child.pid}) was lost: signal Killed"
        assert tree.left() == []
        await voice.wait_silent()
        assert other.termination is None

    async def test_of_a_supervisor_at_its_gate(
        self, supervisors: Supervisors, build_spec: BuildSpec, tmp_path: Path
    ) -> None:
        child = await supervisors.launch(build_spec("sh", "-c", "echo started"))
        os.kill(child.pid, signal.SIGKILL)
        await child.release()
        assert (await child.wait()).wait_status is None
        assert not (tmp_path / "stdout").exists()

    async def test_of_the_fork_server(
        self, supervisors: Supervisors, build_spec: BuildSpec, voice: "Voice", tree: "Tree"
    ) -> None:
        # given a program, and a supervisor at its gate
        child = await start_deep_tree(supervisors, build_spec, voice)
        gated = await supervisors.launch(build_spec("true"))
        tree.add_below(os.getpid())
        # when the fork server is lost
        os.kill(fork_server_of(child), signal.SIGKILL)
        # then both end and tell so
        message = "the fork server was lost"
        assert await child.wait() == Termination(wait_status=None, killed=False, message=message)
        assert await gated.wait() == Termination(wait_status=None, killed=False, message=message)
        await voice.wait_silent()
        assert tree.wait_gone(10.0) == []
        # and the next program gets a new fork server
        child = await supervisors.launch(build_spec("sh", "-c", "exit 9"))
        await child.release()
        assert (await child.wait()).wait_status == 9 << 8

    @pytest.mark.parametrize("size", [1, 2 << 20])
    async def test_of_the_fork_server_while_many_start(self, build_spec: BuildSpec, tree: "Tree", size: int) -> None:
        supervisors = Supervisors()
        first = await supervisors.launch(build_spec("sleep", "1000"))
        environment = {f"BIG{i}": "x" * min(size, 100 << 10) for i in range(1 + size // (100 << 10))}

        async def run() -> Termination:
            child = await supervisors.launch(build_spec("sleep", "0.05", **environment))
            await child.release()
            return await child.wait()

        runs = [asyncio.create_task(run()) for _ in range(40)]
        await asyncio.sleep(random.uniform(0, 0.05))
        tree.add_below(os.getpid())
        os.kill(fork_server_of(first), signal.SIGKILL)
        ends = await asyncio.gather(*runs)
        assert all(end.wait_status == 0 or end.message for end in ends)
        await supervisors.close()
        assert tree.wait_gone(10.0) == []

    @pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
    async def test_of_the_owner(self, tmp_path: Path, voice: "Voice", tree: "Tree", number: signal.Signals) -> None:
        # given an owner with three deep trees, one of them still at its gate
        owner = await asyncio.create_subprocess_exec(
            sys.executable, "-c", OWNER, DEEP_TREE, voice.path, str(tmp_path), stdout=asyncio.subprocess.PIPE
        )
        assert owner.stdout is not None
        assert await owner.stdout.readline() == b"ready\n"
        await voice.lines(2 * DEEP_TREE_SIZE)
        tree.add_below(owner.pid)
        # when it is killed
        owner.send_signal(number)
        await owner.wait()
        # then nothing is left
        assert tree.wait_gone(10.0) == []
        await voice.wait_silent()


OWNER = """
import asyncio, sys
from tfmesos.supervision import ProcessSpec, Supervisors
async def main():
    supervisors = Supervisors()
    script, voice, directory = sys.argv[1:]
    spec = ProcessSpec(id="1", argv=("sh", "-c", script), environment={"PATH": "/usr/bin:/bin"},
                       directory=directory, stdout=voice, stderr="/dev/null", grace_s=30.0)
    children = [await supervisors.launch(spec) for _ in range(3)]
    for child in children[:2]:
        await child.release()
    print("ready", flush=True)
    await asyncio.Event().wait()
asyncio.run(main())
"""


def fork_server_of(child: Supervised) -> int:
    return int(Path(f"/proc/{child.pid}/stat").read_text().rsplit(")", 1)[1].split()[1])


class TestClosing:
    """The owner ends on purpose."""

    async def test_ends_everything_and_is_final(self, build_spec: BuildSpec, tree: "Tree") -> None:
        supervisors = Supervisors()
        children = [await supervisors.launch(build_spec("sleep", "1000")) for _ in range(3)]
        for child in children[:2]:
            await child.release()
        tree.add_below(os.getpid())
        await supervisors.close()
        await supervisors.close()
        assert tree.left() == []
        assert [(await child.wait()).killed for child in children] == [True] * 3
        with pytest.raises(SupervisionError, match="closed"):
            await supervisors.launch(build_spec("true"))

    @pytest.mark.parametrize("turns", [0, 1, 3, 10])
    async def test_while_launching(
        self, build_spec: BuildSpec, tree: "Tree", turns: int, others: frozenset[int]
    ) -> None:
        # given launches on their way, some of them given up
        supervisors = Supervisors()
        await supervisors.start()
        big = build_spec("sleep", "1000", **{f"BIG{i}": "x" * (120 << 10) for i in range(10)})
        launching = [asyncio.create_task(supervisors.launch(big)) for _ in range(6)]
        for _ in range(turns):
            await asyncio.sleep(0.002)
        tree.add_below(os.getpid())
        # when it is closed meanwhile
        closing = asyncio.create_task(supervisors.close())
        await asyncio.sleep(0)
        for task in launching[:3]:
            task.cancel()
        await closing
        # then each was refused or killed, and nothing is left
        for result in await asyncio.gather(*launching, return_exceptions=True):
            if isinstance(result, BaseException):
                assert isinstance(result, SupervisionError | asyncio.CancelledError)
            else:
                assert (await result.wait()).killed
        assert set(children_of(os.getpid())) <= others
        assert tree.left() == []

    async def test_a_cancelled_launch_leaves_nothing(self, build_spec: BuildSpec, others: frozenset[int]) -> None:
        supervisors = Supervisors()
        launching = asyncio.create_task(supervisors.launch(build_spec("sleep", "1000")))
        await asyncio.sleep(0.01)
        launching.cancel()
        await asyncio.gather(launching, return_exceptions=True)
        await supervisors.close()  # waits until the fork server has no child
        assert set(children_of(os.getpid())) <= others


@pytest.mark.root
async def test_the_first_process_of_a_pid_namespace_ends_by_sigterm_as_any_other(
    supervisors: Supervisors, build_spec: BuildSpec, voice: "Voice", tree: "Tree"
) -> None:
    """The kernel drops what it has no handler for (pid_namespaces(7))."""
    if os.geteuid() != 0:
        pytest.skip("needs root")
    line = "echo ready; exec sleep 1000"
    child = await supervisors.launch(build_spec("unshare", "--pid", "--fork", "sh", "-c", line, stdout=voice.path))
    await child.release()
    await voice.lines(1)
    tree.add_below(child.pid)
    child.kill(1000.0)
    async with asyncio.timeout(20):
        assert (await child.wait()).wait_status is not None
    assert tree.left() == []
