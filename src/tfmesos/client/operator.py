"""Clients of the operator APIs, as far as a launcher needs them."""

from types import TracebackType
from typing import Any

from tfmesos.transport import Address


class AgentClient:
    """An agent's v1 API (protobuf) over one kept connection, opened on first use and again after a loss."""

    def __init__(self, address: Address, timeout_s: float = 10.0) -> None:
        raise NotImplementedError

    async def read_file(self, path: str, offset: int, length: int) -> tuple[int, bytes]:
        """(size of the file, up to `length` bytes from `offset`); FileNotFoundError where the agent answers 404."""
        raise NotImplementedError

    async def list_files(self, path: str) -> list[Any]:
        """The FileInfos of a directory; FileNotFoundError where the agent answers 404."""
        raise NotImplementedError

    async def close(self) -> None:
        """Close the connection; may be called again."""
        raise NotImplementedError

    async def __aenter__(self) -> "AgentClient":
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()


class MasterClient:
    """A master's endpoints over one kept connection, opened on first use and again after a loss."""

    def __init__(self, address: Address, timeout_s: float = 10.0) -> None:
        raise NotImplementedError

    async def get_json(self, path: str) -> Any:
        """What a GET of an endpoint such as `/state` says."""
        raise NotImplementedError

    async def teardown(self, framework_id: str) -> None:
        """End a framework (operator call TEARDOWN)."""
        raise NotImplementedError

    async def close(self) -> None:
        """Close the connection; may be called again."""
        raise NotImplementedError

    async def __aenter__(self) -> "MasterClient":
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()
