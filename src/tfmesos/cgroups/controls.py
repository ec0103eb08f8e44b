"""What can be set and read at a cgroup; each exists for both cgroup versions.

Every call raises CgroupError with the path and the kernel's reason, also when the cgroup is gone.
"""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Protocol

from tfmesos.cgroups.devices import DeviceRule


class DeviceControl(Protocol):
    """Which device nodes the processes of a cgroup and of those below it may open and make.

    A cgroup restricts nothing before the first `set`. What is open stays open whatever the rules say. A cgroup below
    another one allows what both allow; version 1 refuses rules that go beyond those of the parent, version 2 takes
    them and the parent's still hold.
    """

    def set(self, rules: Collection[DeviceRule]) -> None:
        """Allow exactly this from now on, and deny everything else.

        What was allowed and stays so is allowed without interruption. If it fails, what held before holds still; if it
        was the first time, nothing may be allowed. Version 1 wants the first call before cgroups are made below.
        Programs of others (version 2) are left alone.
        """

    def read(self) -> list[DeviceRule] | None:
        """What is allowed now; None where the kernel cannot tell (version 2)."""

    def has_rules(self) -> bool:
        """Whether anything is restricted here: on version 2 by `set`, be it of an agent before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryUsage:
    """In bytes; None is what this kernel does not tell."""

    total: int
    maximum: int | None
    anonymous: int | None
    file: int | None
    mapped: int | None
    swap: int | None
    unevictable: int | None


class MemoryControl(Protocol):
    """Limits and use of memory, of all processes of a cgroup and of those below it."""

    def set_soft_limit(self, size: int) -> None:
        """In bytes: below it memory is taken back last."""

    def set_limit(self, size: int | None, *, with_swap: bool = False) -> None:
        """In bytes, None for none; `with_swap` limits memory and swap together to it."""

    def limit(self) -> int | None:
        """The limit in bytes; None if there is none."""

    def usage(self) -> MemoryUsage:
        """How much is used, and was used at most."""

    def has_run_out(self) -> bool:
        """Processes were killed so far since there was no memory left below this cgroup's own limit."""

    async def wait_oom(self) -> bool:
        """Returns True once there was no memory left below the limit, at once if that was so before the call.

        To be cancelled when the cgroup is destroyed; it may return False then.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class CpuUsage:
    """Used since the cgroup was made; None is what is not counted here. Periods count only with a quota."""

    user_s: float | None
    system_s: float | None
    periods: int | None
    throttled: int | None
    throttled_s: float | None


class CpuControl(Protocol):
    """Shares and limits of processor time."""

    def set_shares(self, shares: int) -> None:
        """Weight against siblings: 1024 for each processor by Mesos' convention, at least 2."""

    def set_quota(self, cpus: float | None) -> None:
        """Hard limit in processors, kept in periods of 100 ms; None for none."""

    def usage(self) -> CpuUsage:
        """Processor time used."""
