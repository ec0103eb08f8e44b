"""A program with its caller's terminal; the terminal is a real one (a pty), the caller a process of its own."""

import asyncio
import os
import pty
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tfmesos.supervision import Foreground, Termination

if TYPE_CHECKING:
    from tests.supervision.conftest import Tree

CALLER = """
import asyncio, os, signal, sys
from tfmesos.supervision import Foreground

async def main():
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGINT, lambda: print("caller: interrupted", flush=True))
    program = await Foreground.start(["sh", "-c", sys.argv[1]], dict(os.environ), os.getcwd())
    end = await program.wait()
    print(f"caller: {end.wait_status} {end.message}", flush=True)

asyncio.run(main())
"""


class Terminal:
    """A caller as the leader of a session with its own terminal."""

    def __init__(self, script: str, directory: Path) -> None:
        self.pid, self._master = pty.fork()
        if self.pid == 0:
            os.chdir(directory)
            os.execv(sys.executable, [sys.executable, "-c", CALLER, script])
        self._read = b""

    def type(self, text: str) -> None:
        os.write(self._master, text.encode())

    async def expect(self, text: str) -> None:
        """Until the terminal showed it."""
        async with asyncio.timeout(20):
            while text not in self.shown:
                self._read += await asyncio.to_thread(self._read_some)

    @property
    def shown(self) -> str:
        return self._read.decode().replace("\r\n", "\n")

    def _read_some(self) -> bytes:
        try:
            return os.read(self._master, 65536)
        except OSError as error:  # how Linux tells that nobody has the other end any more
            raise EOFError(f"the terminal showed only {self.shown!r}") from error

    async def end(self) -> int:
        _, status = await asyncio.to_thread(os.waitpid, self.pid, 0)
        return status

    def close(self) -> None:
        os.close(self._master)


@pytest.fixture
async def terminals() -> AsyncIterator[list[Terminal]]:
    terminals: list[Terminal] = []
    yield terminals
    for terminal in terminals:
        terminal.close()


async def test_the_program_has_the_terminal(terminals: list[Terminal], tmp_path: Path) -> None:
    # given a program that asks at the terminal
    terminal = Terminal("test -t 0 && test -t 1 && test -t 2 && read answer; echo got $answer; exit 4", tmp_path)
    terminals.append(terminal)
    # when the user answers, then the program and its caller go on
    terminal.type("blue\n")
    await terminal.expect("got blue")
    await terminal.expect(f"caller: {4 << 8} None")
    assert await terminal.end() == 0


async def test_ctrl_c_reaches_program_and_caller(terminals: list[Terminal], tmp_path: Path) -> None:
    terminal = Terminal(
        "trap 'echo program: interrupted; exit 5' INT; echo ready; while :; do sleep 0.01; done", tmp_path
    )
    terminals.append(terminal)
    await terminal.expect("ready")
    terminal.type("\x03")
    await terminal.expect(f"caller: {5 << 8} None")
    assert "program: interrupted" in terminal.shown
    assert "caller: interrupted" in terminal.shown


async def test_a_program_ended_by_ctrl_c(terminals: list[Terminal], tmp_path: Path) -> None:
    terminal = Terminal("echo ready; exec sleep 1000", tmp_path)
    terminals.append(terminal)
    await terminal.expect("ready")
    terminal.type("\x03")
    await terminal.expect(f"caller: {signal.SIGINT.value} None")


@pytest.mark.parametrize("lost", ["caller", "fork server", "supervisor"])
async def test_a_lost_part_takes_the_program_along(
    terminals: list[Terminal], tree: "Tree", tmp_path: Path, lost: str
) -> None:
    # given a program that ignores SIGTERM and SIGHUP, with a child in another session
    terminal = Terminal("trap '' TERM HUP; setsid sleep 1000 & sleep 1000 & echo ready; wait", tmp_path)
    terminals.append(terminal)
    await terminal.expect("ready")
    tree.add_below(terminal.pid)
    fork_server, supervisor = list(tree.pidfds)[:2]
    # when one part is killed
    os.kill({"caller": terminal.pid, "fork server": fork_server, "supervisor": supervisor}[lost], signal.SIGKILL)
    # then nothing is left
    await terminal.end()
    assert tree.wait_gone(10.0) == []


async def test_kill_and_wait(tree: "Tree", tmp_path: Path) -> None:
    before = os.listdir("/proc/self/fd")
    program = await Foreground.start(["sleep", "1000"], dict(os.environ), str(tmp_path))
    tree.add_below(os.getpid())
    assert program.pid in tree.pidfds
    program.kill(5.0)
    assert await program.wait() == Termination(wait_status=15, killed=True)
    assert tree.left() == []
    tree.close()
    tree.pidfds.clear()
    assert os.listdir("/proc/self/fd") == before


async def test_what_cannot_be_executed_ends_with_1(tmp_path: Path) -> None:
    program = await Foreground.start(["./nothing"], {}, str(tmp_path))
    assert program.pid is None
    message = "cannot execute './nothing': No such file or directory"
    assert await program.wait() == Termination(wait_status=1 << 8, killed=False, message=message)
