"""Limits and use of memory on both versions (MemoryControl).

kernel: Documentation/admin-guide/cgroup-v1/memory.rst, cgroup-v2.rst
"""

from tfmesos.cgroups import _events, _files
from tfmesos.cgroups.controls import MemoryUsage

_UNLIMITED_FROM = 2**62
"""Version 1 tells no limit as the greatest number of whole pages."""

_MARGIN = 2**20
"""Memory is counted in batches, so that there may be none left a little below the limit."""


class MemoryV1:
    """Of one cgroup."""

    def __init__(self, path: str) -> None:
        self._path = path

    def set_soft_limit(self, size: int) -> None:
        """By memory.soft_limit_in_bytes."""
        _files.write(f"{self._path}/memory.soft_limit_in_bytes", str(size))

    def set_limit(self, size: int | None, *, with_swap: bool = False) -> None:
        """The limit of memory with swap may never be the lower one, so the order depends on the direction."""
        names = ["memory.limit_in_bytes", "memory.memsw.limit_in_bytes"] if with_swap else ["memory.limit_in_bytes"]
        before = self.limit()
        if size is None or (before is not None and size > before):
            names.reverse()
        for name in names:
            _files.write(f"{self._path}/{name}", "-1" if size is None else str(size))

    def limit(self) -> int | None:
        """By memory.limit_in_bytes."""
        limit = _files.read_number(f"{self._path}/memory.limit_in_bytes")
        return None if limit >= _UNLIMITED_FROM else limit

    def usage(self) -> MemoryUsage:
        """The rows total_… of memory.stat count what is below, too."""
        rows = _files.read_table(f"{self._path}/memory.stat")
        return MemoryUsage(
            total=_files.read_number(f"{self._path}/memory.usage_in_bytes"),
            maximum=_files.read_number(f"{self._path}/memory.max_usage_in_bytes"),
            anonymous=rows.get("total_rss"),
            file=rows.get("total_cache"),
            mapped=rows.get("total_mapped_file"),
            swap=rows.get("total_swap"),
            unevictable=rows.get("total_unevictable"),
        )

    def has_run_out(self) -> bool:
        """Processes of this very cgroup were killed, and its limit was met: it was not the whole machine's memory.

        If all that were killed are in cgroups below, only who waited at that time knows.
        """
        killed = _files.read_table(f"{self._path}/memory.oom_control").get("oom_kill", 0)
        return killed > 0 and any(map(self._has_met_limit, ("memory", "memory.memsw")))

    async def wait_oom(self) -> bool:
        """An eventfd tells it before a process is killed, also to the cgroups below the one with the limit."""
        return await _events.wait_eventfd(self._path, "memory.oom_control", self.has_run_out)

    def _has_met_limit(self, name: str) -> bool:
        """By the greatest use: failcnt does not count for memory with swap any more (seen with kernel 6.18)."""
        if not _files.exists(f"{self._path}/{name}.limit_in_bytes"):
            return False
        limit = _files.read_number(f"{self._path}/{name}.limit_in_bytes")
        return _files.read_number(f"{self._path}/{name}.max_usage_in_bytes") > limit - _MARGIN


class MemoryV2:
    """Of one cgroup."""

    def __init__(self, path: str) -> None:
        self._path = path

    def set_soft_limit(self, size: int) -> None:
        """By memory.low: what is used up to it is taken back last."""
        _files.write(f"{self._path}/memory.low", str(size))

    def set_limit(self, size: int | None, *, with_swap: bool = False) -> None:
        """Swap is counted apart: together with memory.max, no swap at all is the same limit."""
        if with_swap:
            _files.write(f"{self._path}/memory.swap.max", "max" if size is None else "0")
        _files.write(f"{self._path}/memory.max", "max" if size is None else str(size))

    def limit(self) -> int | None:
        """By memory.max."""
        return _files.read_limit(f"{self._path}/memory.max")

    def usage(self) -> MemoryUsage:
        """The greatest use is told since kernel 5.19, swap where the kernel has any."""
        rows = _files.read_table(f"{self._path}/memory.stat")
        return MemoryUsage(
            total=_files.read_number(f"{self._path}/memory.current"),
            maximum=self._read_optional("memory.peak"),
            anonymous=rows.get("anon"),
            file=rows.get("file"),
            mapped=rows.get("file_mapped"),
            swap=self._read_optional("memory.swap.current"),
            unevictable=rows.get("unevictable"),
        )

    def has_run_out(self) -> bool:
        """memory.events.local counts for this very cgroup's limit; memory.events has those below in it."""
        return _files.read_table(f"{self._path}/memory.events.local").get("oom", 0) > 0

    async def wait_oom(self) -> bool:
        """The kernel tells that the file has changed, but not that the cgroup has gone."""
        await _events.wait_modified(f"{self._path}/memory.events.local", self.has_run_out)
        return True

    def _read_optional(self, name: str) -> int | None:
        path = f"{self._path}/{name}"
        return _files.read_number(path) if _files.exists(path) else None
