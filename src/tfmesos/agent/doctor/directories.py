"""Whether an agent could use a directory, without making anything."""

from __future__ import annotations

import errno
import os
from pathlib import Path

_LOCK = "agent.lock"
_NO_NAMELESS_FILES = (errno.EOPNOTSUPP, errno.EISDIR, errno.EINVAL)
"""Some file systems know none and keep others (NFS); those of the kernel, as /proc, have no room for any."""


def directory_fault(path: Path) -> str:
    """Why an agent can neither use nor make a directory; empty if it can. `path` is absolute."""
    existing = next(parent for parent in (path, *path.parents) if os.path.lexists(parent))
    if not existing.is_dir():
        return f"{existing} is no directory"
    if not os.access(existing, os.W_OK | os.X_OK):
        return f"user {os.geteuid()} cannot write to {existing}"
    fault = _write_fault(existing)
    if fault:
        return f"nothing can be made in {existing}: {fault}"
    lock = path / _LOCK
    if lock.exists() and not (lock.is_file() and os.access(lock, os.R_OK | os.W_OK)):
        return f"user {os.geteuid()} cannot open {lock}"
    return ""


def _write_fault(directory: Path) -> str:
    """What rights do not tell: a file without a name is asked for, which vanishes as it is closed (open(2))."""
    try:
        os.close(os.open(directory, os.O_TMPFILE | os.O_RDWR | os.O_CLOEXEC, 0o600))
    except OSError as error:
        is_unknown = error.errno in _NO_NAMELESS_FILES and os.statvfs(directory).f_blocks > 0
        return "" if is_unknown else str(error.strerror)
    return ""
