"""What device rules cost: isolating a container with 1 and 8 devices and releasing it, on both cgroup versions."""

from __future__ import annotations

import os
import statistics
import subprocess
import time
from collections.abc import Callable, Iterator

from tables import Row, print_table

from tfmesos.cgroups import Cgroup, Cgroups, Device, DeviceRule, DeviceType, Hierarchies, Hierarchy

ROUNDS = 200
TYPES: tuple[DeviceType, ...] = ("c", "b")
BASE = [
    *(DeviceRule(Device(kind, None, None), "m") for kind in TYPES),
    *(DeviceRule(Device("c", 1, minor)) for minor in (3, 5, 7, 8, 9)),
    *(
        DeviceRule(Device("c", *numbers))
        for numbers in ((4, 0), (4, 1), (5, 0), (5, 1), (5, 2), (10, 200), (136, None))
    ),
    *(DeviceRule(Device("c", *numbers)) for numbers in ((195, 255), (511, 0), (511, 1))),
]
"""What every container gets, with the control devices of the driver."""

UNIFIED = ("/sys/fs/cgroup", "/sys/fs/cgroup/unified")


def hierarchies() -> Iterator[tuple[str, Hierarchies]]:
    detected = Hierarchies.detect()
    if detected.version == 1:
        yield "v1", detected
    path = next((path for path in UNIFIED if os.path.exists(f"{path}/cgroup.subtree_control")), None)
    if path is not None:
        yield "v2", Hierarchies([Hierarchy(path=path, version=2, controllers=frozenset({"devices"}))])


def median_s(action: Callable[[int], object]) -> float:
    times = []
    for number in range(ROUNDS):
        begin = time.perf_counter()
        action(number)
        times.append(time.perf_counter() - begin)
    return statistics.median(times)


def measure(cgroups: Cgroups, count: int) -> dict[str, float]:
    """Seconds for a new cgroup with rules, for devices given to it and taken from it, and for its removal."""
    devices = [DeviceRule(Device("c", 195, minor)) for minor in range(count)]
    made: list[Cgroup] = []

    def isolate(number: int) -> None:
        made.append(cgroups.create((f"container-{number}",)))
        made[-1].devices.set([*BASE, *devices])

    return {
        "isolate with": median_s(isolate),
        "take": median_s(lambda number: made[number].devices.set(BASE)),
        "give": median_s(lambda number: made[number].devices.set([*BASE, *devices])),
        "release with": median_s(lambda number: made[number].remove_empty()),
    }


def rows_of(version: str, cgroups: Cgroups, process_s: float) -> Iterator[Row]:
    one, eight = measure(cgroups, 1), measure(cgroups, 8)
    for name in one:
        yield Row(
            measure=f"{version}: {name} 1 device",
            ours=one[name] * 1000,
            reference=process_s * 1000,
            reference_name="`/bin/true`, run by `subprocess`",
            unit="ms",
            goal=1,
        )
        yield Row(
            measure=f"{version}: {name} 8 devices",
            ours=eight[name] * 1000,
            reference=one[name] * 1000,
            reference_name="with 1 device",
            unit="ms",
            goal=2,
        )


def main() -> None:
    process_s = median_s(lambda _: subprocess.run(["/bin/true"], check=True))
    rows: list[Row] = []
    for version, found in hierarchies():
        cgroups = Cgroups.open(found, f"bench-{os.getpid()}", ("devices",))
        rows += rows_of(version, cgroups, process_s)
        cgroups.close()
    print_table(rows)


if __name__ == "__main__":
    main()
