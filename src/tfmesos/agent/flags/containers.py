"""Flags of all containers: how they are kept apart, what they get, how long they may take."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from tfmesos.agent.flags.values import one_of, parse_count, parse_interval, parse_size
from tfmesos.flags import FlagError, flag, format_bytes, format_duration, parse_duration

_MAX_REREGISTRATION_TIMEOUT_S = 15.0


def _parse_reregistration_timeout(text: str) -> float:
    timeout_s = parse_duration(text)
    if timeout_s > _MAX_REREGISTRATION_TIMEOUT_S:
        raise FlagError(f"{text!r}: executors may take {format_duration(_MAX_REREGISTRATION_TIMEOUT_S)} at most")
    return timeout_s


def _parse_isolation(text: str) -> str:
    from tfmesos.agent.isolators import parse_isolation  # only here: help must come at once

    parse_isolation(text)
    return text


def _parse_allowed_devices(text: str) -> str:
    from tfmesos.agent.isolators import parse_allowed_devices

    parse_allowed_devices(text)
    return text


def _parse_capabilities(text: str) -> str:
    from tfmesos.agent.isolators import parse_capabilities

    parse_capabilities(text)
    return text


def _parse_container_info(text: str) -> str:
    from tfmesos.agent.containerizer.defaults import parse_container_info

    parse_container_info(text)
    return text


def _parse_absolute(text: str) -> str:
    if not text.startswith("/") or ".." in text.split("/") or not text.strip("/"):
        raise FlagError(f"{text!r}: an absolute path is wanted, such as /mnt/mesos/sandbox")
    return text


def _parse_directories(text: str) -> tuple[str, ...]:
    return tuple(_parse_absolute(part) for part in text.split(":") if part)


def _parse_cgroups_root(text: str) -> str:
    if not text or text.startswith("/") or any(part in ("", ".", "..") for part in text.split("/")):
        raise FlagError(f"{text!r}: the name of a cgroup is wanted, such as mesos or mesos/one")
    return text


def _parse_string_map(text: str) -> Mapping[str, str]:
    try:
        value = json.loads(text)
    except ValueError as error:
        raise FlagError(f"not a JSON object: {error}") from error
    if not isinstance(value, dict) or not all(isinstance(item, str) for item in value.values()):
        raise FlagError("`executor_environment_variables` must only contain string values")
    return value


@dataclass(frozen=True, kw_only=True)
class ContainerFlags:
    """A part of AgentFlags."""

    __slots__ = ()

    switch_user: bool = flag(default=True, help="whether tasks run as their own user instead of the agent's")
    launcher: str | None = flag(
        default=None,
        parse=one_of("posix", "linux"),
        help="how processes are started: posix, or linux: each container in a cgroup that its end empties; without it "
        "linux for root where there are cgroups",
    )
    isolation: str = flag(
        default="posix/cpu,posix/mem",
        parse=_parse_isolation,
        help="how containers are kept apart: names with commas between, of posix/cpu, posix/mem, posix/gpus, "
        "filesystem/posix (which only count), cgroups/cpu, cgroups/mem, cgroups/devices, cgroups/pids, cgroups/all, "
        "gpu/nvidia; and for root, by runc: filesystem/linux, docker/runtime, posix/rlimits, linux/devices, "
        "linux/capabilities, linux/nnp, namespaces/ipc, namespaces/pid, volume/host_path, volume/sandbox_path, "
        "volume/image, volume/secret",
    )
    allowed_devices: str | None = flag(
        default=None,
        parse=_parse_allowed_devices,
        json=True,
        help="JSON of devices that every container may use beside the usual ones, with cgroups/devices: "
        '{"allowed_devices":[{"device":{"path":"/dev/x"},"access":{"read":true,"write":true,"mknod":false}}]}',
    )
    sandbox_directory: str = flag(
        default="/mnt/mesos/sandbox",
        parse=_parse_absolute,
        help="where containers with an image see their sandbox; absolute",
    )
    host_path_volume_force_creation: tuple[str, ...] = flag(
        default=(),
        parse=_parse_directories,
        show=":".join,
        help="folders with colons between; what HOST_PATH volumes name below them is made if it is not there",
    )
    effective_capabilities: str | None = flag(
        default=None,
        parse=_parse_capabilities,
        json=True,
        help="JSON of the capabilities of containers that name none, with linux/capabilities: "
        '{"capabilities":["NET_RAW"]}',
    )
    bounding_capabilities: str | None = flag(
        default=None,
        parse=_parse_capabilities,
        json=True,
        help="JSON of the capabilities that no container can have more of, with linux/capabilities",
    )
    default_container_shm_size: int | None = flag(
        default=None,
        parse=parse_size,
        show=format_bytes,
        help="size of the /dev/shm of containers that name none, with namespaces/ipc; without it half of the memory",
    )
    disallow_sharing_agent_ipc_namespace: bool = flag(
        default=False, help="whether containers that are not nested are refused that ask for the agent's shared memory"
    )
    disallow_sharing_agent_pid_namespace: bool = flag(
        default=False, help="whether containers that are not nested are refused that ask to see the agent's processes"
    )
    default_container_info: str | None = flag(
        default=None,
        parse=_parse_container_info,
        json=True,
        help='JSON of the ContainerInfo of tasks and executors that have none: {"type":"MESOS","volumes":[...]}',
    )
    cgroups_hierarchy: str = flag(
        default="/sys/fs/cgroup",
        help="folder of the hierarchies of cgroups; one that is mounted elsewhere only is used there",
    )
    cgroups_root: str = flag(
        default="mesos", parse=_parse_cgroups_root, help="cgroup beneath which each container has its own"
    )
    cgroups_enable_cfs: bool = flag(
        default=False, help="whether cgroups/cpu lets no container use more cpus than it has, even if they are idle"
    )
    cgroups_limit_swap: bool = flag(
        default=False, help="whether cgroups/mem limits memory and swap together instead of memory alone"
    )
    cgroups_destroy_timeout: float = flag(
        default=60.0,
        parse=parse_interval,
        show=format_duration,
        help="how long the processes of a container's cgroup may take to be gone when they are killed",
    )
    oci_runtime: str | None = flag(
        default=None,
        help="name or path of the OCI runtime that makes containers with images, volumes or namespaces of their own: "
        "runc or crun; without it runc, or crun where runc is not there or does not work",
    )
    executor_environment_variables: Mapping[str, str] | None = flag(
        default=None,
        parse=_parse_string_map,
        show=json.dumps,
        help="JSON object of variables that every executor gets; the agent's own environment is never passed on",
    )
    executor_shutdown_grace_period: float = flag(
        default=5.0,
        parse=parse_duration,
        show=format_duration,
        help="how long executors may take to end when they, or their framework, are shut down",
    )
    executor_registration_timeout: float = flag(
        default=60.0,
        parse=parse_duration,
        show=format_duration,
        help="how long an executor may take from its launch, downloads included, until it subscribes",
    )
    executor_reregistration_timeout: float = flag(
        default=2.0,
        parse=_parse_reregistration_timeout,
        show=format_duration,
        help="how long executors may take to subscribe again after a restart of the agent; at most 15secs",
    )
    container_log_max_size: int | None = flag(
        default=None,
        parse=parse_size,
        show=format_bytes,
        help="stdout and stderr of a container are put aside as stdout.1 … when they reach this; without it never",
    )
    container_log_max_files: int = flag(
        default=4, parse=parse_count, help="how many put aside files of a container's stdout (and stderr) are kept"
    )
