"""Which processes hold a device's node open: what is open stays open, whatever the rules say later."""

import contextlib
import os
from collections.abc import Collection, Iterable

from tfmesos.cgroups.devices import Device


def holders(pids: Iterable[int], devices: Collection[Device], proc: str = "/proc") -> dict[int, set[Device]]:
    """Which of `devices` each of these processes has open, by whatever path; processes without any are left out.

    Mappings without a descriptor are not seen. A process that ends meanwhile holds nothing.
    """
    wanted = set(devices)
    found = ((pid, _open_devices(f"{proc}/{pid}/fd") & wanted) for pid in pids)
    return {pid: held for pid, held in found if held}


def _open_devices(directory: str) -> set[Device]:
    devices: set[Device] = set()
    with contextlib.suppress(OSError), os.scandir(directory) as entries:
        for entry in entries:
            with contextlib.suppress(OSError):
                device = Device.of_status(entry.stat())
                if device is not None:
                    devices.add(device)
    return devices
