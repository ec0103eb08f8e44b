"""A custom executor whose tasks do what the load's commands do: `<file> <seconds>` in a task's data."""

import asyncio
import os
from pathlib import Path

from tfmesos.client import ExecutorClient, ExecutorEnvironment
from tfmesos.wire import executor_pb2, mesos_pb2

Event = executor_pb2.Event


def note(file: str, line: str) -> None:
    with Path(file).open("a") as opened:
        opened.write(f"{line}\n")


async def main() -> None:
    running: dict[str, asyncio.Task[None]] = {}

    async def run(task: mesos_pb2.TaskInfo) -> None:
        file, _, seconds = task.data.decode().rpartition(" ")
        note(file, "start")
        client.update(mesos_pb2.TaskStatus(task_id=task.task_id, state=mesos_pb2.TASK_RUNNING))
        await asyncio.sleep(float(seconds))
        note(file, "end")
        client.update(mesos_pb2.TaskStatus(task_id=task.task_id, state=mesos_pb2.TASK_FINISHED, message="done"))

    async with ExecutorClient(ExecutorEnvironment.from_environ(os.environ)) as client, asyncio.TaskGroup() as group:
        async for event in client:
            match event.type:
                case Event.LAUNCH:
                    task = event.launch.task
                    running[task.task_id.value] = group.create_task(run(task))
                case Event.KILL:
                    task_id = event.kill.task_id
                    if running[task_id.value].cancel():
                        end = mesos_pb2.TaskStatus(task_id=task_id, state=mesos_pb2.TASK_KILLED, message="killed")
                        client.update(end)
                case Event.SHUTDOWN:
                    os._exit(0)


asyncio.run(main())
