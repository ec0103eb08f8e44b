"""Standard output that cannot be written is told in one line, by every program."""

import subprocess
import sys

import pytest

PROGRAMS = ("tfrun", "mesos_master", "mesos_agent", "mesos_execute")


def run(program: str, word: str, output: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        ["bash", "-c", f'"$0" -m "tfmesos.cli.$1" {word} {output}; exit ${{PIPESTATUS[0]}}', sys.executable, program],
        stderr=subprocess.PIPE,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize("word", ["--help", "--version"])
@pytest.mark.parametrize("program", PROGRAMS)
def test_a_full_disk(program: str, word: str) -> None:
    result = run(program, word, ">/dev/full")

    assert result.returncode == 1
    assert "cannot write to standard output: No space left on device" in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_reader_that_goes_away(program: str) -> None:
    result = run(program, "--help", "| true")

    assert result.returncode in (0, 141)
    assert result.stderr == ""
