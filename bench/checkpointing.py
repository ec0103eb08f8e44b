"""What checkpoints cost: tasks a second of a framework that wants them, against one that does not.

Both run `true` 1,000 times at one master and one agent; each round measures both, one after the other.
"""

from __future__ import annotations

import argparse
import asyncio

import daemons
from tables import Row, print_table
from throughput import tasks_per_s

ROUNDS = 3
WANTED_SHARE = 0.6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tasks", type=int, default=1000, help="number of tasks (1000)")
    number = parser.parse_args().tasks
    without, with_them = [], []
    with daemons.running() as pair:
        for _ in range(ROUNDS):
            without.append(asyncio.run(tasks_per_s(pair.master, number)))
            with_them.append(asyncio.run(tasks_per_s(pair.master, number, checkpoint=True)))
    row = Row(
        measure=f"{number} tasks `true`, checkpointing on",
        ours=max(with_them),
        reference=max(without),
        reference_name="checkpointing off",
        unit="tasks/s",
        goal=1 / WANTED_SHARE,
        higher_is_better=True,
    )
    print_table([row])


if __name__ == "__main__":
    main()
