"""Tasks that this agent cannot serve, and how it says so."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.agent.in_test_master import InTestMaster, command_task
from tfmesos.agent import Agent, AgentFlags
from tfmesos.agent.containerizer import ContainerConfig, ContainerId, ContainerKind
from tfmesos.agent.containerizer.refusals import Refusals
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


def _task_limits(task: mesos_pb2.TaskInfo) -> None:
    task.container.type = MESOS
    task.container.rlimit_info.rlimits.add(type=mesos_pb2.RLimitInfo.RLimit.RLMT_NOFILE)


def _source(task: mesos_pb2.TaskInfo, kind: str, **parts: object) -> None:
    task.container.type = MESOS
    volume = task.container.volumes.add(container_path="/data", mode=RW)
    volume.source.type = mesos_pb2.Volume.Source.Type.Value(kind)
    for part, value in parts.items():
        getattr(volume.source, part).MergeFrom(value)


def _linux(task: mesos_pb2.TaskInfo, **parts: object) -> None:
    task.container.type = MESOS
    task.container.linux_info.MergeFrom(mesos_pb2.LinuxInfo(**parts))  # type: ignore[arg-type]


def _fault(task: mesos_pb2.TaskInfo, *, is_debug: bool = False, **flags: Any) -> str | None:
    framework = mesos_pb2.FrameworkInfo(user="u", name="f", id=mesos_pb2.FrameworkID(value="f"))
    refusals = Refusals(AgentFlags(master="none", work_dir="none", **flags))
    return refusal(task, framework) or refusals.fault(
        ContainerConfig(
            id=ContainerId("c"),
            kind=ContainerKind.COMMAND_TASK,
            command=task.command,
            directory="/sandbox",
            container=task.container if task.HasField("container") else None,
            resources=tuple(task.resources),
            is_debug=is_debug,
        )
    )


RW, RO = mesos_pb2.Volume.RW, mesos_pb2.Volume.RO
PRIVATE = mesos_pb2.LinuxInfo.PRIVATE
NET_RAW = mesos_pb2.CapabilityInfo(capabilities=[mesos_pb2.CapabilityInfo.NET_RAW])
REFERENCE = mesos_pb2.Secret(
    type=mesos_pb2.Secret.REFERENCE, reference=mesos_pb2.Secret.Reference(name="vault", key="k")
)
WITH_IMAGES: dict[str, Any] = {"isolation": "filesystem/linux,docker/runtime", "image_providers": ("DOCKER",)}


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (
            _image,
            "Container root filesystems not supported by this agent: it needs --image_providers=docker, and "
            "filesystem/linux and docker/runtime in --isolation",
        ),
        (_gpus, "The 'gpus' resource must be an unsigned integer"),
        (_secret, "environment variable 'PASSWORD': there is no secret"),
        (_health_check, "health_check must have one of command, http, tcp"),
        (_limits, "resource limits are not supported by this agent yet"),
        (_disk, "persistent volumes and disks are not supported by this agent yet"),
        (lambda task: task.command.ClearField("value"), "the command has no value"),
        (lambda task: task.ClearField("command"), "the task has no command"),
        (
            lambda task: _volume(task, "/etc", "/data", RW),
            "Volumes in ContainerInfo is not supported by this agent: /etc at /data; it needs 'filesystem/linux' in "
            "--isolation",
        ),
        (
            lambda task: _volume(task, "/etc", "/etc", RO),
            "Volumes in ContainerInfo is not supported by this agent: /etc at /etc (read-only); it needs "
            "'filesystem/linux' in --isolation",
        ),
        (
            lambda task: _volume(task, "/no/such", "/no/such", RW),
            "Path '/no/such' in HOST_PATH volume does not exist",
        ),
        (
            lambda task: _volume(task, "mine", "/data", RW),
            "Volumes in ContainerInfo is not supported by this agent: SANDBOX_PATH at /data; it needs "
            "'volume/sandbox_path' in --isolation",
        ),
        (lambda task: _volume(task, "/etc", "/a\0b", RW), "Invalid volume: a path contains a zero byte"),
        (lambda task: _volume(task, "/etc\0", "/etc", RW), "Invalid volume: a path contains a zero byte"),
        (_task_limits, "rlimit_info of containers needs 'posix/rlimits' in the --isolation of this agent"),
        (
            lambda task: _linux(task, effective_capabilities=NET_RAW),
            "linux_info.effective_capabilities of containers needs 'linux/capabilities' in the --isolation of this "
            "agent",
        ),
        (
            lambda task: _linux(task, ipc_mode=PRIVATE),
            "linux_info.ipc_mode of containers needs 'namespaces/ipc' in the --isolation of this agent",
        ),
        (
            lambda task: _linux(task, shm_size=64),
            "linux_info.shm_size of containers needs 'namespaces/ipc' in the --isolation of this agent",
        ),
        (
            lambda task: _linux(task, seccomp=mesos_pb2.SeccompInfo(profile_name="p")),
            "linux_info.seccomp of containers needs 'linux/seccomp' in the --isolation of this agent",
        ),
        (lambda task: setattr(task.task_id, "value", ".."), "the task id '..' cannot name a directory"),
        (lambda task: setattr(task.task_id, "value", "a/b"), "the task id 'a/b' cannot name a directory"),
        (lambda task: setattr(task.command, "value", "a\0b"), "the command or its environment contains a zero byte"),
    ],
)
def test_what_cannot_be_served_has_a_text(change: Change, text: str) -> None:
    task = command_task("t")
    change(task)

    assert _fault(task) == text


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (
            lambda task: task.container.mesos.image.__setattr__("type", mesos_pb2.Image.APPC),
            "Unsupported container image type: APPC",
        ),
        (
            lambda task: _source(task, "SECRET", secret=REFERENCE),
            "Volumes in ContainerInfo is not supported by this agent: SECRET at /data; it needs 'volume/secret' in "
            "--isolation",
        ),
        (
            lambda task: _source(task, "DOCKER_VOLUME", docker_volume=mesos_pb2.Volume.Source.DockerVolume(name="v")),
            "Volumes in ContainerInfo is not supported by this agent: DOCKER_VOLUME at /data; it needs 'docker/volume' "
            "in --isolation",
        ),
        (lambda task: _source(task, "UNKNOWN"), "Invalid volume: 'source.type' is unknown"),
        (lambda task: _source(task, "HOST_PATH"), "Invalid volume: 'source.host_path' is not set for HOST_PATH volume"),
        (
            lambda task: task.container.volumes.add(container_path="/x", mode=RW),
            "Invalid volume: Only one of them should be set: 'host_path', 'image' and 'source'",
        ),
        (
            lambda task: setattr(task.container, "hostname", "h"),
            "hostname of containers is not supported by this agent",
        ),
        (lambda task: task.container.network_infos.add(name="n"), "container networks are not supported by this agent"),
    ],
)
def test_what_an_agent_with_images_cannot_serve_has_a_text(change: Change, text: str) -> None:
    task = command_task("t")
    _image(task)
    change(task)

    assert _fault(task, **WITH_IMAGES) == text


def test_a_secret_that_is_kept_elsewhere_is_refused_by_its_name() -> None:
    task = command_task("t")
    variable = task.command.environment.variables.add(name="KEY", type=mesos_pb2.Environment.Variable.SECRET)
    variable.secret.CopyFrom(REFERENCE)

    assert _fault(task) == (
        "environment variable 'KEY': the secret is a reference to 'vault', and this agent resolves values only"
    )


@pytest.mark.parametrize("kind", ["HOST_PATH", "SANDBOX_PATH"])
def test_debug_containers_have_no_volumes_of_their_own(kind: str) -> None:
    task = command_task("t")
    _volume(task, "/etc" if kind == "HOST_PATH" else "etc", "/data", RW)

    assert _fault(task, is_debug=True, **WITH_IMAGES) == f"{kind} volume is not supported for DEBUG containers"


@pytest.mark.parametrize(
    "change",
    [
        _image,
        lambda task: _volume(task, "/etc", "/data", RO),
        lambda task: _volume(task, "mine", "/data", RW),
        lambda task: _linux(task, share_pid_namespace=True, ipc_mode=mesos_pb2.LinuxInfo.SHARE_PARENT),
        lambda task: _linux(task, seccomp=mesos_pb2.SeccompInfo(unconfined=True)),
    ],
)
def test_what_an_agent_with_images_can_serve_is_not_refused(change: Change) -> None:
    task = command_task("t")
    change(task)

    assert _fault(task, **WITH_IMAGES) is None


def test_an_image_may_say_the_command() -> None:
    task = command_task("t")
    _image(task)
    task.command.ClearField("value")
    task.command.shell = False

    assert _fault(task, **WITH_IMAGES) is None


def test_the_engine_refuses_for_itself() -> None:
    task = command_task("t")
    _docker(task)
    task.command.ClearField("value")
    task.container.hostname = "h"

    assert _fault(task) is None


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
