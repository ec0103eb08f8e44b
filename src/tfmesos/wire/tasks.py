"""The Task that masters and agents tell others of (Mesos 1.11)."""

from tfmesos.wire import mesos_pb2
from tfmesos.wire.secrets import conceal


def build_task(info: mesos_pb2.TaskInfo, framework_id: str) -> mesos_pb2.Task:
    """The Task of a launch, in TASK_STAGING: all of the TaskInfo but its command, and without the values of secrets."""
    task = mesos_pb2.Task(name=info.name, state=mesos_pb2.TASK_STAGING)
    task.task_id.CopyFrom(info.task_id)
    task.agent_id.CopyFrom(info.agent_id)
    task.framework_id.value = framework_id
    task.resources.extend(info.resources)
    for field in ("labels", "discovery", "container", "health_check", "kill_policy"):
        if info.HasField(field):
            getattr(task, field).CopyFrom(getattr(info, field))
    conceal(task.container)
    conceal(task.health_check)
    if info.HasField("executor"):
        task.executor_id.CopyFrom(info.executor.executor_id)
    for command in (info.command, info.executor.command):
        if command.HasField("user") and not task.user:
            task.user = command.user
    for name, limit in info.limits.items():
        task.limits[name].CopyFrom(limit)
    return task


def remember_status(task: mesos_pb2.Task, status: mesos_pb2.TaskStatus) -> None:
    """Keep a status in the task's history: one entry per distinct consecutive state; `data` is not kept."""
    if task.statuses and task.statuses[-1].state == status.state:
        del task.statuses[-1]
    kept = task.statuses.add()
    kept.CopyFrom(status)
    kept.ClearField("data")
