"""The level of the log, raised for a while (Mesos 1.11: libprocess' logging process)."""

import asyncio
import logging
import re

from tfmesos.endpoints.pages import duration_of

_NUMBER = re.compile(r"-?[0-9]{1,9}")


class BadLevel(ValueError):
    """A level or duration that cannot be set; the text is Mesos'."""


class LogLevel:
    """0: as the program was started; from 1 on (Mesos: the verbosity of glog) messages are logged as well."""

    def __init__(self) -> None:
        self._logger = logging.getLogger()
        self._usual = self._logger.level
        self._revert: asyncio.TimerHandle | None = None
        self.level = 0

    def toggle(self, level: str | None, duration: str | None) -> None:
        """Set a level as texts of a query say; raises BadLevel."""
        if level is None:
            raise BadLevel("Expecting 'level=value' in query.\n")
        if duration is None:
            raise BadLevel("Expecting 'duration=value' in query.\n")
        if not _NUMBER.fullmatch(level):
            raise BadLevel(f"Invalid level '{level}'.\n")
        try:
            seconds = duration_of(duration)
        except ValueError as error:
            raise BadLevel(f"Invalid duration '{duration}': {error}.\n") from error
        self.set(int(level), seconds)

    def set(self, level: int, duration_s: float) -> None:
        """Log so much for so long; raises BadLevel."""
        if level < 0:
            raise BadLevel(f"Invalid level '{level}'.\n")
        if not 0 <= duration_s < float("inf"):
            raise BadLevel("Invalid duration: a time from 0secs is wanted.\n")
        self.close()
        self.level = level
        self._logger.setLevel(logging.DEBUG if level else self._usual)
        if level:
            self._revert = asyncio.get_running_loop().call_later(min(duration_s, 1e9), self.close)

    def close(self) -> None:
        """Back to the usual level."""
        if self._revert is not None:
            self._revert.cancel()
            self._revert = None
            self._logger.setLevel(self._usual)
        self.level = 0
