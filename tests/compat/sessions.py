"""The recorded sessions: which of their sides are replayed against ours, with which flags, how many requests."""

from dataclasses import dataclass, replace

from tfmesos.master import MasterFlags

_FLAGS = MasterFlags(registry="in_memory", hostname="127.0.0.1")
_QUICK_PINGS = replace(_FLAGS, agent_ping_timeout=1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """One folder of tests/golden/transcripts.

    `to_master` and `to_agent` are the numbers of requests that the other sides send to each (those whose bytes the
    recorder kept); fewer replayed means that the replay passes some over.
    """

    name: str
    to_master: int
    to_agent: int
    master_flags: MasterFlags = _FLAGS
    agent_flags: tuple[str, ...] = ()
    has_log: bool = False
    """Whether the programs write log files."""
    stand_in_executors: bool = False
    """The recorded executors speak for themselves: in place of their programs ours starts one that only waits."""
    stand_in_commands: bool = False
    """So do the recorded command executors (in HTTP mode)."""


SESSIONS = (
    Session(name="agent-registration", to_master=4, to_agent=3),
    Session(name="agent-task", to_master=11, to_agent=10),
    Session(name="agent-kill-and-fail", to_master=91, to_agent=96),
    Session(
        name="agent-restart",
        to_master=19,
        to_agent=20,
        master_flags=replace(_QUICK_PINGS, max_agent_ping_timeouts=4),
    ),
    Session(
        name="agent-restart-no-checkpoint",
        to_master=13,
        to_agent=11,
        master_flags=replace(_QUICK_PINGS, max_agent_ping_timeouts=4),
    ),
    Session(name="scheduler-json", to_master=61, to_agent=51),
    Session(name="scheduler-protobuf", to_master=61, to_agent=51),
    Session(name="scheduler-errors", to_master=161, to_agent=37),
    Session(name="scheduler-unknown-call", to_master=5, to_agent=2),
    Session(name="mesos-execute", to_master=81, to_agent=80, stand_in_executors=True),
    Session(name="executor-json", to_master=36, to_agent=34, stand_in_executors=True),
    Session(name="executor-protobuf", to_master=29, to_agent=33, stand_in_executors=True, stand_in_commands=True),
    Session(name="executor-errors", to_master=15, to_agent=40, stand_in_executors=True),
    Session(name="default-executor", to_master=55, to_agent=73, stand_in_executors=True),
    Session(
        name="operator",
        to_master=118,
        to_agent=93,
        agent_flags=("--attributes=rack:a;level:3;ports_x:[1-5]",),
        has_log=True,
    ),
    Session(
        name="operator-agents", to_master=11, to_agent=4, master_flags=replace(_QUICK_PINGS, max_agent_ping_timeouts=3)
    ),
    Session(name="gpu", to_master=52, to_agent=49),
    Session(name="two-masters", to_master=12, to_agent=10),
)
