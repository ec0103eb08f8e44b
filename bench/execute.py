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


def median_s(master: str) -> float:
    one_run_s(master, "warm-up")
    return statistics.median(one_run_s(master, f"run-{number}") for number in range(RUNS))


def main() -> None:
    with daemons.running() as ours:
        on_ours = median_s(ours.master)
    with daemons.running(stock_master=True) as stock:
        on_stock = median_s(stock.master)
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
