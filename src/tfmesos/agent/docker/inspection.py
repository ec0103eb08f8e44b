"""What `docker inspect` says of a container (Mesos 1.11: docker/docker.cpp, Docker::Container::create). Pure."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from tfmesos.agent.docker.errors import DockerError
from tfmesos.agent.json_values import as_list, as_number, as_object, as_text

_ACCESS = "rwm"
_HIDDEN = "***"
_NEVER = "0001-01-01"


@dataclass(frozen=True, slots=True, kw_only=True)
class Device:
    """A device node of the host in a container; `access`: those of the letters r, w, m that are granted, in order."""

    host_path: str
    container_path: str
    access: str = "rwm"

    @property
    def argument(self) -> str:
        """For `docker run`. Raises DockerError with Mesos' text for what the engine would take for something else."""
        if not self.host_path.startswith("/"):
            raise DockerError(f"Only absolute paths are allowed for --devices: '{self.host_path}'")
        if not self.access:
            raise DockerError(f"At least one access required for --devices: none specified for '{self.host_path}'")
        return f"--device={self.host_path}:{self.container_path}:{self.access}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Inspection:
    """One container as the engine sees it.

    `has_started`: its program ran, or runs. `pid`: of its first process on this host; 0 if none runs. `is_over_memory`:
    something in it was killed for want of memory. `mounts`: what of the host is where in it. `data`: the whole answer.
    """

    name: str
    has_started: bool
    is_running: bool
    pid: int
    exit_status: int
    is_over_memory: bool
    finished_s: float | None
    memory_limit: int
    ip_address: str | None
    devices: tuple[Device, ...] = ()
    mounts: Mapping[str, str] = field(default_factory=dict)
    data: bytes = b""


def parse_inspections(output: bytes) -> list[Inspection]:
    """Of the containers that were asked for. Raises DockerError."""
    try:
        found = json.loads(output)
        return [_inspection(each) for each in found]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise DockerError(f"docker inspect: the answer cannot be understood: {error!r}") from error


def concealed(data: bytes, names: Collection[str]) -> bytes:
    """The answer of an Inspection without the values of these variables: others may see what a framework is told."""
    if not names:
        return data
    found = json.loads(data)
    for config in (each.get("Config") or {} for each in found):
        pairs = ((entry, entry.partition("=")[0]) for entry in config.get("Env") or ())
        config["Env"] = [f"{name}={_HIDDEN}" if name in names else entry for entry, name in pairs]
    return _encoded(found)


def _encoded(found: object) -> bytes:
    return json.dumps(found, separators=(",", ":")).encode()


def _inspection(found: Mapping[str, object]) -> Inspection:
    state, host = as_object(found["State"]), as_object(found["HostConfig"])
    has_started = not as_text(state["StartedAt"]).startswith(_NEVER)
    is_running = bool(state["Running"])
    return Inspection(
        name=as_text(found["Name"]).lstrip("/"),
        has_started=has_started,
        is_running=is_running,
        pid=as_number(state["Pid"]),
        exit_status=as_number(state["ExitCode"]),
        is_over_memory=bool(state.get("OOMKilled")),
        finished_s=_time(as_text(state["FinishedAt"])) if has_started and not is_running else None,
        memory_limit=as_number(host.get("Memory") or 0),
        ip_address=_ip_address(as_object(found.get("NetworkSettings") or {}), as_text(host.get("NetworkMode") or "")),
        devices=tuple(_device(as_object(item)) for item in as_list(host.get("Devices") or [])),
        mounts={
            as_text(mount["Destination"]): as_text(mount.get("Source") or "")
            for mount in map(as_object, as_list(found.get("Mounts") or []))
        },
        data=_encoded([found]),
    )


def _device(entry: Mapping[str, object]) -> Device:
    try:
        letters = as_text(entry["CgroupPermissions"])
        return Device(
            host_path=as_text(entry["PathOnHost"]),
            container_path=as_text(entry["PathInContainer"]),
            access="".join(letter for letter in _ACCESS if letter in letters),
        )
    except (KeyError, TypeError) as error:
        raise DockerError("Malformed HostConfig.Devices entry") from error


def _ip_address(settings: Mapping[str, object], mode: str) -> str | None:
    """In the network that it was started in; None where it has the host's, or none (Mesos 1.11)."""
    networks = as_object(settings.get("Networks") or {})
    network = networks.get("bridge" if mode == "default" else mode)
    address = as_object(network).get("IPAddress") if network else settings.get("IPAddress")
    return as_text(address) if address else None


def _time(text: str) -> float | None:
    """RFC 3339 with nanoseconds, of which Python reads six digits."""
    if text.startswith(_NEVER):
        return None
    seconds, _, fraction = text.removesuffix("Z").partition(".")
    zone = "" if text.endswith("Z") else fraction.lstrip("0123456789")
    return datetime.fromisoformat(f"{seconds}{zone or '+00:00'}").timestamp()
