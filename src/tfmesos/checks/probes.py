"""One look at a task from outside. Each may take for ever: the caller sets the time limit by cancelling."""

import asyncio
import os
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING
from urllib.parse import quote, urljoin, urlsplit

from tfmesos.checks.judges import empty_status
from tfmesos.transport import HttpConnection, TcpAddress
from tfmesos.wire import mesos_pb2

if TYPE_CHECKING:
    import ssl

RunCommand = Callable[[mesos_pb2.CommandInfo], Awaitable[int]]
"""Runs a command in the task's surroundings until it ends; its wait status. When cancelled it ends the command, with
all that it started, before it raises CancelledError. Raises OSError where the command cannot be run (a failure of the
task), NotLooked where nobody could be asked to run it."""


class NotLooked(Exception):
    """A look did not take place; nothing is told of it (Mesos 1.11: the agent was away, or refused the session)."""


_MOST_REDIRECTS = 50
"""As many as curl, with which Mesos 1.11 looks."""
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_PATH_CHARACTERS = "/?&=%:@!$'()*+,;~[]"
_HEADERS = {"Accept": "*/*", "Connection": "close", "User-Agent": "mesos-health-check"}


class Prober:
    """Looks at one task."""

    def __init__(self, host: str, run_command: RunCommand) -> None:
        self._host = host
        self._run_command = run_command

    async def look(self, check: mesos_pb2.CheckInfo | mesos_pb2.HealthCheck) -> mesos_pb2.CheckStatusInfo:
        """What is seen; its content is missing where the command was ended by a signal.

        Raises OSError or TransportError where nothing can be seen, NotLooked where nobody could look.
        """
        status = empty_status(check)
        host = self._host_of(check)
        match status.type:
            case mesos_pb2.CheckInfo.COMMAND:
                command = check.command.command if isinstance(check, mesos_pb2.CheckInfo) else check.command
                wait_status = await self._run_command(command)
                if os.WIFEXITED(wait_status):
                    status.command.exit_code = os.WEXITSTATUS(wait_status)
            case mesos_pb2.CheckInfo.HTTP:
                scheme = check.http.scheme if isinstance(check, mesos_pb2.HealthCheck) else ""
                status.http.status_code = await http_status(scheme or "http", host, check.http.port, check.http.path)
            case _:
                status.tcp.succeeded = await is_connectable(host, check.tcp.port)
        return status

    def _host_of(self, check: mesos_pb2.CheckInfo | mesos_pb2.HealthCheck) -> str:
        if isinstance(check, mesos_pb2.CheckInfo):
            return self._host
        protocols = (check.http.protocol, check.tcp.protocol)
        return "::1" if mesos_pb2.NetworkInfo.IPv6 in protocols else self._host


async def is_connectable(host: str, port: int) -> bool:
    """Whether somebody accepts a TCP connection there."""
    try:
        _, writer = await asyncio.open_connection(host, port)
    except OSError:
        return False
    writer.transport.abort()
    return True


async def http_status(scheme: str, host: str, port: int, path: str) -> int:
    """The status of a GET, redirects followed, certificates not verified (Mesos 1.11: `curl -L -k`).

    The whole answer is read. Raises TransportError.
    """
    url = f"{scheme}://{TcpAddress(host, port)}{path or '/'}"
    status = 0
    for _ in range(_MOST_REDIRECTS):
        status, location = await _get(url)
        next_url = None if location is None else _followed(url, location)
        if next_url is None:
            break
        url = next_url
    return status


def _followed(url: str, location: str) -> str | None:
    """Where a redirect leads; None where that is no place to look at."""
    try:
        url = urljoin(url, location)
        parts = urlsplit(url)
        is_place = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return None
    return url if is_place else None


async def _get(url: str) -> tuple[int, str | None]:
    """The answer's status, and where it redirects to."""
    parts = urlsplit(url)
    is_secure = parts.scheme == "https"
    address = TcpAddress(parts.hostname or "", parts.port or (443 if is_secure else 80))
    target = quote(parts.path or "/", safe=_PATH_CHARACTERS)
    target += f"?{quote(parts.query, safe=_PATH_CHARACTERS)}" if parts.query else ""
    async with await HttpConnection.open(address, None, tls=_unverified() if is_secure else None) as connection:
        answer = await connection.stream("GET", target, _HEADERS)
        async for _ in answer:
            pass
        return answer.status, answer.headers.get("location") if answer.status in _REDIRECTS else None


def _unverified() -> "ssl.SSLContext":
    import ssl

    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context
