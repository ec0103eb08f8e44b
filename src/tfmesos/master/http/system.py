"""Facts about this machine and this installation."""

import getpass
import os
import time
from dataclasses import dataclass
from pathlib import Path

from tfmesos import version


@dataclass(frozen=True, slots=True, kw_only=True)
class Build:
    """What `/version` says; the date is that of the installed files."""

    version: str
    date: str
    time_s: float
    user: str


def build_of_this() -> Build:
    """This installation."""
    try:
        written_s = os.stat(version.__file__).st_mtime
    except OSError:
        written_s = 0.0
    date = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(written_s))
    return Build(version=version.MESOS_VERSION, date=date, time_s=float(int(written_s)), user=_user())


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


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return str(os.getuid())
