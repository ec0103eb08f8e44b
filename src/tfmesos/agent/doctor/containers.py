"""What containers with images, volumes and namespaces of their own need, and those of the Docker engine."""

from __future__ import annotations

import os
import shutil
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

from tfmesos.agent.docker.client import DockerClient
from tfmesos.agent.docker.errors import DockerError
from tfmesos.agent.doctor.finding import Finding
from tfmesos.agent.doctor.flags import DoctorFlags
from tfmesos.agent.doctor.wants import Wants
from tfmesos.agent.errors import BadAgentFlags
from tfmesos.agent.images.backends import OVERLAY, choose_backend
from tfmesos.agent.oci.finding import USUAL, find_program
from tfmesos.agent.oci.rights import Rights
from tfmesos.supervision import SEARCH_PATH


async def container_findings(flags: DoctorFlags, wants: Wants) -> AsyncIterator[Finding]:
    """OCI runtime, programs of images, overlay, directory of archives, Docker engine."""
    yield _runtime(flags, wants)
    for name in ("skopeo", "umoci"):
        path = shutil.which(name, path=SEARCH_PATH)
        yield Finding(
            subject=name,
            text=path or "not installed",
            is_there=path is not None,
            remedy=f"`apt-get install {name}`",
            is_needed=wants.images,
        )
    for finding in (*_overlay(flags, wants), *_archives(flags, wants)):
        yield finding
    yield await _engine(flags, wants)


def _runtime(flags: DoctorFlags, wants: Wants) -> Finding:
    """Another user than root can only see whether it is there."""
    text, is_there = "not installed", False
    try:
        if os.geteuid() == 0:
            text, is_there = find_program(flags.oci_runtime, Rights.read()), True
        else:
            names = USUAL if flags.oci_runtime is None else (flags.oci_runtime,)
            found = next(filter(None, (shutil.which(name, path=SEARCH_PATH) for name in names)), None)
            text, is_there = found or text, found is not None
    except BadAgentFlags as error:
        text = str(error)
    return Finding(
        subject="OCI runtime",
        text=text,
        is_there=is_there,
        remedy="" if "apt-get" in text else "`apt-get install runc`",
        is_needed=wants.views,
    )


def _overlay(flags: DoctorFlags, wants: Wants) -> Iterator[Finding]:
    """On the file systems of the directories that are named; nothing is said to those who cannot try."""
    if os.geteuid() != 0:
        return
    store = _existing(flags.docker_store_dir)
    provisioner = _existing(flags.work_dir) if flags.work_dir else store
    try:
        choose_backend(OVERLAY, provisioner, store)
    except (BadAgentFlags, OSError) as error:
        yield Finding(
            subject="overlay",
            text=str(error).rpartition(f"'{OVERLAY}' is not supported: ")[2],
            is_there=False,
            remedy="without it each container gets a copy of its image",
            is_needed=wants.images and flags.image_provisioner_backend == OVERLAY,
        )
    else:
        yield Finding(subject="overlay", text=f"works in {provisioner}")


def _archives(flags: DoctorFlags, wants: Wants) -> Iterator[Finding]:
    """Where images come from, if that is a directory."""
    path = flags.docker_registry
    if path.startswith("/"):
        is_there = os.path.isdir(path)
        yield Finding(
            subject="docker_registry",
            text=path if is_there else f"'{path}' is no directory",
            is_there=is_there,
            remedy="name the one that holds the archives",
            is_needed=wants.images,
        )


def _existing(path: str) -> Path:
    """The nearest directory above one that may be made yet."""
    found = Path(path).absolute()
    return next(above for above in (found, *found.parents) if above.is_dir())


async def _engine(flags: DoctorFlags, wants: Wants) -> Finding:
    try:
        info = await DockerClient(flags.docker, flags.docker_socket).info()
    except DockerError as error:
        return Finding(
            subject="Docker engine",
            text=str(error),
            is_there=False,
            remedy="`apt-get install docker.io`, start it, or name its socket by --docker_socket",
            is_needed=wants.docker,
        )
    return Finding(subject="Docker engine", text=f"{info.get('ServerVersion')} at {flags.docker_socket}")
