"""`mesos-agent`, the program."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import IO

import pytest

from tests.agent.in_test_master import InTestMaster, command_task
from tests.agent.waiting import eventually
from tfmesos.cli.mesos_agent import main
from tfmesos.version import __version__
from tfmesos.wire import internal_pb2, mesos_pb2


@asynccontextmanager
async def program(*words: str, stderr: IO[bytes] | int | None = None) -> AsyncIterator[asyncio.subprocess.Process]:
    """The program with these words; killed at the end if it still runs."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tfmesos.cli.mesos_agent", *words, stderr=stderr
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


def words_for(master: InTestMaster, work_dir: Path, *more: str) -> list[str]:
    return [
        f"--master=127.0.0.1:{master.pid.port}",
        f"--work_dir={work_dir}",
        "--port=0",
        "--no-switch_user",
        "--registration_backoff_factor=0secs",
        *more,
    ]


def lives(pid: str) -> bool:
    return Path("/proc", pid).exists()


async def run_long_task(master: InTestMaster, pids: Path) -> list[str]:
    """Start a task with a grandchild in a session of its own; returns all their pids."""
    await master.wait_for(internal_pb2.RegisterSlaveMessage)
    master.ping()
    await master.wait_for(internal_pb2.PongSlaveMessage)
    master.run(command_task("long", f"setsid sleep 1000 & echo $! $$ > {pids}; exec sleep 1000"))
    await master.wait_for_state("long", mesos_pb2.TASK_RUNNING)
    return await eventually(lambda: pids.exists() and pids.read_text().split()) or []


async def test_sigterm_ends_the_tasks_and_the_program(master: InTestMaster, tmp_path: Path) -> None:
    async with program(*words_for(master, tmp_path / "work")) as process:
        pids = await run_long_task(master, tmp_path / "pids")

        process.send_signal(signal.SIGTERM)

        async with asyncio.timeout(60):
            assert await process.wait() == 0
    assert not list(filter(lives, pids))


async def test_kill_9_leaves_no_process_behind(master: InTestMaster, tmp_path: Path) -> None:
    async with program(*words_for(master, tmp_path / "work")) as process:
        pids = await run_long_task(master, tmp_path / "pids")

        process.kill()

        await eventually(lambda: not list(filter(lives, pids)))


async def test_a_restarted_agent_is_a_new_one(master: InTestMaster, tmp_path: Path) -> None:
    words = words_for(master, tmp_path / "work")
    async with program(*words):
        await master.wait_for(internal_pb2.RegisterSlaveMessage)
    async with program(*words):
        again = await master.wait_for(internal_pb2.RegisterSlaveMessage, count=2)
    assert not again.slave.HasField("id")


async def test_sigusr1_unregisters(master: InTestMaster, tmp_path: Path) -> None:
    async with program(*words_for(master, tmp_path / "work"), stderr=asyncio.subprocess.PIPE) as process:
        await run_long_task(master, tmp_path / "pids")
        process.send_signal(signal.SIGUSR1)
        await master.wait_for(internal_pb2.UnregisterSlaveMessage)
        async with asyncio.timeout(60):
            _, said = await process.communicate()
    assert process.returncode == 0
    assert b"SIGUSR1: this agent unregisters and ends\n" in said


@pytest.mark.parametrize(("order", "status"), [("Agent has been marked gone", 3), ("Machine is `DOWN`", 1)])
async def test_its_status_says_whether_it_is_gone(
    master: InTestMaster, tmp_path: Path, order: str, status: int
) -> None:
    async with program(*words_for(master, tmp_path / "work", "--quiet"), stderr=asyncio.subprocess.PIPE) as process:
        pids = await run_long_task(master, tmp_path / "pids")
        master.send(internal_pb2.ShutdownMessage(message=order))
        _, errors = await process.communicate()

    assert (process.returncode, errors.decode()) == (status, f"the master ordered this agent to shut down: {order}\n")
    assert not list(filter(lives, pids))


@pytest.mark.parametrize(
    ("more", "text"),
    [
        (["--resources=cpus"], "--resources: "),
        (["--ip=example"], "--ip: 'example' is not an IPv4 address"),
        (["--launcher=docker"], "'docker' is not supported yet; it can be posix or linux"),
        (["--nonsense"], "Failed to load unknown flag 'nonsense'"),
        (["--attributes=x"], "--attributes: "),
        (["--advertise_port=70000"], "a port is between 0 and 65535"),
        (["--advertise_port=-1"], "Failed to convert '-1' to number"),
        (["--executor_reregistration_timeout=16secs"], "'16secs': executors may take 15secs at most"),
        (["--max_completed_frameworks=-1"], "Failed to convert '-1' to number"),
    ],
)
async def test_wrong_usage_is_one_text_and_status_1(
    master: InTestMaster, tmp_path: Path, more: list[str], text: str
) -> None:
    with (tmp_path / "errors").open("wb") as errors:
        async with program(*words_for(master, tmp_path / "work", *more), stderr=errors) as process:
            assert await process.wait() == 1

    printed = (tmp_path / "errors").read_text()
    assert text in printed
    assert "Traceback" not in printed


def test_a_master_that_is_none_is_wrong_usage(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--master=host:x", f"--work_dir={tmp_path}", "--quiet"]) == 1
    text = "master address 'host:x': 'x' is no port; a port is a number from 1 to 65535\n"
    assert capsys.readouterr().err == f"{text}See `mesos-agent --help` for a list of supported flags.\n"


async def test_a_work_dir_in_use_is_one_text_and_status_1(master: InTestMaster, tmp_path: Path) -> None:
    words = words_for(master, tmp_path / "work")
    async with program(*words):
        await master.wait_for(internal_pb2.RegisterSlaveMessage)
        with (tmp_path / "errors").open("wb") as errors:
            async with program(*words, stderr=errors) as second:
                assert await second.wait() == 1

    printed = (tmp_path / "errors").read_text()
    assert printed.endswith("/work; give this one a --work_dir of its own\n")
    assert printed.startswith("another agent uses the work directory /")


def test_help_and_version_need_nothing_else(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    assert "--work_dir=" in capsys.readouterr().out
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"mesos 1.11.0 (TFMesos {__version__})\n"


async def test_cleanup_needs_no_master_and_ends_by_itself(tmp_path: Path) -> None:
    words = ("--master=127.0.0.1:1", f"--work_dir={tmp_path}", "--recover=cleanup", "--quiet")
    async with program(*words, stderr=asyncio.subprocess.PIPE) as process:
        _, errors = await process.communicate()

    assert (process.returncode, errors) == (0, b"")


async def test_checkpoints_of_another_version_are_refused_in_one_line(master: InTestMaster, tmp_path: Path) -> None:
    (tmp_path / "meta").mkdir()
    journal = tmp_path / "meta" / "agent.journal"
    journal.write_text("tfmesos-journal agent 99\n")
    async with program(*words_for(master, tmp_path, "--quiet"), stderr=asyncio.subprocess.PIPE) as process:
        _, errors = await process.communicate()

    assert process.returncode == 1
    assert errors.decode() == (
        f"cannot recover from {journal}: found agent format 99, expected agent format 1: move the file away to start "
        "without its contents\n"
    )
