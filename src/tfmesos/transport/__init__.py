"""HTTP with no Mesos meaning (a small client, a server), and libprocess messages and links over it.

address.py      where a peer listens
errors.py       what can go wrong
backoff.py      when to try again
connection.py   one HTTP/1.1 connection of a client, pipelined
_exchange.py    one request and its answer
pid.py          libprocess' names for processes
message.py      one libprocess message as bytes, and back
_parser.py      reads libprocess messages from a connection
_peer.py        the outgoing connection to one libprocess address
node.py         sends libprocess messages, watches links
server.py       the HTTP server (aiohttp; imported on first use only: programs of the command line do not need it)
_front.py       what stands before aiohttp in the server: receives libprocess messages
answers.py      answers of the server
"""

from typing import TYPE_CHECKING, Any

from tfmesos.transport._exchange import HttpResponse, HttpStream
from tfmesos.transport.address import Address, TcpAddress, UnixAddress
from tfmesos.transport.backoff import Backoff
from tfmesos.transport.connection import HttpConnection
from tfmesos.transport.errors import (
    BindError,
    ConnectError,
    ConnectionLost,
    ProtocolError,
    ResponseTooLarge,
    TransportError,
)
from tfmesos.transport.message import LibprocessMessage
from tfmesos.transport.node import LibprocessNode
from tfmesos.transport.pid import NO_PID, Pid

if TYPE_CHECKING:
    from tfmesos.transport.answers import StreamReply, accepted, message_of, reply
    from tfmesos.transport.server import HttpServer

__all__ = [
    "NO_PID",
    "Address",
    "Backoff",
    "BindError",
    "ConnectError",
    "ConnectionLost",
    "HttpConnection",
    "HttpResponse",
    "HttpServer",
    "HttpStream",
    "LibprocessMessage",
    "LibprocessNode",
    "Pid",
    "ProtocolError",
    "ResponseTooLarge",
    "StreamReply",
    "TcpAddress",
    "TransportError",
    "UnixAddress",
    "accepted",
    "message_of",
    "reply",
]

_LAZY = {
    "HttpServer": "server",
    "StreamReply": "answers",
    "accepted": "answers",
    "message_of": "answers",
    "reply": "answers",
}


def __getattr__(name: str) -> Any:
    """Bring in the server's half (and aiohttp, 0.2 s) when a daemon asks for it."""
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    found = getattr(import_module(f"{__name__}.{_LAZY[name]}"), name)
    globals()[name] = found
    return found
