"""One program with its caller's terminal."""

from collections.abc import Mapping, Sequence

from tfmesos.supervision.spec import ProcessSpec, Termination
from tfmesos.supervision.supervised import Supervised
from tfmesos.supervision.supervisors import Supervisors


class Foreground:
    """A program that has the terminal of this process: stdin, stdout, stderr inherited, in the same process group.

    So Ctrl-C reaches it directly, as any program in the foreground; supervised otherwise (see the room's promises).
    """

    def __init__(self, supervisors: Supervisors, supervised: Supervised) -> None:
        """Made by `start` only."""
        self._supervisors = supervisors
        self._supervised = supervised

    @classmethod
    async def start(
        cls, argv: Sequence[str], environment: Mapping[str, str], directory: str, *, executable: str | None = None
    ) -> "Foreground":
        """Start it; a program that cannot be executed ends at once with status 1. Raises SupervisionError."""
        spec = ProcessSpec(
            id="foreground",
            argv=tuple(argv),
            executable=executable,
            environment=environment,
            directory=directory,
            stdout="/dev/stdout",
            stderr="/dev/stderr",
        )
        supervisors = Supervisors(has_terminal=True)
        try:
            supervised = await supervisors.launch(spec)
            await supervised.release()
        except BaseException:
            await supervisors.close()
            raise
        return cls(supervisors, supervised)

    @property
    def pid(self) -> int | None:
        """Of the program; None if it could not be executed."""
        return self._supervised.task_pid

    def kill(self, grace_s: float) -> None:
        """As `Supervised.kill`."""
        self._supervised.kill(grace_s)

    async def wait(self) -> Termination:
        """As `Supervised.wait`; to be awaited in the end, it puts away what supervises the program."""
        termination = await self._supervised.wait()
        await self._supervisors.close()
        return termination
