"""Programs that others wrote for Apache Mesos, as the Python package index has them, each in an environment of its own.

PyPI `avmesos` (a framework's library) and `avmesos-cli` (operators' commands) both are the package `avmesos` and
overwrite each other's `avmesos/__init__.py`, so they cannot share one. avmesos-cli 1.0.0 imports `requests` without
asking for it, and `imp`, which Python 3.12 has no more: there PyPI `zombie-imp` stands in for it.
"""

import os
import subprocess
import sysconfig
import venv
from pathlib import Path

import pytest

_FOLDER = Path.home() / ".cache" / "tfmesos-foreign-clients" / sysconfig.get_python_version()
_READY = "ready"
_PATIENCE_S = 300


def environment_with(name: str, *requirements: str) -> Path:
    """The folder of an environment that has these; made once, then kept. Skips where the index cannot be reached."""
    folder = _FOLDER / name
    stamp = folder / _READY
    if not stamp.exists() or stamp.read_text() != " ".join(requirements):
        venv.create(folder, clear=True, with_pip=True)
        installed = subprocess.run(
            [
                folder / "bin" / "python",
                "-m",
                "pip",
                "install",
                "--quiet",
                "--disable-pip-version-check",
                *requirements,
            ],
            capture_output=True,
            text=True,
            timeout=_PATIENCE_S,
            check=False,
        )
        if installed.returncode != 0:
            pytest.skip(f"pip cannot install {' '.join(requirements)}: {installed.stderr.strip()[-300:]}")
        stamp.write_text(" ".join(requirements))
    return folder


def run_in(folder: Path, *argv: str, environ: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """Run a program of an environment; what it wrote is in the answer."""
    return subprocess.run(
        argv,
        executable=folder / "bin" / argv[0],
        env={**_environ(folder), **(environ or {})},
        capture_output=True,
        text=True,
        timeout=_PATIENCE_S,
        check=False,
        stdin=subprocess.DEVNULL,
    )


def start_in(folder: Path, *argv: str) -> subprocess.Popen[str]:
    """Start a program of an environment, its output to be read."""
    return subprocess.Popen(
        argv, executable=folder / "bin" / argv[0], env=_environ(folder), stdout=subprocess.PIPE, text=True
    )


def _environ(folder: Path) -> dict[str, str]:
    return {"PATH": f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}", "HOME": os.environ.get("HOME", "/")}
