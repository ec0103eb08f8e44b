"""A custom executor as a user would write it: runs nothing, echoes messages, ends a task when told `finish`."""

import asyncio
import os

from tfmesos.client import ExecutorClient, ExecutorEnvironment
from tfmesos.wire import executor_pb2, mesos_pb2

Event = executor_pb2.Event


async def main() -> None:
    tasks: list[mesos_pb2.TaskID] = []

    def tell(task_id: mesos_pb2.TaskID, state: mesos_pb2.TaskState.ValueType) -> None:
        client.update(mesos_pb2.TaskStatus(task_id=task_id, state=state))

    async with ExecutorClient(ExecutorEnvironment.from_environ(os.environ)) as client:
        async for event in client:
            match event.type:
                case Event.LAUNCH:
                    tasks.append(event.launch.task.task_id)
                    tell(tasks[-1], mesos_pb2.TASK_RUNNING)
                case Event.MESSAGE if event.message.data == b"finish":
                    tell(tasks.pop(0), mesos_pb2.TASK_FINISHED)
                case Event.MESSAGE:
                    client.message(b"echo " + event.message.data)
                case Event.KILL:
                    tasks.remove(event.kill.task_id)
                    tell(event.kill.task_id, mesos_pb2.TASK_KILLED)
                case Event.SHUTDOWN:
                    return


asyncio.run(main())
