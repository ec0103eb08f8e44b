"""What an agent must be able to take: its directories, its port; and the way to its master."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import fcntl
import os
import socket
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

from tfmesos.agent.doctor.directories import directory_fault
from tfmesos.agent.doctor.finding import Finding
from tfmesos.agent.doctor.flags import DoctorFlags
from tfmesos.discovery import MasterAddressError, Stranger, build_detector, find_stranger
from tfmesos.transport import HttpConnection, TcpAddress, TransportError

_PATIENCE_S = 3.0
_PATIENCE_HERE_S = 1.0
_LISTEN = "0A"
"""TCP_LISTEN (kernel: include/net/tcp_states.h)."""


async def place_findings(flags: DoctorFlags) -> AsyncIterator[Finding]:
    """Directories, port, master, of those that the flags name."""
    is_in_use = bool(flags.work_dir) and _is_locked(Path(flags.work_dir, "agent.lock"))
    for finding in _directories(flags, is_in_use=is_in_use):
        yield finding
    yield await _port(flags, is_in_use=is_in_use)
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


async def _port(flags: DoctorFlags, *, is_in_use: bool) -> Finding:
    if flags.port == 0:
        return Finding(subject="port", text="any that is free")
    place = f"{flags.ip}:{flags.port}" if flags.ip else str(flags.port)
    try:
        _try_bind(flags.ip or "", flags.port)
    except (OSError, UnicodeError) as error:
        is_taken = isinstance(error, OSError) and error.errno == errno.EADDRINUSE
        if is_taken and (is_in_use or await _has_agent(flags.ip, flags.port)):
            return Finding(subject="port", text=f"{place}, where an agent runs already; a second needs another --port")
        return Finding(
            subject="port",
            text=f"{place}: {error.strerror if isinstance(error, OSError) else error}",
            is_there=False,
            remedy="give another --port or --ip",
            is_needed=True,
        )
    return Finding(subject="port", text=f"{place} is free")


def _try_bind(host: str, port: int) -> None:
    """Raises OSError, UnicodeError."""
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as the agent does
        listener.bind((host, port))


async def _has_agent(host: str | None, port: int) -> bool:
    """Whether it is an agent that listens on a port of this machine; any of its addresses without a host."""
    for one in [host] if host else _listeners(port):
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_PATIENCE_HERE_S):
                if await find_stranger(TcpAddress(one, port)) is Stranger.AGENT:
                    return True
    return False


def _listeners(port: int) -> list[str]:
    """On which addresses of this machine somebody listens (proc(5): an address is a number in the host's order)."""
    found = set()
    with contextlib.suppress(OSError), open("/proc/net/tcp") as table:
        for line in list(table)[1:]:
            _, local, _, state, *_ = line.split()
            address, _, number = local.partition(":")
            if state == _LISTEN and int(number, 16) == port:
                found.add(socket.inet_ntoa(int(address, 16).to_bytes(4, sys.byteorder)))
    return sorted(found)


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
