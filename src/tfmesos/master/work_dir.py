"""The master's directory: used by one master at a time.

<work_dir>/master.lock          locked (flock) while a master runs; holds its process id
<work_dir>/registry.journal     what it must not forget (registrar.py)
"""

import fcntl
import os
from pathlib import Path

from tfmesos.master.errors import WorkDirTaken, WorkDirUnusable

_LOCK = "master.lock"


class WorkDir:
    """A locked work_dir; `release` (or the end of the process) frees it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = -1

    def take(self) -> None:
        """Make and lock the directory; raises WorkDirTaken or WorkDirUnusable."""
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            self._file = os.open(self.path / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise WorkDirUnusable(str(self.path), error.strerror or str(error)) from error
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.truncate(self._file, 0)
            os.write(self._file, f"{os.getpid()}\n".encode())
        except BlockingIOError as error:
            self.release()
            raise WorkDirTaken(str(self.path)) from error
        except OSError as error:
            self.release()
            raise WorkDirUnusable(str(self.path), error.strerror or str(error)) from error

    def release(self) -> None:
        """Unlock; may be called again."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1
