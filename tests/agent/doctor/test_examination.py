"""Of this machine."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

import tfmesos.agent.doctor.places
from tfmesos.agent import Agent
from tfmesos.agent.doctor import DoctorFlags, Finding, examine
from tfmesos.agent.sandboxes.work_dir import WorkDir
from tfmesos.transport import TcpAddress


async def found(flags: DoctorFlags) -> dict[str, Finding]:
    return {finding.subject: finding for finding in (await examine(flags)).findings}


AS_NOBODY = """
import os, sys
import pynvml, tfmesos.agent.doctor  # what is imported may lie where only root can read
from tfmesos.cli.mesos_agent import main
os.setgroups([])
os.setresuid(65534, 65534, 65534)
sys.exit(main())
"""


def run(*words: str, program: tuple[str, ...] = ("-m", "tfmesos.cli.mesos_agent")) -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, *program, "--doctor", *words]
    return subprocess.run(argv, capture_output=True, text=True, timeout=60)


def test_it_needs_no_other_flag() -> None:
    done = run("--port=0")

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[-1] == (
        "Nothing is missing that --isolation=posix/cpu,posix/mem needs. For GPUs, look again with "
        "--isolation=cgroups/devices,gpu/nvidia."
    )


def test_wrong_flags_are_refused_as_ever() -> None:
    done = run("--isolation=nonsense")

    assert (done.returncode, done.stdout) == (1, "")
    assert "Unknown or unsupported isolator: nonsense" in done.stderr


async def test_an_isolator_without_the_one_that_it_needs_is_told() -> None:
    finding = (await found(DoctorFlags(isolation="gpu/nvidia", port=0)))["isolators"]

    assert finding.is_missing
    assert "The 'cgroups/devices' or 'cgroups/all' isolator must be enabled" in finding.text


@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_another_user_than_root_is_told_what_only_root_can_do() -> None:
    done = run("--port=0", "--isolation=cgroups/devices", program=("-c", AS_NOBODY))

    lines = {line.split()[1]: line for line in done.stdout.splitlines() if line}
    assert done.returncode == 1, done.stderr
    assert lines["user"].startswith("missing  user")
    assert lines["user"].endswith("; run the agent as root")


@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_where_no_root_is_needed_none_is_asked_for() -> None:
    done = run("--port=0", "--isolation=posix/gpus", program=("-c", AS_NOBODY))

    (line,) = [line for line in done.stdout.splitlines() if line.split()[1:2] == ["user"]]
    assert line.split(maxsplit=2) == [
        "absent",
        "user",
        "65534 is not root, runs only its own user's tasks and isolates nothing",
    ]
    assert "run the agent as root" not in done.stdout


async def test_a_port_that_is_taken_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tfmesos.agent.doctor.places, "_PATIENCE_HERE_S", 0.1)  # who has it answers nothing
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]

        finding = (await found(DoctorFlags(ip="127.0.0.1", port=port)))["port"]

    assert finding.is_missing
    assert finding.text == f"127.0.0.1:{port}: Address already in use"


@pytest.mark.parametrize("ip", ["127.0.0.1", None])
async def test_a_port_that_an_agent_of_this_machine_has_is_no_fault(agent: Agent, ip: str | None) -> None:
    assert isinstance(agent.address, TcpAddress)
    port = agent.address.port

    finding = (await found(DoctorFlags(ip=ip, port=port)))["port"]

    assert finding.is_there
    assert finding.text == (
        f"{ip + ':' if ip else ''}{port}, where an agent runs already; a second needs another --port"
    )


async def test_directories_are_looked_at_and_not_made(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    findings = await found(DoctorFlags(work_dir=f"{tmp_path}/new/work", runtime_dir=f"{tmp_path}/file/run", port=0))

    assert findings["work_dir"].is_there
    assert findings["runtime_dir"].text == f"{tmp_path}/file is no directory"
    assert findings["runtime_dir"].is_missing
    assert not (tmp_path / "new").exists()


@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="others may not write there at all")
@pytest.mark.parametrize("place", ["/proc", "/sys"])
async def test_a_directory_in_which_not_even_root_can_make_one_is_told(place: str) -> None:
    finding = (await found(DoctorFlags(work_dir=f"{place}/foo/bar", port=0)))["work_dir"]

    assert finding.is_missing
    assert finding.text == f"nothing can be made in {place}: Operation not supported"


async def test_a_lock_that_cannot_be_opened_is_told(tmp_path: Path) -> None:
    (tmp_path / "agent.lock").mkdir()

    finding = (await found(DoctorFlags(work_dir=str(tmp_path), port=0)))["work_dir"]

    assert finding.is_missing
    assert finding.text == f"user {os.geteuid()} cannot open {tmp_path}/agent.lock"


async def test_an_agent_that_runs_is_no_fault(tmp_path: Path) -> None:
    work_dir = WorkDir(tmp_path)
    work_dir.lock()
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()

        flags = DoctorFlags(work_dir=str(tmp_path), ip="127.0.0.1", port=taken.getsockname()[1])
        findings = await found(flags)

    work_dir.unlock()
    assert findings["work_dir"].text == f"{tmp_path}, where an agent runs already"
    assert findings["port"].is_there


async def test_a_master_that_does_not_answer_is_told() -> None:
    finding = (await found(DoctorFlags(master="127.0.0.1:1", port=0)))["master"]

    assert finding.is_missing
    assert finding.text == "cannot connect to 127.0.0.1:1: connection refused"


@pytest.mark.parametrize(
    ("answer", "fault"), [("200 OK", ""), ("404 Not Found", " answers, but is no master: /health has status 404")]
)
async def test_a_master_is_told_from_others(answer: str, fault: str) -> None:
    async def reply(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"GET /health ")
        writer.write(f"HTTP/1.1 {answer}\r\nContent-Length: 0\r\n\r\n".encode())
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(reply, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]

        finding = (await found(DoctorFlags(master=f"127.0.0.1:{port}", port=0)))["master"]

    assert finding.is_there is (not fault)
    assert finding.text == (f"127.0.0.1:{port}{fault}" if fault else f"answers at 127.0.0.1:{port}")


async def test_what_is_no_masters_address_is_told() -> None:
    finding = (await found(DoctorFlags(master="127.0.0.1:x", port=0)))["master"]

    assert "'x' is no port" in finding.text
