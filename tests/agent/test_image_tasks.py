"""Tasks and executors with images, at an agent of a master."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.agent.conftest import running_agent
from tests.agent.in_test_master import InTestMaster, command_task
from tests.agent.test_executor_api import custom_executor, executor_task, run_file, states
from tests.agent.test_isolated_tasks import EAT, OUT_OF_MEMORY, default_executor, run_group, with_mem
from tests.agent.waiting import eventually
from tests.cgroup_trees import pids_below
from tests.images import busybox_image
from tests.registry import FakeRegistry, Registry
from tfmesos.agent import Agent, AgentFlags
from tfmesos.wire import internal_pb2, mesos_pb2

pytestmark = [pytest.mark.root, pytest.mark.cgroups]

Status = mesos_pb2.TaskStatus


@pytest.fixture(scope="session")
def box(registry: Registry) -> str:
    """The name of an image."""
    registry.push(busybox_image(), "tasks/box:1")
    return f"{registry.host}/tasks/box:1"


@pytest.fixture
def flags(flags: AgentFlags, cgroups_root: str, tmp_path: Path) -> AgentFlags:
    return replace(
        flags,
        isolation="filesystem/linux,docker/runtime,cgroups/cpu,cgroups/mem,cgroups/pids",
        cgroups_root=cgroups_root,
        image_providers=("DOCKER",),
        docker_store_dir=str(tmp_path / "store"),
    )


@pytest.fixture
async def agent(flags: AgentFlags, master: InTestMaster) -> AsyncIterator[Agent]:
    async with running_agent(flags, master) as running:
        await master.wait_for(internal_pb2.RegisterSlaveMessage)
        yield running


def in_image(task: mesos_pb2.TaskInfo, image: str) -> mesos_pb2.TaskInfo:
    task.container.CopyFrom(container_with(image))
    return with_mem(task, 64)


def container_with(image: str) -> mesos_pb2.ContainerInfo:
    container = mesos_pb2.ContainerInfo(type=mesos_pb2.ContainerInfo.MESOS)
    container.mesos.image.type = mesos_pb2.Image.DOCKER
    container.mesos.image.docker.name = image
    return container


async def test_a_task_out_of_an_image(agent: Agent, master: InTestMaster, box: str) -> None:
    master.run(in_image(command_task("a", "test $(pwd) = /mnt/mesos/sandbox; exit $?"), box))

    ended = await master.wait_for_end("a")

    assert (ended.state, ended.message) == (mesos_pb2.TASK_FINISHED, "Command exited with status 0")
    assert states(master, "a") == ["TASK_STARTING", "TASK_RUNNING", "TASK_FINISHED"]


async def test_a_failed_pull_fails_the_task_with_registry_image_and_reason(
    agent: Agent, master: InTestMaster, registry: Registry
) -> None:
    master.run(in_image(command_task("a"), f"{registry.host}/tasks/nobody:1"))

    ended = await master.wait_for_end("a")

    assert (ended.state, ended.reason) == (mesos_pb2.TASK_FAILED, Status.REASON_CONTAINER_LAUNCH_FAILED)
    assert ended.source == Status.SOURCE_AGENT
    told = f"Failed to launch container: Failed to pull image '{registry.host}/tasks/nobody:1' from "
    assert ended.message.startswith(told)
    assert registry.host in ended.message.removeprefix(told)
    assert states(master, "a") == ["TASK_FAILED"]


async def test_a_task_that_is_killed_while_its_image_is_pulled(
    agent: Agent, master: InTestMaster, fake_registry: FakeRegistry
) -> None:
    # given an image that takes its time
    fake_registry.put(busybox_image(), "slow/box:1")
    fake_registry.gate.clear()
    master.run(in_image(command_task("a"), f"{fake_registry.host}/slow/box:1"))
    assert await eventually(lambda: any("/blobs/" in one.path for one in fake_registry.asked))
    # when its task is killed
    master.kill("a")
    ended = await master.wait_for_end("a")
    # then that is its end, at once
    assert (ended.state, ended.reason) == (mesos_pb2.TASK_KILLED, Status.REASON_TASK_KILLED_DURING_LAUNCH)


async def test_memory_that_runs_out_in_an_image_is_told(agent: Agent, master: InTestMaster, box: str) -> None:
    master.run(in_image(command_task("a", EAT), box))

    ended = await master.wait_for_end("a")

    assert (ended.state, ended.reason) == (mesos_pb2.TASK_FAILED, OUT_OF_MEMORY)
    assert ended.message.startswith("Memory limit exceeded: Requested: 64MB Maximum Used: 64MB")
    (used,) = ended.limitation.resources
    assert (used.name, used.scalar.value) == ("mem", 64)


async def test_grandchildren_that_went_their_own_ways_end_with_the_task(
    agent: Agent, master: InTestMaster, box: str, cgroups_root: str
) -> None:
    line = "(setsid sh -c '(setsid sleep 1000 &) ; sleep 1000' &) ; sleep 0.1; echo $(ps | grep -c sleep)"
    master.run(in_image(command_task("a", line), box))
    assert (await master.wait_for_end("a")).state == mesos_pb2.TASK_FINISHED
    assert pids_below(cgroups_root) == []


async def test_checks_look_into_the_image(agent: Agent, master: InTestMaster, box: str) -> None:
    task = in_image(command_task("a", "echo on > /made-here; sleep 1000"), box)
    task.health_check.type = mesos_pb2.HealthCheck.COMMAND
    task.health_check.command.value = "test $(cat /made-here) = on"
    task.health_check.delay_seconds, task.health_check.interval_seconds = 0.0, 0.05
    master.run(task)

    def is_healthy(message: internal_pb2.StatusUpdateMessage) -> bool:
        return message.update.status.HasField("healthy")

    told = await master.wait_for(internal_pb2.StatusUpdateMessage, is_healthy)
    assert told.update.status.healthy
    master.kill("a")
    assert (await master.wait_for_end("a")).state == mesos_pb2.TASK_KILLED


async def test_members_of_a_group_have_images_of_their_own(agent: Agent, master: InTestMaster, box: str) -> None:
    tasks = [in_image(command_task("a", "test -x /bin/busybox -a ! -e /root/.bashrc"), box), command_task("b", "true")]
    run_group(master, default_executor(64), tasks[0], with_mem(tasks[1], 32))
    ends = [await master.wait_for_end(task_id) for task_id in ("a", "b")]
    assert [end.state for end in ends] == [mesos_pb2.TASK_FINISHED] * 2


async def test_a_custom_executor_runs_in_its_image_and_has_its_time_when_that_is_there(
    flags: AgentFlags, master: InTestMaster, fake_registry: FakeRegistry
) -> None:
    # given an image that takes longer to come than executors have to register
    fake_registry.put(busybox_image(), "slow/box:1")
    fake_registry.gate.clear()
    executor = custom_executor()
    executor.container.CopyFrom(container_with(f"{fake_registry.host}/slow/box:1"))
    executor.command.shell, executor.command.value = True, "echo in $MESOS_DIRECTORY; exec sleep 1000"
    del executor.command.arguments[:]
    async with running_agent(replace(flags, executor_registration_timeout=0.3), master):
        await master.wait_for(internal_pb2.RegisterSlaveMessage)
        master.run(executor_task("a", executor))
        assert await eventually(lambda: any("/blobs/" in one.path for one in fake_registry.asked))
        await asyncio.sleep(0.4)
        assert states(master, "a") == []
        # when it is there
        fake_registry.gate.set()
        # then the executor runs, in it, and its time begins
        ended = await master.wait_for_end("a")
        assert ended.reason == Status.REASON_EXECUTOR_REGISTRATION_TIMEOUT
        assert run_file(flags, "stdout").read_text() == "in /mnt/mesos/sandbox\n"


async def test_a_custom_executor_speaks_from_its_image(agent: Agent, master: InTestMaster, box: str) -> None:
    """Its modules are the host's: what counts is that it lives in a container with a root of its own."""
    executor = custom_executor()
    executor.container.CopyFrom(container_with(box))
    executor.container.volumes.add(mode=mesos_pb2.Volume.RO, container_path="/host", host_path="/")
    program = " ".join(executor.command.arguments)
    executor.command.shell, executor.command.value = True, f"test ! -e /root/.bashrc && exec chroot /host {program}"
    del executor.command.arguments[:]

    master.run(executor_task("a", executor, b"finish"))

    assert (await master.wait_for_end("a")).state == mesos_pb2.TASK_FINISHED
