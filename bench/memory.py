"""Memory of an idle master, agent and fork server: proportional set size, which counts a shared page by its share."""

from __future__ import annotations

import re
from pathlib import Path

import daemons
from tables import Row, print_table

# Resident size of the two programs of Apache Mesos 1.11.
STOCK_MASTER_MB, STOCK_AGENT_MB = 94.0, 125.0
WANTED_MB = 110.0


def pss_mb(pid: int) -> float:
    """MB of a process and all below it."""
    total_kb = 0
    for one in daemons.descendants(pid):
        found = re.search(r"^Pss: +(\d+) kB", Path(f"/proc/{one}/smaps_rollup").read_text(), re.MULTILINE)
        total_kb += int(found.group(1)) if found else 0
    return total_kb / 1024


def main() -> None:
    with daemons.running() as pair:
        master, agent = (pss_mb(process.pid) for process in pair.processes)
    rows = [
        ("master", master, STOCK_MASTER_MB, "stock (documented, resident)"),
        ("agent and fork server", agent, STOCK_AGENT_MB, "stock (documented, resident)"),
        ("all together", master + agent, WANTED_MB, "the goal"),
    ]
    print_table(
        [
            Row(measure=measure, ours=ours, reference=value, reference_name=name, unit="MB", goal=1.0)
            for measure, ours, value, name in rows
        ]
    )


if __name__ == "__main__":
    main()
