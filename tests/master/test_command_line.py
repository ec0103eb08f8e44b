"""`mesos-master` as users start and end it."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tfmesos.cli.mesos_master import main
from tfmesos.version import __version__

PROGRAM = (sys.executable, "-m", "tfmesos.cli.mesos_master")


def test_help_and_version_win_over_everything_else(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--no-such", "--help"]) == 0
    assert "--work_dir=VALUE" in capsys.readouterr().out
    assert main(["--no-such", "--version"]) == 0
    assert capsys.readouterr().out == f"mesos 1.11.0 (TFMesos {__version__})\n"


def test_help_loads_no_server() -> None:
    script = (
        "import sys; from tfmesos.cli.mesos_master import main; main(['--help']); sys.exit('aiohttp' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", script], stdout=subprocess.DEVNULL, check=False).returncode == 0


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["--foo=1"], "Failed to load unknown flag 'foo'"),
        (["--port=x", "--registry=in_memory"], "Failed to load flag 'port'"),
        (["--port=5", "--port=6"], "Flag 'port' is already loaded via name 'port'"),
        ([], "--work_dir needed for replicated log based registry"),
        (["--registry=x"], "'x' is not a supported option for registry persistence"),
        (["--registry=in_memory", "--port=70000"], "--port=70000: a port is between 0 and 65535"),
        (["--registry=in_memory", "--advertise_port=-1"], "--advertise_port=-1: a port is between 0 and 65535"),
        (
            ["--registry=in_memory", "--max_completed_frameworks=-1"],
            "--max_completed_frameworks=-1: a number from 0 is wanted",
        ),
        (["--registry=in_memory", "--agent_ping_timeout=1ms"], "Must be between 1secs and 15mins"),
        (["--registry=in_memory", "--agent_reregister_timeout=1mins"], "Must be at least 10mins"),
        (["--registry=in_memory", "--allocation_interval=0secs"], "Must be at least 1ms"),
        (["--registry=in_memory", "--max_agent_ping_timeouts=0"], "Must be at least 1"),
        (["--registry=in_memory", "--weights=a"], "Invalid weight: 'a'"),
        (["--registry=in_memory", "--logging_level=DEBUG"], "'DEBUG' is not a valid logging level: use 'INFO'"),
        (["--registry=in_memory", "--logging_level=FOO"], "'FOO' is not a valid logging level: use 'INFO'"),
        (["--registry=in_memory", "--weights=a=0"], "Weights must be positive"),
        (["--registry=in_memory", "--min_allocatable_resources=cpus"], "expecting 'name:number'"),
        (["--registry=in_memory", "--min_allocatable_resources=cpus:inf"], "expecting 'name:number'"),
        (["--registry=in_memory", "--ip=203.0.113.77", "--port=0"], "cannot listen on 203.0.113.77:0"),
        (["--work_dir=/dev/null/x"], "cannot use work_dir '/dev/null/x': Not a directory"),
        (
            ["--registry=in_memory", "--log_dir=/dev/null/x"],
            "--log_dir=/dev/null/x: cannot write /dev/null/x/mesos-master.INFO: Not a directory",
        ),
    ],
)
def test_wrong_usage_is_one_clear_text_and_status_1(
    words: list[str], text: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("MESOS_WORK_DIR", raising=False)
    assert main(["--quiet", *words]) == 1
    error = capsys.readouterr().err
    assert text in error
    assert "Traceback" not in error


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_cleanly(number: signal.Signals, tmp_path: Path) -> None:
    words = [*PROGRAM, "--ip=127.0.0.1", "--port=0", f"--work_dir={tmp_path}"]
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        assert "listens on 127.0.0.1:" in process.stderr.readline()
        process.send_signal(number)
        assert process.wait(10) == 0
        last = process.stderr.read()
    assert last.splitlines() == [last.rstrip()]
    assert last.endswith(f"{number.name}: this program ends\n")


def test_flags_may_come_from_the_environment(tmp_path: Path) -> None:
    environment = {"MESOS_WORK_DIR": str(tmp_path), "MESOS_PORT": "0", "MESOS_NO_SUCH": "1"}
    with subprocess.Popen(PROGRAM, env=environment, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        assert "listens on" in process.stderr.readline()
        process.terminate()
        assert process.wait(10) == 0


def test_the_log_goes_to_a_file_that_may_be_moved_away(tmp_path: Path) -> None:
    log = tmp_path / "log" / "mesos-master.INFO"
    words = [*PROGRAM, "--port=0", "--registry=in_memory", f"--log_dir={log.parent}"]
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        address = process.stderr.readline().partition("listens on ")[2].split()[0]
        assert f"listens on {address}" in log.read_text()
        log.rename(log.with_suffix(".1"))
        host, port = address.split(":")
        with socket.create_connection((host, int(port))) as scheduler:
            call = b'{"type":"SUBSCRIBE","subscribe":{"framework_info":{"user":"u","name":"logged"}}}'
            head = "POST /api/v1/scheduler HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
            scheduler.sendall(f"{head}Content-Length: {len(call)}\r\n\r\n".encode() + call)
            assert b"200 OK" in scheduler.recv(100)
        assert "logged" in process.stderr.readline()
        assert "(logged)" in log.read_text()
        process.terminate()
        assert process.wait(10) == 0
