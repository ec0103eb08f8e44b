"""`tfrun --tensorboard`, with a program in TensorBoard's place that says what it says and serves the directory."""

import os
import re
import signal
from pathlib import Path
from urllib.request import urlopen

import pytest

from tests.cli.programs import TFRUN, Workplace

PROGRAM = """
import http.server, os, sys
given = dict(zip(sys.argv[1::2], sys.argv[2::2]))
assert given["--port"] == "0", sys.argv
os.chdir(given["--logdir"])
server = http.server.HTTPServer((given["--host"], 0), http.server.SimpleHTTPRequestHandler)
address = f"http://localhost:{server.server_port}/"
print(f"TensorBoard 2.21.0 at {address} (Press CTRL+C to quit)", file=sys.stderr, flush=True)
server.serve_forever()
"""
HOLD = ("sh", "-c", "echo up; exec sleep 1000")


@pytest.fixture
def installed(workplace: Workplace) -> dict[str, str]:
    """The environment in which it is found."""
    package = workplace.directory / "site" / "tensorboard"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "main.py").write_text(PROGRAM)
    return {"PYTHONPATH": str(package.parent)}


def test_two_jobs_have_one_each_and_their_addresses_are_told(workplace: Workplace, installed: dict[str, str]) -> None:
    seen: list[str] = []
    words = (*TFRUN, "--tensorboard", str(workplace.home), "-w", "1", "--", *HOLD)
    (workplace.home / "events").write_text("4711")
    with workplace.started(*words, **installed) as one, workplace.started(*words, **installed) as other:
        for program in (one, other):
            errors = program.wait_error("tfrun: TensorBoard: http://localhost:")
            errors = program.wait_error("/\n")
            (address,) = re.findall(r"^tfrun: TensorBoard: (\S+)$", errors, re.MULTILINE)
            seen.append(address)
            with urlopen(f"{address}events", timeout=10) as answer:
                assert answer.read() == b"4711"
            program.wait_output("up")
        one.signal(signal.SIGINT)
        assert one.wait().status == 130
        os.kill(other.pid, signal.SIGKILL)

    assert len(set(seen)) == 2
    workplace.wait_empty()


def test_it_ends_with_the_job(workplace: Workplace, installed: dict[str, str]) -> None:
    result = workplace.run(*TFRUN, "--tensorboard", str(workplace.home), "-w", "1", "--", "true", **installed)

    assert result.status == 0
    workplace.wait_empty()


def test_its_end_is_told_and_ends_no_job(workplace: Workplace, installed: dict[str, str]) -> None:
    waiting = ("sh", "-c", "until test -e told; do sleep 0.05; done")
    with workplace.started(
        *TFRUN, "--tensorboard", "/no/such/directory", "-w", "1", "--", *waiting, **installed
    ) as program:
        program.wait_error("tfrun: TensorBoard has ended: FileNotFoundError")
        (workplace.home / "told").touch()
        assert program.wait().status == 0


def test_who_has_none_is_told_in_a_line(workplace: Workplace) -> None:
    result = workplace.run(*TFRUN, "--tensorboard", ".", "-w", "1", "--", "true")

    assert (result.status, len(result.errors.splitlines())) == (2, 1)
    assert result.errors.startswith("tfrun: --tensorboard needs TensorBoard: install it with `")
    assert not list(Path(workplace.state).iterdir())
