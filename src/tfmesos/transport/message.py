"""One libprocess message as bytes, and back (Mesos 1.11: spec of libprocess' HTTP form)."""

from dataclasses import dataclass

from tfmesos.transport.pid import Pid


@dataclass(frozen=True, slots=True)
class LibprocessMessage:
    """A message that arrived: for the process `to_id`, named `name` (`mesos.internal.PingSlaveMessage`)."""

    to_id: str
    name: str
    sender: Pid
    body: bytes = b""


def encode_message(to_id: str, sender: Pid, name: str, body: bytes) -> bytes:
    """The message as one HTTP request, byte for byte as Mesos 1.11 sends it (recorded: agent-registration)."""
    framing = f"Transfer-Encoding: chunked\r\n\r\n{len(body):x}\r\n" if body else "\r\n"
    head = (
        f"POST /{to_id}/{name} HTTP/1.1\r\n"
        f"User-Agent: libprocess/{sender}\r\n"
        f"Libprocess-From: {sender}\r\n"
        "Connection: Keep-Alive\r\n"
        "Host: \r\n"
        f"{framing}"
    ).encode()
    return head + body + b"\r\n0\r\n\r\n" if body else head
