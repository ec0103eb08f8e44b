"""Disks that become full."""

from pathlib import Path


def fill_disk(disk: Path) -> None:
    """Until nothing more can be written; what is there already stays as it is."""
    with open(disk / "filler", "ab", buffering=0) as file:
        try:
            while True:
                file.write(bytes(4096))
        except OSError:
            return
