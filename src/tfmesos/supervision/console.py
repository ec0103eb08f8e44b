"""Attached to a program's stdin and output."""

from typing import Literal, Self

OutputName = Literal["stdout", "stderr"]


class ConsoleStream:
    """One attachment; made by `Supervised.console`. Iterating gives the output from now on, until its last byte.

    Who does not take the output holds the program up, for at most 30 s: then this attachment ends.
    """

    async def __aenter__(self) -> Self:
        """Itself."""
        return self

    async def __aexit__(self, *_: object) -> None:
        """Close it."""
        await self.close()

    def __aiter__(self) -> Self:
        """Itself."""
        return self

    async def __anext__(self) -> tuple[OutputName, bytes]:
        """Where it was written to, and what; never empty."""
        raise NotImplementedError

    async def write_stdin(self, data: bytes) -> None:
        """Returns when there is room for more. What the program does not take any more is dropped."""
        raise NotImplementedError

    async def close_stdin(self) -> None:
        """The program reads the end of its stdin after what was written; a terminal gets its end-of-file character."""
        raise NotImplementedError

    async def resize(self, rows: int, columns: int) -> None:
        """The program gets SIGWINCH; nothing without a terminal."""
        raise NotImplementedError

    async def close(self) -> None:
        """The program goes on, and its stdin stays open for whoever attaches next. Idempotent."""
        raise NotImplementedError
