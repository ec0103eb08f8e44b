"""Programs that the agent runs for itself: each under a supervisor, so that none outlives the agent."""

from __future__ import annotations

import asyncio
import os
import signal

from tfmesos.supervision import ProcessSpec, Supervisors, Termination


async def end_of(supervisors: Supervisors, spec: ProcessSpec) -> Termination:
    """How a program ended. Raises SupervisionError. Who cancels this ends the program first."""
    process = await supervisors.launch(spec)
    try:
        await process.release()
        return await process.wait()
    except asyncio.CancelledError:
        process.kill(0.0)
        await process.wait()
        raise


def how_it_ended(end: Termination) -> str:
    """For a person (texts of Mesos 1.11)."""
    if end.wait_status is None:
        return end.message or "its end is not known"
    if os.WIFSIGNALED(end.wait_status):
        return f"terminated with signal {signal.strsignal(os.WTERMSIG(end.wait_status))}"
    return f"exited with status {os.waitstatus_to_exitcode(end.wait_status)}"
