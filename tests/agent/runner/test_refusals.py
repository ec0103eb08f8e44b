"""Tasks that this agent cannot serve, and how it says so."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.agent.in_test_master import InTestMaster, command_task
from tfmesos.agent import Agent
from tfmesos.agent.containerizer import ContainerConfig, ContainerId, ContainerKind
from tfmesos.agent.containerizer.refusals import config_fault
from tfmesos.agent.errors import BadUser
from tfmesos.agent.runner.refusals import executor_refusal, refusal
from tfmesos.agent.users import identity_of
from tfmesos.wire import mesos_pb2

Change = Callable[[mesos_pb2.TaskInfo], object]
MESOS, DOCKER = mesos_pb2.ContainerInfo.MESOS, mesos_pb2.ContainerInfo.DOCKER


def _volume(task: mesos_pb2.TaskInfo, host: str, place: str, mode: mesos_pb2.Volume.Mode.ValueType) -> None:
    task.container.type = MESOS
    task.container.volumes.add(host_path=host, container_path=place, mode=mode)


def _image(task: mesos_pb2.TaskInfo) -> None:
    task.container.type = MESOS
    task.container.mesos.image.type = mesos_pb2.Image.DOCKER


def _docker(task: mesos_pb2.TaskInfo) -> None:
    task.container.type = DOCKER
    task.container.docker.image = "busybox"


def _gpus(task: mesos_pb2.TaskInfo) -> None:
    task.resources.add(name="gpus", type=mesos_pb2.Value.SCALAR).scalar.value = 0.5


def _secret(task: mesos_pb2.TaskInfo) -> None:
    task.command.environment.variables.add(name="PASSWORD", type=mesos_pb2.Environment.Variable.SECRET)


def _health_check(task: mesos_pb2.TaskInfo) -> None:
    task.health_check.delay_seconds = 1


def _limits(task: mesos_pb2.TaskInfo) -> None:
    task.limits["mem"].value = 1


def _disk(task: mesos_pb2.TaskInfo) -> None:
    task.resources.add(name="disk", type=mesos_pb2.Value.SCALAR).disk.persistence.id = "v"


def _fault(task: mesos_pb2.TaskInfo) -> str | None:
    framework = mesos_pb2.FrameworkInfo(user="u", name="f", id=mesos_pb2.FrameworkID(value="f"))
    return refusal(task, framework) or config_fault(
        ContainerConfig(
            id=ContainerId("c"),
            kind=ContainerKind.COMMAND_TASK,
            command=task.command,
            directory="/sandbox",
            container=task.container if task.HasField("container") else None,
            resources=tuple(task.resources),
        )
    )


RW, RO = mesos_pb2.Volume.RW, mesos_pb2.Volume.RO


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (_image, "container images are not supported by this agent yet"),
        (_docker, "Docker containers are not supported by this agent yet"),
        (_gpus, "The 'gpus' resource must be an unsigned integer"),
        (_secret, "secrets are not supported by this agent yet: environment variable PASSWORD"),
        (_health_check, "health_check must have one of command, http, tcp"),
        (_limits, "resource limits are not supported by this agent yet"),
        (_disk, "persistent volumes and disks are not supported by this agent yet"),
        (lambda task: task.command.ClearField("value"), "the command has no value"),
        (lambda task: task.ClearField("command"), "the task has no command"),
        (lambda task: _volume(task, "/etc", "/data", RW), "volumes are not supported by this agent yet: /etc at /data"),
        (lambda task: _volume(task, "/etc", "/etc", RO), "read-only volumes are not supported by this agent yet: /etc"),
        (lambda task: _volume(task, "/no/such", "/no/such", RW), "the volume /no/such does not exist on this agent"),
        (lambda task: setattr(task.task_id, "value", ".."), "the task id '..' cannot name a directory"),
        (lambda task: setattr(task.task_id, "value", "a/b"), "the task id 'a/b' cannot name a directory"),
        (lambda task: setattr(task.command, "value", "a\0b"), "the command or its environment contains a zero byte"),
    ],
)
def test_what_cannot_be_served_has_a_text(change: Change, text: str) -> None:
    task = command_task("t")
    change(task)

    assert _fault(task) == text


def test_a_volume_whose_paths_are_the_same_needs_nothing(tmp_path: Path) -> None:
    task = command_task("t")
    _volume(task, str(tmp_path), str(tmp_path), RW)

    assert _fault(task) is None


async def test_a_refused_task_fails_with_the_text_and_mesos_reason(agent: Agent, master: InTestMaster) -> None:
    task = command_task("t")
    _gpus(task)
    master.run(task)

    status = await master.wait_for_end("t")

    assert status.state == mesos_pb2.TASK_FAILED
    assert status.source == mesos_pb2.TaskStatus.SOURCE_AGENT
    assert status.reason == mesos_pb2.TaskStatus.REASON_CONTAINER_LAUNCH_FAILED
    assert status.message == "Failed to launch container: The 'gpus' resource must be an unsigned integer"


def test_a_user_whose_name_nobody_can_have_is_refused() -> None:
    with pytest.raises(BadUser, match="there is no user"):
        identity_of("a\0b")


def test_an_executor_id_must_be_able_to_name_a_directory() -> None:
    executor = mesos_pb2.ExecutorInfo(executor_id=mesos_pb2.ExecutorID(value="../ex"))
    framework = mesos_pb2.FrameworkInfo(user="u", name="f", id=mesos_pb2.FrameworkID(value="f"))

    assert executor_refusal(executor, framework) == "the executor id '../ex' cannot name a directory"
