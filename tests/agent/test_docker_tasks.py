"""Tasks in containers of the Docker engine, as frameworks see them (Mesos 1.11: its docker executor)."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from tests.agent.conftest import running_agent
from tests.agent.in_test_master import InTestMaster, command_task, framework
from tests.agent.waiting import eventually
from tests.dockerd import Dockerd
from tests.images import busybox_image, pack
from tests.registry import FakeRegistry
from tfmesos.agent import Agent, AgentFlags
from tfmesos.wire import internal_pb2, mesos_pb2

pytestmark = pytest.mark.root

IMAGE = "tfmesos-docker-tasks:1"
Status = mesos_pb2.TaskStatus
STARTING, RUNNING, KILLING = mesos_pb2.TASK_STARTING, mesos_pb2.TASK_RUNNING, mesos_pb2.TASK_KILLING
FINISHED, FAILED, KILLED = mesos_pb2.TASK_FINISHED, mesos_pb2.TASK_FAILED, mesos_pb2.TASK_KILLED


@pytest.fixture(scope="session")
def engine(dockerd: Dockerd) -> Dockerd:
    dockerd.load(busybox_image(environment=("PATH=/bin",)), IMAGE)
    return dockerd


@pytest.fixture
def flags(flags: AgentFlags, engine: Dockerd) -> AgentFlags:
    return replace(flags, containerizers=("mesos", "docker"), docker_socket=str(engine.socket))


@pytest.fixture
async def agent(flags: AgentFlags, master: InTestMaster) -> AsyncIterator[Agent]:
    async with running_agent(flags, master) as running:
        await master.wait_for(internal_pb2.RegisterSlaveMessage)
        yield running


def docker_task(task_id: str, command: str, image: str = IMAGE) -> mesos_pb2.TaskInfo:
    task = command_task(task_id, command)
    task.container.type = mesos_pb2.ContainerInfo.DOCKER
    task.container.docker.image = image
    task.resources.add(name="mem", type=mesos_pb2.Value.SCALAR).scalar.value = 32
    return task


def states(master: InTestMaster, task_id: str) -> list[int]:
    return [update.status.state for update in master.updates(task_id)]


async def test_what_runs_is_told_with_what_the_engine_says_and_its_address(agent: Agent, master: InTestMaster) -> None:
    task = docker_task("a", "sleep 60")
    task.container.docker.network = mesos_pb2.ContainerInfo.DockerInfo.BRIDGE
    master.run(task)

    running = await master.wait_for_state("a", RUNNING)
    master.kill("a", 0.0)
    ended = await master.wait_for_end("a")

    (told,) = json.loads(running.data)
    assert told["Name"] == f"/mesos-{running.container_status.container_id.value}"
    (network,) = running.container_status.network_infos
    assert network.ip_addresses[0].ip_address == told["NetworkSettings"]["IPAddress"]
    assert (ended.state, ended.message) == (KILLED, "Container exited with status 137")
    assert states(master, "a") == [STARTING, RUNNING, KILLED]


async def test_ends_have_mesos_texts(agent: Agent, master: InTestMaster) -> None:
    lines = {"a": "true", "b": "exit 3", "c": "exec /no/such"}
    for task_id, line in lines.items():
        master.run(docker_task(task_id, line))

    ends = [await master.wait_for_end(task_id) for task_id in lines]

    assert [(end.state, end.message, end.source) for end in ends] == [
        (FINISHED, "Container exited with status 0", Status.SOURCE_EXECUTOR),
        (FAILED, "Container exited with status 3", Status.SOURCE_EXECUTOR),
        (FAILED, "Container exited with status 127", Status.SOURCE_EXECUTOR),
    ]
    assert all(states(master, task_id)[0] == STARTING for task_id in lines)


async def test_out_of_memory_is_said(agent: Agent, master: InTestMaster) -> None:
    """Case E6."""
    master.run(docker_task("a", "exec tail -c 100000000 /dev/zero"))

    ended = await master.wait_for_end("a")

    assert (ended.state, ended.reason) == (FAILED, Status.REASON_CONTAINER_LIMITATION_MEMORY)
    assert ended.message == "Memory limit exceeded: Requested: 32MB Maximum Used: 32MB"
    assert ended.limitation.resources[0].scalar.value == 32


async def test_what_cannot_be_had_fails_its_task_only(agent: Agent, master: InTestMaster) -> None:
    """Case A1: the reason and the engine's own words."""
    master.run(docker_task("a", "true", "127.0.0.1:1/none"))
    master.run(docker_task("b", "true"))
    task = docker_task("c", "true")
    task.container.docker.network = mesos_pb2.ContainerInfo.DockerInfo.USER
    master.run(task)

    failed = await master.wait_for_end("a")

    assert (failed.state, failed.reason) == (FAILED, Status.REASON_CONTAINER_LAUNCH_FAILED)
    assert failed.source == Status.SOURCE_AGENT
    assert failed.message.startswith(
        "Failed to launch container: Failed to pull Docker image '127.0.0.1:1/none:latest'"
    )
    assert (await master.wait_for_end("b")).state == FINISHED
    assert (await master.wait_for_end("c")).message == (
        "Failed to launch container: Failed to create docker run options: No network info found in container info"
    )


async def test_a_container_outlives_its_agent_and_the_next_one_ends_it(
    flags: AgentFlags, master: InTestMaster, engine: Dockerd
) -> None:
    info = framework()
    info.checkpoint = True
    async with running_agent(flags, master):
        await master.wait_for(internal_pb2.RegisterSlaveMessage)
        master.run(docker_task("a", "trap 'exit 4' TERM; while :; do sleep 0.1; done"), info)
        running = await master.wait_for_state("a", RUNNING)
    name = f"mesos-{running.container_status.container_id.value}"
    assert engine.containers(f"--filter=name={name}", "--filter=status=running")

    async with running_agent(flags, master):
        await master.wait_for(internal_pb2.ReregisterSlaveMessage)
        master.kill("a", 5.0)
        ended = await master.wait_for_end("a")

    assert (ended.state, ended.message) == (KILLED, "Container exited with status 4")
    assert not engine.containers(f"--filter=name={name}", "--filter=status=running")


async def test_the_next_agent_tells_that_it_runs_if_the_one_before_could_not(
    flags: AgentFlags, master: InTestMaster
) -> None:
    info = framework()
    info.checkpoint = True
    async with running_agent(flags, master):
        await master.wait_for(internal_pb2.RegisterSlaveMessage)
        master.run(docker_task("a", "sleep 60"), info)
        await master.wait_for_state("a", STARTING)

    async with running_agent(flags, master):
        running = await master.wait_for_state("a", RUNNING)
        master.kill("a", 0.0)
        await master.wait_for_end("a")

    assert json.loads(running.data)[0]["State"]["Running"]


async def test_health_checks_look_from_inside_and_at_its_address(agent: Agent, master: InTestMaster) -> None:
    inside = docker_task("inside", "touch /only-inside; sleep 60")
    inside.health_check.type = mesos_pb2.HealthCheck.COMMAND
    inside.health_check.command.value = "test -e /only-inside"
    network = docker_task("network", "while :; do nc -l -p 7777 -e true; done")
    network.container.docker.network = mesos_pb2.ContainerInfo.DockerInfo.BRIDGE
    network.health_check.type = mesos_pb2.HealthCheck.TCP
    network.health_check.tcp.port = 7777
    for task in (inside, network):
        task.health_check.delay_seconds, task.health_check.interval_seconds = 0.0, 0.1
        master.run(task)

    for task_id in ("inside", "network"):

        def is_healthy(message: internal_pb2.StatusUpdateMessage, task_id: str = task_id) -> bool:
            return message.update.status.task_id.value == task_id and message.update.status.healthy

        await master.wait_for(internal_pb2.StatusUpdateMessage, is_healthy)
        master.kill(task_id, 0.0)
        await master.wait_for_end(task_id)


async def test_a_kill_ends_a_pull(agent: Agent, master: InTestMaster, fake_registry: FakeRegistry) -> None:
    fake_registry.put(pack(busybox_image(), "docker"), "slow/image:1")
    fake_registry.gate.clear()
    master.run(docker_task("a", "true", f"{fake_registry.host}/slow/image:1"))
    await eventually(lambda: any("/blobs/" in asked for asked in map(str, fake_registry.asked)))

    master.kill("a")
    ended = await master.wait_for_end("a")
    fake_registry.gate.set()

    assert (ended.state, ended.reason) == (KILLED, Status.REASON_TASK_KILLED_DURING_LAUNCH)


async def test_without_docker_among_the_containerizers_nobody_takes_it(flags: AgentFlags, master: InTestMaster) -> None:
    async with running_agent(replace(flags, containerizers=("mesos",)), master):
        await master.wait_for(internal_pb2.RegisterSlaveMessage)
        master.run(docker_task("a", "true"))
        failed = await master.wait_for_end("a")

    assert "None of the enabled containerizers (mesos) could create a container" in failed.message
