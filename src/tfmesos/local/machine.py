"""How much of what the embedded agent offers."""

import os
from dataclasses import dataclass
from pathlib import Path

from tfmesos.local.needs import LocalNeeds

__all__ = ["Machine", "read_machine", "resources_text", "size_notes"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """What this machine has: processors this process may use, and memory in MB."""

    cpus: int
    mem_mb: int


def read_machine(root: Path = Path("/")) -> Machine:
    """Processors by affinity; memory from `/proc/meminfo` (proc(5): MemTotal, in KiB)."""
    for line in (root / "proc/meminfo").read_text("ascii").splitlines():
        if line.startswith("MemTotal:"):
            return Machine(cpus=len(os.sched_getaffinity(0)), mem_mb=int(line.split()[1]) // 1024)
    return Machine(cpus=len(os.sched_getaffinity(0)), mem_mb=0)


def resources_text(machine: Machine, needs: LocalNeeds, ports: tuple[int, ...]) -> str:
    """The agent's `--resources`: the larger of the machine and the job, and the held ports; without GPUs."""
    cpus, mem_mb = max(float(machine.cpus), needs.cpus), max(float(machine.mem_mb), needs.mem_mb)
    parts = [f"cpus:{_number(cpus)}", f"mem:{_number(mem_mb)}"]
    if ports:
        parts.append("ports:[" + ",".join(f"{port}-{port}" for port in ports) + "]")
    return ";".join(parts)


def size_notes(machine: Machine, needs: LocalNeeds) -> tuple[str, ...]:
    """A line for the user when the job asks for more than the machine has: its tasks then share what there is."""
    excess = []
    if needs.cpus > machine.cpus:
        excess.append(f"{_number(needs.cpus)} cpus where this machine has {machine.cpus}")
    if needs.mem_mb > machine.mem_mb:
        excess.append(f"{_number(needs.mem_mb)} MB of memory where this machine has {machine.mem_mb}")
    return (f"the job asks for {' and '.join(excess)}: its tasks share what there is",) if excess else ()


def _number(value: float) -> str:
    """Three decimals at most, as Mesos keeps them (Mesos 1.11: scalars have fixed-point precision of 0.001)."""
    return f"{value:.3f}".rstrip("0").rstrip(".")
