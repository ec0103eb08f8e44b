"""What the processes of a container use (Linux: proc(5))."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from tfmesos.wire import mesos_pb2

_MIB = 1024 * 1024


def tree_statistics(
    pid: int, resources: Iterable[mesos_pb2.Resource], proc: Path = Path("/proc")
) -> mesos_pb2.ResourceStatistics:
    """The sums over a process and all below it. Those that ended meanwhile count no more."""
    statistics = mesos_pb2.ResourceStatistics(timestamp=time.time())
    for resource in resources:
        if resource.name == "cpus":
            statistics.cpus_soft_limit += resource.scalar.value
        elif resource.name == "mem":
            statistics.mem_soft_limit_bytes += int(resource.scalar.value * _MIB)
    ticks, page = os.sysconf("SC_CLK_TCK"), os.sysconf("SC_PAGE_SIZE")
    user = system = pages = processes = threads = 0
    for fields in _stats_of_tree(pid, proc):
        user += int(fields[11])
        system += int(fields[12])
        threads += int(fields[17])
        pages += int(fields[21])
        processes += 1
    statistics.cpus_user_time_secs = user / ticks
    statistics.cpus_system_time_secs = system / ticks
    statistics.mem_rss_bytes = pages * page
    statistics.processes, statistics.threads = processes, threads
    return statistics


def _stats_of_tree(pid: int, proc: Path) -> Iterator[list[str]]:
    """The fields of each process' `stat` after its name, which may hold anything."""
    waiting = [pid]
    while waiting:
        pid = waiting.pop()
        with contextlib.suppress(OSError):
            yield (proc / str(pid) / "stat").read_text(errors="replace").rpartition(")")[2].split()
            for task in (proc / str(pid) / "task").iterdir():
                waiting.extend(map(int, (task / "children").read_text().split()))
