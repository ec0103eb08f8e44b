"""What is left for an owner that comes later.

    <record_dir>/
      record.json     the owner's part: who supervises the program; the supervisor's part: where its life stands
      control.sock    leads to the supervisor; there as long as something of the program's tree may be left

record.json is one JSON object in one block. The owner makes it before it opens the gate; the supervisor writes its part
over in place: a full disk does not matter then, and ext4 is spared from writing it out, as it does with a file that is
renamed over another. A checksum tells a reader that it came in between.

Lives in each supervisor, so it writes JSON by itself: that module takes 5 ms to import.
"""

import os
from binascii import crc32

FORMAT = 1
RECORD = "record.json"
LIFE_OFFSET = 1024
"""Where the supervisor's part begins."""
SIZE = 4096
_MAX_TEXT = 2500
"""Characters in JSON; the end of a longer text is left out."""


class LifeRecord:
    """The supervisor's part."""

    __slots__ = ("killed", "message", "stage", "task_pid", "task_start_time", "wait_status")

    def __init__(
        self,
        stage: str = "gated",
        killed: bool = False,
        wait_status: int | None = None,
        message: str | None = None,
        task_pid: int | None = None,
        task_start_time: int | None = None,
    ) -> None:
        """Of a program that was not started."""
        self.stage = stage
        self.killed = killed
        self.wait_status = wait_status
        self.message = message
        self.task_pid = task_pid
        self.task_start_time = task_start_time

    @property
    def has_ended(self) -> bool:
        """Whether it tells an end."""
        return self.stage == "ended"

    def encode(self) -> bytes:
        """As JSON up to the end of the file."""
        killed = "true" if self.killed else "false"
        text = (
            f'"stage": "{self.stage}", "killed": {killed}, "wait_status": {_to_json(self.wait_status)}, '
            f'"message": {_to_json_text(self.message)}, "task_pid": {_to_json(self.task_pid)}, '
            f'"task_start_time": {_to_json(self.task_start_time)}}}}}'
        )
        body = text.encode()
        return (checksum(body) + body).ljust(SIZE - LIFE_OFFSET - 1) + b"\n"

    def write(self, descriptor: int) -> None:
        """Into record.json. Raises OSError."""
        os.pwrite(descriptor, self.encode(), LIFE_OFFSET)


def checksum(body: bytes) -> bytes:
    """What comes before the other entries of the supervisor's part."""
    return b'{"crc32": "%08x", ' % crc32(body)


def _to_json(number: int | None) -> str:
    return "null" if number is None else str(number)


def _to_json_text(text: str | None) -> str:
    if text is None:
        return "null"
    characters = list(map(_to_json_character, text[:_MAX_TEXT]))
    while sum(map(len, characters)) > _MAX_TEXT:
        characters.pop()
    return f'"{"".join(characters)}"'


def _to_json_character(character: str) -> str:
    if " " <= character <= "~" and character not in '"\\':
        return character
    units = character.encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[i : i + 4]}" for i in range(0, len(units), 4))
