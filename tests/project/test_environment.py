"""`make demo` and `make test` say in one line which Python they need."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    """A directory that is the whole path: no Python in it."""
    directory = tmp_path / "bin"
    directory.mkdir()
    for name in ("sh", "uname", "echo"):
        (directory / name).symlink_to(shutil.which(name) or "")
    return directory


def add_python(programs: Path, name: str, version: str) -> Path:
    """An interpreter that knows its version and nothing else."""
    program = programs / name
    program.write_text(f'#!/bin/sh\ncase "$2" in *version_info*) echo {version};; *) exit 1;; esac\n')
    program.chmod(0o755)
    return program


def make_environment(programs: Path, tmp_path: Path, python: str = "") -> subprocess.CompletedProcess[str]:
    script: list[str | Path] = [programs / "sh", ROOT / "scripts" / "environment.sh", tmp_path / "venv", "dev"]
    variables = {"PATH": str(programs), "PYTHON": python, "HOME": os.environ.get("HOME", "/")}
    return subprocess.run(script, cwd=tmp_path, env=variables, capture_output=True, text=True, check=False)


def test_without_a_fitting_python_the_versions_are_named(programs: Path, tmp_path: Path) -> None:
    add_python(programs, "python3", "3.9")

    done = make_environment(programs, tmp_path)

    assert done.returncode != 0
    assert "needs Python 3.11, 3.12 or 3.13 (python3 here: 3.9)" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_python_that_does_not_fit_is_refused_by_name(programs: Path, tmp_path: Path) -> None:
    chosen = add_python(programs, "old", "3.10")

    done = make_environment(programs, tmp_path, python=str(chosen))

    assert done.returncode != 0
    assert done.stderr == f"PYTHON={chosen} is no Python 3.11, 3.12 or 3.13 (it answers: 3.10).\n"


def test_a_python_without_venv_names_the_package(programs: Path, tmp_path: Path) -> None:
    add_python(programs, "python3.12", "3.12")

    done = make_environment(programs, tmp_path)

    assert done.returncode != 0
    assert done.stderr == "python3.12 has no venv module. On Debian and Ubuntu: apt-get install python3-venv\n"
