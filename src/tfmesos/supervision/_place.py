"""A record_dir as an owner sees it: made ready for a program that it launches, read for one that another launched."""

import errno
import json
import os
import socket
import time
from binascii import crc32
from contextlib import suppress
from dataclasses import dataclass, fields
from typing import Any

from tfmesos.supervision._record import FORMAT, LIFE_OFFSET, RECORD, SIZE, LifeRecord, checksum
from tfmesos.supervision.errors import SupervisionError
from tfmesos.supervision.processes import is_running, read_boot_id
from tfmesos.supervision.spec import ProcessSpec

_BACKLOG = 16
_SEAL = b', "crc32": "%08x", "life":'
"""Behind the owner's part, with its checksum."""
_MAX_MARK = 600
"""Characters in JSON; the owner's part has its limit."""
_READ_AGAIN_S = 0.001
_READ_TRIES = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """The owner's part of record.json: who supervises the program."""

    pid: int
    start_time: int
    boot_id: str
    server_pid: int
    server_start_time: int
    socket: str
    has_console: bool
    grace_s: float
    mark: str | None
    """An entry of the program's environment that no other one has."""

    @property
    def has_supervisor(self) -> bool:
        """Whether it is there."""
        return is_running(self.pid, self.start_time)

    @property
    def has_keeper(self) -> bool:
        """Whether someone is there who ends the tree, if it has to end."""
        return self.has_supervisor or is_running(self.server_pid, self.server_start_time)


_ORIGIN = tuple(field.name for field in fields(Origin))


class Place:
    """What a launch prepares before the fork: the supervisor inherits it, and goes on with it."""

    def __init__(self, record_dir: str, attempt: int) -> None:
        """Each attempt has a socket of its own: the supervisor of an earlier one may be about to take its away.

        Raises SupervisionError.
        """
        self._path = os.path.join(record_dir, RECORD)
        self.socket_name = f"control.{attempt}.sock" if attempt else "control.sock"
        self.socket_path = os.path.join(record_dir, self.socket_name)
        try:
            self._record = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
            try:
                self._listener = _listen(record_dir, self.socket_name)
            except BaseException:
                os.close(self._record)
                os.unlink(self._path)
                raise
        except OSError as error:
            raise SupervisionError(f"cannot write in {record_dir!r}: {error.strerror}") from error

    @property
    def descriptors(self) -> list[int]:
        """For the supervisor: where it is reached, and its record."""
        return [self._listener.fileno(), self._record]

    def write(self, supervisor: tuple[int, int], server: tuple[int, int], spec: ProcessSpec) -> None:
        """The record, at once, while the supervisor waits at its gate. Raises SupervisionError.

        Processes are named by pid and start time.
        """
        origin = Origin(
            pid=supervisor[0],
            start_time=supervisor[1],
            boot_id=read_boot_id(),
            server_pid=server[0],
            server_start_time=server[1],
            socket=self.socket_name,
            has_console=spec.console is not None,
            grace_s=spec.grace_s,
            mark=_mark_of(spec),
        )
        try:
            if os.pwrite(self._record, encode(origin, LifeRecord()), 0) != SIZE:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        except OSError as error:
            raise SupervisionError(f"cannot write {self._path!r}: {error.strerror}") from error

    def close(self, *, is_given_up: bool) -> None:
        """This process' part is done. Given up: nothing is left in the directory."""
        self._listener.close()
        os.close(self._record)
        if is_given_up:
            for path in (self.socket_path, self._path):
                with suppress(OSError):
                    os.unlink(path)


def _mark_of(spec: ProcessSpec) -> str | None:
    mark = f"{spec.mark}={spec.environment[spec.mark]}" if spec.mark else ""
    return mark if mark and len(json.dumps(mark)) <= _MAX_MARK else None


def encode(origin: Origin, life: LifeRecord) -> bytes:
    """The whole of record.json."""
    text = json.dumps({"format": FORMAT, **{name: getattr(origin, name) for name in _ORIGIN}})
    body = text[:-1].encode()
    return (body + _SEAL % crc32(body)).ljust(LIFE_OFFSET) + life.encode()


def read(record_dir: str) -> tuple[Origin, LifeRecord] | None:
    """What is recorded there; None: nothing. Raises SupervisionError for what is none of ours."""
    path = os.path.join(record_dir, RECORD)
    for _ in range(_READ_TRIES):
        try:
            with open(path, "rb") as file:
                data = file.read(SIZE + 1)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise SupervisionError(f"cannot read {path!r}: {error.strerror}") from error
        if data[:1] in (b"", b"\0"):
            return None  # its owner was lost before it wrote its part, so the gate was never opened
        record = decode(data)
        if record is not None:
            return record
        time.sleep(_READ_AGAIN_S)  # it is just being written over
    raise SupervisionError(f"{path!r} is no record of format {FORMAT}, or was damaged")


def decode(data: bytes) -> tuple[Origin, LifeRecord] | None:
    """None: it is none, or not a whole one."""
    body = data[LIFE_OFFSET + len(checksum(b"")) :].rstrip()
    sealed = data[:LIFE_OFFSET].rstrip()
    origin = sealed[: -len(_SEAL % 0)]
    if not data.startswith(checksum(body), LIFE_OFFSET) or sealed != origin + _SEAL % crc32(origin):
        return None
    try:
        entries: dict[str, Any] = json.loads(data)
    except ValueError:
        return None
    life = entries.pop("life")
    del entries["crc32"], life["crc32"]
    return (Origin(**entries), LifeRecord(**life)) if entries.pop("format") == FORMAT else None


def socket_names(record_dir: str) -> list[str]:
    """Where supervisors of this directory listen, or did."""
    try:
        return [name for name in os.listdir(record_dir) if name.endswith(".sock")]
    except OSError:
        return []


def connect(record_dir: str, socket_name: str) -> socket.socket:
    """To a supervisor. Raises OSError."""
    directory = os.open(record_dir, os.O_PATH | os.O_DIRECTORY)
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connection.setblocking(False)
        connection.connect(_short_path(directory, socket_name))
    except BaseException:
        connection.close()
        raise
    finally:
        os.close(directory)
    return connection


def _listen(record_dir: str, socket_name: str) -> socket.socket:
    directory = os.open(record_dir, os.O_PATH | os.O_DIRECTORY)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        path = _short_path(directory, socket_name)
        listener.bind(path)
        os.chmod(path, 0o600)
        listener.listen(_BACKLOG)
    except BaseException:
        listener.close()
        raise
    finally:
        os.close(directory)
    listener.setblocking(False)
    return listener


def _short_path(directory: int, name: str) -> str:
    """The whole one may be too long (kernel: unix(7), 108 bytes)."""
    return f"/proc/self/fd/{directory}/{name}"
