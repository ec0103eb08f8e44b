"""The flags of `mesos-master`: Mesos' names (Mesos 1.11: src/master/flags.cpp) for what this master has."""

from collections.abc import Iterable
from dataclasses import dataclass

from tfmesos.flags import flag, format_duration, parse_duration
from tfmesos.master.errors import MasterFlagError

_REGISTRIES = ("replicated_log", "log_storage", "in_memory")
_SORTERS = ("drf", "random")
_LEVELS = ("INFO", "WARNING", "ERROR")
_MINUTE_S = 60.0
_MIN_ALLOCATION_INTERVAL_S = 0.001
"""Less would leave the master no time for anything else."""
_MAX_PORT = 65535


def _parse_level(text: str) -> str:
    if text not in _LEVELS:
        raise ValueError(f"'{text}' is not a valid logging level: use 'INFO', 'WARNING' or 'ERROR'")
    return text


def parse_weights(text: str) -> tuple[tuple[str, float], ...]:
    """'a=2,b=3.5' as pairs; raises ValueError with what is wrong."""
    weights: dict[str, float] = {}
    for item in filter(None, text.split(",")):
        role, separator, value = item.partition("=")
        if not separator or not role:
            raise ValueError(f"Invalid weight: '{item}'. --weights should be of the form 'role=weight,role=weight'")
        try:
            weight = float(value)
        except ValueError:
            raise ValueError(f"Invalid weight: '{item}': '{value}' is not a number") from None
        if not 0 < weight < float("inf"):
            raise ValueError(f"Invalid weight: '{item}'. Weights must be positive")
        weights[role] = weight
    return tuple(weights.items())


def show_weights(weights: tuple[tuple[str, float], ...]) -> str:
    """The text that `parse_weights` reads."""
    return ",".join(f"{role}={weight:g}" for role, weight in weights)


def parse_quantities(text: str) -> tuple[tuple[tuple[str, int], ...], ...]:
    """'cpus:0.01|mem:32' as alternatives of (name, thousandths); the empty text means no minimum."""
    return tuple(_parse_alternative(part) for part in text.split("|")) if text.strip() else ()


def _parse_alternative(text: str) -> tuple[tuple[str, int], ...]:
    quantities = []
    for item in filter(None, (part.strip() for part in text.split(";"))):
        name, separator, value = (piece.strip() for piece in item.partition(":"))
        try:
            amount = round(float(value) * 1000)
        except (ValueError, OverflowError):
            separator = ""
        if not separator or not name:
            raise ValueError(f"Failed to parse '{item}': expecting 'name:number'")
        if amount < 0:
            raise ValueError(f"Failed to parse '{item}': negative values are not allowed")
        quantities.append((name, amount))
    return tuple(quantities)


def show_quantities(alternatives: tuple[tuple[tuple[str, int], ...], ...]) -> str:
    """The text that `parse_quantities` reads."""
    return "|".join(";".join(f"{name}:{amount / 1000:g}" for name, amount in one) for one in alternatives)


def parse_rate(text: str) -> tuple[int, float]:
    """'2/10secs' as a number and seconds; raises ValueError with what is wrong."""
    count, separator, duration = text.partition("/")
    if not separator or not count.isdecimal() or int(count) < 1:
        raise ValueError(f"Invalid rate: '{text}'. Expecting 'number/duration'")
    if (interval_s := parse_duration(duration)) <= 0:
        raise ValueError(f"Invalid rate: '{text}'. The duration must be positive")
    return int(count), interval_s


def show_rate(rate: tuple[int, float]) -> str:
    """The text that `parse_rate` reads."""
    return f"{rate[0]}/{format_duration(rate[1])}"


def parse_names(text: str) -> tuple[str, ...]:
    """A comma separated list."""
    return tuple(part.strip() for part in text.split(",") if part.strip())


@dataclass(frozen=True, slots=True, kw_only=True)
class MasterFlags:
    """What a master is started with. Durations in seconds."""

    ip: str = flag(
        default="127.0.0.1",
        help="Address to listen on. Only this machine can reach the default; "
        "give the machine's own address (or 0.0.0.0) to serve others: there is no authentication.",
    )
    port: int = flag(default=5050, help="Port to listen on (0: any).")
    advertise_ip: str | None = flag(default=None, help="Address told to agents and frameworks instead of --ip.")
    advertise_port: int | None = flag(default=None, help="Port told to agents and frameworks instead of --port.")
    hostname: str | None = flag(default=None, help="Host name told to others (default: looked up for --ip).")
    hostname_lookup: bool = flag(default=True, help="Whether to look the host name up; if not, the address is used.")
    work_dir: str | None = flag(
        default=None,
        help="Directory of this master (one at a time), made if absent. Required unless --registry=in_memory.",
    )
    registry: str = flag(
        default="replicated_log",
        help="Where agents and ended frameworks are remembered over a restart: 'replicated_log' (a file in "
        "--work_dir) or 'in_memory' (nowhere).",
    )
    cluster: str | None = flag(default=None, help="A name for people, shown in /state.")
    roles: tuple[str, ...] | None = flag(
        default=None,
        parse=parse_names,
        show=lambda value: ",".join(value),
        help="Deprecated: comma separated roles that frameworks may have; any if not given.",
    )
    weights: tuple[tuple[str, float], ...] | None = flag(
        default=None,
        parse=parse_weights,
        show=show_weights,
        help="Weights of roles, 'role=weight,role=weight'; a role of weight 2 gets twice the share of one with 1. "
        "Without effect once an operator has changed weights by /weights.",
    )
    role_sorter: str = flag(default="drf", help="Order of roles: 'drf' or 'random'.")
    framework_sorter: str = flag(default="drf", help="Order of a role's frameworks: 'drf' or 'random'.")
    allocation_interval: float = flag(
        default=1.0, parse=parse_duration, show=format_duration, help="Time between two periodic allocations."
    )
    min_allocatable_resources: tuple[tuple[tuple[str, int], ...], ...] = flag(
        default=((("cpus", 10),), (("mem", 32000),)),
        parse=parse_quantities,
        show=show_quantities,
        help="What an offer must hold at least: alternatives separated by '|', each 'name:number;name:number'.",
    )
    fair_sharing_excluded_resource_names: tuple[str, ...] | None = flag(
        default=None,
        parse=parse_names,
        show=lambda value: ",".join(value),
        help="Comma separated names of resources that do not count for fair sharing, e.g. 'gpus'.",
    )
    filter_gpu_resources: bool = flag(
        default=True, help="Offer agents with GPUs only to frameworks with the GPU_RESOURCES capability."
    )
    offer_timeout: float | None = flag(
        default=None,
        parse=parse_duration,
        show=format_duration,
        help="Time after which an unanswered offer is rescinded; never if not given.",
    )
    agent_ping_timeout: float = flag(
        default=15.0,
        parse=parse_duration,
        show=format_duration,
        aliases=("slave_ping_timeout",),
        help="Time an agent has to answer a ping, between 1secs and 15mins.",
    )
    max_agent_ping_timeouts: int = flag(
        default=5,
        aliases=("max_slave_ping_timeouts",),
        help="Number of pings in a row without an answer after which an agent is unreachable.",
    )
    agent_reregister_timeout: float = flag(
        default=600.0,
        parse=parse_duration,
        show=format_duration,
        aliases=("slave_reregister_timeout",),
        help="Time a disconnected agent has to come back before it is unreachable, at least 10mins.",
    )
    agent_removal_rate_limit: tuple[int, float] | None = flag(
        default=None,
        parse=parse_rate,
        show=show_rate,
        aliases=("slave_removal_rate_limit",),
        help="How many agents at most become unreachable for want of an answer in how long, e.g. '1/10mins'; "
        "unlimited if not given.",
    )
    root_submissions: bool = flag(default=True, help="Whether frameworks of user root may subscribe.")
    max_completed_frameworks: int = flag(default=50, help="Number of ended frameworks to remember.")
    max_completed_tasks_per_framework: int = flag(
        default=1000, help="Number of ended tasks to remember for each framework."
    )
    max_unreachable_tasks_per_framework: int = flag(
        default=1000, help="Number of tasks on unreachable agents to remember for each framework."
    )
    max_operator_event_stream_subscribers: int = flag(
        default=1000, help="Number of operators that may watch events; with more the oldest stream is closed."
    )
    publish_per_framework_metrics: bool = flag(
        default=True, help="Whether /metrics tell of each framework (master/frameworks/…)."
    )
    log_dir: str | None = flag(
        default=None, help="Directory of the log file 'mesos-master.INFO', made if absent; no log file if not given."
    )
    external_log_file: str | None = flag(
        default=None,
        help="A file that others write this program's log to; shown as /master/log instead of --log_dir's.",
    )
    quiet: bool = flag(default=False, help="No log on stderr.")
    logging_level: str = flag(
        default="INFO", parse=_parse_level, help="Least level that is logged: 'INFO', 'WARNING' or 'ERROR'."
    )

    def check(self) -> None:
        """Raise MasterFlagError with Mesos' text if values are not allowed or contradict each other."""
        for is_wrong, complaint in (*self._wrong_choices(), *self._wrong_numbers()):
            if is_wrong:
                raise MasterFlagError(complaint)

    def _wrong_choices(self) -> Iterable[tuple[bool, str]]:
        yield (
            self.registry not in _REGISTRIES,
            f"'{self.registry}' is not a supported option for registry persistence: "
            "use 'replicated_log' or 'in_memory'",
        )
        yield self.work_dir is None and not self.in_memory, "--work_dir needed for replicated log based registry"
        for name, sorter in (("role_sorter", self.role_sorter), ("framework_sorter", self.framework_sorter)):
            yield sorter not in _SORTERS, f"--{name}='{sorter}' must be 'drf' or 'random'"

    def _wrong_numbers(self) -> Iterable[tuple[bool, str]]:
        for name, port in (("port", self.port), ("advertise_port", self.advertise_port or 0)):
            yield not 0 <= port <= _MAX_PORT, f"--{name}={port}: a port is between 0 and {_MAX_PORT}"
        for name, count in (
            ("max_completed_frameworks", self.max_completed_frameworks),
            ("max_completed_tasks_per_framework", self.max_completed_tasks_per_framework),
            ("max_unreachable_tasks_per_framework", self.max_unreachable_tasks_per_framework),
            ("max_operator_event_stream_subscribers", self.max_operator_event_stream_subscribers),
        ):
            yield count < 0, f"--{name}={count}: a number from 0 is wanted"
        yield (
            self.allocation_interval < _MIN_ALLOCATION_INTERVAL_S,
            f"Invalid value '{format_duration(self.allocation_interval)}' for --allocation_interval: "
            f"Must be at least {format_duration(_MIN_ALLOCATION_INTERVAL_S)}",
        )
        yield (
            not 1 <= self.agent_ping_timeout <= 15 * _MINUTE_S,
            f"Invalid value '{format_duration(self.agent_ping_timeout)}' for --agent_ping_timeout. "
            "Must be between 1secs and 15mins",
        )
        yield (
            self.max_agent_ping_timeouts < 1,
            f"Invalid value '{self.max_agent_ping_timeouts}' for --max_agent_ping_timeouts. Must be at least 1",
        )
        yield (
            self.agent_reregister_timeout < 10 * _MINUTE_S,
            f"Invalid value '{format_duration(self.agent_reregister_timeout)}' for --agent_reregister_timeout: "
            "Must be at least 10mins",
        )
        yield (
            self.offer_timeout is not None and self.offer_timeout <= 0,
            "Invalid value for --offer_timeout: Must be greater than 0secs",
        )

    @property
    def in_memory(self) -> bool:
        """Whether nothing is kept over a restart."""
        return self.registry == "in_memory"
