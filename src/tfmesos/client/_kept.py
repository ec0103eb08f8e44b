"""The connection that an operator's requests share."""

import asyncio
from collections.abc import Mapping
from types import TracebackType
from typing import Self

from tfmesos.client._calls import PROTOBUF
from tfmesos.client.errors import CallRejected
from tfmesos.transport import Address, ConnectionLost, HttpConnection, HttpResponse

API = "/api/v1"
PROTOBUF_HEADERS: Mapping[str, str] = {"Content-Type": PROTOBUF, "Accept": PROTOBUF}


class KeptConnection:
    """Requests that may be repeated, over a connection that is opened on first use and again after a loss.

    Many may ask at once; a request has no time limit of its own.
    """

    def __init__(self, address: Address, timeout_s: float) -> None:
        self._address = address
        self._timeout_s = timeout_s
        self._connection: HttpConnection | None = None
        self._opening = asyncio.Lock()

    async def request(
        self, method: str, path: str, headers: Mapping[str, str] | None = None, body: bytes = b""
    ) -> HttpResponse:
        """The answer; one that was lost with an old connection is asked for again on a new one."""
        connection, is_fresh = await self._open()
        try:
            return await connection.request(method, path, headers, body)
        except ConnectionLost:
            if is_fresh:
                raise
        connection, _ = await self._open()
        return await connection.request(method, path, headers, body)

    async def _open(self) -> tuple[HttpConnection, bool]:
        """The connection, and whether it was opened just now."""
        async with self._opening:
            connection = self._connection
            if connection is not None and not connection.is_closed:
                return connection, False
            self._connection = await HttpConnection.open(self._address, self._timeout_s)
            return self._connection, True

    async def close(self) -> None:
        """Close the connection; may be called again."""
        if self._connection is not None:
            await self._connection.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()


def check_answer(call: str, answer: HttpResponse) -> None:
    """Raise CallRejected unless the call was accepted."""
    if answer.status not in (200, 202):
        raise CallRejected(call, answer.status, answer.body.decode(errors="replace"))
