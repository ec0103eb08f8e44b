"""libprocess' names for processes: `<id>@<host>:<port>`."""

import re
from dataclasses import dataclass

_PID = re.compile(r"([^@\s/]*)@([^@\s:/]+):([0-9]{1,5})")


@dataclass(frozen=True, slots=True)
class Pid:
    """The name and address of a libprocess process; false where it names none.

    Mesos 1.11: "no pid" prints as `@0.0.0.0:0`, and an empty or unparsable text means the same.
    """

    id: str
    host: str
    port: int

    @classmethod
    def parse(cls, text: str) -> "Pid":
        """Read `slave(1)@127.0.0.1:5051`; NO_PID for anything that is none."""
        match = _PID.fullmatch(text)
        if match is None or not match[1] or not 0 < int(match[3]) < 65536:
            return NO_PID
        return cls(match[1], match[2], int(match[3]))

    def __str__(self) -> str:
        return f"{self.id}@{self.host}:{self.port}"

    def __bool__(self) -> bool:
        return bool(self.id)


NO_PID = Pid("", "0.0.0.0", 0)
