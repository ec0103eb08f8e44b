"""The flags of `mesos-agent`, with the names and defaults of Apache Mesos 1.11 for what exists here."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from tfmesos.flags import FlagError, flag, format_bytes, format_duration, parse_bytes, parse_duration

DEFAULT_PORT = 5051
_MAX_PORT = 65535
_MAX_REREGISTRATION_TIMEOUT_S = 15.0


def _one_of(*allowed: str) -> Callable[[str], str]:
    def parse(text: str) -> str:
        if text not in allowed:
            raise FlagError(f"{text!r} is not supported yet; it can be {' or '.join(allowed)}")
        return text

    return parse


def _parse_count(text: str) -> int:
    if not (text.isascii() and text.isdigit()):
        raise FlagError(f"Failed to convert '{text}' to number: a whole number from 0 is wanted")
    return int(text)


def _parse_share(text: str) -> float:
    try:
        share = float(text)
    except ValueError:
        share = -1.0
    if not 0 <= share <= 1:
        raise FlagError(f"{text!r}: a number from 0 to 1 is wanted")
    return share


def _parse_reregistration_timeout(text: str) -> float:
    timeout_s = parse_duration(text)
    if timeout_s > _MAX_REREGISTRATION_TIMEOUT_S:
        raise FlagError(f"{text!r}: executors may take {format_duration(_MAX_REREGISTRATION_TIMEOUT_S)} at most")
    return timeout_s


def _parse_interval(text: str) -> float:
    seconds = parse_duration(text)
    if seconds <= 0:
        raise FlagError(f"{text!r}: more than 0 is wanted")
    return seconds


def _parse_size(text: str) -> int:
    size = parse_bytes(text)
    if size <= 0:
        raise FlagError(f"{text!r}: more than 0 is wanted")
    return size


def _parse_isolation(text: str) -> str:
    from tfmesos.agent.isolators import parse_isolation  # only here: help must come at once

    parse_isolation(text)
    return text


def _parse_allowed_devices(text: str) -> str:
    from tfmesos.agent.isolators import parse_allowed_devices

    parse_allowed_devices(text)
    return text


def _parse_gpu_devices(text: str) -> tuple[int, ...]:
    return tuple(_parse_count(part.strip()) for part in text.split(","))


def _parse_cgroups_root(text: str) -> str:
    if not text or text.startswith("/") or any(part in ("", ".", "..") for part in text.split("/")):
        raise FlagError(f"{text!r}: the name of a cgroup is wanted, such as mesos or mesos/one")
    return text


def _parse_port(text: str) -> int:
    port = _parse_count(text)
    if port > _MAX_PORT:
        raise FlagError(f"a port is between 0 and {_MAX_PORT}")
    return port


def parse_string_map(text: str) -> Mapping[str, str]:
    """A JSON object of strings, as `--executor_environment_variables` wants it; else FlagError with Mesos' text."""
    try:
        value = json.loads(text)
    except ValueError as error:
        raise FlagError(f"not a JSON object: {error}") from error
    if not isinstance(value, dict) or not all(isinstance(item, str) for item in value.values()):
        raise FlagError("`executor_environment_variables` must only contain string values")
    return value


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentFlags:
    """What an agent can be told; the same object whether it comes from the command line, MESOS_* or a caller."""

    master: str = flag(help="where the master is: host:port, http://host:port or unix:///path")
    work_dir: str = flag(help="folder of the sandboxes and of what the agent remembers; made if it does not exist")
    runtime_dir: str | None = flag(
        default=None,
        help="folder of what this agent needs to find its containers again; without it <work_dir>/run (not "
        "/var/run/mesos, so that several agents and agents of any user need no more than a work_dir)",
    )
    ip: str | None = flag(
        default=None, help="address to listen on; without it the address of this machine that routes to the master"
    )
    port: int = flag(default=DEFAULT_PORT, parse=_parse_port, help="port to listen on; 0 takes any free one")
    advertise_ip: str | None = flag(default=None, help="address that the master and clients are told instead of --ip")
    advertise_port: int | None = flag(
        default=None, parse=_parse_port, help="port that the master is told instead of --port"
    )
    hostname: str | None = flag(default=None, help="name that offers carry; without it what the address resolves to")
    hostname_lookup: bool = flag(default=True, help="whether to resolve the address to a name; if not, it is the name")
    resources: str | None = flag(
        default=None,
        help="what to offer, as text (cpus:4;mem:2048;ports:[31000-32000]) or JSON; what is not named is detected",
    )
    attributes: str | None = flag(default=None, help="attributes of this machine: rack:2;os:linux;speed:2.5")
    default_role: str = flag(default="*", help="role of the resources that name none")
    switch_user: bool = flag(default=True, help="whether tasks run as their own user instead of the agent's")
    launcher: str | None = flag(
        default=None,
        parse=_one_of("posix", "linux"),
        help="how processes are started: posix, or linux: each container in a cgroup that its end empties; without it "
        "linux for root where there are cgroups",
    )
    isolation: str = flag(
        default="posix/cpu,posix/mem",
        parse=_parse_isolation,
        help="how containers are kept apart: names with commas between, of posix/cpu, posix/mem, posix/gpus, "
        "filesystem/posix (which only count), cgroups/cpu, cgroups/mem, cgroups/devices, cgroups/pids, cgroups/all, "
        "linux/devices, gpu/nvidia",
    )
    allowed_devices: str | None = flag(
        default=None,
        parse=_parse_allowed_devices,
        json=True,
        help="JSON of devices that every container may use beside the usual ones, with cgroups/devices: "
        '{"allowed_devices":[{"device":{"path":"/dev/x"},"access":{"read":true,"write":true,"mknod":false}}]}',
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
        parse=_parse_interval,
        show=format_duration,
        help="how long the processes of a container's cgroup may take to be gone when they are killed",
    )
    nvidia_gpu_devices: tuple[int, ...] | None = flag(
        default=None,
        parse=_parse_gpu_devices,
        show=lambda devices: ",".join(map(str, devices)),
        help="which GPUs to offer, by NVML's index: 0,1; wants gpus in --resources, and gpu/nvidia or posix/gpus in "
        "--isolation",
    )
    nvidia_library: str = flag(
        default="libnvidia-ml.so.1",
        aliases=("nvidia_lib",),
        help="NVIDIA's management library, by name or path (MESOS_NVIDIA_LIB, too)",
    )
    containerizers: str = flag(default="mesos", parse=_one_of("mesos"), help="which containerizers to use: mesos")
    executor_environment_variables: Mapping[str, str] | None = flag(
        default=None,
        parse=parse_string_map,
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
    recover: str = flag(
        default="reconnect",
        parse=_one_of("reconnect", "cleanup"),
        help="what to do with the tasks of the agent before: reconnect (go on with them) or cleanup (end them, exit)",
    )
    strict: bool = flag(
        default=True, help="whether damage in what the agent before kept is an error; if not, what is intact is used"
    )
    reconfiguration_policy: str = flag(
        default="equal",
        parse=_one_of("equal", "additive"),
        help="what may differ from the agent before for its id to be kept: equal (nothing) or additive (more resources "
        "and attributes)",
    )
    recovery_timeout: float = flag(
        default=900.0,
        parse=parse_duration,
        show=format_duration,
        help="how long tasks of checkpointing frameworks wait for an agent to come back before they end",
    )
    frameworks_home: str | None = flag(default=None, help="folder that relative URIs of tasks are looked for in")
    fetcher_cache_dir: str = flag(
        default="/tmp/mesos/fetch", help="folder of downloads that tasks share; each agent has one of its own in it"
    )
    fetcher_cache_size: int = flag(
        default=2 * 1024**3, parse=parse_bytes, show=format_bytes, help="how much the downloads that tasks share may be"
    )
    fetcher_stall_timeout: float = flag(
        default=60.0,
        parse=_parse_interval,
        show=format_duration,
        help="a download fails if nothing comes for this long",
    )
    gc_delay: float = flag(
        default=7 * 86400.0,
        parse=parse_duration,
        show=format_duration,
        help="how long sandboxes are kept after their end; less when the disk fills",
    )
    gc_disk_headroom: float = flag(
        default=0.1, parse=_parse_share, help="share of the disk to keep free by removing old sandboxes earlier"
    )
    disk_watch_interval: float = flag(
        default=60.0, parse=_parse_interval, show=format_duration, help="how often the disk's usage is looked at"
    )
    gc_non_executor_container_sandboxes: bool = flag(
        default=False,
        help="whether sandboxes of nested and standalone containers are removed gc_delay after their end, too",
    )
    container_log_max_size: int | None = flag(
        default=None,
        parse=_parse_size,
        show=format_bytes,
        help="stdout and stderr of a container are put aside as stdout.1 … when they reach this; without it never",
    )
    container_log_max_files: int = flag(
        default=4, parse=_parse_count, help="how many put aside files of a container's stdout (and stderr) are kept"
    )
    http_heartbeat_interval: float = flag(
        default=30.0,
        parse=_parse_interval,
        show=format_duration,
        help="how often those who are attached to a container hear that the connection lives",
    )
    registration_backoff_factor: float = flag(
        default=1.0,
        parse=parse_duration,
        show=format_duration,
        help="longest first wait before registering; then twice that, doubled each time up to 1mins",
    )
    max_completed_frameworks: int = flag(
        default=50, parse=_parse_count, help="how many ended frameworks /state remembers"
    )
    max_completed_executors_per_framework: int = flag(
        default=150, parse=_parse_count, help="how many ended containers of a framework /state remembers"
    )
    log_dir: str | None = flag(
        default=None, help="folder of the log file 'mesos-agent.INFO', made if absent; without it there is no log file"
    )
    external_log_file: str | None = flag(
        default=None, help="a file that others write this log to; shown as /slave/log instead of that of --log_dir"
    )
    quiet: bool = flag(default=False, help="log nothing on standard error")
    logging_level: str = flag(
        default="INFO", parse=_one_of("INFO", "WARNING", "ERROR"), help="least level to log: INFO, WARNING or ERROR"
    )

    @property
    def runtime_path(self) -> Path:
        """Where --runtime_dir is."""
        return Path(self.runtime_dir or f"{self.work_dir}/run").absolute()
