"""`mesos-agent`: offers this machine to a Mesos master and runs its tasks, until a signal ends it."""

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tfmesos.agent import AgentFlags
from tfmesos.cli.daemon import Mode, run_daemon, started, stop_signals
from tfmesos.cli.printing import print_text
from tfmesos.flags import FlagError, load_flags

if TYPE_CHECKING:
    import asyncio

    from tfmesos.agent import Agent

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """The program; returns its exit status."""
    return run_daemon("mesos-agent", AgentFlags, argv, _serve, _DOCTOR)


def _examine(words: Sequence[str]) -> int:
    """Say what is there and what is missing; status 0 if nothing is that these flags need."""
    import asyncio
    import logging
    import os

    from tfmesos.agent.doctor import DoctorFlags, examine

    logging.basicConfig(handlers=[logging.NullHandler()])  # what is told is the report
    report = asyncio.run(examine(load_flags(DoctorFlags, words, os.environ)))
    print_text(report.text())
    return 0 if report.is_fit else 1


_DOCTOR = Mode(
    name="doctor",
    help="Look only: what of all that an agent with these flags may need is on this machine, what is missing, and how "
    "to get it. No other flag is required.",
    run=_examine,
)


async def _serve(flags: AgentFlags) -> None:
    """Run the agent until SIGTERM or SIGINT (its tasks end), SIGUSR1 (it unregisters before), or its master's order."""
    import asyncio
    import signal

    from tfmesos.agent import Agent
    from tfmesos.discovery import MasterAddressError, build_detector

    stop = stop_signals()
    try:
        detector = build_detector(flags.master)
    except MasterAddressError as error:
        raise FlagError(str(error)) from error
    agent = Agent(flags, detector=detector)
    if not await started(agent.start(), stop):
        return
    asyncio.get_running_loop().add_signal_handler(signal.SIGUSR1, _leave, agent, stop)
    stopped = asyncio.create_task(agent.wait_stopped())
    signalled = asyncio.create_task(stop.wait())
    try:
        await asyncio.wait({stopped, signalled}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        signalled.cancel()
        await agent.close()
    await stopped  # raises why the agent stopped by itself


def _leave(agent: "Agent", stop: "asyncio.Event") -> None:
    import logging

    logging.getLogger(__name__).info("SIGUSR1: this agent unregisters and ends")
    agent.unregister()
    stop.set()


if __name__ == "__main__":
    sys.exit(main())
