"""The connection that carries a subscription's calls."""

import asyncio
from collections.abc import Mapping

from tfmesos.client._moves import Target, parse_location
from tfmesos.client._subscription import MOST_REDIRECTS
from tfmesos.transport import ConnectionLost, HttpConnection, HttpResponse, TransportError

PROTOBUF = "application/x-protobuf"
TEXT_LIMIT = 1024 * 1024
"""Of an answer that is read whole."""


class CallLink:
    """Calls of one subscription: pipelined on one connection, opened when first needed, following redirects."""

    def __init__(self, target: Target, headers: Mapping[str, str], timeout_s: float) -> None:
        """`headers`: what each call carries besides the media types."""
        self._target = target
        self._headers: Mapping[str, str] = {"Content-Type": PROTOBUF, "Accept": PROTOBUF, **headers}
        self._timeout_s = timeout_s
        self._connection: HttpConnection | None = None
        self._former: list[HttpConnection] = []
        self._opening = asyncio.Lock()
        self._is_closed = False

    async def post(self, body: bytes) -> HttpResponse:
        """The master's answer to a call. Raises TransportError."""
        for _ in range(MOST_REDIRECTS):
            target = self._target
            connection = await self._open()
            answer = await connection.request("POST", target.path, self._headers, body, limit=TEXT_LIMIT)
            if answer.status != 307:
                return answer
            followed = parse_location(answer.headers.get("location", ""), target)
            if followed is None:
                return answer
            self._turn_to(followed)
        raise TransportError(f"redirected more than {MOST_REDIRECTS} times, last to {self._target.address}")

    def close(self) -> None:
        """Close all connections, also one that is being opened; may be called again."""
        self._is_closed = True
        for connection in self._former if self._connection is None else [*self._former, self._connection]:
            connection.abort()

    async def _open(self) -> HttpConnection:
        connection = self._connection
        if connection is not None and not connection.is_closed:
            return connection
        async with self._opening:
            if self._connection is None or self._connection.is_closed:
                self._connection = await HttpConnection.open(self._target.address, self._timeout_s)
            if self._is_closed:
                self._connection.abort()
                raise ConnectionLost(self._connection.address, "closed on this side")
            return self._connection

    def _turn_to(self, target: Target) -> None:
        """Calls under way on the old connection keep it, until `close`."""
        if target.address != self._target.address and self._connection is not None:
            self._former.append(self._connection)
            self._connection = None
        self._target = target
