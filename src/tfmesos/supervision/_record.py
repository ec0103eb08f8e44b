"""What a supervisor leaves for an owner that comes later.

    <record_dir>/
      record.json     who it is, where its program's life stands, how that ended
      control.sock    leads to it; there from before record.json until nothing of the program's tree is left

Lives in each supervisor, so it writes JSON by itself: that module takes 5 ms to import.
"""

import errno
import os

FORMAT = 1
RECORD = b"record.json"
SOCKET = b"control.sock"
_MODE = 0o600


class Record:
    """The contents of record.json."""

    __slots__ = (
        "boot_id",
        "grace_s",
        "killed",
        "message",
        "pid",
        "server_pid",
        "server_start_time",
        "stage",
        "start_time",
        "task_pid",
        "task_start_time",
        "wait_status",
    )

    pid: int
    start_time: int
    boot_id: str
    server_pid: int
    server_start_time: int
    grace_s: float
    stage: str
    killed: bool
    wait_status: int | None
    message: str | None
    task_pid: int | None
    task_start_time: int | None

    def __init__(self, pid: int, start_time: int) -> None:
        """Of a supervisor that was just forked."""
        self.pid = pid
        self.start_time = start_time
        self.boot_id = ""
        self.server_pid = self.server_start_time = 0
        self.grace_s = 0.0
        self.stage = "gated"
        self.killed = False
        self.wait_status = self.message = self.task_pid = self.task_start_time = None

    @property
    def has_ended(self) -> bool:
        """Whether it tells an end."""
        return self.stage == "ended"

    def encode(self) -> bytes:
        """As JSON."""
        entries = (f'"{name}": {_to_json(getattr(self, name))}' for name in self.__slots__)
        return f'{{"format": {FORMAT}, {", ".join(entries)}}}\n'.encode()

    def write(self, directory: bytes) -> None:
        """Into record.json, whole or not at all; on a full disk over the one that is there. Raises OSError."""
        data = self.encode()
        path = os.path.join(directory, RECORD)
        try:
            _write_new(path + b".new", data)
            os.rename(path + b".new", path)
        except OSError as error:
            if not _overwrite(path, data):
                raise error


def read_boot_id() -> str:
    """Another one after each start of the machine (kernel: random(4))."""
    with open("/proc/sys/kernel/random/boot_id") as file:
        return file.read().strip()


def _write_new(path: bytes, data: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, _MODE)
    try:
        written = os.write(descriptor, data)
    finally:
        os.close(descriptor)
    if written != len(data):
        os.unlink(path)
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), path)


def _overwrite(path: bytes, data: bytes) -> bool:
    """In the block that the file has already, so no free one is needed."""
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        data = data.ljust(os.fstat(descriptor).st_size)
        return os.pwrite(descriptor, data, 0) == len(data)
    except OSError:
        return False
    finally:
        os.close(descriptor)


def _to_json(value: str | float | bool | None) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return f'"{"".join(map(_to_json_character, value))}"'
    return repr(value)


def _to_json_character(character: str) -> str:
    if " " <= character <= "~" and character not in '"\\':
        return character
    units = character.encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[i : i + 4]}" for i in range(0, len(units), 4))
