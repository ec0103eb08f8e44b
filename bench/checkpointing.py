"""What checkpoints cost: tasks a second of a framework that wants them, against one that does not.

Both run `true` 1,000 times at one master and one agent; each round measures both, one after the other. What master,
agent and all below them compute for a task tells the same on a busy machine.
"""

from __future__ import annotations

import argparse
import asyncio
from dataclasses import dataclass, field

import daemons
from tables import Row, print_table
from throughput import cpu_s, tasks_per_s

ROUNDS = 3
WANTED_SHARE = 0.6


@dataclass
class Measured:
    """Of each round: the pace, and the seconds computed."""

    tasks_per_s: list[float] = field(default_factory=list)
    cpu_s: list[float] = field(default_factory=list)


def measure(pair: daemons.Daemons, number: int, measured: Measured, *, checkpoint: bool) -> None:
    before = cpu_s(pair)
    measured.tasks_per_s.append(asyncio.run(tasks_per_s(pair.master, number, checkpoint=checkpoint)))
    measured.cpu_s.append(cpu_s(pair) - before)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tasks", type=int, default=1000, help="number of tasks (1000)")
    number = parser.parse_args().tasks
    without, with_them = Measured(), Measured()
    with daemons.running() as pair:
        for _ in range(ROUNDS):
            measure(pair, number, without, checkpoint=False)
            measure(pair, number, with_them, checkpoint=True)
    pace = Row(
        measure=f"{number} tasks `true`, checkpointing on",
        ours=max(with_them.tasks_per_s),
        reference=max(without.tasks_per_s),
        reference_name="checkpointing off",
        unit="tasks/s",
        goal=1 / WANTED_SHARE,
        higher_is_better=True,
    )
    computing = Row(
        measure="computing for such a task",
        ours=min(with_them.cpu_s) * 1000 / number,
        reference=min(without.cpu_s) * 1000 / number,
        reference_name="checkpointing off",
        unit="ms",
        goal=1 / WANTED_SHARE,
    )
    print_table([pace, computing])


if __name__ == "__main__":
    main()
