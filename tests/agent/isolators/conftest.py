"""Isolation by the kernel's cgroups, below a root that only this test knows; programs that start in them."""

from __future__ import annotations

import subprocess
import uuid
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.agent.isolators.containers import Containers, images
from tests.images import saved_v1_archive
from tfmesos.agent import AgentFlags
from tfmesos.agent.assembly import build_containerizer
from tfmesos.agent.containerizer import ContainerConfig, ContainerId, ContainerKind
from tfmesos.agent.isolators import Isolation, build_isolation
from tfmesos.metrics import Metrics
from tfmesos.resources import scalars
from tfmesos.wire import mesos_pb2

Configure = Callable[..., ContainerConfig]
Build = Callable[..., Isolation]


@dataclass
class Programs:
    """Processes that write themselves into cgroups first, as a supervisor's do."""

    running: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def start(self, files: tuple[str, ...], line: str) -> subprocess.Popen[bytes]:
        enter = "".join(f"echo 0 > {file} && " for file in files)
        self.running.append(subprocess.Popen(["sh", "-c", enter + line], stderr=subprocess.DEVNULL))
        return self.running[-1]

    def run(self, files: tuple[str, ...], line: str) -> int:
        return self.start(files, line).wait(timeout=20)


@pytest.fixture
def programs() -> Iterator[Programs]:
    started = Programs()
    yield started
    for process in started.running:
        process.kill()
        process.wait()


@pytest.fixture
async def build(tmp_path: Path, cgroups_root: str) -> AsyncIterator[Build]:
    """`build("cgroups/mem")`: what an agent with that --isolation has; with its flags if there are more."""
    built: list[Isolation] = []

    def make(isolation: str, others: Any = (), owner: str = "this", **flags: Any) -> Isolation:
        given = AgentFlags(
            master="none", work_dir=str(tmp_path), isolation=isolation, cgroups_root=cgroups_root, **flags
        )
        built.append(build_isolation(given, owner, others))
        return built[-1]

    yield make
    for isolation in built:
        await isolation.close()


@pytest.fixture
def configure(tmp_path: Path) -> Configure:
    """A container that may use these cpus, mem and gpus; nested if a parent is given."""

    def make(
        name: str = "c",
        parent: ContainerId | None = None,
        resources: dict[str, float] | None = None,
        *,
        shares_cgroups: bool | None = None,
        **changes: Any,
    ) -> ContainerConfig:
        amounts = {"cpus": 0.5, "mem": 64.0} if resources is None else resources
        container = mesos_pb2.ContainerInfo(type=mesos_pb2.ContainerInfo.MESOS)
        if shares_cgroups is not None:
            container.linux_info.share_cgroups = shares_cgroups
        return ContainerConfig(
            id=ContainerId(f"{name}-{uuid.uuid4().hex[:8]}", parent),
            kind=ContainerKind.EXECUTOR if parent is None else ContainerKind.NESTED,
            command=mesos_pb2.CommandInfo(value="true"),
            directory=str(tmp_path),
            container=container,
            resources=tuple(scalars(**amounts).to_proto()),
            **changes,
        )

    return make


@pytest.fixture
def sandbox(tmp_path: Path) -> Path:
    """With that of the container c nested in it."""
    path = tmp_path / "sandbox"
    (path / "containers/c").mkdir(parents=True)
    return path


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    path = tmp_path / "tree"
    path.mkdir()
    return path


@pytest.fixture(scope="session")
def archives(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A registry of images."""
    folder = tmp_path_factory.mktemp("archives")
    for name, image in images().items():
        saved_v1_archive(folder / f"{name}:latest.tar", image, f"{name}:latest")
    return folder


@pytest.fixture(scope="session")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("store")


@pytest.fixture
def flags(tmp_path: Path, archives: Path, store: Path, cgroups_root: str) -> AgentFlags:
    """With all that says what containers see."""
    return AgentFlags(
        master="none",
        work_dir=str(tmp_path / "work"),
        fetcher_cache_dir=str(tmp_path / "cache"),
        switch_user=False,
        cgroups_root=cgroups_root,
        image_providers=("DOCKER",),
        docker_registry=str(archives),
        docker_store_dir=str(store),
        isolation="filesystem/linux,docker/runtime,posix/rlimits,linux/capabilities,linux/nnp,linux/devices,"
        "namespaces/ipc,namespaces/pid,volume/secret",
        allowed_devices='{"allowed_devices":[{"device":{"path":"/dev/full"},"access":{"read":true}}]}',
        bounding_capabilities='{"capabilities":["NET_RAW","KILL","DAC_OVERRIDE"]}',
    )


@pytest.fixture
async def containers(flags: AgentFlags, tmp_path: Path) -> AsyncIterator[Containers]:
    containerizer = await build_containerizer(flags, Metrics())
    await containerizer.start()
    await containerizer.recover([])
    yield Containers(containerizer, tmp_path / "sandboxes")
    for left in containerizer.containers():
        left.kill(0.0)
    await containerizer.close(end_detached=True)


@pytest.fixture
def host_data(tmp_path: Path) -> Path:
    """Of the host."""
    path = tmp_path / "host data"
    path.mkdir()
    (path / "file").write_text("of the host\n")
    return path
