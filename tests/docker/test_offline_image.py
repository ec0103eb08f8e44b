"""docker/offline_image.py makes images that run, out of what is installed here."""

from __future__ import annotations

import json
import subprocess
import sys
import tarfile
from pathlib import Path

import offline_image
import pytest

from tests.debian import wants_debians_python
from tests.dockerd import Dockerd

SCRIPT = Path(offline_image.__file__)
NO_NAME = "is not REPOSITORY:TAG, as tfmesos/tfmesos:latest (in small letters)"


def test_the_image_runs_python(dockerd: Dockerd, python_archive: Path) -> None:
    # Given the image that tests share, which has no Python packages
    dockerd.run("load", "--input", python_archive)
    # When something of Debian's python3 is run in it
    program = "import ssl, sqlite3, json, sys; print(sys.version_info[0], open('/etc/os-release').readline())"
    shown = dockerd.run("run", "--rm", "python:3", "python", "-c", program)
    # Then it is there
    assert shown.startswith('3 PRETTY_NAME="Debian')


@wants_debians_python
def test_python_packages_come_with_what_they_need(tmp_path: Path, dockerd: Dockerd) -> None:
    # Given an image with TFMesos
    archive = tmp_path / "image.tar"
    words = ["--tag=tfmesos/offline:1", "--python=TFMesos", "--gpu", str(archive)]
    subprocess.run([sys.executable, SCRIPT, *words], check=True)
    dockerd.run("load", "--input", archive)
    # When its programs are run, then they find their packages
    assert dockerd.run("run", "--rm", "tfmesos/offline:1", "tfrun", "--version").startswith("tfrun ")
    assert dockerd.run("run", "--rm", "tfmesos/offline:1", "python", "-c", "import aiohttp, google.protobuf") == ""
    # And what a task must have is said as docker/Dockerfile says it
    with tarfile.open(archive) as tar:
        manifest = tar.extractfile("manifest.json")
        assert manifest is not None
        config = tar.extractfile(json.load(manifest)[0]["Config"])
        assert config is not None
        environment = json.load(config)["config"]["Env"]
    assert "NVIDIA_VISIBLE_DEVICES=all" in environment


@wants_debians_python
@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["--tag=it:1", "--debian=no-such-package"], "no-such-package is not installed here"),
        (["--tag=it:1", "--python=no-such-package"], "no-such-package is not installed here"),
        (["--tag=it"], f"--tag=it {NO_NAME}"),
        (["--tag=host:5000/it"], f"--tag=host:5000/it {NO_NAME}"),
        (["--tag=It:1"], f"--tag=It:1 {NO_NAME}"),
    ],
)
def test_what_cannot_be_is_said(tmp_path: Path, words: list[str], text: str) -> None:
    ended = subprocess.run([sys.executable, SCRIPT, *words, tmp_path / "image.tar"], capture_output=True, text=True)
    assert (ended.returncode, ended.stderr) == (1, f"offline_image.py: {text}\n")
    assert not (tmp_path / "image.tar").exists()
