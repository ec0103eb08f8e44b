"""Consoles: a program's stdin and output, attached to."""

import asyncio
import os
import signal
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tfmesos.supervision import (
    Console,
    ConsoleBusy,
    ConsoleStream,
    ProcessSpec,
    Supervised,
    SupervisionError,
    Supervisors,
    Termination,
)

if TYPE_CHECKING:
    from tests.supervision.conftest import Tree

BuildSpec = Callable[..., ProcessSpec]


@pytest.fixture
def build_console(build_spec: BuildSpec, tmp_path: Path) -> BuildSpec:
    def build(*argv: str, tty: bool = False) -> ProcessSpec:
        records = tmp_path / "records"
        records.mkdir()
        console = Console(tty=tty, rows=40, columns=100)
        return replace(build_spec(*argv), record_dir=str(records), console=console)

    return build


async def read_all(stream: ConsoleStream) -> dict[str, bytes]:
    """Until the end."""
    output = {"stdout": b"", "stderr": b""}
    async with asyncio.timeout(20):
        async for name, data in stream:
            output[name] += data
    return output


async def read_until(stream: ConsoleStream, text: bytes) -> bytes:
    read = b""
    async with asyncio.timeout(20):
        async for _, data in stream:
            read += data
            if text in read:
                return read
    raise AssertionError(f"{text!r} is not in {read!r}")


async def run(child: Supervised) -> Termination:
    await child.release()
    async with asyncio.timeout(20):
        return await child.wait()


class TestPipes:
    """A console without a terminal."""

    async def test_output_goes_to_the_files_and_to_everyone_attached(
        self, supervisors: Supervisors, build_console: BuildSpec, tmp_path: Path
    ) -> None:
        # given two who attached before the program starts, and one who is not interested in output
        child = await supervisors.launch(build_console("sh", "-c", "echo out; echo err >&2; exit 3"))
        first, second = await child.console(), await child.console()
        third = await child.console(output=False, input=True)
        # when it runs
        reading = [asyncio.create_task(read_all(stream)) for stream in (first, second, third)]
        assert await run(child) == Termination(wait_status=3 << 8, killed=False)
        # then both have everything, to the end, and so have the files
        whole = {"stdout": b"out\n", "stderr": b"err\n"}
        assert await asyncio.gather(*reading) == [whole, whole, {"stdout": b"", "stderr": b""}]
        assert (tmp_path / "stdout").read_bytes() == b"out\n"
        assert (tmp_path / "stderr").read_bytes() == b"err\n"
        for stream in (first, second, third):
            await stream.close()

    @pytest.mark.parametrize("size", [0, 1, 70_000, 3_000_000])
    async def test_input_arrives_to_the_byte(
        self, supervisors: Supervisors, build_console: BuildSpec, size: int, tmp_path: Path
    ) -> None:
        data = os.urandom(size)
        child = await supervisors.launch(build_console("cat"))
        await child.release()
        async with await child.console(input=True) as stream:
            reading = asyncio.create_task(read_all(stream))
            await stream.write_stdin(data)
            await stream.close_stdin()
            await stream.write_stdin(b"too late")
            assert (await reading)["stdout"] == data
        assert (await child.wait()).wait_status == 0
        assert (tmp_path / "stdout").read_bytes() == data

    async def test_input_waits_for_the_program_to_start(
        self, supervisors: Supervisors, build_console: BuildSpec
    ) -> None:
        child = await supervisors.launch(build_console("cat"))
        async with await child.console(input=True) as stream:
            await stream.write_stdin(b"early")
            await stream.close_stdin()
            await child.release()
            assert (await read_all(stream))["stdout"] == b"early"

    async def test_one_at_a_time_has_the_input(self, supervisors: Supervisors, build_console: BuildSpec) -> None:
        child = await supervisors.launch(build_console("cat"))
        await child.release()
        output = await child.console()
        async with await child.console(output=False, input=True) as stream:
            await stream.write_stdin(b"first ")
            await read_until(output, b"first ")
            with pytest.raises(ConsoleBusy, match="another one has the console's input"):
                await child.console(input=True)
        # when that one has gone, stdin is still open for the next
        async with asyncio.timeout(10):
            while True:
                try:
                    stream = await child.console(output=False, input=True)
                    break
                except ConsoleBusy:
                    await asyncio.sleep(0)
        await stream.write_stdin(b"second")
        await read_until(output, b"second")
        await stream.close_stdin()
        assert (await child.wait()).wait_status == 0
        await stream.close()
        await output.close()

    async def test_when_all_have_gone_the_program_goes_on_and_ends(
        self, supervisors: Supervisors, build_console: BuildSpec, tmp_path: Path
    ) -> None:
        # given a program that writes more than any buffer holds, and someone who goes in the middle
        script = "import sys\nfor _ in range(64): sys.stdout.write('x' * (1 << 16))"
        child = await supervisors.launch(build_console(sys.executable, "-I", "-S", "-c", script))
        async with await child.console(input=True) as stream:
            await child.release()
            await anext(stream)
        # then it ends by itself
        async with asyncio.timeout(20):
            assert (await child.wait()).wait_status == 0
        assert (tmp_path / "stdout").stat().st_size == 4 << 20

    async def test_who_reads_slowly_loses_nothing(self, supervisors: Supervisors, build_console: BuildSpec) -> None:
        # given more output than everything between holds, and a reader that has not begun
        script = "import sys\nfor _ in range(64): sys.stdout.write('x' * (1 << 16))"
        child = await supervisors.launch(build_console(sys.executable, "-I", "-S", "-c", script))
        async with await child.console() as stream:
            await child.release()
            assert child.termination is None
            # when it reads
            # then everything comes
            assert len((await read_all(stream))["stdout"]) == 4 << 20
        assert (await child.wait()).wait_status == 0

    async def test_who_never_reads_does_not_keep_it_from_being_killed(
        self, supervisors: Supervisors, build_console: BuildSpec, tree: "Tree"
    ) -> None:
        child = await supervisors.launch(build_console("sh", "-c", "yes"))
        async with await child.console():
            await child.release()
            tree.add_below(child.pid)
            child.kill(0.1)
            async with asyncio.timeout(20):
                assert (await child.wait()).killed
            assert tree.left() == []

    async def test_a_program_without_one_and_one_that_has_ended(
        self, supervisors: Supervisors, build_spec: BuildSpec, build_console: BuildSpec
    ) -> None:
        child = await supervisors.launch(build_spec("true"))
        with pytest.raises(SupervisionError, match="no console"):
            await child.console()
        child = await supervisors.launch(build_console("true"))
        await run(child)
        with pytest.raises(SupervisionError, match="has ended"):
            await child.console()

    async def test_what_cannot_be_executed_says_so_to_everyone(
        self, supervisors: Supervisors, build_console: BuildSpec, tmp_path: Path
    ) -> None:
        child = await supervisors.launch(build_console("./nowhere"))
        async with await child.console() as stream:
            assert (await run(child)).wait_status == 1 << 8
            text = b"cannot execute './nowhere': No such file or directory\n"
            assert await read_all(stream) == {"stdout": b"", "stderr": text}
        assert (tmp_path / "stderr").read_bytes() == text

    async def test_an_adopted_program_still_has_it(
        self, supervisors: Supervisors, build_console: BuildSpec, tmp_path: Path
    ) -> None:
        # given a detached program with a console, and two that its first owner let go
        first = Supervisors()
        spec = replace(build_console("cat"), detached=True)
        child = await first.launch(spec)
        await child.release()
        async with await child.console() as stream:
            await first.close()
            # when it is adopted
            adopted = await supervisors.adopt(spec.record_dir or "")
            assert isinstance(adopted, Supervised)
            async with await adopted.console(input=True) as second:
                await second.write_stdin(b"hello")
                await second.close_stdin()
                # then those who were attached before still are
                assert (await read_all(stream))["stdout"] == b"hello"
        assert (await adopted.wait()).wait_status == 0


ECHO = """
import fcntl, os, signal, struct, termios

def show_size(*_):
    size = struct.unpack("HHHH", fcntl.ioctl(0, termios.TIOCGWINSZ, bytes(8)))
    os.write(1, b"%dx%d" % size[:2])

signal.signal(signal.SIGWINCH, show_size)
signal.signal(signal.SIGINT, lambda *_: os.write(1, b"interrupted"))
while line := os.read(0, 100):
    os.write(1, b"<%s>" % line.strip())
os.write(1, b"over")
"""


class TestTerminal:
    """A console that is a terminal."""

    async def test_is_the_programs_own(self, supervisors: Supervisors, build_console: BuildSpec) -> None:
        script = "tty; tty 0>&1 0>&2; stty size; ps -o tty= -p $$; echo err >&2; kill -INT $$"
        child = await supervisors.launch(build_console("sh", "-c", script, tty=True))
        async with await child.console() as stream:
            assert await run(child) == Termination(wait_status=2, killed=False)
            output = await read_all(stream)
        lines = output["stdout"].decode().split("\r\n")
        assert lines[0].startswith("/dev/pts/")
        assert lines == [lines[0], lines[0], "40 100", lines[0].removeprefix("/dev/"), "err", ""]
        assert output["stderr"] == b""

    async def test_keys_resizing_and_the_end(
        self, supervisors: Supervisors, build_console: BuildSpec, tmp_path: Path
    ) -> None:
        child = await supervisors.launch(build_console(sys.executable, "-I", "-S", "-c", ECHO, tty=True))
        await child.release()
        async with await child.console(input=True) as stream:
            await stream.write_stdin(b"hello\n")
            assert await read_until(stream, b"<hello>") == b"hello\r\n<hello>"
            await stream.resize(50, 132)
            await read_until(stream, b"50x132")
            await stream.write_stdin(b"\x03")
            await read_until(stream, b"interrupted")
            await stream.close_stdin()
            await read_until(stream, b"over")
        assert (await child.wait()).wait_status == 0
        assert b"<hello>" in (tmp_path / "stdout").read_bytes()

    async def test_the_program_can_be_killed(
        self, supervisors: Supervisors, build_console: BuildSpec, tree: "Tree"
    ) -> None:
        child = await supervisors.launch(build_console("sh", "-c", "trap '' HUP; echo ready; sleep 1000", tty=True))
        async with await child.console() as stream:
            await child.release()
            await read_until(stream, b"ready")
            tree.add_below(child.pid)
            child.kill(1.0)
            assert (await child.wait()).killed
            await read_all(stream)
        assert tree.left() == []

    @pytest.mark.root
    @pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
    async def test_is_the_users(self, supervisors: Supervisors, build_console: BuildSpec) -> None:
        spec = build_console("sh", "-c", "stat -c %u $(tty); echo hello > $(tty)", tty=True)
        spec = replace(spec, directory="/", stdout="/dev/null", stderr="/dev/null", uid=12345, gid=12345)
        child = await supervisors.launch(spec)
        async with await child.console() as stream:
            assert (await run(child)).wait_status == 0
            assert (await read_all(stream))["stdout"] == b"12345\r\nhello\r\n"


async def test_a_lost_supervisor_ends_the_attachment(
    supervisors: Supervisors, build_console: BuildSpec, tree: "Tree"
) -> None:
    child = await supervisors.launch(build_console("sh", "-c", "echo ready; cat"))
    async with await child.console(input=True) as stream:
        await child.release()
        await read_until(stream, b"ready")
        tree.add_below(child.pid)
        os.kill(child.pid, signal.SIGKILL)
        await read_all(stream)
        await stream.write_stdin(b"x" * 1_000_000)  # nobody hears it
    assert (await child.wait()).wait_status is None
    assert tree.left() == []
