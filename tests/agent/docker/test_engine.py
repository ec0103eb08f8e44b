"""Containers of a real Docker engine, from their launch to their end."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
from contextlib import closing, suppress
from pathlib import Path

import pytest

from tests.agent.docker.conftest import Configure, output
from tests.agent.waiting import eventually
from tests.dockerd import Dockerd
from tests.ports import free_port
from tfmesos.agent.containerizer import (
    Container,
    ContainerConfig,
    ContainerId,
    Containerizer,
    ContainerKind,
    LaunchFailed,
)
from tfmesos.resources import Resources
from tfmesos.wire import mesos_pb2

pytestmark = pytest.mark.root
_Docker = mesos_pb2.ContainerInfo.DockerInfo


async def start(containerizer: Containerizer, config: ContainerConfig) -> Container:
    container = await containerizer.launch(config)
    await container.open_gate()
    return container


async def run(containerizer: Containerizer, config: ContainerConfig) -> tuple[int | None, str]:
    """Exit status and output."""
    container = await start(containerizer, config)
    termination = await container.wait()
    assert termination.wait_status is not None
    return os.waitstatus_to_exitcode(termination.wait_status), output(container)


async def test_it_runs_with_its_variables_in_its_sandbox(containerizer: Containerizer, configure: Configure) -> None:
    config = configure('echo "$FROM_IMAGE $MINE $MESOS_SANDBOX"; touch $MESOS_SANDBOX/made; exit 7')
    config.command.environment.variables.add(name="MINE", value="a b\n'c'\u20ac")

    status, printed = await run(containerizer, config)

    assert (status, printed) == (7, "yes a b\n'c'\u20ac /mnt/mesos/sandbox\n")
    assert "made" in os.listdir(config.directory)


async def test_an_executor_has_the_agents_variables(containerizer: Containerizer, configure: Configure) -> None:
    environment = {"MESOS_EXECUTOR_ID": "e"}
    config = configure("echo $MESOS_EXECUTOR_ID", kind=ContainerKind.EXECUTOR, environment=environment)

    assert await run(containerizer, config) == (0, "e\n")


async def test_the_images_command_is_run_if_there_is_none(containerizer: Containerizer, configure: Configure) -> None:
    config = configure("", command=mesos_pb2.CommandInfo(shell=False))

    assert await run(containerizer, config) == (0, "cmd of the image\n")


async def test_what_runs_is_told_as_the_engine_sees_it(containerizer: Containerizer, configure: Configure) -> None:
    resources = tuple(Resources.parse("cpus:0.5;mem:48").to_proto())
    config = configure("sleep 60", docker={"network": _Docker.BRIDGE}, resources=resources)
    container = await start(containerizer, config)

    news = await container.wait_running()

    assert news is not None
    (told,) = json.loads(news.data)
    assert told["Name"] == f"/mesos-{config.id}"
    assert told["State"]["Running"] is True
    assert news.ip_address == told["NetworkSettings"]["IPAddress"] != ""
    assert container.statistics().processes == 1  # and not the client's threads
    assert (told["HostConfig"]["CpuShares"], told["HostConfig"]["Memory"]) == (512, 48 * 1024 * 1024)
    container.kill(0.0)
    await container.wait()


async def test_too_much_memory_is_told(containerizer: Containerizer, configure: Configure) -> None:
    container = await start(containerizer, configure("tail -c 100000000 /dev/zero"))

    termination = await container.wait()

    assert termination.wait_status is not None
    assert os.waitstatus_to_exitcode(termination.wait_status) == 137
    assert container.limitation is not None
    assert container.limitation.reason == mesos_pb2.TaskStatus.REASON_CONTAINER_LIMITATION_MEMORY
    assert container.limitation.message == "Memory limit exceeded: Requested: 32MB Maximum Used: 32MB"


async def test_a_kill_leaves_the_grace(containerizer: Containerizer, configure: Configure) -> None:
    line = "echo ready; while :; do sleep 0.1; done"
    traps = {"heeds": "trap 'exit 5' TERM", "ignores": "trap '' TERM"}
    containers = await asyncio.gather(
        *(start(containerizer, configure(f"{trap}; {line}", name)) for name, trap in traps.items())
    )
    await eventually(lambda: [output(container) for container in containers] == ["ready\n"] * 2)

    for container in containers:
        container.kill(0.5)
    ends = await asyncio.gather(*(container.wait() for container in containers))

    assert [end.wait_status for end in ends] == [5 << 8, 137 << 8]


async def test_a_kill_before_the_engine_has_it_is_not_lost(
    containerizer: Containerizer, configure: Configure, engine: Dockerd
) -> None:
    config = configure("sleep 60")
    container = await start(containerizer, config)

    container.kill(0.0)
    await asyncio.wait_for(container.wait(), 20)

    assert not engine.containers(f"--filter=name=mesos-{config.id}", "--filter=status=running")


async def test_a_published_port_is_reached(containerizer: Containerizer, configure: Configure) -> None:
    port = free_port()
    docker = {
        "network": _Docker.BRIDGE,
        "port_mappings": [_Docker.PortMapping(host_port=port, container_port=80, protocol="tcp")],
    }
    config = configure(
        "while :; do echo hello | nc -l -p 80; done",
        docker=docker,
        resources=tuple(Resources.parse(f"cpus:0.1;mem:32;ports:[{port}-{port}]").to_proto()),
    )
    container = await start(containerizer, config)
    await container.wait_running()

    def ask() -> bytes:
        with suppress(OSError), closing(socket.create_connection(("127.0.0.1", port), 5)) as connection:
            return connection.recv(100)
        return b""

    assert await eventually(ask) == b"hello\n"  # the engine listens before the container does
    container.kill(0.0)
    await container.wait()


async def test_networks(containerizer: Containerizer, configure: Configure) -> None:
    line = "ls /sys/class/net | grep -cE '^(lo|eth0)$'"
    none = configure(line, "none", docker={"network": _Docker.NONE})
    bridge = configure(line, "bridge", docker={"network": _Docker.BRIDGE})
    host = configure("hostname", "host")

    ends = await asyncio.gather(*(run(containerizer, config) for config in (none, bridge, host)))

    assert ends == [(0, "1\n"), (0, "2\n"), (0, f"{socket.gethostname()}\n")]


async def test_a_network_of_the_users(containerizer: Containerizer, configure: Configure, engine: Dockerd) -> None:
    engine.run("network", "create", "--driver=bridge", "--subnet=10.214.77.0/24", "tfmesos-test")
    try:
        config = configure("sleep 60", docker={"network": _Docker.USER})
        assert config.container is not None
        config.container.network_infos.add(name="tfmesos-test")
        container = await start(containerizer, config)

        news = await container.wait_running()
        container.kill(0.0)
        await container.wait()

        assert news is not None
        assert news.ip_address is not None
        assert news.ip_address.startswith("10.214.77.")
    finally:
        engine.run("rm", "--force", f"mesos-{config.id}")
        engine.run("network", "rm", "tfmesos-test")


async def test_parameters_and_volumes(containerizer: Containerizer, configure: Configure) -> None:
    parameters = [mesos_pb2.Parameter(key="workdir", value="/etc"), mesos_pb2.Parameter(key="env", value="B=2")]
    config = configure("pwd; echo $B; cat /v/f; touch /v/f || echo ro", docker={"parameters": parameters})
    volume = Path(config.directory).parent / "volume"
    volume.mkdir(parents=True)
    (volume / "f").write_text("content\n")
    assert config.container is not None
    config.container.volumes.add(mode=mesos_pb2.Volume.RO, host_path=str(volume), container_path="/v")

    assert await run(containerizer, config) == (0, "/etc\n2\ncontent\nro\n")


async def test_a_sandbox_with_a_colon(containerizer: Containerizer, configure: Configure) -> None:
    line = "touch $MESOS_SANDBOX/made"
    directory = configure(line).directory.replace("/e/", "/e:1/")

    status, _ = await run(containerizer, configure(line, directory=directory))

    assert status == 0
    assert "made" in os.listdir(directory)


async def test_privileged_is_handed_on(containerizer: Containerizer, configure: Configure, engine: Dockerd) -> None:
    """Here, where root lacks a capability, the engine refuses it."""
    config = configure("true", docker={"privileged": True})

    container = await start(containerizer, config)
    await container.wait()

    complaint = output(container, "stderr")
    if complaint:
        assert "unable to apply caps" in complaint


async def test_an_image_that_nobody_has_fails_the_launch(containerizer: Containerizer, configure: Configure) -> None:
    config = configure("true", docker={"image": "127.0.0.1:1/nobody/has-it"})

    with pytest.raises(LaunchFailed, match=r"Failed to pull Docker image '127\.0\.0\.1:1/nobody/has-it:latest'"):
        await containerizer.launch(config)


async def test_a_lost_client_ends_its_container(
    containerizer: Containerizer, configure: Configure, engine: Dockerd
) -> None:
    config = configure("sleep 60")
    container = await start(containerizer, config)
    await container.wait_running()
    assert container.main_pid is not None

    os.kill(container.main_pid, signal.SIGKILL)
    await asyncio.wait_for(container.wait(), 20)

    assert not engine.containers(f"--filter=name=mesos-{config.id}", "--filter=status=running")


async def test_a_look_into_it_ends_whole(containerizer: Containerizer, configure: Configure, engine: Dockerd) -> None:
    config = configure("sleep 60", command=mesos_pb2.CommandInfo(value="sleep 60"))
    config.command.environment.variables.add(name="MINE", value="1")
    container = await start(containerizer, config)
    await container.wait_running()
    debug = ContainerConfig(
        id=ContainerId("look", config.id),
        kind=ContainerKind.NESTED,
        command=mesos_pb2.CommandInfo(value="echo $MINE $FROM_IMAGE; sleep 777"),
        directory="",
        is_debug=True,
    )

    look = await start(containerizer, debug)
    await eventually(lambda: output(look) == "1 yes\n")
    assert "sleep 777" in engine.run("top", f"mesos-{config.id}")
    look.kill(0.0)
    await look.wait()

    assert "sleep 777" not in engine.run("top", f"mesos-{config.id}")
    container.kill(0.0)
    await container.wait()
