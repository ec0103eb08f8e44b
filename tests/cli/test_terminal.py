"""Where tfrun writes."""

import asyncio
import errno
import os
from collections.abc import Iterator

import pytest

from tfmesos.cli.run import terminal
from tfmesos.cli.run.terminal import Terminal
from tfmesos.launcher import Stream

PIPE_SIZE = 65536


@pytest.fixture
def output(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """The reading end of what the terminal takes for standard output."""
    reading, writing = os.pipe()
    monkeypatch.setattr(terminal, "_STDOUT", writing)
    yield reading
    for descriptor in (reading, writing):
        if os.path.exists(f"/proc/self/fd/{descriptor}"):
            os.close(descriptor)


def fail(error: OSError) -> None:
    pytest.fail(str(error))


def read_all(reading: int, count: int) -> bytes:
    data = b""
    while len(data) < count:
        data += os.read(reading, count)
    return data


async def test_a_slow_reader_holds_the_writer_back_but_not_the_loop(output: int) -> None:
    data = b"x" * (3 * PIPE_SIZE)
    writing = asyncio.create_task(Terminal(fail).write_log(Stream.STDOUT, data))

    for _ in range(100):
        await asyncio.sleep(0)
    assert not writing.done()

    assert await asyncio.to_thread(read_all, output, len(data)) == data
    await writing


async def test_a_descriptor_that_does_not_block_is_waited_for(output: int) -> None:
    os.set_blocking(terminal._STDOUT, False)
    data = bytes(range(256)) * 1024
    writing = asyncio.create_task(Terminal(fail).write_log(Stream.STDOUT, data))

    assert await asyncio.to_thread(read_all, output, len(data)) == data
    await writing


async def test_a_reader_that_went_away_is_told_once_and_the_rest_is_dropped(output: int) -> None:
    closed: list[OSError] = []
    screen = Terminal(closed.append)
    os.close(output)

    for _ in range(3):
        await screen.write_log(Stream.STDOUT, b"line\n")

    assert [type(error) for error in closed] == [BrokenPipeError]


async def test_notes_carry_the_programs_name(output: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(terminal, "_STDERR", terminal._STDOUT)
    screen = Terminal(fail)

    screen.write_note("one\ntwo \udcff")
    await screen.flush()

    assert os.read(output, 100) == b"tfrun: one\ntfrun: two \\udcff\n"


async def test_a_full_disk_is_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    failures: list[OSError] = []
    full = os.open("/dev/full", os.O_WRONLY)
    monkeypatch.setattr(terminal, "_STDOUT", full)

    await Terminal(failures.append).write_log(Stream.STDOUT, b"line\n")
    os.close(full)

    assert [error.errno for error in failures] == [errno.ENOSPC]
