"""Writing files so that a crash leaves the old or the new one."""

import os
from pathlib import Path

_CREATE = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC


def replace_file(path: Path, parts: list[bytes]) -> int:
    """Write, flush to disk, rename; the new file, open to append to. Raises OSError: the old one is still there.

    The new name is on disk when `flush_directory` was called, too. The file is its owner's alone: it may hold secrets.
    """
    temporary = temporary_of(path)
    descriptor = os.open(temporary, _CREATE, 0o600)
    try:
        write_all(descriptor, b"".join(parts))
        os.fsync(descriptor)
        os.rename(temporary, path)
    except OSError:
        os.close(descriptor)
        temporary.unlink(missing_ok=True)
        raise
    return descriptor


def temporary_of(path: Path) -> Path:
    """Where the new contents are before the rename."""
    return path.with_name(path.name + ".new")


def write_all(descriptor: int, data: bytes) -> None:
    """In one write(2) unless the kernel takes less, as it does just before it refuses."""
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def flush_directory(directory: Path) -> None:
    """So that what was renamed in it stays so. Raises OSError."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
