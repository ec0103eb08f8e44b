"""Where a run writes: the tasks' output and the launcher's own notes."""

from enum import StrEnum
from typing import Protocol


class Stream(StrEnum):
    """One of a task's two outputs, named like its file in the sandbox."""

    STDOUT = "stdout"
    STDERR = "stderr"


class TextSink(Protocol):
    """Called from the run's event loop, one call at a time; `write_log` may wait, and then the logs wait with it."""

    async def write_log(self, stream: Stream, data: bytes) -> None:
        """Output of tasks: whole lines, each with its prefix and its newline."""

    def write_note(self, text: str) -> None:
        """A note of the launcher, one or more lines without the last newline."""
