"""Secrets are in no message that is shown."""

from __future__ import annotations

from tfmesos.endpoints.models import command_json
from tfmesos.wire import mesos_pb2
from tfmesos.wire.secrets import concealed
from tfmesos.wire.tasks import build_task

_SECRET = b"not-to-be-seen"


def _secret() -> mesos_pb2.Secret:
    secret = mesos_pb2.Secret(type=mesos_pb2.Secret.VALUE)
    secret.value.data = _SECRET
    return secret


def _task() -> mesos_pb2.TaskInfo:
    """With a secret wherever there may be one."""
    task = mesos_pb2.TaskInfo(name="t")
    task.task_id.value, task.agent_id.value = "t", "a"
    task.command.value = "true"
    for command in (task.command, task.health_check.command):
        command.environment.variables.add(name="PLAIN", value="seen")
        command.environment.variables.add(name="SECRET").secret.CopyFrom(_secret())
    task.container.type = mesos_pb2.ContainerInfo.MESOS
    task.container.mesos.image.type = mesos_pb2.Image.DOCKER
    task.container.mesos.image.docker.name = "img"
    task.container.mesos.image.docker.config.CopyFrom(_secret())
    volume = task.container.volumes.add(mode=mesos_pb2.Volume.RO, container_path="key")
    volume.source.secret.CopyFrom(_secret())
    task.limits["cpus"].value = 1.0
    return task


def test_a_task_that_others_are_told_of_has_no_secrets() -> None:
    task = build_task(_task(), "f")
    assert _SECRET not in task.SerializeToString()
    assert task.container.mesos.image.docker.HasField("config"), "that there is one may be seen"
    assert task.container.volumes[0].source.secret.type == mesos_pb2.Secret.VALUE
    assert task.limits["cpus"].value == 1.0


def test_a_command_that_is_shown_has_no_secrets() -> None:
    shown = command_json(_task().command)
    assert shown["environment"]["variables"][0] == {"name": "PLAIN", "type": "VALUE", "value": "seen"}
    assert shown["environment"]["variables"][1]["secret"]["value"] == {"data": ""}


def test_what_is_used_keeps_them() -> None:
    task = _task()
    assert _SECRET not in concealed(task).SerializeToString()
    assert _SECRET in task.SerializeToString()
