"""The command line of `docker run` (Mesos 1.11: docker/docker.cpp, Docker::run). Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class Dns:
    """How names are found in a container."""

    nameservers: tuple[str, ...] = ()
    search: tuple[str, ...] = ()
    options: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """One container to be run.

    `cpu_quota`: µs in each 100 ms. `memory`, `memory_reservation`: bytes. None: no such argument. `volumes` and `ports`
    as the engine spells them; `devices`: arguments. `arguments`: what follows the image. `secrets`: variables whose
    values are not to be seen in the command line: the client has them in its environment.
    """

    name: str
    image: str
    network: str
    privileged: bool = False
    cpu_shares: int | None = None
    cpu_quota: int | None = None
    memory_reservation: int | None = None
    memory: int | None = None
    environment: Mapping[str, str] = field(default_factory=dict)
    secrets: Mapping[str, str] = field(default_factory=dict)
    volumes: tuple[str, ...] = ()
    volume_driver: str | None = None
    dns: Dns = Dns()
    hostname: str | None = None
    ports: tuple[str, ...] = ()
    devices: tuple[str, ...] = ()
    entrypoint: str | None = None
    parameters: tuple[tuple[str, str], ...] = ()
    arguments: tuple[str, ...] = ()


def run_arguments(options: RunOptions) -> tuple[str, ...]:
    """All after `docker -H <socket>`, in Mesos' order."""
    return (
        "run",
        *(["--privileged"] if options.privileged else []),
        *_limits(options),
        *_environment(options),
        *(part for volume in options.volumes for part in ("-v", volume)),
        *([f"--volume-driver={options.volume_driver}"] if options.volume_driver else []),
        "--net",
        options.network,
        *_dns(options.dns),
        *(["--hostname", options.hostname] if options.hostname else []),
        *(part for port in options.ports for part in ("-p", port)),
        *options.devices,
        *(["--entrypoint", options.entrypoint] if options.entrypoint else []),
        "--name",
        options.name,
        *(f"--{key}={value}" for key, value in options.parameters),
        options.image,
        *options.arguments,
    )


def _environment(options: RunOptions) -> list[str]:
    entries = {name: f"{name}={value}" for name, value in options.environment.items()}
    entries.update((name, name) for name in options.secrets)
    return [part for _, entry in sorted(entries.items()) for part in ("-e", entry)]


def _limits(options: RunOptions) -> list[str]:
    named = {
        "--cpu-shares": options.cpu_shares,
        "--cpu-quota": options.cpu_quota,
        "--memory-reservation": options.memory_reservation,
        "--memory": options.memory,
    }
    return [part for name, value in named.items() if value is not None for part in (name, str(value))]


def _dns(dns: Dns) -> list[str]:
    named = (("--dns", dns.nameservers), ("--dns-search", dns.search), ("--dns-opt", dns.options))
    return [part for name, values in named for value in values for part in (name, value)]
