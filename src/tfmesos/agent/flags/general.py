"""Flags of the agent itself: where it listens, what it offers, what it keeps and for how long."""

from __future__ import annotations

from dataclasses import dataclass

from tfmesos.agent.flags.values import one_of, parse_count, parse_interval, parse_share
from tfmesos.flags import FlagError, flag, format_bytes, format_duration, parse_bytes, parse_duration

DEFAULT_PORT = 5051
_MAX_PORT = 65535


def _parse_port(text: str) -> int:
    port = parse_count(text)
    if port > _MAX_PORT:
        raise FlagError(f"a port is between 0 and {_MAX_PORT}")
    return port


@dataclass(frozen=True, kw_only=True)
class GeneralFlags:
    """A part of AgentFlags."""

    __slots__ = ()

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
    recover: str = flag(
        default="reconnect",
        parse=one_of("reconnect", "cleanup"),
        help="what to do with the tasks of the agent before: reconnect (go on with them) or cleanup (end them, exit)",
    )
    strict: bool = flag(
        default=True, help="whether damage in what the agent before kept is an error; if not, what is intact is used"
    )
    reconfiguration_policy: str = flag(
        default="equal",
        parse=one_of("equal", "additive"),
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
        parse=parse_interval,
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
        default=0.1, parse=parse_share, help="share of the disk to keep free by removing old sandboxes earlier"
    )
    disk_watch_interval: float = flag(
        default=60.0, parse=parse_interval, show=format_duration, help="how often the disk's usage is looked at"
    )
    gc_non_executor_container_sandboxes: bool = flag(
        default=False,
        help="whether sandboxes of nested and standalone containers are removed gc_delay after their end, too",
    )
    http_heartbeat_interval: float = flag(
        default=30.0,
        parse=parse_interval,
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
        default=50, parse=parse_count, help="how many ended frameworks /state remembers"
    )
    max_completed_executors_per_framework: int = flag(
        default=150, parse=parse_count, help="how many ended containers of a framework /state remembers"
    )
    log_dir: str | None = flag(
        default=None, help="folder of the log file 'mesos-agent.INFO', made if absent; without it there is no log file"
    )
    external_log_file: str | None = flag(
        default=None, help="a file that others write this log to; shown as /slave/log instead of that of --log_dir"
    )
    quiet: bool = flag(default=False, help="log nothing on standard error")
    logging_level: str = flag(
        default="INFO", parse=one_of("INFO", "WARNING", "ERROR"), help="least level to log: INFO, WARNING or ERROR"
    )
