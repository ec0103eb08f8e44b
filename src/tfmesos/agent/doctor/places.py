"""What an agent must be able to take: its directories, its port; and the way to its master."""

from __future__ import annotations

import asyncio
import fcntl
import os
import socket
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

from tfmesos.agent.doctor.directories import directory_fault
from tfmesos.agent.doctor.finding import Finding
from tfmesos.agent.doctor.flags import DoctorFlags
from tfmesos.discovery import MasterAddressError, build_detector
from tfmesos.transport import HttpConnection, TransportError

_PATIENCE_S = 3.0


async def place_findings(flags: DoctorFlags) -> AsyncIterator[Finding]:
    """Directories, port, master, of those that the flags name."""
    is_in_use = bool(flags.work_dir) and _is_locked(Path(flags.work_dir, "agent.lock"))
    for finding in _directories(flags, is_in_use=is_in_use):
        yield finding
    yield _port(flags, is_in_use=is_in_use)
    if flags.master:
        yield await _master(flags.master)


def _directories(flags: DoctorFlags, *, is_in_use: bool) -> Iterator[Finding]:
    or_root = "" if os.geteuid() == 0 else ", or run the agent as root"
    given = {"work_dir": flags.work_dir, "runtime_dir": flags.runtime_dir}
    for name, path in given.items():
        if path:
            fault = directory_fault(Path(path).absolute())
            yield Finding(
                subject=name,
                text=fault or (f"{path}, where an agent runs already" if is_in_use else path),
                is_there=not fault,
                remedy=f"give another --{name}" + or_root,
                is_needed=True,
            )


def _is_locked(path: Path) -> bool:
    """Whether a running agent has it."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def _port(flags: DoctorFlags, *, is_in_use: bool) -> Finding:
    if flags.port == 0:
        return Finding(subject="port", text="any that is free")
    place = f"{flags.ip}:{flags.port}" if flags.ip else str(flags.port)
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as the agent does
        try:
            listener.bind((flags.ip or "", flags.port))
        except (OSError, UnicodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else str(error)
            return Finding(
                subject="port",
                text=f"{place}: {reason}",
                is_there=is_in_use,
                remedy="does an agent run already? Else give another --port or --ip",
                is_needed=True,
            )
    return Finding(subject="port", text=f"{place} is free")


async def _master(text: str) -> Finding:
    try:
        fault = await _fault_of_master(text)
    except MasterAddressError as error:
        return Finding(subject="master", text=str(error), is_there=False, is_needed=True)
    return Finding(
        subject="master",
        text=fault or f"answers at {text}",
        is_there=not fault,
        remedy="is it started, with an --ip that this machine reaches, and no firewall between?",
        is_needed=True,
    )


async def _fault_of_master(text: str) -> str:
    """Raises MasterAddressError."""
    detector = build_detector(text)
    try:
        async with asyncio.timeout(_PATIENCE_S):
            leader = await detector.detect(None)
            connection = await HttpConnection.open(leader.address)
            answer = await connection.request("GET", "/health")
            await connection.close()
    except TimeoutError:
        return f"nothing answers at {text} within {_PATIENCE_S:g} s"
    except TransportError as error:
        return str(error)
    finally:
        await detector.close()
    return "" if answer.status == 200 else f"{text} answers, but is no master: /health has status {answer.status}"
