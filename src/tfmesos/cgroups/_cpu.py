"""Shares, limits and use of processor time on both versions (CpuControl).

kernel: Documentation/scheduler/sched-bwc.rst, cgroup-v1/cpuacct.rst, cgroup-v2.rst
"""

from tfmesos.cgroups import _files
from tfmesos.cgroups.controls import CpuUsage

SHARES_MIN, SHARES_MAX = 2, 262144
_PERIOD_US = 100_000
_QUOTA_MIN_US = 1_000


class CpuV1:
    """Of one cgroup; `counting` is its directory where used time is counted, which may be in a tree of its own."""

    def __init__(self, path: str, counting: str | None) -> None:
        self._path = path
        self._counting = counting

    def set_shares(self, shares: int) -> None:
        """By cpu.shares."""
        _files.write(f"{self._path}/cpu.shares", str(max(shares, SHARES_MIN)))

    def set_quota(self, cpus: float | None) -> None:
        """By cpu.cfs_quota_us."""
        _files.write(f"{self._path}/cpu.cfs_period_us", str(_PERIOD_US))
        _files.write(f"{self._path}/cpu.cfs_quota_us", "-1" if cpus is None else str(_quota_us(cpus)))

    def usage(self) -> CpuUsage:
        """Nanoseconds here."""
        rows = _files.read_table(f"{self._path}/cpu.stat")
        return CpuUsage(
            user_s=self._counted("cpuacct.usage_user"),
            system_s=self._counted("cpuacct.usage_sys"),
            periods=rows.get("nr_periods"),
            throttled=rows.get("nr_throttled"),
            throttled_s=_scaled(rows.get("throttled_time"), 1e-9),
        )

    def _counted(self, name: str) -> float | None:
        return None if self._counting is None else _files.read_number(f"{self._counting}/{name}") / 1e9


class CpuV2:
    """Of one cgroup."""

    def __init__(self, path: str) -> None:
        self._path = path

    def set_shares(self, shares: int) -> None:
        """By cpu.weight, 1 to 10000, on the scale that OCI runtimes use."""
        within = min(max(shares, SHARES_MIN), SHARES_MAX)
        weight = 1 + (within - SHARES_MIN) * 9999 // (SHARES_MAX - SHARES_MIN)
        _files.write(f"{self._path}/cpu.weight", str(weight))

    def set_quota(self, cpus: float | None) -> None:
        """By cpu.max."""
        _files.write(f"{self._path}/cpu.max", f"{'max' if cpus is None else _quota_us(cpus)} {_PERIOD_US}")

    def usage(self) -> CpuUsage:
        """Microseconds here."""
        rows = _files.read_table(f"{self._path}/cpu.stat")
        return CpuUsage(
            user_s=_scaled(rows.get("user_usec"), 1e-6),
            system_s=_scaled(rows.get("system_usec"), 1e-6),
            periods=rows.get("nr_periods"),
            throttled=rows.get("nr_throttled"),
            throttled_s=_scaled(rows.get("throttled_usec"), 1e-6),
        )


def _quota_us(cpus: float) -> int:
    return max(round(cpus * _PERIOD_US), _QUOTA_MIN_US)


def _scaled(count: int | None, unit_s: float) -> float | None:
    return None if count is None else count * unit_s
