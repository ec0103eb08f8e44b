"""What a program's processes have used."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeStatistics:
    """Of all processes of one program; the seconds include those of its processes that have ended."""

    processes: int
    threads: int
    user_s: float
    system_s: float
    rss_bytes: int
    """Memory that several processes share counts for each of them."""
