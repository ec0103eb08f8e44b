"""Where the library writes what tasks say: Python's own standard streams, so that notebooks and tests see it."""

import sys
from typing import TextIO

from tfmesos.launcher import Stream

__all__ = ["PythonStreams"]


class PythonStreams:
    """A TextSink on whatever sys.stdout and sys.stderr are at the moment."""

    async def write_log(self, stream: Stream, data: bytes) -> None:
        """Whole lines of tasks."""
        _write(sys.stdout if stream is Stream.STDOUT else sys.stderr, data.decode("utf-8", "replace"))

    def write_note(self, text: str) -> None:
        """A note of the launcher."""
        _write(sys.stderr, text + "\n")


def _write(stream: TextIO | None, text: str) -> None:
    """To a stream that may be closed or missing (pythonw, a notebook's end): a job does not fail for its output."""
    if stream is None:
        return
    try:
        stream.write(text)
        stream.flush()
    except (OSError, ValueError):
        return
