"""What became of a program, found out by its record: where its supervisor cannot be asked any more."""

import asyncio
import os
import signal
from contextlib import suppress

from tfmesos.supervision import _place
from tfmesos.supervision._freezer import thaw
from tfmesos.supervision._place import Origin
from tfmesos.supervision._record import LifeRecord
from tfmesos.supervision.processes import PARENT, SESSION, START_TIME, STATE, read_stat
from tfmesos.supervision.spec import Termination

_LOOK_AGAIN_S = 0.02


async def settle(record_dir: str) -> Termination:
    """How it ended, when nothing of it is left; its supervisor has no owner and will end by itself, or was lost.

    A lost one's tree is ended by its fork server, which takes control.sock away when that is done. If that one is gone,
    too, what can still be found of the tree is ended here. Raises SupervisionError for a record that cannot be read.
    """
    while True:
        is_over, record = _look(record_dir)
        if record is None:
            return unknown(f"there is no record of it in {record_dir!r}")
        origin, life = record
        if life.has_ended:
            has_run = life.task_pid is not None or life.wait_status is not None
            return Termination(wait_status=life.wait_status, killed=life.killed, message=life.message, has_run=has_run)
        if is_over:
            message = f"its supervisor (pid {origin.pid}) was lost, or could not write its record"
            return unknown(message, killed=life.killed)
        if not origin.has_keeper and not _end_remains(origin, life):
            with suppress(OSError):
                os.unlink(os.path.join(record_dir, origin.socket))
        else:
            await asyncio.sleep(_LOOK_AGAIN_S)


def _look(record_dir: str) -> tuple[bool, tuple[Origin, LifeRecord] | None]:
    """Whether nothing of the tree is left, and what is recorded then: that is written before the socket goes."""
    record = _place.read(record_dir)
    if record is None or os.path.exists(os.path.join(record_dir, record[0].socket)):
        return False, record
    return True, _place.read(record_dir)


def unknown(message: str, *, killed: bool = False, has_run: bool = True) -> Termination:
    """An end nobody saw."""
    return Termination(wait_status=None, killed=killed, message=message, has_run=has_run)


def _end_remains(origin: Origin, life: LifeRecord) -> bool:
    """Kill what is found; whether there was anything."""
    remains = {*remains_of(life), *(marked_by(origin.mark) if origin.mark else ())}
    for pid in remains:
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)
    thaw(remains)
    return bool(remains)


def remains_of(life: LifeRecord) -> list[int]:
    """What is left of a tree without supervisor and fork server, as far as it can be found.

    That is the main process, its session, and what descends from them; what left both is known by its mark only.
    """
    if life.task_pid is None:
        return []
    stats = {int(name): read_stat(name) for name in os.listdir("/proc") if name.isdigit()}
    leader = stats.get(life.task_pid)
    if leader is not None and int(leader[START_TIME]) != life.task_start_time:
        return []  # a pid is not given again while a session of that number is left (kernel: alloc_pid)
    living = {pid: stat for pid, stat in stats.items() if stat is not None and stat[STATE] not in (b"Z", b"X")}
    found = {pid for pid, stat in living.items() if int(stat[SESSION]) == life.task_pid}
    while more := {pid for pid, stat in living.items() if int(stat[PARENT]) in found} - found:
        found |= more
    return list(found)


def marked_by(mark: str) -> list[int]:
    """Processes with this entry in their environment (kernel: proc(5), environ: as they were started)."""
    entry = os.fsencode(mark)
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            with suppress(OSError), open(f"/proc/{name}/environ", "rb") as file:
                if entry in file.read().split(b"\0"):
                    found.append(int(name))
    return found
