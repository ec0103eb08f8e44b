"""The face of supervision for an asyncio program: starts the fork server, launches programs, reports their ends."""

import asyncio
import os
import signal
import socket
from collections.abc import Mapping
from contextlib import suppress

from tfmesos.supervision._frames import Kind, Program, encode_frame
from tfmesos.supervision._server_handle import ServerHandle
from tfmesos.supervision.errors import SupervisionError, SupervisorLost
from tfmesos.supervision.spec import ProcessSpec
from tfmesos.supervision.supervised import Supervised

_CLOSED = "no more programs are started: these supervisors were closed"
_MAX_TRIES = 3
"""A loss may be noticed only by the launch that meets it, and again by the one after."""


class Supervisors:
    """Launches programs, each under its own supervisor, through one fork server."""

    def __init__(self, *, has_terminal: bool = False) -> None:
        """With a terminal: programs keep stdin, stdout, stderr and the process group of this process."""
        self._has_terminal = has_terminal
        self._server: ServerHandle | None = None
        self._servers: dict[Supervised, ServerHandle] = {}
        self._launching = 0
        self._is_closed = False
        self._idle = asyncio.Event()
        self._idle.set()

    async def start(self) -> None:
        """Start the fork server; launches wait until it is up (about 30 ms). Raises SupervisionError."""
        if self._is_closed:
            raise SupervisionError(_CLOSED)
        if self._server is None or not self._server.is_alive:
            server = ServerHandle(self._on_supervisor_lost, self._on_server_lost)
            server.start(has_terminal=self._has_terminal)
            self._server = server

    async def launch(self, spec: ProcessSpec) -> Supervised:
        """Fork a supervisor that waits at its gate; a lost fork server is replaced. Raises SupervisionError."""
        program = encode_frame(Kind.PROGRAM, to_program(spec, has_terminal=self._has_terminal).encode())
        self._launching += 1
        try:
            for _ in range(_MAX_TRIES - 1):
                with suppress(SupervisorLost):
                    return await self._launch(spec, program)
            return await self._launch(spec, program)
        finally:
            self._launching -= 1
            self._note_idle()

    async def close(self) -> None:
        """Kill all (with each one's grace), wait until nothing is left, end the fork server. Idempotent."""
        self._is_closed = True
        for child in self._servers:
            if child.is_gated:
                child.kill(child.spec.grace_s)
        self._note_idle()
        await self._idle.wait()
        if self._server is not None:
            await self._server.close()

    async def _launch(self, spec: ProcessSpec, program: bytes) -> Supervised:
        await self.start()
        assert self._server is not None
        server = self._server
        control = await _ask_for_supervisor(server, spec, program)
        child = Supervised(spec, control, self._on_closed)
        self._servers[child] = server
        try:
            await child.wait_gated()
            if self._is_closed:
                raise SupervisionError(_CLOSED)
        except BaseException:
            self._forget(child)
            child.abandon()
            raise
        return child

    def _on_closed(self, child: Supervised) -> None:
        server = self._servers.get(child)
        if child.has_ended:
            self._forget(child)
        elif server is not None and server.has_exited:
            self._end_lost(child, "its supervisor and the fork server were lost")

    def _on_supervisor_lost(self, pid: int, status: int) -> None:
        for child in [child for child in self._servers if child.is_supervised_by(pid)]:
            self._end_lost(child, f"its supervisor (pid {pid}) was lost: {_ending(status)}")

    def _on_server_lost(self, lost: ServerHandle) -> None:
        for child in [child for child, server in self._servers.items() if server is lost and not child.is_open]:
            self._end_lost(child, "its supervisor and the fork server were lost")

    def _end_lost(self, child: Supervised, message: str) -> None:
        child.end_unreported(message)
        self._forget(child)

    def _forget(self, child: Supervised) -> None:
        self._servers.pop(child, None)
        self._note_idle()

    def _note_idle(self) -> None:
        if self._servers or self._launching:
            self._idle.clear()
        else:
            self._idle.set()


async def _ask_for_supervisor(server: ServerHandle, spec: ProcessSpec, program: bytes) -> socket.socket:
    """The channel to a new supervisor that was told its program."""
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    try:
        with theirs:
            await server.fork(theirs)
        await asyncio.get_running_loop().sock_sendall(ours, program)
    except BaseException as error:
        ours.close()
        if isinstance(error, ConnectionError):
            raise SupervisorLost(f"the supervisor of {spec.id!r} was lost before it started") from error
        raise
    return ours


def _ending(status: int) -> str:
    if os.WIFSIGNALED(status):
        return f"signal {signal.strsignal(os.WTERMSIG(status))}"
    return f"exit status {os.waitstatus_to_exitcode(status)}"


def to_program(spec: ProcessSpec, *, has_terminal: bool) -> Program:
    """The same in bytes; SupervisionError for what no program can be given."""
    program = Program()
    executable = "".join(spec.argv[:1]) if spec.executable is None else spec.executable
    program.executable = _bytes("executable", executable)
    program.argv = [_bytes(f"argument {index}", argument) for index, argument in enumerate(spec.argv)]
    program.environment = _environment(spec.environment)
    program.directory = _bytes("directory", spec.directory)
    program.stdout = b"" if has_terminal else _bytes("stdout", spec.stdout)
    program.stderr = b"" if has_terminal else _bytes("stderr", spec.stderr)
    program.record_dir = _bytes("record_dir", spec.record_dir or "")
    program.uid, program.gid, program.groups = spec.uid, spec.gid, list(spec.groups)
    program.grace_s = spec.grace_s
    return program


def _environment(environment: Mapping[str, str]) -> list[bytes]:
    for name in environment:
        if not name or "=" in name:
            raise SupervisionError(f"environment name {name!r}: must not be empty or contain '='")
    return [_bytes(f"environment variable {name!r}", f"{name}={value}") for name, value in environment.items()]


def _bytes(what: str, text: str) -> bytes:
    """Texts may be secrets, so an error names only what it is."""
    try:
        data = os.fsencode(text)
    except UnicodeEncodeError as error:
        raise SupervisionError(f"{what}: cannot be encoded: {error.reason}") from error
    if b"\0" in data:
        raise SupervisionError(f"{what}: must not contain a NUL character")
    return data
