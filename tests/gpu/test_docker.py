"""GPUs of containers of the Docker engine: of one book with all others, and inside them just these (B1, G20)."""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.dockerd import Dockerd, StartDockerd, missing_for_dockerd
from tests.gpu.cluster import GpuCluster
from tests.gpu.framework import GpuFramework, gpu_framework
from tests.gpu.images import PLAIN, VOID, docker_flags, gpu_images, with_docker
from tests.gpu.test_upstream import STARTED
from tests.gpu_machine import Driver, GpuMachine, StartGpuMachine, View, missing_for_gpu_machine
from tfmesos.agent.docker.inspection import Device, parse_inspections

CONTROL = ["nvidia-uvm", "nvidia-uvm-tools", "nvidiactl"]


@dataclass(frozen=True)
class Whole:
    """A machine of three cards with an engine, which has the images, and an agent."""

    engine: Dockerd
    cluster: GpuCluster


@pytest.fixture(scope="module")
def whole(gpu_driver: Driver, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Whole]:
    """One for all tests that need no other, with a master of its own."""
    if missing := missing_for_gpu_machine() or missing_for_dockerd():
        pytest.skip(missing)
    with GpuMachine(gpu_driver, tmp_path_factory.mktemp("gpus"), cards=3) as machine:
        engine = Dockerd(tmp_path_factory.mktemp("dockerd"), prefix=machine.command)
        try:
            with running(machine, loaded(engine, machine), "") as cluster:
                yield Whole(engine, cluster)
        finally:
            engine.stop()


def loaded(engine: Dockerd, machine: GpuMachine) -> Dockerd:
    for name, image in gpu_images(machine.driver.try_nodes).items():
        engine.load(image, f"{name}:latest")
    return engine


@contextmanager
def running(machine: GpuMachine, engine: Dockerd, master: str, *flags: str) -> Iterator[GpuCluster]:
    cluster = GpuCluster(machine, *docker_flags(engine), *flags, master=master)
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.stop()


async def launched(framework: GpuFramework, name: str, command: str, gpus: int, image: str = PLAIN) -> None:
    await framework.launch(with_docker(framework.task(name, command, gpus=gpus), image))


async def test_a_container_has_just_its_cards(
    view: View, start_gpu_machine: StartGpuMachine, start_dockerd: StartDockerd, gpu_master: str
) -> None:
    machine = start_gpu_machine(view=view, cards=3)
    engine = loaded(start_dockerd(prefix=machine.command), machine)
    show = "try_nodes | sort; nvidia-smi -L | wc -l; touch /usr/local/nvidia/x; echo $LD_LIBRARY_PATH; echo $PATH"
    with running(machine, engine, gpu_master) as cluster:
        async with gpu_framework(cluster.address) as framework:
            await framework.wait_offers(gpus=3)
            await launched(framework, "two", f"{show}; exec sleep 1000", gpus=2)
            await framework.wait_running("two")
            (held,) = cluster.held().values()
            nodes = sorted([*CONTROL, *(cluster.node_of(uuid) for uuid in held)])
            lines = await cluster.wait_output("stdout", lines=len(nodes) + 3)
            assert lines == [
                *(f"{node} ENXIO" for node in nodes),
                "2",
                "/usr/local/cuda/compat:/usr/local/nvidia/lib:/usr/local/nvidia/lib64",
                "/opt/bin:/usr/bin:/bin:/usr/local/nvidia/bin",
            ]
            assert "Read-only file system" in cluster.outputs("stderr")[-1]

            # the third card is for others, and the two are there again when the engine runs it no more
            await framework.wait_offers(gpus=1)
            await framework.launch(framework.task("third", "exec sleep 1000", gpus=1))
            await framework.wait_running("third")
            assert {*itertools.chain(*cluster.held().values())} == {card.uuid for card in machine.cards}
            await framework.kill("two")
            await framework.wait_ended("two")
            assert engine.run("ps", "--quiet") == ""
            await framework.wait_offers(gpus=2)


async def test_an_image_that_wants_none_gets_no_files_of_the_driver(whole: Whole) -> None:
    async with gpu_framework(whole.cluster.address) as framework:
        await launched(framework, "void", "ls -d /usr/local/nvidia; ls /dev | grep '^nvidia[0-9]' | wc -l", 1, VOID)
        await framework.wait_ended("void")

    assert framework.states("void") == [*STARTED, "TASK_FINISHED"]
    assert whole.cluster.outputs()[-1] == "1\n"


async def test_device_allow(whole: Whole) -> None:
    """Mesos 1.11: DockerTest.ROOT_DOCKER_NVIDIA_GPU_DeviceAllow; each container has the control devices."""
    async with gpu_framework(whole.cluster.address) as framework:
        await launched(framework, "touch", "touch /dev/nvidiactl && touch /dev/null", gpus=0)
        await framework.wait_ended("touch")

    assert framework.states("touch") == [*STARTED, "TASK_FINISHED"], framework.statuses


def test_inspect_devices(whole: Whole) -> None:
    """Mesos 1.11: DockerTest.ROOT_DOCKER_NVIDIA_GPU_InspectDevices."""
    device = Device(host_path="/dev/nvidiactl", container_path="/dev/nvidiactl", access="rw")
    run, command = whole.engine.run, "touch /dev/nvidiactl; exec sleep 120"
    container = run("run", "--detach", device.argument, PLAIN, "sh", "-c", command).strip()

    (inspection,) = parse_inspections(run("inspect", container).encode())
    assert inspection.devices == (device,)

    run("kill", container)
    assert run("wait", container).strip() == str(128 + 9)
    run("rm", container)


async def test_a_users_own_gpus_are_refused(whole: Whole) -> None:
    async with gpu_framework(whole.cluster.address) as framework:
        await framework.launch(with_docker(framework.task("own", "true", gpus=1), PLAIN, gpus="2"))
        await framework.wait_ended("own")
        (status,) = framework.launch_failures()
        await framework.wait_offers(gpus=3)

    assert "ask for them by the resource gpus" in status.message


HOOK = """#!/bin/sh
# As NVIDIA's: before a container starts it is told in the container's variables which cards that gets.
bundle=$(sed 's/.*"bundle": *"\\([^"]*\\)".*/\\1/')
grep -o 'NVIDIA_VISIBLE_DEVICES=[^"]*' "$bundle/config.json" >> {told}
"""


async def test_an_engine_with_nvidias_runtime_is_told_names(
    start_gpu_machine: StartGpuMachine, start_dockerd: StartDockerd, gpu_master: str, tmp_path: Path
) -> None:
    machine = start_gpu_machine(cards=3)
    hook, told = tmp_path / "nvidia-container-runtime-hook", tmp_path / "told"
    hook.write_text(HOOK.format(told=told))
    hook.chmod(0o755)
    path = f"PATH={tmp_path}:{os.environ['PATH']}"
    engine = start_dockerd(
        prefix=lambda *argv: machine.command("env", path, *argv), options=["--add-runtime=nvidia=/usr/sbin/runc"]
    )
    loaded(engine, machine)
    with running(machine, engine, gpu_master) as cluster:
        async with gpu_framework(cluster.address) as framework:
            await launched(framework, "two", "exec sleep 1000", gpus=2)
            await framework.wait_running("two")
            (held,) = cluster.held().values()
            (container,) = engine.containers()
            shown = json.loads(engine.run("inspect", container))[0]
            await launched(framework, "none", "echo $NVIDIA_VISIBLE_DEVICES", gpus=0)
            await framework.wait_ended("none")

    (names,) = told.read_text().splitlines()
    assert sorted(names.removeprefix("NVIDIA_VISIBLE_DEVICES=").split(",")) == held
    assert shown["HostConfig"]["Devices"] in (None, [])
    assert cluster.outputs()[-1] == "void\n"


async def test_cards_of_a_container_whose_engine_is_killed_are_free_when_its_program_is_gone(
    start_gpu_machine: StartGpuMachine, start_dockerd: StartDockerd, gpu_master: str
) -> None:
    machine = start_gpu_machine(cards=2)
    engine = loaded(start_dockerd(prefix=machine.command), machine)
    with running(machine, engine, gpu_master) as cluster:
        async with gpu_framework(cluster.address) as framework:
            await framework.wait_offers(gpus=2)
            await launched(framework, "lost", "exec sleep 1000", gpus=2)
            await framework.wait_running("lost")
            pid = engine.run("inspect", "--format={{.State.Pid}}", *engine.containers()).strip()

            engine.kill()
            await framework.wait_ended("lost")
            await framework.wait_offers(gpus=2)

            assert not is_alive(pid)
            assert cluster.held() == {}
            engine.start()  # so that it can be ended


def is_alive(pid: str) -> bool:
    return Path(f"/proc/{pid}").exists()


async def test_cards_of_orphans_are_offered_when_these_are_gone(
    start_gpu_machine: StartGpuMachine, start_dockerd: StartDockerd, gpu_master: str
) -> None:
    machine = start_gpu_machine(cards=2)
    engine = loaded(start_dockerd(prefix=machine.command), machine)
    with running(machine, engine, gpu_master) as cluster:
        async with gpu_framework(cluster.address) as framework:
            await framework.wait_offers(gpus=2)
            await launched(framework, "orphan", "exec sleep 1000", gpus=2)
            await framework.wait_running("orphan")
            cluster.agent.kill()
            assert engine.run("ps", "--quiet") != ""

            cluster.restart_agent()
            await framework.wait_offers(gpus=2)

            assert engine.run("ps", "--quiet") == ""
            assert cluster.held() == {}
