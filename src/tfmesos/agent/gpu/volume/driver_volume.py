"""The driver's programs and libraries in one directory, for containers whose image has none (Mesos 1.11: NvidiaVolume).

<directory>/nvidia_<driver version>/bin      nvidia-smi …
                                    lib      libraries of 32 bits: the files, and the names they are loaded by
                                    lib64    those of 64 bits
<directory>/.nvidia_…                        one that is being made
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import fcntl
import logging
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tfmesos.agent.gpu.errors import GpuError
from tfmesos.agent.gpu.volume.collection import DriverLibrary, driver_libraries, driver_programs

_PREFIX = "nvidia_"
_UNFINISHED = ".nvidia_"
_CANNOT_LINK = (errno.EXDEV, errno.EPERM, errno.EMLINK, errno.ENOTSUP)
_log = logging.getLogger(__name__)


class DriverVolume:
    """The volume of one version of the driver, made when somebody wants it first."""

    def __init__(self, directory: Path, driver_version: str) -> None:
        self._directory = directory
        self._driver_version = driver_version
        self._path: Path | None = None

    async def provide(self) -> Path:
        """Where it is. Raises GpuError if it cannot be made; then it is tried anew the next time."""
        if self._path is None:
            self._path = await asyncio.to_thread(build_driver_volume, self._directory, self._driver_version)
        return self._path

    async def make_ready(self) -> None:
        """Have it there before somebody wants it; that it cannot be made is told in the log."""
        try:
            await self.provide()
        except GpuError as error:
            _log.warning("containers with an image will lack the NVIDIA driver's programs and libraries: %s", error)


def build_driver_volume(directory: Path, driver_version: str, root: Path = Path("/")) -> Path:
    """The volume of this version of the driver, made if it is not there; those of other versions go.

    It is whole or not there: what an interrupted build has left goes, too. Waits for another build in the directory.
    Needs to be root. Raises GpuError.
    """
    if os.geteuid() != 0:
        raise GpuError("the volume of the NVIDIA driver needs an agent that is root")
    volume = directory / f"{_PREFIX}{driver_version}"
    try:
        directory.mkdir(0o755, parents=True, exist_ok=True)
        _make_executable(directory)
        with _locked(directory):
            if not volume.is_dir():
                _build(directory, volume, driver_version, root)
            _remove_others(directory, volume)
    except OSError as error:
        raise GpuError(f"cannot make the volume of the NVIDIA driver in {directory}: {error}") from error
    return volume


def _build(directory: Path, volume: Path, driver_version: str, root: Path) -> None:
    programs = driver_programs(root)
    libraries = driver_libraries(root, driver_version)
    if not libraries:
        raise GpuError(f"no library of the NVIDIA driver {driver_version} was found on this machine")
    unfinished = Path(tempfile.mkdtemp(prefix=_UNFINISHED, dir=directory))
    try:
        for name in ("bin", "lib", "lib64"):
            (unfinished / name).mkdir(0o755)
        for name, file in programs.items():
            _take(file, unfinished / "bin" / name)
        for library in libraries:
            _add_library(library, unfinished / ("lib64" if library.bits == 64 else "lib"))
        unfinished.chmod(0o755)
        os.rename(unfinished, volume)
    except BaseException:
        shutil.rmtree(unfinished, ignore_errors=True)
        raise
    _log.info("volume of the NVIDIA driver: %d programs, %d libraries in %s", len(programs), len(libraries), volume)


def _add_library(library: DriverLibrary, directory: Path) -> None:
    file = directory / library.file.name
    if not file.exists():  # two directories of a machine may have the same one
        _take(library.file, file)
    for name in library.names:
        if not (directory / name).is_symlink():
            (directory / name).symlink_to(library.file.name)


def _take(source: Path, target: Path) -> None:
    """As a second name of the same file, where that can be: a driver has hundreds of megabytes."""
    try:
        os.link(source, target)
    except OSError as error:
        if error.errno not in _CANNOT_LINK:
            raise
        shutil.copy2(source, target)
        with target.open("rb") as copy:
            os.fsync(copy.fileno())  # a volume that is there is whole, after a loss of power, too


@contextlib.contextmanager
def _locked(directory: Path) -> Iterator[None]:
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _remove_others(directory: Path, volume: Path) -> None:
    """A driver of another version is loaded: nothing that was made for the one before works any more."""
    for path in directory.iterdir():
        if path != volume and path.name.startswith((_PREFIX, _UNFINISHED)):
            shutil.rmtree(path, ignore_errors=True)


def _make_executable(directory: Path) -> None:
    """Where programs cannot be executed, a file system of its own is mounted (Mesos 1.11). Raises GpuError."""
    if not os.statvfs(directory).f_flag & os.ST_NOEXEC:
        return
    argv = ["mount", "-t", "tmpfs", "-o", "nosuid,nodev,mode=755", "tmpfs", str(directory)]
    done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace")
    if done.returncode != 0:
        raise GpuError(
            f"programs cannot be executed from {directory} (noexec), and nothing can be mounted there: "
            f"{done.stderr.strip()}"
        )
