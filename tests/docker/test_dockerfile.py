"""docker/Dockerfile builds, on a base that stands in for Python's: its pip only writes down what it is to install."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import offline_image
import pytest

from tests.dockerd import Dockerd
from tests.images import File, busybox_image

ROOT = Path(__file__).parents[2]
PIP = b'#!/bin/sh\necho "$@" >> /installed\n'


@pytest.mark.parametrize(
    ("target", "name", "installed", "environment"),
    [
        ("cpu", "tfmesos/tfmesos", ["install /usr/src/tfmesos[tensorflow]"], []),
        (
            "gpu",
            "tfmesos/tfmesos:gpu",
            ["install /usr/src/tfmesos[tensorflow]", "install tensorflow[and-cuda]"],
            list(offline_image.GPU),
        ),
    ],
)
def test_it_builds(dockerd: Dockerd, target: str, name: str, installed: list[str], environment: list[str]) -> None:
    # Given an image of the base's name
    dockerd.load(busybox_image({"usr/bin/pip": File(content=PIP, mode=0o755)}), "python:3.12-slim-bookworm")
    # When it is built, as its first lines say
    words = ["build", "-f", "docker/Dockerfile", "--target", target, "-t", name, "."]
    built = subprocess.run(
        dockerd.command(*words),
        cwd=ROOT,
        env={**os.environ, "DOCKER_BUILDKIT": "0"},  # the engine of Debian 12 has no other builder
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert built.returncode == 0, built.stdout + built.stderr
    # Then all that it wants is installed, from what is in the image
    assert dockerd.run("run", "--rm", name, "cat", "/installed").splitlines() == installed
    assert dockerd.run("run", "--rm", name, "ls", "-A", "/usr/src/tfmesos").split() == [
        "LICENSE",
        "README.md",
        "pyproject.toml",
        "src",
    ]
    # And jobs that are started in it run in it
    (described,) = json.loads(dockerd.run("image", "inspect", name))
    assert {f"DOCKER_IMAGE={name}", *environment} <= set(described["Config"]["Env"])
