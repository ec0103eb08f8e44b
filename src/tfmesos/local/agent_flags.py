"""What the agent of the embedded cluster is told. Pure."""

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from tfmesos.agent import AgentFlags
from tfmesos.flags import FlagError, load_flags
from tfmesos.local.errors import LocalRefusal
from tfmesos.local.needs import LocalNeeds

__all__ = ["build_flags", "contained", "counted", "enforced", "volume_directory"]

_FOR_ALL = ("MESOS_NVIDIA_LIB",)
_FOR_CONTAINERS = (
    "MESOS_DOCKER",
    "MESOS_DOCKER_CONFIG",
    "MESOS_DOCKER_REGISTRY",
    "MESOS_DOCKER_SOCKET",
    "MESOS_DOCKER_STORE_DIR",
    "MESOS_IMAGE_PROVISIONER_BACKEND",
    "MESOS_NVIDIA_INJECTION",
    "MESOS_OCI_RUNTIME",
)
"""Flags of an agent that a user may set in the environment: where this machine keeps what tasks need."""

_GRACE_S = 3.0
_ENFORCED = "cgroups/devices,gpu/nvidia"
_COUNTED = "posix/cpu,posix/mem,posix/gpus"


def build_flags(
    environ: Mapping[str, str], needs: LocalNeeds, *, master: str, ip: str, port: int, work_dir: str, resources: str
) -> AgentFlags:
    """What depends on nothing that has to be found first. Raises FlagError, LocalRefusal for what is the user's."""
    has_containers = needs.in_docker or needs.is_contained
    names = (*_FOR_ALL, *_FOR_CONTAINERS) if has_containers else _FOR_ALL
    given = {name: environ[name] for name in names if environ.get(name)}
    given.setdefault("MESOS_DOCKER_STORE_DIR", f"{_cache_home(environ)}/tfmesos/images")
    words = (f"--master={master}", f"--work_dir={work_dir}")
    flags = load_flags(AgentFlags, words, given)
    logins = _logins(environ) if has_containers and flags.docker_config is None else None
    if logins is not None:
        try:
            flags = load_flags(AgentFlags, words, {**given, "MESOS_DOCKER_CONFIG": logins})
        except FlagError as error:
            raise LocalRefusal(f"the logins in {logins} cannot be read: {error}") from error
    return replace(
        flags,
        ip=ip,
        port=port,
        hostname=ip,
        resources=resources,
        launcher="posix",
        cgroups_root="tfmesos",
        switch_user=False,
        registration_backoff_factor=0.0,
        executor_shutdown_grace_period=_GRACE_S,
        recovery_timeout=0.0,  # no agent comes after this one
        docker_remove_delay=0.0,
    )


def counted(flags: AgentFlags) -> AgentFlags:
    """GPUs are counted, and tasks told of their own."""
    return replace(flags, isolation=_COUNTED)


def enforced(flags: AgentFlags) -> AgentFlags:
    """No task can open a GPU but its own."""
    return replace(flags, isolation=_ENFORCED)


def contained(flags: AgentFlags, needs: LocalNeeds) -> AgentFlags:
    """With what the tasks of a job are to run in."""
    if needs.in_docker:
        return replace(flags, containerizers=("docker", "mesos"))
    if not needs.is_contained:
        return flags
    names = ["filesystem/linux", *(["docker/runtime"] if needs.image is not None else [])]
    names += ["namespaces/ipc"] if needs.has_shm else []
    names += [_ENFORCED] if needs.gpus else []
    providers = ("DOCKER",) if needs.image is not None else ()
    return replace(flags, launcher="linux", isolation=",".join(names), image_providers=providers)


def volume_directory(environ: Mapping[str, str]) -> Path:
    """Where the NVIDIA driver's files for images are: one copy for all runs, which may be hundreds of megabytes."""
    return Path(_cache_home(environ)) / "tfmesos" / "gpu"


def _logins(environ: Mapping[str, str]) -> str | None:
    """Docker's own file of logins, if there is one (docker's documentation: DOCKER_CONFIG names its directory)."""
    path = os.path.join(environ.get("DOCKER_CONFIG") or os.path.expanduser("~/.docker"), "config.json")
    return path if os.path.isfile(path) and os.path.isabs(path) else None


def _cache_home(environ: Mapping[str, str]) -> str:
    """XDG base directory specification: a relative path there is to be ignored."""
    given = environ.get("XDG_CACHE_HOME", "")
    return given if os.path.isabs(given) else os.path.expanduser("~/.cache")
