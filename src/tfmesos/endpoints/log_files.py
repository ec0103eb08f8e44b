"""Where a daemon's own log is, on disk and among the virtual paths (Mesos 1.11)."""

from pathlib import Path
from typing import Protocol

from tfmesos.endpoints.files import Attached


class LogFlags(Protocol):
    """What a daemon is told of its log."""

    @property
    def log_dir(self) -> str | None: ...

    @property
    def external_log_file(self) -> str | None: ...

    @property
    def logging_level(self) -> str: ...


def written_log(flags: LogFlags, program: str) -> Path | None:
    """The file that the daemon writes: `<log_dir>/mesos-master.INFO`; None without --log_dir."""
    return Path(flags.log_dir) / f"{program}.{flags.logging_level}" if flags.log_dir else None


class LogFile:
    """The log under its virtual path: `/master/log` or `/slave/log`. --external_log_file beats --log_dir."""

    def __init__(self, flags: LogFlags, program: str, path: str) -> None:
        written = written_log(flags, program)
        self._path = path
        self._real = flags.external_log_file or (str(written) if written is not None else None)

    def find(self, path: str) -> Attached | None:
        """The log, if this path names it."""
        if self._real is None or not f"{path}/".startswith(f"{self._path}/"):
            return None
        return Attached(self._real, path[len(self._path) :].strip("/"))

    def all(self) -> dict[str, str]:
        """Its virtual path and the real one, if there is a log."""
        return {} if self._real is None else {self._path: self._real}
