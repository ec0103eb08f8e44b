"""What a program that the agent starts inherits from it, and an OCI runtime would replace by defaults of its own."""

from __future__ import annotations

import os
import resource
from dataclasses import dataclass
from pathlib import Path

_NAMES = (
    *("CHOWN", "DAC_OVERRIDE", "DAC_READ_SEARCH", "FOWNER", "FSETID", "KILL", "SETGID", "SETUID", "SETPCAP"),
    *("LINUX_IMMUTABLE", "NET_BIND_SERVICE", "NET_BROADCAST", "NET_ADMIN", "NET_RAW", "IPC_LOCK", "IPC_OWNER"),
    *("SYS_MODULE", "SYS_RAWIO", "SYS_CHROOT", "SYS_PTRACE", "SYS_PACCT", "SYS_ADMIN", "SYS_BOOT", "SYS_NICE"),
    *("SYS_RESOURCE", "SYS_TIME", "SYS_TTY_CONFIG", "MKNOD", "LEASE", "AUDIT_WRITE", "AUDIT_CONTROL", "SETFCAP"),
    *("MAC_OVERRIDE", "MAC_ADMIN", "SYSLOG", "WAKE_ALARM", "BLOCK_SUSPEND", "AUDIT_READ", "PERFMON", "BPF"),
    "CHECKPOINT_RESTORE",
)
"""In the order of their numbers (kernel: include/uapi/linux/capability.h)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rights:
    """The agent's own. `descriptors`: how many a program may have, the soft limit and the hard one."""

    effective: frozenset[str]
    inheritable: frozenset[str]
    bounding: frozenset[str]
    umask: int
    groups: tuple[int, ...]
    descriptors: tuple[int, int]

    @classmethod
    def read(cls, *, max_descriptors: int | None = None, proc: Path = Path("/proc")) -> Rights:
        """Of this process. `max_descriptors`: the soft limit of programs if it is not this process' own."""
        lines = (line.partition(":") for line in (proc / "self/status").read_text().splitlines())
        status = {name: value.strip() for name, _, value in lines}
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        return cls(
            effective=_capabilities(status["CapEff"]),
            inheritable=_capabilities(status["CapInh"]),
            bounding=_capabilities(status["CapBnd"]),
            umask=int(status["Umask"], 8),
            groups=tuple(os.getgroups()),
            descriptors=(soft if max_descriptors is None else max_descriptors, hard),
        )


def _capabilities(mask: str) -> frozenset[str]:
    bits = int(mask, 16)
    return frozenset(f"CAP_{name}" for number, name in enumerate(_NAMES) if bits >> number & 1)
