"""What a program's processes have used."""

import os
from collections.abc import Sequence
from dataclasses import dataclass

from tfmesos.supervision._tree import children_of
from tfmesos.supervision.processes import (
    ENDED_SYSTEM_TIME,
    ENDED_USER_TIME,
    RESIDENT_PAGES,
    SYSTEM_TIME,
    THREADS,
    USER_TIME,
    read_stat,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeStatistics:
    """Of all processes of one program; the seconds include those of its processes that have ended."""

    processes: int
    threads: int
    user_s: float
    system_s: float
    rss_bytes: int
    """Memory that several processes share counts for each of them."""


def tree_statistics(supervisor: int) -> TreeStatistics:
    """Of what lives below a supervisor and what it has reaped."""
    ended = read_stat(supervisor)
    return _sum([*map(read_stat, _descendants(supervisor))], [ended])


def process_statistics(root: int) -> TreeStatistics:
    """Of a process that is not supervised, all below it, and what they have reaped."""
    return _sum([*map(read_stat, (root, *_descendants(root)))], [])


def _sum(found: Sequence[list[bytes] | None], others: Sequence[list[bytes] | None]) -> TreeStatistics:
    """`others`: of which only what they have reaped counts."""
    stats = [stat for stat in found if stat is not None]
    with_times = [*stats, *(stat for stat in others if stat is not None)]
    user = sum(int(stat[ENDED_USER_TIME]) for stat in with_times) + sum(int(stat[USER_TIME]) for stat in stats)
    system = sum(int(stat[ENDED_SYSTEM_TIME]) for stat in with_times) + sum(int(stat[SYSTEM_TIME]) for stat in stats)
    return TreeStatistics(
        processes=len(stats),
        threads=sum(int(stat[THREADS]) for stat in stats),
        user_s=user / os.sysconf("SC_CLK_TCK"),
        system_s=system / os.sysconf("SC_CLK_TCK"),
        rss_bytes=sum(int(stat[RESIDENT_PAGES]) for stat in stats) * os.sysconf("SC_PAGE_SIZE"),
    )


def _descendants(root: int) -> list[int]:
    found = children_of(root)
    for pid in found:
        found += children_of(pid)
    return found
