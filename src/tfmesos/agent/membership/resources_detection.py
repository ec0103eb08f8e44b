"""What this machine offers (Mesos 1.11)."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

from tfmesos.agent.errors import BadAgentFlags
from tfmesos.resources import Resources, ResourcesError

PORTS = "[31000-32000]"
_MEMORY_KEPT_MB = 1024  # left to the system when there is twice as much or more, else half
_DISK_KEPT_MB = 5 * 1024
_NOTHING = Resources()


def offered_resources(
    text: str | None, default_role: str, work_dir: Path, root: Path = Path("/"), *, gpus: Resources = _NOTHING
) -> Resources:
    """What `--resources` says, and what it does not name as detected; zero counts as said. Raises BadAgentFlags.

    `gpus`: what is offered of these, whatever the text says.
    """
    try:
        given = Resources.parse(text, default_role) if text else Resources()
    except ResourcesError as error:
        raise BadAgentFlags(f"--resources: {error}") from error
    missing = [f"{name}:{find(work_dir, root)}" for name, find in _DETECTORS.items() if not _names(text, name)]
    others = Resources(entry for entry in given if entry.key.name != "gpus")
    return others + Resources.parse(";".join(missing), default_role) + gpus


def _names(text: str | None, name: str) -> bool:
    """Whether `--resources` names a resource, in its text or its JSON form (amounts of zero vanish from Resources)."""
    return bool(text and re.search(rf'(?:^|[;\s])\s*{name}\s*(?:\([^)]*\))?\s*:|"name"\s*:\s*"{name}"', text))


def _cpus(work_dir: Path, root: Path) -> str:
    return str(os.cpu_count() or 1)


def _memory(work_dir: Path, root: Path) -> str:
    found = re.search(r"^MemTotal:\s+(\d+) kB", (root / "proc/meminfo").read_text(), re.MULTILINE)
    total_mb = int(found[1]) // 1024 if found else 0
    return str(_left(total_mb, _MEMORY_KEPT_MB))


def _disk(work_dir: Path, root: Path) -> str:
    system = os.statvfs(work_dir)
    return str(_left(system.f_blocks * system.f_frsize // 2**20, _DISK_KEPT_MB))


def _left(total_mb: int, kept_mb: int) -> int:
    """All but what is kept; half where that would be more than half."""
    return total_mb - kept_mb if total_mb >= 2 * kept_mb else total_mb // 2


def _ports(work_dir: Path, root: Path) -> str:
    return PORTS


_DETECTORS: dict[str, Callable[[Path, Path], str]] = {"cpus": _cpus, "mem": _memory, "disk": _disk, "ports": _ports}
