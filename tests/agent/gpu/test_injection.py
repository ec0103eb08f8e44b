"""What containers with a /dev of their own get of the driver (G14, G15)."""

from __future__ import annotations

import json
import os
import stat
from dataclasses import replace
from pathlib import Path

import pytest

from tests.agent.gpu.units import unit
from tfmesos.agent.containerizer import ContainerConfig, ContainerId, ContainerKind, RuntimeName
from tfmesos.agent.gpu import GpuIsolator, GpuSupply
from tfmesos.agent.gpu.cards import DeviceNode
from tfmesos.agent.gpu.errors import GpuError
from tfmesos.agent.gpu.injection import Injected, Injection
from tfmesos.agent.gpu.volume import DriverVolume
from tfmesos.agent.images import ImageRoot, ImageRuntime, Root
from tfmesos.agent.isolators import IsolationFailed, LaunchEdits, View
from tfmesos.cgroups import Device
from tfmesos.resources import Resources
from tfmesos.wire import mesos_pb2

CONTROL = (DeviceNode("/dev/nvidiactl", Device("c", 195, 255)),)
CARD = ["/dev/nvidiactl", "/dev/nvidia1"]
TASK = ContainerId("task")


class Volume(DriverVolume):
    """One that is there, or cannot be made."""

    def __init__(self, *, fault: str = "") -> None:
        self._fault = fault

    async def provide(self) -> Path:
        if self._fault:
            raise GpuError(self._fault)
        return Path("/volume")


def task(
    *image_environment: str, labels: tuple[str, ...] = (), kind: ContainerKind = ContainerKind.COMMAND_TASK, **told: str
) -> ContainerConfig:
    """One with an image."""
    runtime = ImageRuntime(environment=image_environment, labels=dict.fromkeys(labels, ""))
    command = mesos_pb2.CommandInfo()
    for name, value in told.items():
        command.environment.variables.add(name=name, value=value)
    return ContainerConfig(
        id=TASK,
        kind=kind,
        command=command,
        directory="/sandbox",
        container=mesos_pb2.ContainerInfo(
            type=mesos_pb2.ContainerInfo.MESOS,
            mesos=mesos_pb2.ContainerInfo.MesosInfo(image=mesos_pb2.Image(type=mesos_pb2.Image.DOCKER)),
        ),
        root=Root(image=ImageRoot(image="x", digest="sha256:0", tree="/tree", runtime=runtime), rootfs="/rootfs"),
    )


def docker_task() -> ContainerConfig:
    container = mesos_pb2.ContainerInfo(type=mesos_pb2.ContainerInfo.DOCKER)
    return replace(task(), container=container, root=None, runtime=RuntimeName.DOCKER)


def paths(view: View | None) -> list[str]:
    assert view is not None
    return [node.path for node in view.nodes]


def has_volume(injected: Injected) -> bool:
    mounts = [(mount.source, mount.target, "ro" in mount.options) for mount in injected.view.mounts]
    assert mounts in ([], [("/volume", "/usr/local/nvidia", True)])
    return bool(mounts)


async def test_a_task_with_cards_gets_their_nodes_and_the_driver_volume() -> None:
    given = await Injection(CONTROL, mode="volume", volume=Volume()).inject(
        task("PATH=/opt/bin:/bin", LD_LIBRARY_PATH="/mine"), [unit(1)]
    )

    assert paths(given.view) == CARD
    assert given.view.gpus == ("GPU-1",)
    assert has_volume(given)
    assert given.overrides == {
        "PATH": "/opt/bin:/bin:/usr/local/nvidia/bin",
        "LD_LIBRARY_PATH": "/mine:/usr/local/cuda/compat:/usr/local/nvidia/lib:/usr/local/nvidia/lib64",
    }


@pytest.mark.parametrize(
    ("config", "has_gpus", "expected"),
    [
        (task(), True, True),
        (task(), False, False),
        (task("NVIDIA_VISIBLE_DEVICES=all"), False, True),
        (task(labels=("com.nvidia.volumes.needed",)), False, True),
        (task("NVIDIA_VISIBLE_DEVICES=void"), True, False),
        (task("NVIDIA_VISIBLE_DEVICES=all", NVIDIA_VISIBLE_DEVICES="void"), True, False),
        (task(kind=ContainerKind.EXECUTOR), False, True),
    ],
)
async def test_who_gets_the_volume(config: ContainerConfig, has_gpus: bool, expected: bool) -> None:
    injection = Injection(CONTROL, mode="auto", volume=Volume())

    given = await injection.inject(config, [unit(1)] if has_gpus else [])

    assert has_volume(given) is expected
    assert paths(given.view) == (CARD if has_gpus else CARD[:1])


async def test_a_task_without_the_drivers_files_does_not_start_on_its_cards() -> None:
    injection = Injection(CONTROL, mode="auto", volume=Volume(fault="the disk is full"))

    with pytest.raises(GpuError, match=r"the disk is full; --nvidia_injection=none"):
        await injection.inject(task(), [unit(1)])
    assert not has_volume(await injection.inject(task("NVIDIA_VISIBLE_DEVICES=all"), []))
    assert paths((await Injection(CONTROL, mode="none").inject(task(), [unit(1)])).view) == CARD


async def test_a_container_of_docker_has_the_volume_at_hand_whatever_its_image_says() -> None:
    injection = Injection(CONTROL, mode="auto", volume=Volume())

    assert has_volume(await injection.inject(docker_task(), []))
    given = await injection.inject(docker_task(), [unit(1)])
    assert (paths(given.view), given.view.gpus, given.overrides) == (CARD, ("GPU-1",), {})


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A machine whose administrator has a CDI specification of cards 0 and 1."""
    devices = [
        {
            "name": str(minor),
            "containerEdits": {"deviceNodes": [{"path": f"/dev/nvidia{minor}"}, {"path": f"/dev/dri/card{minor}"}]},
        }
        for minor in range(2)
    ]
    common = {
        "env": ["NVIDIA_VISIBLE_DEVICES=void"],
        "deviceNodes": [{"path": "/dev/nvidiactl"}, {"path": "/dev/nvidia0"}, {"path": "/dev/nvidia-caps/nvidia-cap1"}],
        "mounts": [{"hostPath": "/lib/libcuda.so.1", "containerPath": "/lib/libcuda.so.1", "options": ["ro", "bind"]}],
        "hooks": [{"hookName": "createContainer", "path": "/bin/hook", "args": ["hook"]}],
    }
    specification = {"cdiVersion": "0.6.0", "kind": "nvidia.com/gpu", "devices": devices, "containerEdits": common}
    for name in ("etc/cdi", "lib", "bin", "dev/dri"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "etc/cdi/nvidia.json").write_text(json.dumps(specification))
    for name in ("lib/libcuda.so.1", "bin/hook"):
        (tmp_path / name).touch()
    (tmp_path / "dev/nvidia-caps").mkdir()
    numbers = {"nvidia0": (195, 0), "nvidia1": (195, 1), "nvidiactl": (195, 255), "nvidia-caps/nvidia-cap1": (236, 1)}
    for name, (major, minor) in {**numbers, "dri/card0": (226, 0), "dri/card1": (226, 1)}.items():
        os.mknod(tmp_path / "dev" / name, stat.S_IFCHR | 0o666, os.makedev(major, minor))
    return tmp_path


async def test_a_cdi_specification_says_what_comes_with_a_card(root: Path) -> None:
    given = await Injection(CONTROL, mode="auto", volume=Volume(), root=root).inject(task(), [unit(1)])

    assert paths(given.view) == [*CARD, "/dev/dri/card1"]
    assert [str(rule) for rule in given.rules] == ["c 195:255 rwm", "c 195:1 rwm", "c 226:1 rwm"]
    assert [mount.target for mount in given.view.mounts] == ["/lib/libcuda.so.1"]
    assert [hook.path for hook in given.view.hooks] == ["/bin/hook"]
    assert given.overrides == {"NVIDIA_VISIBLE_DEVICES": "void"}


async def test_an_image_that_asks_gets_the_files_of_cdi_without_a_card(root: Path) -> None:
    injection = Injection(CONTROL, mode="auto", volume=Volume(), root=root)

    given = await injection.inject(task("NVIDIA_VISIBLE_DEVICES=all"), [])

    assert paths(given.view) == CARD[:1]
    assert [mount.target for mount in given.view.mounts] == ["/lib/libcuda.so.1"]


@pytest.mark.parametrize("gone", ["lib/libcuda.so.1", "bin/hook", "dev/dri/card1", "etc/cdi/nvidia.json"])
async def test_what_no_specification_can_give_the_volume_does_or_nobody(
    root: Path, gone: str, caplog: pytest.LogCaptureFixture
) -> None:
    (root / gone).unlink()

    injection = Injection(CONTROL, mode="auto", volume=Volume(), root=root)
    for _ in range(2):
        assert has_volume(await injection.inject(task(), [unit(1)]))
    assert len(caplog.records) == (0 if gone.startswith("etc") else 1)  # that there is none is nothing to tell
    with pytest.raises(GpuError, match=r"^--nvidia_injection=cdi: .*; nvidia-ctk cdi generate"):
        await Injection(CONTROL, mode="cdi", volume=Volume(), root=root).inject(task(), [unit(1)])
    assert has_volume(await Injection(CONTROL, mode="volume", volume=Volume(), root=root).inject(task(), [unit(1)]))


class Cards:
    """An isolator with an agent's injection; two cards."""

    def __init__(self, path: Path, injection: Injection) -> None:
        self._path, self._injection = path, injection
        self.isolator = self.next()

    def next(self) -> GpuIsolator:
        supply = GpuSupply(units=(unit(0), unit(1)))
        return GpuIsolator(supply, lambda container_id: self._path / str(container_id), self._injection)


@pytest.fixture
def cards(tmp_path: Path, root: Path) -> Cards:
    return Cards(tmp_path / "run", Injection(CONTROL, mode="cdi", root=root))


def gpus(**counts: int) -> dict[str, Resources]:
    return {name.replace("own", ""): Resources.parse(f"cpus:1;gpus:{count}") for name, count in counts.items()}


def rules(edits: LaunchEdits) -> list[str]:
    return [str(rule) for rule in edits.devices]


async def test_an_executor_with_an_image_has_nodes_come_and_go_over_a_restart_of_the_agent(cards: Cards) -> None:
    executor = task(kind=ContainerKind.EXECUTOR)
    launched = await cards.isolator.prepare(executor, gpus(own=0, one=1))
    assert paths(launched.view) == ["/dev/nvidiactl", "/dev/nvidia0", "/dev/dri/card0"]
    assert rules(launched) == ["c 195:0 rwm", "c 195:255 rwm", "c 226:0 rwm"]

    after = cards.next()
    await after.recover({TASK: replace(executor, root=None)}, set())
    grown = await after.update(TASK, gpus(one=1, two=1))
    assert grown.view is not None
    assert set(paths(grown.view)) - set(paths(launched.view)) == {"/dev/nvidia1", "/dev/dri/card1"}
    assert grown.view.absent_nodes == ()
    assert "c 226:1 rwm" in rules(grown)

    shrunk = await after.update(TASK, gpus(two=1))
    assert shrunk.view is not None
    assert [node.path for node in shrunk.view.absent_nodes] == ["/dev/nvidia0", "/dev/dri/card0"]
    assert [str(rule) for rule in shrunk.withdrawn] == ["c 195:0 rwm", "c 226:0 rwm"]


async def test_a_nested_container_that_shares_all_sees_what_the_one_around_it_sees(cards: Cards) -> None:
    await cards.isolator.prepare(task(), gpus(own=1))
    nested = replace(task(), id=ContainerId("nested", TASK), kind=ContainerKind.NESTED)

    edits = await cards.isolator.prepare(nested, gpus())

    assert "/dev/nvidia0" in paths(edits.view)
    assert edits.environment["CUDA_VISIBLE_DEVICES"] == "GPU-0"
    await cards.isolator.cleanup(nested.id)
    assert cards.isolator.allocator.allocated == {unit(0)}


async def test_a_container_of_docker_keeps_its_cards_to_its_end(cards: Cards) -> None:
    await cards.isolator.prepare(replace(docker_task(), kind=ContainerKind.EXECUTOR), gpus(own=0, one=1))

    assert (await cards.isolator.update(TASK, gpus(own=0))).withdrawn == ()
    await cards.isolator.settle(TASK)
    assert cards.isolator.allocator.allocated == {unit(0)}
    with pytest.raises(IsolationFailed, match="no more GPUs than its 1"):
        await cards.isolator.update(TASK, gpus(one=2))
    await cards.isolator.cleanup(TASK)
    assert not cards.isolator.allocator.allocated


async def test_what_cannot_be_injected_holds_no_card_after_its_cleanup(cards: Cards, root: Path) -> None:
    (root / "etc/cdi/nvidia.json").unlink()

    with pytest.raises(IsolationFailed, match="--nvidia_injection=cdi"):
        await cards.isolator.prepare(task(), gpus(own=1))
    await cards.isolator.cleanup(TASK)

    assert not cards.isolator.allocator.allocated
