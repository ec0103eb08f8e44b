"""The capabilities of this process (kernel: capabilities(7), proc.rst)."""

from __future__ import annotations

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
class CapabilitySets:
    """By names as CAP_KILL."""

    effective: frozenset[str]
    permitted: frozenset[str]
    inheritable: frozenset[str]
    bounding: frozenset[str]

    @classmethod
    def read(cls, proc: Path = Path("/proc")) -> CapabilitySets:
        """Of this process."""
        lines = (line.partition(":") for line in (proc / "self/status").read_text().splitlines())
        masks = {name: value.strip() for name, _, value in lines if name.startswith("Cap")}
        return cls(
            effective=_names(masks["CapEff"]),
            permitted=_names(masks["CapPrm"]),
            inheritable=_names(masks["CapInh"]),
            bounding=_names(masks["CapBnd"]),
        )


def _names(mask: str) -> frozenset[str]:
    bits = int(mask, 16)
    return frozenset(f"CAP_{name}" for number, name in enumerate(_NAMES) if bits >> number & 1)
