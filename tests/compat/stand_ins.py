"""Programs that stand in for recorded executors: each only waits until it is told to end."""

import asyncio
import errno
import os
from itertools import count
from pathlib import Path
from typing import Any

from google.protobuf.message import Message

from tfmesos.wire import internal_pb2

_CUSTOM = 2
"""ExecutorInfo.Type.CUSTOM."""
_LOOK_S = 0.01
_Key = tuple[str, str]
"""The ids of framework and executor."""


class StandIns:
    """Changes what an agent is told to run, and ends what it started for that. `close` comes last.

    The recorded executors speak to the agent themselves. Were their programs (or our own default executor) started
    as well, two would speak for one. None speaks before its stand-in runs, as no program speaks before it was started:
    an agent knows the container by then. Each stand-in reads from a pipe of its own, whose other end is kept here while
    it is to run.
    """

    def __init__(self, directory: Path, *, for_commands: bool) -> None:
        self._directory = directory
        self._for_commands = for_commands
        self._names = (f"executor-{number}" for number in count())
        self._pipes: dict[_Key, Path] = {}
        self._expected: set[_Key] = set()
        self._ends: dict[_Key, int] = {}

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

    async def wait_running(self, timeout_s: float) -> list[str]:
        """Until all that the agent was told to run do; what of them does not in time, which is not awaited again."""
        try:
            async with asyncio.timeout(timeout_s):
                while self._expected:
                    self._expected -= {key for key in self._expected if self._reach(key)}
                    if self._expected:
                        await asyncio.sleep(_LOOK_S)
        except TimeoutError:
            return [f"the stand-in of executor {executor_id} does not run" for _, executor_id in self._expected]
        finally:
            self._expected.clear()
        return []

    def end(self, framework_id: str, executor_id: str) -> None:
        """The recorded executor has ended: so does its stand-in."""
        key = framework_id, executor_id
        self._pipes.pop(key, None)
        end = self._ends.pop(key, None)
        if end is not None:
            os.close(end)

    def close(self) -> None:
        """End all that still run."""
        for key in list(self._ends):
            self.end(*key)

    def _reach(self, key: _Key) -> bool:
        """Whether the stand-in reads from its pipe: Linux lets only then open it for writing without waiting."""
        try:
            self._ends[key] = os.open(self._pipes[key], os.O_WRONLY | os.O_NONBLOCK)
        except OSError as error:
            if error.errno != errno.ENXIO:
                raise
            return False
        return True

    def _make_custom(self, message: Any) -> None:
        """A command task, whose program was the stock command executor, gets an executor of its own."""
        executor = message.task.executor
        executor.executor_id.value = message.task.task_id.value
        executor.framework_id.CopyFrom(message.framework.id)
        message.task.ClearField("command")

    def _replace(self, executor: Any, framework_id: str) -> None:
        key = framework_id, executor.executor_id.value
        if key not in self._pipes:
            self._pipes[key] = self._directory / next(self._names)
            os.mkfifo(self._pipes[key])
            self._expected.add(key)
        executor.type = _CUSTOM
        executor.command.ClearField("uris")
        executor.command.value = f"read word < '{self._pipes[key]}'"
