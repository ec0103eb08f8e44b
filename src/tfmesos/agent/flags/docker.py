"""Flags of the Docker containerizer, and which containerizers are used."""

from __future__ import annotations

from dataclasses import dataclass

from tfmesos.flags import FlagError, flag, format_duration, parse_duration

_CONTAINERIZERS = ("docker", "mesos")


def _parse_containerizers(text: str) -> tuple[str, ...]:
    names = [name.strip() for name in text.split(",")]
    for name in names:
        if name not in _CONTAINERIZERS:
            raise FlagError(f"Unknown containerizer '{name}': it can be {' or '.join(_CONTAINERIZERS)}")
        if names.count(name) > 1:
            raise FlagError(f"Duplicate entries found in --containerizers flag: {name}")
    return tuple(names)


def _parse_default_container_dns(text: str) -> str:
    from tfmesos.agent.docker import parse_default_dns  # only here: help must come at once

    parse_default_dns(text)
    return text


@dataclass(frozen=True, kw_only=True)
class DockerFlags:
    """A part of AgentFlags."""

    __slots__ = ()

    containerizers: tuple[str, ...] = flag(
        default=("mesos",),
        parse=_parse_containerizers,
        show=",".join,
        help="which containerizers to use, with commas between, in any order: mesos, docker (for tasks whose container "
        "is of type DOCKER)",
    )
    docker: str = flag(default="docker", help="the client of the Docker engine, by name or path")
    docker_socket: str = flag(default="/var/run/docker.sock", help="the unix socket of the Docker engine")
    docker_remove_delay: float = flag(
        default=6 * 3600.0,
        parse=parse_duration,
        show=format_duration,
        help="how long Docker containers are kept after their end",
    )
    docker_kill_orphans: bool = flag(
        default=True,
        help="whether Docker containers that an agent before has left and no task needs are removed",
    )
    docker_stop_timeout: float = flag(
        default=0.0,
        parse=parse_duration,
        show=format_duration,
        help="how long a Docker container that belongs to no task may take to stop before it is killed",
    )
    default_container_dns: str | None = flag(
        default=None,
        parse=_parse_default_container_dns,
        json=True,
        help="JSON of name servers for Docker containers whose task names none, by the mode and name of their network: "
        '{"docker":[{"network_mode":"BRIDGE","dns":{"nameservers":["10.0.0.1"]}}]}',
    )
