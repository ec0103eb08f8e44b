"""What a container that is more than a program on the host sees and may do: plain data, merged in one place.

Isolators say it, the OCI runtime makes it. A container without a View (Prepared.view is None) runs on the host as is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from functools import reduce


@dataclass(frozen=True, slots=True, kw_only=True)
class Mount:
    """Something mounted in the container's own mount namespace, in the order of View.mounts.

    `source`: a path of the host for binds, else a name. `target`: absolute, in the container; made if it is not there
    (a file if the source is one), links in it never lead out of the container's root. `beneath`: a directory of the
    host, if whoever runs elsewhere may put links where the source is: what is mounted lies beneath it and is reached
    through no link, at the time that it is mounted; the source is a directory then.
    """

    source: str
    target: str
    type: str = "bind"
    options: tuple[str, ...] = ("rbind",)
    beneath: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Rlimit:
    """`type` as setrlimit(2) names it, such as RLIMIT_NOFILE; amounts in its unit, 2**64 - 1 is unlimited."""

    type: str
    hard: int
    soft: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Capabilities:
    """Names as CAP_NET_RAW: what the first process has, and what no process of the container can have more of."""

    effective: frozenset[str]
    bounding: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A device node made in /dev of a container with an image; `type` is c or b."""

    path: str
    type: str
    major: int
    minor: int
    mode: int = 0o666
    uid: int = 0
    gid: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """The program, and its arguments with argv[0], as they are executed."""

    executable: str
    argv: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Hook:
    """A program of the host run at a stage of the container's making, as the OCI runtime specification names it."""

    stage: str
    path: str
    arguments: tuple[str, ...] = ()
    environment: tuple[str, ...] = ()
    timeout_s: int | None = None


class Namespace(Enum):
    """What a container can have for itself; it always has mounts. The value is the OCI runtime's name."""

    PID = "pid"
    IPC = "ipc"


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """All that is wanted of one container.

    `environment`: of its image, beneath all other variables. `namespaces`: new ones; `shared`: those of the container
    that it is nested in, if that one has its own; what is in neither is the agent's. `capabilities`: None leaves them
    as its user has them. `masked_paths` seem empty, `readonly_paths` are not to be written. `nodes`: all that is to be
    in its /dev beside what each has; `absent_nodes`: what is not to be there any more. `gpus`: the UUIDs of the cards
    in its reach. `command` and `working_directory`: instead of what the configuration says.
    """

    environment: Mapping[str, str] = field(default_factory=dict)
    mounts: tuple[Mount, ...] = ()
    namespaces: frozenset[Namespace] = frozenset()
    shared: frozenset[Namespace] = frozenset()
    rlimits: tuple[Rlimit, ...] = ()
    capabilities: Capabilities | None = None
    no_new_privileges: bool = False
    masked_paths: tuple[str, ...] = ()
    readonly_paths: tuple[str, ...] = ()
    nodes: tuple[Node, ...] = ()
    absent_nodes: tuple[Node, ...] = ()
    gpus: tuple[str, ...] = ()
    hooks: tuple[Hook, ...] = ()
    command: Command | None = None
    working_directory: str | None = None


def merged(views: Iterable[View | None]) -> View | None:
    """All as one, in this order: lists one after the other, of single things the last. None if nothing is wanted."""
    present = [view for view in views if view is not None]
    return reduce(_beneath, present) if present else None


def _beneath(one: View, other: View) -> View:
    return View(
        environment={**one.environment, **other.environment},
        mounts=one.mounts + other.mounts,
        namespaces=one.namespaces | other.namespaces,
        shared=one.shared | other.shared,
        rlimits=one.rlimits + other.rlimits,
        capabilities=other.capabilities or one.capabilities,
        no_new_privileges=one.no_new_privileges or other.no_new_privileges,
        masked_paths=one.masked_paths + other.masked_paths,
        readonly_paths=one.readonly_paths + other.readonly_paths,
        nodes=one.nodes + other.nodes,
        absent_nodes=one.absent_nodes + other.absent_nodes,
        gpus=one.gpus + other.gpus,
        hooks=one.hooks + other.hooks,
        command=other.command or one.command,
        working_directory=other.working_directory or one.working_directory,
    )
