"""The face of supervision for an asyncio program: starts the fork server, launches programs, reports their ends."""

from tfmesos.supervision.spec import ProcessSpec, Termination


class Supervised:
    """One program and its supervisor."""

    spec: ProcessSpec
    pid: int
    """Of the supervisor."""
    start_time: int
    """Of the supervisor: `process_start_time(pid)`."""
    task_pid: int | None
    """Of the program's main process; None until `release` returned, and if it could not be started."""

    async def release(self) -> None:
        """Open the gate: the program starts. Returns when it was executed or could not be (then `wait` tells why).

        To be called once, after `pid` and `start_time` were noted; a supervisor whose gate is lost ends by itself.
        Raises SupervisorLost if the supervisor is gone (`wait` answers all the same).
        """
        raise NotImplementedError

    def kill(self, grace_s: float) -> None:
        """SIGTERM to the whole tree, SIGKILL to what is left after `grace_s`; again: can only shorten the time left.

        Before `release`: the program never starts. After the end: nothing. Stopped processes are continued to die.
        """
        raise NotImplementedError

    async def wait(self) -> Termination:
        """How it ended, when nothing of the tree is left. May be awaited any number of times, by several at once."""
        raise NotImplementedError


class Supervisors:
    """Launches programs, each under its own supervisor, through one fork server."""

    async def start(self) -> None:
        """Start the fork server (about 20 ms); raises SupervisionError."""
        raise NotImplementedError

    async def launch(self, spec: ProcessSpec) -> Supervised:
        """Fork a supervisor that waits at its gate; a lost fork server is replaced. Raises SupervisionError."""
        raise NotImplementedError

    async def close(self) -> None:
        """Kill all (with each one's grace), wait until nothing is left, end the fork server. Idempotent."""
        raise NotImplementedError
