"""`mesos-agent`: offers this machine to a Mesos master and runs its tasks, until a signal ends it."""

import os
import sys
from typing import TYPE_CHECKING

from tfmesos.agent import AgentError, AgentFlags
from tfmesos.errors import TfmesosError
from tfmesos.flags import FlagError, load_flags, usage, wants_help, wants_version
from tfmesos.version import MESOS_VERSION

if TYPE_CHECKING:
    import asyncio

    from tfmesos.agent import Agent

__all__ = ["main"]

_PROGRAM = "mesos-agent"
_FAILED = 1


def main(argv: list[str] | None = None) -> int:
    """The program; returns its exit status."""
    words = sys.argv[1:] if argv is None else argv
    if wants_help(words):
        sys.stdout.write(usage(AgentFlags, _PROGRAM))
        return 0
    if wants_version(words):
        print(f"mesos {MESOS_VERSION}")
        return 0
    try:
        return _run(load_flags(AgentFlags, words, os.environ))
    except FlagError as error:
        print(f"{error}\nSee `{_PROGRAM} --help` for a list of supported flags.", file=sys.stderr)
    except TfmesosError as error:
        print(error, file=sys.stderr)
    return _FAILED


def _run(flags: AgentFlags) -> int:
    """Imports what the help does not need."""
    import asyncio
    import logging

    level = logging.CRITICAL if flags.quiet else flags.logging_level
    logging.basicConfig(format="%(asctime)s %(levelname)s %(name)s: %(message)s", level=level)
    return asyncio.run(_serve(flags))


async def _serve(flags: AgentFlags) -> int:
    """Run the agent until SIGTERM or SIGINT (its tasks end), SIGUSR1 (it unregisters before), or its master's order."""
    import asyncio
    import signal

    from tfmesos.agent import Agent
    from tfmesos.discovery import build_detector

    agent = Agent(flags, detector=build_detector(flags.master))
    ended = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, ended.set)
    await agent.start()
    loop.add_signal_handler(signal.SIGUSR1, _leave, agent, ended)
    stopped = asyncio.create_task(agent.wait_stopped())
    signalled = asyncio.create_task(ended.wait())
    await asyncio.wait({stopped, signalled}, return_when=asyncio.FIRST_COMPLETED)
    signalled.cancel()
    await agent.close()
    try:
        await stopped
    except AgentError as error:
        print(error, file=sys.stderr)
        return _FAILED
    return 0


def _leave(agent: "Agent", ended: "asyncio.Event") -> None:
    agent.unregister()
    ended.set()


if __name__ == "__main__":
    sys.exit(main())
