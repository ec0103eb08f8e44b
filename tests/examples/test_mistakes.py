"""A mistake of the user's is told by the examples in one line, with the status that tfrun has for it."""

from __future__ import annotations

import socket
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def run(*words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, *words]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)


def test_a_master_that_is_not_there() -> None:
    with socket.socket() as bound:  # bound and not listening: connections are refused
        bound.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{bound.getsockname()[1]}"

        done = run("examples/plus.py", address)

    assert done.returncode == 69
    assert done.stderr.startswith(f"plus.py: no master reached at {address}")
    assert len(done.stderr.splitlines()) == 1


def test_gpus_where_there_are_none() -> None:
    pytest.importorskip("numpy")

    done = run("examples/mnist/mnist.py", "--worker-gpus", "1")

    assert done.returncode == 69
    assert done.stderr.startswith("mnist.py: the job asks for 2 gpus")
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ("words", "text"), [(["-w", "0"], "at least one worker"), (["--train-steps", "0"], "at least one training step")]
)
def test_nothing_to_do(words: list[str], text: str) -> None:
    pytest.importorskip("numpy")

    done = run("examples/mnist/mnist.py", *words)

    assert done.returncode == 2
    assert text in done.stderr.splitlines()[-1]
