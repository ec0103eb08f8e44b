"""One libprocess message as bytes, and back (Mesos 1.11: libprocess' messages are HTTP/1.1 requests)."""

from dataclasses import dataclass
from urllib.parse import unquote

from tfmesos.transport.pid import NO_PID, Pid

_AGENT_PREFIX = "libprocess/"


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


def recognise(
    method: str, target: str, libprocess_from: str | None, user_agent: str | None
) -> LibprocessMessage | None:
    """The message (still without its body) that a request head announces; None for any other request.

    Mesos 1.11: method POST and a `User-Agent: libprocess/…` or `Libprocess-From`, which wins; the receiver's id is the
    first part of the path, percent-decoded, the name is the second.
    """
    if method != "POST" or not target.startswith("/"):
        return None
    if libprocess_from is not None:
        sender = Pid.parse(libprocess_from.strip())
    elif user_agent is not None and user_agent.startswith(_AGENT_PREFIX):
        sender = Pid.parse(user_agent.removeprefix(_AGENT_PREFIX).strip())
    else:
        return None
    to_id, slash, name = target[1:].partition("/")
    if not slash or not to_id or not name or "/" in name:
        return None
    return LibprocessMessage(unquote(to_id) if "%" in to_id else to_id, name, sender or NO_PID)
