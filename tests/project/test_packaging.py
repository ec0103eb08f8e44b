"""C1: the wheel installs on every supported Python without a compiler, and its commands answer there."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Sequence
from pathlib import Path

import pytest

from tfmesos.version import __version__

ROOT = Path(__file__).parents[2]
VERSIONS = ("3.11", "3.12", "3.13")
COMMANDS = ("tfrun", "mesos-master", "mesos-agent", "mesos-execute")
ONLY_WHEELS = "--only-binary=:all:"

pytestmark = [pytest.mark.network, pytest.mark.timeout(300)]


def run(command: Sequence[str | Path], **variables: str) -> str:
    environment = {**os.environ, "PIP_DISABLE_PIP_VERSION_CHECK": "1", **variables}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command}: status {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("wheel")
    pip = [sys.executable, "-m", "pip"]
    reachable = subprocess.run(
        [*pip, "download", "--quiet", "--no-deps", "--dest", directory / "probe", "hatchling"],
        capture_output=True,
        check=False,
    )
    if reachable.returncode != 0:
        pytest.skip("no package index can be reached")
    run([*pip, "wheel", "--quiet", "--no-deps", "--wheel-dir", directory, ROOT])
    (built,) = directory.glob("*.whl")
    return built


def find_interpreter(version: str) -> str | None:
    """A Python of this version: the one that runs the tests, one on the path, or one of pyenv's."""
    candidates = [sys.executable, shutil.which(f"python{version}")]
    candidates += map(str, sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin/python")))
    for candidate in filter(None, candidates):
        question = "import sys, venv, ensurepip; print('%d.%d' % sys.version_info[:2])"
        answer = subprocess.run([candidate, "-c", question], capture_output=True, text=True, check=False)
        if answer.stdout.strip() == version:
            return candidate
    return None


def test_the_wheel_is_pure_python_and_complete(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()

    assert wheel.name.endswith("-py3-none-any.whl")
    sources = {str(path.relative_to(ROOT / "src")) for path in (ROOT / "src").rglob("*.py")}
    assert sources <= set(names)
    assert "tfmesos/py.typed" in names


@pytest.mark.parametrize("version", VERSIONS)
def test_all_dependencies_are_wheels(wheel: Path, tmp_path: Path, version: str) -> None:
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--dry-run", ONLY_WHEELS]

    run([*pip, "--python-version", version, "--target", tmp_path / "there", wheel])


# Only the versions that are on this machine: the test above holds for the others.
@pytest.mark.parametrize("version", [version for version in VERSIONS if find_interpreter(version)])
def test_the_commands_answer_after_an_installation_without_a_compiler(
    wheel: Path, tmp_path: Path, version: str
) -> None:
    interpreter = find_interpreter(version)
    assert interpreter is not None
    run([interpreter, "-m", "venv", tmp_path / "venv"])
    programs = tmp_path / "venv" / "bin"

    run([programs / "python", "-m", "pip", "install", "--quiet", ONLY_WHEELS, wheel], CC="/bin/false", CXX="/bin/false")

    assert __version__ in run([programs / "tfrun", "--version"])
    for command in COMMANDS:
        assert command in run([programs / command, "--help"])
