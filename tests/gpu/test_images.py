"""GPUs of containers with images, from inside them (G14, G15)."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.gpu.cluster import GpuCluster
from tests.gpu.conftest import StartGpuCluster, one_view
from tests.gpu.framework import gpu_framework
from tests.gpu.images import (
    CUDA,
    ISOLATION,
    PLAIN,
    VOID,
    gpu_images,
    image_flags,
    with_image,
    with_volume,
    write_archives,
)
from tests.gpu.test_containers import SHOW, agent_client, session
from tests.gpu.test_upstream import ONE_GPU, STARTED
from tests.gpu_machine import Driver
from tests.images import Image, Symlink, layers_of
from tfmesos.wire import agent_pb2, mesos_pb2

StartImageCluster = Callable[..., GpuCluster]
WITH_ONE, WITHOUT = "cpus:0.1;mem:64;gpus:1", "cpus:0.1;mem:64"
CONTROL = {"nvidiactl", "nvidia-uvm", "nvidia-uvm-tools"}
SHOW_FILES, NO_FILES = "ls -d /usr/local/nvidia 2>&1", "ls: /usr/local/nvidia: No such file or directory"


@pytest.fixture(scope="module")
def archives(gpu_driver: Driver, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_archives(tmp_path_factory.mktemp("archives"), gpu_images(gpu_driver.try_nodes))


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Shared by all agents: each image is unpacked once."""
    return tmp_path_factory.mktemp("store")


@pytest.fixture
def start_cluster(start_gpu_cluster: StartGpuCluster, archives: Path, store: Path) -> StartImageCluster:
    def start(*flags: str, **options: Any) -> GpuCluster:
        return start_gpu_cluster(*image_flags(archives, store), *flags, isolation=ISOLATION, **options)

    return start


def run(cluster: GpuCluster, image: str, command: str, resources: str = WITH_ONE, *more: str) -> list[list[str]]:
    """The lines that a task prints that succeeds, in parts between empty ones."""
    executed = cluster.execute(command, resources, f"--docker_image={image}", *more)
    assert executed.states == [*STARTED, "TASK_FINISHED"], (executed.text, cluster.outputs("stderr"))
    return [part.splitlines() for part in cluster.outputs()[-1].split("\n\n")]


def test_a_task_sees_its_cards_and_the_drivers_files(start_cluster: StartImageCluster) -> None:
    cluster = start_cluster(cards=3)
    uuid = next(card.uuid for card in cluster.machine.cards if card.minor == 0)

    # its nodes open, those that it makes itself do not, and that no driver is behind them is found out later
    nodes, made = run(
        cluster, CUDA, "try_nodes; echo; for n in 0 1 2; do mknod m$n c 195 $n && cat m$n 2>&1; done; true"
    )
    assert dict(line.split() for line in nodes) == dict.fromkeys([*CONTROL, "nvidia0"], "ENXIO")
    assert made == [
        "cat: can't open 'm0': No such device or address",
        "cat: can't open 'm1': Operation not permitted",
        "cat: can't open 'm2': Operation not permitted",
    ]

    # an image that asks has the driver's files, and cannot change them
    smi, variables = run(
        cluster,
        CUDA,
        "which nvidia-smi; nvidia-smi -L; touch /usr/local/nvidia/x; echo; echo $LD_LIBRARY_PATH; echo $PATH",
    )
    assert smi[0] == "/usr/local/nvidia/bin/nvidia-smi"
    assert [line.partition("UUID: ")[2] for line in smi[1:]] == [f"{uuid})"]
    assert variables[0] == "/usr/local/nvidia/lib:/usr/local/nvidia/lib64:/usr/local/cuda/compat"
    assert variables[1].startswith("/usr/local/nvidia/bin:/usr/local/cuda/bin:")
    assert "Read-only file system" in cluster.outputs("stderr")[-1]


def test_an_image_that_says_nothing_gets_the_drivers_files_with_cards_alone(start_cluster: StartImageCluster) -> None:
    cluster = start_cluster(cards=2)
    told = '--env={"LD_LIBRARY_PATH":"/mine"}'

    (with_one,) = run(cluster, PLAIN, "nvidia-smi -L | wc -l; echo $PATH; echo $LD_LIBRARY_PATH", WITH_ONE, told)
    assert with_one == [
        "1",
        "/opt/bin:/usr/bin:/bin:/usr/local/nvidia/bin",
        "/mine:/usr/local/cuda/compat:/usr/local/nvidia/lib:/usr/local/nvidia/lib64",
    ]
    (without,) = run(cluster, PLAIN, f"{SHOW_FILES}; try_nodes | sort", WITHOUT)
    assert without == [NO_FILES, *sorted(f"{name} ENXIO" for name in CONTROL)]

    # one that wants none gets none, and its cards all the same
    (void,) = run(cluster, VOID, f"{SHOW_FILES}; ls /dev | grep '^nvidia[0-9]'; echo $CUDA_VISIBLE_DEVICES")
    assert void == [NO_FILES, "nvidia0", *(card.uuid for card in cluster.machine.cards if card.minor == 0)]


@one_view
def test_a_mig_instance_has_its_nodes(start_cluster: StartImageCluster) -> None:
    cluster = start_cluster(cards=2, mig={1: 2})

    (lines,) = run(cluster, CUDA, "nvidia-smi -L; try_nodes | sort")

    (card,) = (card for card in cluster.machine.cards if card.is_mig)
    first = card.instances[0]
    assert f"UUID: {first.uuid}" in lines[1]
    expected = CONTROL | {card.node, *first.nodes}
    assert lines[2:] == sorted(f"{name} ENXIO" for name in expected)


@one_view
async def test_nvidia_docker_image(start_cluster: StartImageCluster) -> None:
    """Mesos 1.11: NvidiaGpuTest.ROOT_INTERNET_CURL_CGROUPS_NVIDIA_GPU_NvidiaDockerImage."""
    cluster = start_cluster("--nvidia_gpu_devices=0", "--resources=cpus:1;mem:512;gpus:1", cards=2)
    async with gpu_framework(cluster.address) as framework:
        for name, command, gpus in (("sees-one", ONE_GPU, 1), ("sees-none", "nvidia-smi", 0)):
            executor = framework.executor(f"executor-{name}", mesos_pb2.ExecutorInfo.DEFAULT)
            await framework.launch_group(executor, [with_image(framework.task(name, command, gpus=gpus), CUDA)])
            await framework.wait_ended(name)

    assert framework.states("sees-one") == [*STARTED, "TASK_FINISHED"]
    assert framework.states("sees-none") == [*STARTED, "TASK_FAILED"]
    assert cluster.wait_no_cgroup() == []


HOOK = """#!/bin/sh
# As nvidia-cdi-hook: it hears on its standard input where the container is, and changes files of its root.
bundle=$(sed 's/.*"bundle": *"\\([^"]*\\)".*/\\1/')
root=$(sed 's/.*"root": *{"path": *"\\([^"]*\\)".*/\\1/' "$bundle/config.json")
echo "$@" > "$root/hooked"
"""


def write_cdi(cluster: GpuCluster, folder: Path) -> None:
    """As `nvidia-ctk cdi generate` would."""
    hook = folder / "hook"
    hook.write_text(HOOK)
    hook.chmod(0o755)
    machine = cluster.machine
    devices = [
        {"name": str(card.index), "containerEdits": {"deviceNodes": [{"path": f"/dev/{card.node}"}]}}
        for card in machine.cards
    ]
    common = {
        "env": ["NVIDIA_VISIBLE_DEVICES=void", "FAKE_GPU_MACHINE=/run/machine"],
        "deviceNodes": [{"path": f"/dev/{name}"} for name in CONTROL],
        "mounts": [
            {"hostPath": str(machine.driver.programs / "nvidia-smi"), "containerPath": "/usr/bin/nvidia-smi"},
            {"hostPath": str(machine.folder / "driver-files/nvidia/machine"), "containerPath": "/run/machine"},
        ],
        "hooks": [{"hookName": "createContainer", "path": str(hook), "args": ["hook", "update-ldcache"]}],
    }
    specification = {"cdiVersion": "0.6.0", "kind": "nvidia.com/gpu", "devices": devices, "containerEdits": common}
    (folder / "nvidia.json").write_text(json.dumps(specification))
    assert machine.run("sh", "-c", f"mkdir -p /run/cdi && cp {folder}/nvidia.json /run/cdi").returncode == 0


@one_view
def test_a_cdi_specification_says_what_a_task_gets(start_cluster: StartImageCluster, tmp_path: Path) -> None:
    cluster = start_cluster("--nvidia_injection=cdi", cards=2)
    refused = cluster.execute("true", WITH_ONE, f"--docker_image={PLAIN}")
    assert refused.states[-1] == "TASK_FAILED"
    assert "--nvidia_injection=cdi: there is no CDI specification of nvidia.com/gpu" in refused.text

    write_cdi(cluster, tmp_path)
    (lines,) = run(
        cluster, PLAIN, f"nvidia-smi -L | wc -l; cat /hooked; echo $NVIDIA_VISIBLE_DEVICES; {SHOW_FILES}; try_nodes"
    )

    assert lines[:4] == ["1", "update-ldcache", "void", NO_FILES]
    assert sorted(lines[4:]) == sorted(f"{name} ENXIO" for name in {*CONTROL, "nvidia0"})


HOST_LINKS = {name: Symlink(target=f"usr/{name}") for name in ("bin", "lib", "lib64", "sbin")}
EXECUTOR = Path(__file__).parents[1] / "chaos" / "load_executor.py"


@pytest.fixture(scope="module")
def host_archives(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An image whose programs are those of this machine, which a task mounts; it wants nothing of the driver."""
    image = Image(layers=layers_of(HOST_LINKS), environment=("NVIDIA_VISIBLE_DEVICES=void",))
    return write_archives(tmp_path_factory.mktemp("host-archives"), {"host": image})


async def test_an_executor_has_the_nodes_of_its_tasks_over_a_restart_of_the_agent(
    start_gpu_cluster: StartGpuCluster, host_archives: Path, store: Path, tmp_path: Path
) -> None:
    cluster = start_gpu_cluster(*image_flags(host_archives, store), isolation=ISOLATION, cards=2)
    async with gpu_framework(cluster.address, checkpoint=True) as framework:

        async def launch(name: str) -> None:
            task = framework.task(name, gpus=1)
            executor = framework.executor("executor", mesos_pb2.ExecutorInfo.CUSTOM)
            executor.command.value = shlex.join([sys.executable, str(EXECUTOR)])
            with_image(executor, "host")
            for path in {"/usr", sys.prefix, sys.base_prefix, str(EXECUTOR.parents[2])}:
                executor.container.volumes.add(mode=mesos_pb2.Volume.RO, container_path=path, host_path=path)
            with_volume(executor, tmp_path)
            task.executor.CopyFrom(executor)
            task.data = f"{tmp_path}/notes 1000".encode()
            await framework.launch(task)
            await framework.wait_running(name)

        def nodes() -> set[str]:
            (pid,) = cluster.pids().values()
            found = {path.name for path in Path(f"/proc/{pid}/root/dev").glob("nvidia[0-9]*")}
            assert cluster.machine.cards_open(pid) == found
            return found

        await framework.wait_offers(gpus=2)
        await launch("first")
        assert nodes() == {"nvidia0"}
        await framework.wait_offers(gpus=1)
        before = set(framework.offers)
        cluster.agent.kill()
        cluster.restart_agent()
        cluster.agent.expect(" registered with ")
        await framework.until(lambda: before.isdisjoint(framework.offers))
        await framework.wait_offers(gpus=1)
        await launch("second")
        assert nodes() == {"nvidia0", "nvidia1"}
        await framework.kill("first")
        await framework.wait_ended("first")
        assert nodes() == {"nvidia1"}


USE_DRIVER = """
import ctypes, os
nvml, cuda = ctypes.CDLL("libnvidia-ml.so.1"), ctypes.CDLL("libcuda.so.1")
assert nvml.nvmlInit_v2() == 0
print(os.environ["CUDA_VISIBLE_DEVICES"], sorted(name for name in os.listdir("/dev") if name[-1].isdigit()))
"""


@one_view
def test_a_plain_python_image_uses_the_driver(
    start_gpu_cluster: StartGpuCluster, python_archive: Path, tmp_path: Path
) -> None:
    """Mesos 1.11: NvidiaGpuTest.…_TensorflowGpuImage, as far as that goes where no card computes."""
    flags = image_flags(python_archive.parent, tmp_path)
    cluster = start_gpu_cluster(
        "--nvidia_gpu_devices=0", "--resources=cpus:1;mem:512;gpus:1", *flags, isolation=ISOLATION
    )

    (lines,) = run(cluster, "python:3", f"python3 - <<'END'{USE_DRIVER}END")

    card = cluster.machine.cards[0]
    assert lines == [f"{card.uuid} ['{card.node}']"]


@one_view
async def test_what_is_in_a_task_sees_its_cards(start_cluster: StartImageCluster) -> None:
    """A session in it, and a container nested in it that has an image of its own and asks for nothing."""
    cluster = start_cluster(cards=3)
    async with gpu_framework(cluster.address) as framework:
        await framework.launch(with_image(framework.task("outer", "exec sleep 1000", gpus=1), PLAIN))
        await framework.wait_running("outer")
        outer = framework.statuses["outer"][-1].container_status.container_id
        (held,) = cluster.held().values()
        assert await session(cluster, outer, SHOW) == [*held, *held]

        launch = agent_pb2.Call.LaunchContainer()
        launch.container_id.CopyFrom(mesos_pb2.ContainerID(value="nested", parent=outer))
        launch.command.value = f"{SHOW}; try_nodes | sort"
        async with agent_client(cluster) as client:
            await client.launch_container(with_image(launch, CUDA))
            await client.wait_container(launch.container_id)
        shown = await cluster.wait_output("containers/nested/stdout", lines=6)
        assert shown == [*held, *held, *sorted(f"{name} ENXIO" for name in {*CONTROL, cluster.node_of(held[0])})]
