"""What became of a program, found out by its record: where its supervisor cannot be asked any more."""

import asyncio
import json
import os
import signal
import socket
from contextlib import suppress
from pathlib import Path

from tfmesos.supervision._record import FORMAT, RECORD, SOCKET, Record
from tfmesos.supervision.errors import SupervisionError
from tfmesos.supervision.processes import PARENT, SESSION, START_TIME, STATE, is_running, read_stat
from tfmesos.supervision.spec import Termination

_LOOK_AGAIN_S = 0.02


def read_record(record_dir: str) -> Record | None:
    """None: there is none. Raises SupervisionError for what is none of ours."""
    path = Path(record_dir, os.fsdecode(RECORD))
    try:
        entries = json.loads(path.read_bytes())
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise SupervisionError(f"cannot read {str(path)!r}: {error}") from error
    if not isinstance(entries, dict) or entries.pop("format", None) != FORMAT or {*entries} != {*Record.__slots__}:
        raise SupervisionError(f"{str(path)!r} is not a record of format {FORMAT}")
    record = Record(0, 0)
    for name, value in entries.items():
        setattr(record, name, value)
    return record


def connect(record_dir: str) -> socket.socket:
    """To its supervisor. Raises OSError."""
    directory = os.open(record_dir, os.O_PATH | os.O_DIRECTORY)
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connection.setblocking(False)
        connection.connect(f"/proc/self/fd/{directory}/{os.fsdecode(SOCKET)}")  # the whole path may be too long
    except BaseException:
        connection.close()
        raise
    finally:
        os.close(directory)
    return connection


async def settle(record_dir: str) -> Termination:
    """How it ended, when nothing of it is left; its supervisor has no owner and will end by itself, or was lost.

    A lost one's tree is ended by its fork server, which takes control.sock away when that is done. If that one is gone,
    too, what can still be found of the tree is ended here. Raises SupervisionError for a record that cannot be read.
    """
    while True:
        is_over, record = _look(record_dir)
        if record is None:
            return unknown(f"there is no record of it in {record_dir!r}")
        if record.has_ended:
            return Termination(wait_status=record.wait_status, killed=record.killed, message=record.message)
        if is_over:
            message = f"its supervisor (pid {record.pid}) was lost, or could not write its record"
            return unknown(message, killed=record.killed)
        if not _has_keeper(record) and not _end_remains(record):
            with suppress(OSError):
                os.unlink(_socket_path(record_dir))
        else:
            await asyncio.sleep(_LOOK_AGAIN_S)


def _look(record_dir: str) -> tuple[bool, Record | None]:
    """Whether nothing of the tree is left, and what its record says then: it is written before control.sock goes."""
    is_over = not os.path.exists(_socket_path(record_dir))
    return is_over, read_record(record_dir)


def _socket_path(record_dir: str) -> str:
    return os.path.join(record_dir, os.fsdecode(SOCKET))


def unknown(message: str, *, killed: bool = False) -> Termination:
    """An end nobody saw."""
    return Termination(wait_status=None, killed=killed, message=message)


def _has_keeper(record: Record) -> bool:
    """Whether someone is there who ends the tree, if it has to end."""
    return is_running(record.pid, record.start_time) or is_running(record.server_pid, record.server_start_time)


def _end_remains(record: Record) -> bool:
    """Kill what is found; whether there was anything."""
    remains = remains_of(record)
    for pid in remains:
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)
    return bool(remains)


def remains_of(record: Record) -> list[int]:
    """What is left of a tree without supervisor and fork server, as far as it can be found.

    That is the main process, its session, and what descends from them; not what left both its session and its parent.
    """
    if record.task_pid is None:
        return []
    stats = {int(name): read_stat(name) for name in os.listdir("/proc") if name.isdigit()}
    leader = stats.get(record.task_pid)
    if leader is not None and int(leader[START_TIME]) != record.task_start_time:
        return []  # a pid is not given again while a session of that number is left (kernel: alloc_pid)
    living = {pid: stat for pid, stat in stats.items() if stat is not None and stat[STATE] not in (b"Z", b"X")}
    found = {pid for pid, stat in living.items() if int(stat[SESSION]) == record.task_pid}
    while more := {pid for pid, stat in living.items() if int(stat[PARENT]) in found} - found:
        found |= more
    return list(found)
