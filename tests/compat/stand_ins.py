"""Programs that stand in for recorded executors: each only waits until it is told to end."""

import asyncio
import errno
import os
from pathlib import Path
from typing import Any

from google.protobuf.message import Message

from tfmesos.wire import internal_pb2

_CUSTOM = 2
"""ExecutorInfo.Type.CUSTOM."""


class StandIns:
    """Changes what an agent is told to run, and ends what it started for that.

    The recorded executors speak to the agent themselves. Were their programs (or our own default executor) started
    as well, two would speak for one.
    """

    def __init__(self, directory: Path, *, for_commands: bool) -> None:
        self._directory = directory
        self._for_commands = for_commands
        self._pipes: dict[tuple[str, str], Path] = {}

    def put_into(self, message: Message) -> None:
        """Replace the executors that a RunTaskMessage or RunTaskGroupMessage names."""
        if isinstance(message, internal_pb2.RunTaskMessage):
            if not message.task.HasField("executor"):
                if not self._for_commands:
                    return
                self._make_custom(message)
            self._replace(message.task.executor, message.framework.id.value)
        elif isinstance(message, internal_pb2.RunTaskGroupMessage):
            self._replace(message.executor, message.framework.id.value)
            for task in message.task_group.tasks:
                task.executor.CopyFrom(message.executor)

    async def end(self, framework_id: str, executor_id: str) -> None:
        """The recorded executor has ended: so does its stand-in, if one still waits."""
        pipe = self._pipes.get((framework_id, executor_id))
        if pipe is None:
            return
        for _ in range(50):
            try:
                os.close(os.open(pipe, os.O_WRONLY | os.O_NONBLOCK))
                return
            except OSError as error:
                if error.errno != errno.ENXIO:
                    raise
            await asyncio.sleep(0.01)

    def _make_custom(self, message: Any) -> None:
        """A command task, whose program was the stock command executor, gets an executor of its own."""
        executor = message.task.executor
        executor.executor_id.value = message.task.task_id.value
        executor.framework_id.CopyFrom(message.framework.id)
        message.task.ClearField("command")

    def _replace(self, executor: Any, framework_id: str) -> None:
        key = framework_id, executor.executor_id.value
        if key not in self._pipes:
            self._pipes[key] = self._directory / f"executor-{len(self._pipes)}"
            os.mkfifo(self._pipes[key])
        executor.type = _CUSTOM
        executor.command.ClearField("uris")
        executor.command.value = f"read word < '{self._pipes[key]}'"
