"""One program with its caller's terminal."""

from collections.abc import Mapping, Sequence

from tfmesos.supervision.spec import Termination


class Foreground:
    """A program that has the terminal of this process: stdin, stdout, stderr inherited, in the same process group.

    So Ctrl-C reaches it directly, as any program in the foreground; supervised otherwise (see the room's promises).
    """

    pid: int
    """Of the program."""

    @classmethod
    async def start(
        cls, argv: Sequence[str], environment: Mapping[str, str], directory: str, *, executable: str | None = None
    ) -> "Foreground":
        """Start it; a program that cannot be executed ends at once with status 1. Raises SupervisionError."""
        raise NotImplementedError

    def kill(self, grace_s: float) -> None:
        """As `Supervised.kill`."""
        raise NotImplementedError

    async def wait(self) -> Termination:
        """As `Supervised.wait`."""
        raise NotImplementedError


async def run_foreground(
    argv: Sequence[str], environment: Mapping[str, str], directory: str, *, executable: str | None = None
) -> Termination:
    """Start it and wait for its end; cancelled: killed with 3 s of grace, then the cancellation goes on."""
    raise NotImplementedError
