"""How long `tfrun --help` takes, against the goal and against a bare Python interpreter."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from collections.abc import Sequence

import daemons
from tables import Row, print_table

RUNS = 20
WANTED_S = 0.15


def median_s(command: Sequence[str]) -> float:
    times = []
    for _ in range(RUNS + 1):
        begin = time.perf_counter()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        times.append(time.perf_counter() - begin)
    return statistics.median(times[1:])


def main() -> None:
    ours = median_s([daemons.program("tfrun"), "--help"])
    bare = median_s([sys.executable, "-c", "pass"])
    rows = [("the goal", WANTED_S, 1.0), ("`python -c pass`", bare, 15.0)]
    print_table(
        [
            Row(measure="tfrun --help", ours=ours, reference=value, reference_name=name, unit="s", goal=goal)
            for name, value, goal in rows
        ]
    )


if __name__ == "__main__":
    main()
