"""Facts about this machine."""

import os
from pathlib import Path


def machine_numbers(root: Path = Path("/")) -> dict[str, float]:
    """The `system/…` metrics without their prefix."""
    load_1, load_5, load_15 = os.getloadavg()
    memory = _memory(root / "proc/meminfo")
    return {
        "cpus_total": float(os.cpu_count() or 1),
        "load_1min": load_1,
        "load_5min": load_5,
        "load_15min": load_15,
        "mem_free_bytes": memory.get("MemFree", 0.0),
        "mem_total_bytes": memory.get("MemTotal", 0.0),
    }


def _memory(path: Path) -> dict[str, float]:
    """Bytes by name (kernel: proc.rst, meminfo: `Name:  12345 kB`)."""
    numbers = {}
    for line in path.read_text().splitlines():
        name, _, rest = line.partition(":")
        numbers[name] = float(rest.split()[0]) * 1024
    return numbers
