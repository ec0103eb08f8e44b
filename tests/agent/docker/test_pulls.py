"""Images of a Docker engine: pulled when they are not there, or when it is said so."""

from __future__ import annotations

import asyncio
import dataclasses
from pathlib import Path

import pytest

from tests.agent.docker.conftest import Configure, containerizer_of, output
from tests.dockerd import Dockerd
from tests.images import busybox_image
from tests.registry import Credentials, Registry, StartRegistry
from tfmesos.agent import AgentFlags
from tfmesos.agent.containerizer import ContainerConfig, Containerizer, LaunchFailed
from tfmesos.agent.docker.images import with_tag

pytestmark = pytest.mark.root


async def printed(containerizer: Containerizer, config: ContainerConfig) -> str:
    container = await containerizer.launch(config)
    await container.open_gate()
    await container.wait()
    return output(container)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("ubuntu", "ubuntu:latest"),
        ("ubuntu:22", "ubuntu:22"),
        ("host:5000/a/b", "host:5000/a/b:latest"),
        ("host:5000/a/b:1", "host:5000/a/b:1"),
        ("a@sha256:00", "a@sha256:00"),
    ],
)
def test_an_image_without_a_tag_is_the_latest(name: str, expected: str) -> None:
    assert with_tag(name) == expected


async def test_an_image_is_pulled_once_and_again_by_force(
    containerizer: Containerizer, configure: Configure, registry: Registry
) -> None:
    reference = f"{registry.host}/docker-pulls:1"
    registry.push(busybox_image(environment=("PATH=/bin", "TEXT=old")), "docker-pulls:1")

    first, second = await asyncio.gather(
        *(printed(containerizer, configure("echo $TEXT", name, docker={"image": reference})) for name in ("a", "b"))
    )
    assert registry.pulls_of("docker-pulls") == 1
    registry.push(busybox_image(environment=("PATH=/bin", "TEXT=new")), "docker-pulls:1")
    kept = await printed(containerizer, configure("echo $TEXT", "c", docker={"image": reference}))
    forced = {"image": reference, "force_pull_image": True}

    assert (first, second, kept) == ("old\n", "old\n", "old\n")
    assert await printed(containerizer, configure("echo $TEXT", "d", docker=forced)) == "new\n"


async def test_a_registry_that_wants_to_know_who_asks(
    flags: AgentFlags, configure: Configure, engine: Dockerd, start_registry: StartRegistry
) -> None:
    registry = start_registry(credentials=Credentials())
    registry.push(busybox_image(environment=("PATH=/bin", "TEXT=private")), "docker-private:1")
    config = configure("echo $TEXT", docker={"image": f"{registry.host}/docker-private:1"})

    stranger = await containerizer_of(flags)
    with pytest.raises(LaunchFailed, match="no basic auth credentials"):
        await stranger.launch(config)
    await stranger.close(end_detached=True)
    known = await containerizer_of(dataclasses.replace(flags, docker_config=registry.docker_config))
    assert await printed(known, configure("echo $TEXT", "d", docker={"image": f"{registry.host}/docker-private:1"}))
    await known.close(end_detached=True)


def command_line(pid: int) -> str:
    return Path(f"/proc/{pid}/cmdline").read_text()


async def test_a_secret_reaches_the_container_only(
    containerizer: Containerizer, configure: Configure, engine: Dockerd
) -> None:
    config = configure("echo $TOKEN; sleep 60")
    variable = config.command.environment.variables.add(name="TOKEN")
    variable.type = variable.SECRET
    variable.secret.type = variable.secret.VALUE
    variable.secret.value.data = b"hidden"
    container = await containerizer.launch(config)
    await container.open_gate()
    await container.wait_running()
    assert container.main_pid is not None

    assert "hidden" not in command_line(container.main_pid)
    container.kill(0.0)
    await container.wait()
    assert output(container) == "hidden\n"
