"""One HTTP/1.1 connection of a client: ordered, pipelined, with notice of the peer's close."""

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from types import TracebackType

from tfmesos.transport.address import Address

DEFAULT_LIMIT = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpResponse:
    """A complete answer; header names are lower case, the last of equal ones counts."""

    status: int
    reason: str
    headers: Mapping[str, str]
    body: bytes


class HttpStream:
    """An answer whose body is read as it arrives; iterate over it for its chunks (boundaries mean nothing)."""

    status: int
    reason: str
    headers: Mapping[str, str]

    def __aiter__(self) -> AsyncIterator[bytes]:
        raise NotImplementedError

    async def read(self, limit: int = DEFAULT_LIMIT) -> bytes:
        """All that is left of the body; ResponseTooLarge beyond `limit` bytes."""
        raise NotImplementedError


class HttpConnection:
    """A kept connection. Requests may be pipelined: several callers await their answers, which arrive in order."""

    address: Address
    local_host: str
    """Our own address on the way to the peer (`localhost` for a unix socket)."""

    @classmethod
    async def open(cls, address: Address, timeout_s: float = 10.0) -> "HttpConnection":
        """Connect; ConnectError names the address."""
        raise NotImplementedError

    async def request(
        self,
        method: str,
        path: str,
        headers: Mapping[str, str] | None = None,
        body: bytes = b"",
        *,
        limit: int = DEFAULT_LIMIT,
    ) -> HttpResponse:
        """Send a request and await its whole answer."""
        raise NotImplementedError

    async def stream(
        self, method: str, path: str, headers: Mapping[str, str] | None = None, body: bytes = b""
    ) -> HttpStream:
        """Send a request and await the head of its answer."""
        raise NotImplementedError

    @property
    def is_closed(self) -> bool:
        """Whether either side has closed."""
        raise NotImplementedError

    async def wait_closed(self) -> None:
        """Returns when either side has closed."""
        raise NotImplementedError

    async def close(self) -> None:
        """Close now; who still awaits an answer gets ConnectionLost. May be called again."""
        raise NotImplementedError

    async def __aenter__(self) -> "HttpConnection":
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()
