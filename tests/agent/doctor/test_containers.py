"""What is told of images, volumes and the Docker engine."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from tests.dockerd import Dockerd
from tfmesos.agent.doctor import DoctorFlags, Finding, examine

pytestmark = [pytest.mark.root, pytest.mark.skipif(os.geteuid() != 0, reason="needs root")]
VIEWS = "filesystem/linux,docker/runtime"


async def found(flags: DoctorFlags) -> dict[str, Finding]:
    return {finding.subject: finding for finding in (await examine(flags)).findings}


async def test_what_images_need_is_there(tmp_path: Path) -> None:
    flags = DoctorFlags(
        isolation=VIEWS,
        image_providers=("DOCKER",),
        work_dir=str(tmp_path),
        docker_store_dir=str(tmp_path / "store"),
        port=0,
    )
    findings = await found(flags)
    assert {name: findings[name].text for name in ("OCI runtime", "skopeo", "umoci", "overlay")} == {
        "OCI runtime": "/usr/sbin/runc",
        "skopeo": "/usr/bin/skopeo",
        "umoci": "/usr/bin/umoci",
        "overlay": f"works in {tmp_path}",
    }
    assert os.listdir(tmp_path) == []


async def test_what_is_not_there_is_only_missing_where_it_is_needed(tmp_path: Path) -> None:
    socket = str(tmp_path / "socket")
    without = await found(DoctorFlags(oci_runtime="nope", docker_socket=socket, port=0))
    wanting = await found(
        DoctorFlags(
            oci_runtime="nope", docker_socket=socket, isolation=VIEWS, containerizers=("docker", "mesos"), port=0
        )
    )
    for subject in ("OCI runtime", "Docker engine"):
        assert (without[subject].is_there, without[subject].is_missing) == (False, False)
        assert wanting[subject].is_missing
    assert (
        wanting["OCI runtime"].line().startswith("missing  OCI runtime       --oci_runtime: there is no program 'nope'")
    )
    assert socket in wanting["Docker engine"].text


async def test_an_engine_that_answers_is_told(dockerd: Dockerd) -> None:
    finding = (await found(DoctorFlags(docker_socket=str(dockerd.socket), port=0)))["Docker engine"]
    assert finding.is_there
    assert finding.text.endswith(f" at {dockerd.socket}")


async def test_a_directory_of_archives_is_looked_for(tmp_path: Path) -> None:
    wanting = DoctorFlags(image_providers=("DOCKER",), isolation=VIEWS, port=0)
    here = await found(replace(wanting, docker_registry=str(tmp_path)))
    nowhere = await found(replace(wanting, docker_registry=f"{tmp_path}/no"))

    assert here["docker_registry"].text == str(tmp_path)
    assert nowhere["docker_registry"].is_missing
    assert "docker_registry" not in await found(wanting)
