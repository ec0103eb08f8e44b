"""What can go wrong on the way to a peer.

TransportError
  BindError          the address to listen on cannot be had
  ConnectError       nobody answers at the address
  ConnectionLost     the connection ended before the answer did
  ProtocolError      the peer sent bytes that are no HTTP, or we were asked to send some
  ResponseTooLarge   the answer is longer than the caller allowed
"""

import os

from tfmesos.errors import TfmesosError
from tfmesos.transport.address import Address


class TransportError(TfmesosError):
    """The root of this room's errors; its text names the address."""


class BindError(TransportError):
    """The address to listen on cannot be had."""

    def __init__(self, address: Address, cause: str) -> None:
        super().__init__(f"cannot listen on {address}: {cause}")
        self.address = address


class ConnectError(TransportError):
    """Nobody answers at the address."""

    def __init__(self, address: Address, cause: str) -> None:
        super().__init__(f"cannot connect to {address}: {cause}")
        self.address = address


class ConnectionLost(TransportError):
    """The connection ended before the answer did; whether the peer acted on the request is unknown."""

    def __init__(self, address: Address, cause: str = "the peer closed it") -> None:
        super().__init__(f"connection to {address} lost: {cause}")
        self.address = address


class ProtocolError(TransportError):
    """Bytes that are no HTTP."""

    def __init__(self, address: Address, cause: str) -> None:
        super().__init__(f"no valid HTTP with {address}: {cause}")
        self.address = address


class ResponseTooLarge(TransportError):
    """The answer is longer than the caller allowed; the connection is closed."""

    def __init__(self, address: Address, limit: int) -> None:
        super().__init__(f"the answer of {address} is longer than the {limit} bytes allowed")
        self.address = address
        self.limit = limit


def error_text(error: OSError) -> str:
    """What the system says, without numbers and addresses."""
    return os.strerror(error.errno).lower() if error.errno is not None and error.errno > 0 else str(error)
