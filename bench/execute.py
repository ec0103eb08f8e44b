"""How long `mesos-execute --command='echo hello'` takes from start to exit, on our master and on a stock one."""

from __future__ import annotations

import statistics
import subprocess
import time

import daemons
from tables import Row, print_table

RUNS = 15
# All three programs of Apache Mesos 1.11 on a machine of two shared cores: 0.22 to 0.25 s.
STOCK_S = 0.235


def one_run_s(master: str, name: str) -> float:
    command = [daemons.program("mesos-execute"), f"--master={master}", f"--name={name}", "--command=echo hello"]
    begin = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.perf_counter() - begin


def main() -> None:
    with daemons.running() as ours, daemons.running(stock_master=True) as stock:
        times: dict[str, list[float]] = {ours.master: [], stock.master: []}
        for number in range(RUNS + 1):  # in turn, so that both see the same machine
            for master, taken in times.items():
                taken.append(one_run_s(master, f"run-{number}"))
        on_ours, on_stock = (statistics.median(taken[1:]) for taken in times.values())
    name = "mesos-execute, our master and agent"
    against = {
        "stock Mesos 1.11 throughout (documented)": STOCK_S,
        "stock master, rest ours": on_stock,
    }
    print_table(
        [
            Row(measure=name, ours=on_ours, reference=value, reference_name=which, unit="s", goal=1.2)
            for which, value in against.items()
        ]
    )


if __name__ == "__main__":
    main()
