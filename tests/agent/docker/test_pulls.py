"""Images of a Docker engine: pulled when they are not there, or when it is said so."""

from __future__ import annotations

import asyncio
import dataclasses
import tarfile
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
    flags: AgentFlags, configure: Configure, start_registry: StartRegistry, tmp_path: Path
) -> None:
    registry = start_registry(credentials=Credentials())
    registry.push(busybox_image(environment=("PATH=/bin", "TEXT=private")), "docker-private:1")
    docker = {"image": f"{registry.host}/docker-private:1", "force_pull_image": True}
    stranger = await containerizer_of(flags)
    known = configure("echo $TEXT", "known", docker=docker)
    known.command.uris.add(value=str(archive_of(registry.docker_config, tmp_path)))

    with pytest.raises(LaunchFailed, match="no basic auth credentials"):
        await stranger.launch(configure("true", "unknown", docker=docker))
    assert await printed(stranger, known) == "private\n"
    await stranger.close(end_detached=True)

    trusted = await containerizer_of(dataclasses.replace(flags, docker_config=registry.docker_config))
    assert await printed(trusted, configure("echo $TEXT", "trusted", docker=docker)) == "private\n"
    await trusted.close(end_detached=True)


def archive_of(docker_config: str, folder: Path) -> Path:
    """As people bring their credentials to Mesos."""
    (folder / "config.json").write_text(docker_config)
    with tarfile.open(folder / "docker.tar.gz", "w:gz") as archive:
        archive.add(folder / "config.json", ".docker/config.json")
    return folder / "docker.tar.gz"


@pytest.mark.parametrize("kind", ["a folder", "nested"])
async def test_what_was_fetched_and_is_no_file_of_credentials_is_none(
    containerizer: Containerizer, configure: Configure, start_registry: StartRegistry, tmp_path: Path, kind: str
) -> None:
    registry = start_registry(credentials=Credentials())
    (folder := tmp_path / "fetched").mkdir()
    (folder / ".docker").mkdir()
    if kind == "a folder":
        (folder / ".docker/config.json").mkdir()
    else:
        (folder / ".docker/config.json").write_text('{"auths":' * 100_000)
    config = configure("true", docker={"image": f"{registry.host}/docker-private:1", "force_pull_image": True})
    config.command.uris.add(value=str(tmp_path / "fetched.tar"))
    with tarfile.open(tmp_path / "fetched.tar", "w") as archive:
        archive.add(folder, ".")

    with pytest.raises(LaunchFailed, match="no basic auth credentials"):
        await containerizer.launch(config)


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
    news = await container.wait_running()
    assert container.main_pid is not None
    assert news is not None

    assert "hidden" not in command_line(container.main_pid)
    assert b'"TOKEN=***"' in news.data
    assert b"hidden" not in news.data
    container.kill(0.0)
    await container.wait()
    assert output(container) == "hidden\n"
