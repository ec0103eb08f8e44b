"""Containers of the OCI runtime that this machine has, without a containerizer."""

from __future__ import annotations

import io
import os
import shutil
import tarfile
import tempfile
import uuid
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from tests.cgroup_trees import cgroups_below
from tests.images import busybox_image
from tfmesos.agent import AgentFlags
from tfmesos.agent.containerizer import ContainerConfig, ContainerId, ContainerKind, RuntimeName
from tfmesos.agent.images import ImageRoot, ImageRuntime, Root
from tfmesos.agent.isolators import Isolation, LaunchEdits, Mount, QuietIsolator, Shares, View, build_isolation
from tfmesos.agent.oci import OciRuntime
from tfmesos.cgroups import DeviceRule, Hierarchies
from tfmesos.supervision import Console, ProcessSpec, Supervised, Supervisors, Termination
from tfmesos.wire import mesos_pb2

IMAGE_MOUNTS = (
    Mount(source="proc", target="/proc", type="proc", options=("nosuid", "noexec", "nodev")),
    Mount(source="tmpfs", target="/dev", type="tmpfs", options=("nosuid", "strictatime", "mode=755")),
    Mount(source="devpts", target="/dev/pts", type="devpts", options=("nosuid", "newinstance", "ptmxmode=0666")),
)
"""The least that a program in an image wants."""
_ENVIRONMENT = {"PATH": "/bin:/usr/bin", "MESOS_SANDBOX": "/"}


class Cards(QuietIsolator):
    """Lets containers use what `rules` allow."""

    name = "gpu/nvidia"
    rules: tuple[DeviceRule, ...] = ()

    async def update(self, container_id: ContainerId, shares: Shares) -> LaunchEdits:
        return LaunchEdits(devices=self.rules)


@dataclass
class Containers:
    """Made step by step as the containerizer does."""

    runtime: OciRuntime
    isolation: Isolation
    supervisors: Supervisors
    sandbox: Path
    started: dict[ContainerId, Supervised] = field(default_factory=dict)
    configs: dict[ContainerId, ContainerConfig] = field(default_factory=dict)
    specs: dict[ContainerId, ProcessSpec] = field(default_factory=dict)

    async def start(
        self,
        *argv: str,
        name: str = "c",
        parent: ContainerId | None = None,
        view: View | None = None,
        root: Root | None = None,
        is_debug: bool = False,
        console: Console | None = None,
        **changes: Any,
    ) -> Supervised:
        """Its gate is open; the program may not have begun."""
        config = ContainerConfig(
            id=ContainerId(name, parent),
            kind=ContainerKind.NESTED if parent else ContainerKind.STANDALONE,
            command=mesos_pb2.CommandInfo(),
            directory=str(self.sandbox),
            is_debug=is_debug,
            root=root,
            runtime=RuntimeName.OCI,
        )
        try:
            await self._launch(config, View() if view is None else view, argv, console, changes)
        except BaseException:
            if config.id not in self.started:
                await self._clean_up(config.id)
            raise
        return self.started[config.id]

    async def _launch(
        self,
        config: ContainerConfig,
        view: View,
        argv: tuple[str, ...],
        console: Console | None,
        changes: dict[str, Any],
    ) -> None:
        name = config.id.value
        record = self.sandbox / f"record-{name}"
        record.mkdir(exist_ok=True)
        prepared = replace(await self.isolation.prepare(config), view=view)
        spec = ProcessSpec(
            id=name,
            argv=argv,
            environment=_ENVIRONMENT,
            directory="/",
            stdout=str(self.sandbox / f"{name}.out"),
            stderr=str(self.sandbox / f"{name}.err"),
            cgroups=prepared.procs_files,
            cgroup_directories=prepared.directories,
            console=console,
            record_dir=str(record),
        )
        spec = await self.runtime.prepare(config, prepared, replace(spec, **changes))
        self.configs[config.id], self.specs[config.id] = config, spec
        self.started[config.id] = await self.supervisors.launch(spec)
        await self.started[config.id].release()

    async def end(self, name: str = "c", parent: ContainerId | None = None) -> None:
        container_id = ContainerId(name, parent)
        process = self.started.pop(container_id)
        process.kill(0.0)
        await process.wait()
        await self._clean_up(container_id)

    async def _clean_up(self, container_id: ContainerId) -> None:
        await self.runtime.cleanup(container_id)
        await self.isolation.cleanup(container_id)

    async def run(self, *argv: str, name: str = "c", parent: ContainerId | None = None, **changes: Any) -> Termination:
        """To its end, cleaned up."""
        termination = await (await self.start(*argv, name=name, parent=parent, **changes)).wait()
        await self.end(name, parent)
        return termination

    def output(self, name: str = "c") -> str:
        return (self.sandbox / f"{name}.out").read_text()

    def errors(self, name: str = "c") -> str:
        return (self.sandbox / f"{name}.err").read_text()


@pytest.fixture
def cgroups_root() -> Iterator[str]:
    """A root of cgroups that only this test knows, and in which it leaves nothing; version 2 will do."""
    fault = Hierarchies.detect().faults("devices") if os.geteuid() == 0 else "needs root"
    fault = fault or (None if shutil.which("runc") else "needs runc")
    if fault is not None:
        pytest.skip(fault)
    root = f"test-{uuid.uuid4().hex[:12]}"
    yield root
    left = cgroups_below(root)
    for path in reversed(left):
        with suppress(OSError):
            path.rmdir()
    assert left == []


@pytest.fixture
def flags(tmp_path: Path, cgroups_root: str) -> AgentFlags:
    return AgentFlags(
        master="none",
        work_dir=str(tmp_path / "work"),
        isolation="cgroups/devices,gpu/nvidia",
        cgroups_root=cgroups_root,
    )


@pytest.fixture
def cards() -> Cards:
    return Cards()


@pytest.fixture
def sandbox() -> Iterator[Path]:
    """Which every user can enter, other than pytest's."""
    folder = Path(tempfile.mkdtemp(prefix="tfmesos-oci-"))
    folder.chmod(0o777)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
async def containers(flags: AgentFlags, cards: Cards, tmp_path: Path, sandbox: Path) -> AsyncIterator[Containers]:
    isolation = build_isolation(flags, "this", [cards])
    supervisors = Supervisors()
    made = Containers(OciRuntime.find(flags), isolation, supervisors, sandbox)
    yield made
    for container_id in reversed(made.started.copy()):
        await made.end(container_id.value, container_id.parent)
    await supervisors.close()
    await isolation.close()
    assert not list((tmp_path / "work/run/oci").glob("*/*"))


@pytest.fixture(scope="session")
def busybox_tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An unpacked image."""
    tree = tmp_path_factory.mktemp("tree")
    for layer in busybox_image().layers:
        with tarfile.open(fileobj=io.BytesIO(layer.tar)) as tar:
            tar.extraction_filter = getattr(tarfile, "fully_trusted_filter", None)  # Python 3.11.2 has none, 3.12 warns
            tar.extractall(tree)
    return tree


@pytest.fixture
def root(busybox_tree: Path, tmp_path: Path) -> Root:
    """What an image's container has, of its own; an overlay."""
    own = {name: tmp_path / "root, or:so" / name for name in ("rootfs", "upper", "work")}
    for path in own.values():
        path.mkdir(parents=True)
    image = ImageRoot(image="busybox", digest="sha256:0", tree=str(busybox_tree), runtime=ImageRuntime())
    paths = {name: str(path) for name, path in own.items()}
    return Root(image=image, lower=str(busybox_tree), **paths)


@pytest.fixture
def supervisors(containers: Containers) -> Supervisors:
    return containers.supervisors
