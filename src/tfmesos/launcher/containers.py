"""What the tasks of a job run in, as the user says it."""

import math
import posixpath
import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from tfmesos.launcher.errors import JobSpecError
from tfmesos.launcher.specification import check_text
from tfmesos.launcher.volumes import Volume

_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([kmgt])i?b?", re.IGNORECASE | re.ASCII)
_MEGABYTES = {"k": 1 / 1024, "m": 1.0, "g": 1024.0, "t": 1024.0**2}
_LARGEST_MB = 2**32 - 1
"""Mesos 1.11: LinuxInfo.shm_size is a uint32 of megabytes."""


class Containerizer(StrEnum):
    """Which of Mesos' containerizers runs the tasks."""

    MESOS = "MESOS"
    DOCKER = "DOCKER"


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerOptions:
    """What every task of a job runs in. Without an image the tasks see the agent's own files.

    `type` None leaves the containerizer to the master's version (rules.py). `shm_mb` is the size of /dev/shm; None
    leaves that to the agent.
    """

    type: Containerizer | None = None
    image: str | None = None
    volumes: tuple[Volume, ...] = ()
    force_pull: bool = False
    shm_mb: int | None = None

    def __post_init__(self) -> None:
        """Refuse volumes of which one would hide the other. Raises JobSpecError."""
        targets = [volume.target for volume in self.volumes]
        for target in targets:
            if targets.count(target) > 1:
                raise JobSpecError(f"two volumes would be at {target!r}: each needs a path of its own")

    @property
    def is_docker(self) -> bool:
        """Docker runs it."""
        return self.type is Containerizer.DOCKER and self.image is not None

    @property
    def mounted(self) -> tuple[Volume, ...]:
        """The volumes that need a mount: without an image a task sees the agent's own files as they are."""
        return tuple(volume for volume in self.volumes if self.image is not None or not volume.is_there_already)

    def directory(self, own: str | None) -> str | None:
        """Where tasks start, of the launcher's `own` directory; None leaves them where their container starts.

        In an image that is the own directory only where a volume brings it along, by the path that it has there.
        """
        return own if own is None or self.image is None else _brought_along(own, self.volumes)


def parse_shm(text: str) -> int:
    """Megabytes of `512m`, `2g`, `1.5GB`, rounded up. Raises JobSpecError."""
    check_text(text, "the size of /dev/shm")
    found = _SIZE.fullmatch(text.strip())
    if found is None:
        raise JobSpecError(f"the size of /dev/shm {text!r} is not a number with its unit, as 512m or 2g")
    megabytes = math.ceil(float(found[1]) * _MEGABYTES[found[2].lower()])
    if not 0 < megabytes <= _LARGEST_MB:
        raise JobSpecError(f"the size of /dev/shm {text!r} must be more than 0 and less than 4096t")
    return megabytes


def _brought_along(own: str, volumes: Iterable[Volume]) -> str | None:
    """The longest volume that holds the directory decides; on the agent's side its path there counts first."""
    found = [(len(side), volume, side) for volume in volumes for side in volume.sides if _is_within(own, side)]
    if not found:
        return None
    _, volume, side = max(found, key=lambda each: each[0])
    return posixpath.normpath(posixpath.join(volume.target, posixpath.relpath(own, side)))


def _is_within(path: str, directory: str) -> bool:
    return path == directory or path.startswith(directory.rstrip("/") + "/")
