"""Volumes as the user writes them."""

import posixpath
from dataclasses import dataclass

from tfmesos.launcher.errors import JobSpecError
from tfmesos.launcher.specification import check_text


@dataclass(frozen=True, slots=True, kw_only=True)
class Volume:
    """A directory of the agent's host, seen in the container."""

    source: str
    target: str
    read_only: bool = False

    @classmethod
    def parse(cls, text: str) -> "Volume":
        """`SRC`, `SRC:DST` or `SRC:DST:ro|rw`, both absolute. Raises JobSpecError."""
        check_text(text, "the volume")
        if any(ord(char) < 32 or ord(char) == 127 for char in text):
            raise JobSpecError(f"the volume {text!r} must be one line without control characters")
        parts = text.split(":")
        mode = parts.pop() if len(parts) == 3 else "rw"
        if len(parts) > 2 or not all(parts):
            raise JobSpecError(f"the volume {text!r} is not SRC, SRC:DST or SRC:DST:ro|rw")
        if mode not in ("ro", "rw"):
            raise JobSpecError(f"the volume {text!r} ends with {mode!r}; ro and rw are allowed")
        for path in parts:
            if not posixpath.isabs(path):
                raise JobSpecError(f"the volume {text!r} holds the relative path {path!r}; both paths must be absolute")
        source, target = (posixpath.normpath(path) for path in (parts[0], parts[-1]))
        if target == "/" != source:
            raise JobSpecError(f"the volume {text!r} would hide all else that a task sees: its path must be below /")
        return cls(source=source, target=target, read_only=mode == "ro")

    def __str__(self) -> str:
        """As the user could have written it."""
        return f"{self.source}:{self.target}{':ro' if self.read_only else ''}"

    @property
    def is_there_already(self) -> bool:
        """Whether a task without an image sees it without a mount: both paths are one, and it is as it is."""
        return self.source == self.target and not self.read_only

    @property
    def sides(self) -> tuple[str, str]:
        """Its paths on the agent's machine and in the container."""
        return self.source, self.target
