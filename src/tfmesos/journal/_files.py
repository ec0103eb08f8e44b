"""Writing files so that a crash leaves the old or the new one."""

import os
from pathlib import Path

_CREATE = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC


def replace_file(path: Path, parts: list[bytes]) -> None:
    """Write, flush to disk, rename, flush the directory. The file is its owner's alone: it may hold secrets."""
    temporary = temporary_of(path)
    descriptor = os.open(temporary, _CREATE, 0o600)
    try:
        try:
            write_all(descriptor, b"".join(parts))
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        os.rename(temporary, path)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise
    _flush_directory(path.parent)


def temporary_of(path: Path) -> Path:
    """Where the new contents are before the rename."""
    return path.with_name(path.name + ".new")


def write_all(descriptor: int, data: bytes) -> None:
    """In one write(2) unless the kernel takes less, as it does just before it refuses."""
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def _flush_directory(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
