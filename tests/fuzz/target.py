"""A daemon of ours on the other end of raw connections."""

import re
import socket
from dataclasses import dataclass
from pathlib import Path

from tests.chaos.daemons import Daemon

PATIENCE_S = 10.0
_STATUS = re.compile(rb"HTTP/1\.[01] (\d{3})[ \r]")
_PORT = re.compile(r"--port=(\d+)")


@dataclass(frozen=True, slots=True)
class Target:
    """One daemon; `page` is what it always answers with 200."""

    daemon: Daemon
    page: str

    @property
    def port(self) -> int:
        """Where it listens."""
        assert self.daemon.process is not None
        match = _PORT.search(str(self.daemon.process.args))
        assert match is not None
        return int(match[1])

    def exchange(self, data: bytes, *, is_whole: bool = True) -> int | None:
        """The status of the answer to these bytes, None if it closes without one. Hanging fails.

        After what is no whole request our half of the connection is closed: nothing more comes. An answer of 200 may
        be a stream; its head is enough.
        """
        with socket.create_connection(("127.0.0.1", self.port), PATIENCE_S) as connection:
            answer = b""
            try:
                connection.sendall(data)
                if not is_whole:
                    connection.shutdown(socket.SHUT_WR)
                while b"\r\n\r\n" not in answer:
                    piece = connection.recv(65536)
                    if not piece:
                        break
                    answer += piece
            except ConnectionError:
                pass
        match = _STATUS.match(answer)
        return int(match[1]) if match is not None else None

    def answers(self) -> bool:
        """Whether it still does."""
        return self.daemon.is_running and self.exchange(request("GET", self.page)) == 200

    @property
    def memory(self) -> int:
        """Bytes of memory of its own."""
        text = (self._proc / "status").read_text()
        line = next(line for line in text.splitlines() if line.startswith("RssAnon:"))
        return int(line.split()[1]) * 1024

    @property
    def descriptors(self) -> int:
        """How many it has open."""
        return len(list((self._proc / "fd").iterdir()))

    @property
    def _proc(self) -> Path:
        assert self.daemon.process is not None
        return Path(f"/proc/{self.daemon.process.pid}")


def request(method: str, path: str, body: bytes = b"", **headers: str) -> bytes:
    """A request in bytes; the header names are written with underscores."""
    lines = [f"{method} {path} HTTP/1.1", "Host: 127.0.0.1"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    if body and not any(line.lower().startswith(("content-length:", "transfer-encoding:")) for line in lines):
        lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join(lines).encode("utf-8", "surrogateescape") + b"\r\n\r\n" + body
