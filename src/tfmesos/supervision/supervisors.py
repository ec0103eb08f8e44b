"""The face of supervision for an asyncio program: starts the fork server, launches programs, reports their ends."""

import asyncio
import os
import signal
import socket
from collections.abc import Callable, Mapping
from contextlib import suppress

from tfmesos.supervision._channel import Channel
from tfmesos.supervision._frames import Kind, Program, encode_frame
from tfmesos.supervision._server_handle import ServerHandle
from tfmesos.supervision.errors import SupervisionError, SupervisorLost
from tfmesos.supervision.spec import ProcessSpec, Termination
from tfmesos.supervision.supervised import Supervised

_TRIES = 5
"""A loss may be noticed only by the launches that meet it."""
_MAX_FORKING = 8
"""Forks asked for at a time; the fork server makes one after the other."""
_CLOSED = "no more programs are started: these supervisors were closed"


class Supervisors:
    """Launches programs, each under its own supervisor, through one fork server."""

    def __init__(self, *, has_terminal: bool = False, max_descriptors: int | None = None) -> None:
        """With a terminal: programs keep stdin, stdout, stderr and the process group of this process.

        `max_descriptors`: the soft RLIMIT_NOFILE of programs; None: this process' (see `raise_descriptor_limit`).
        """
        self._has_terminal = has_terminal
        self._server: ServerHandle | None = None
        self._busy: dict[Channel, Supervised] = {}
        self._launching = 0
        self._forks = asyncio.Semaphore(_MAX_FORKING)
        self._is_closed = False
        self._nothing_runs = asyncio.Event()
        self._nothing_runs.set()

    async def start(self) -> None:
        """Start the fork server; launches wait until it is up (about 30 ms). Raises SupervisionError."""
        if self._is_closed:
            raise SupervisionError(_CLOSED)
        if self._server is None or not self._server.is_alive:
            server = ServerHandle(self._on_supervisor_gone, self._on_server_lost)
            server.start(has_terminal=self._has_terminal)
            self._server = server

    async def launch(self, spec: ProcessSpec) -> Supervised:
        """A supervisor waits at its gate with this program; a lost fork server is replaced. Raises SupervisionError."""
        program = encode_frame(Kind.PROGRAM, to_program(spec, has_terminal=self._has_terminal).encode())
        self._launching += 1
        try:
            for _ in range(_TRIES - 1):
                with suppress(SupervisorLost):
                    return await self._launch(spec, program)
            return await self._launch(spec, program)
        finally:
            self._launching -= 1
            self._note_what_runs()

    async def adopt(self, record_dir: str) -> Supervised | Termination:
        """The program that was launched detached with this `record_dir`, by an owner that is gone.

        It runs: it is this process' from now on. It has ended, or ends because its supervisor was lost: how, as soon as
        nothing of it is left (`wait_status` None: that is not known; `message` says why). The latter also for a
        directory without a record and for one written before the machine was last started.
        Raises OwnedElsewhere, and SupervisionError for a record that cannot be read or a supervisor that is silent.
        """
        raise NotImplementedError

    async def close(self, *, end_detached: bool = False) -> None:
        """Kill all (with each one's grace), wait until nothing is left, end the fork server. Idempotent.

        Detached programs that have started are let go, unless `end_detached`.
        """
        self._is_closed = True
        for child in self._busy.values():
            child.kill(child.spec.grace_s)
        self._note_what_runs()
        await self._nothing_runs.wait()
        if self._server is not None:
            await self._server.close()

    async def _launch(self, spec: ProcessSpec, program: bytes) -> Supervised:
        channel = await self._fork_supervisor()
        try:
            await channel.send_program(program)
            if self._is_closed:
                raise SupervisionError(_CLOSED)
            if not channel.is_open or not channel.is_alive:
                raise SupervisorLost(f"the supervisor of {spec.id!r} was lost before it started")
        except BaseException:
            channel.close()
            raise
        child = Supervised(spec, channel, self._on_ended)  # if it goes from now on, that is told to this one
        self._busy[channel] = child
        return child

    async def _fork_supervisor(self) -> Channel:
        async with self._forks:
            await self.start()
            assert self._server is not None
            channel = await _ask_for_supervisor(self._server, self._on_channel_closed)
            try:
                await channel.wait_greeted()
            except BaseException:
                channel.close()
                raise
            return channel

    def _on_ended(self, child: Supervised) -> None:
        del self._busy[child.channel]
        child.channel.close()
        self._note_what_runs()

    def _on_channel_closed(self, channel: Channel) -> None:
        child = self._busy.get(channel)
        if child is not None:
            child.on_supervisor_lost()
            if channel.server.has_exited:
                child.end_unreported("its supervisor and the fork server were lost")

    def _on_supervisor_gone(self, pid: int, status: int) -> None:
        """It ended, lost or on purpose, and nothing is left below it."""
        for channel, child in self._busy.items():
            if channel.pid == pid and not channel.is_alive:
                channel.drain()
                child.end_unreported(f"its supervisor (pid {pid}) was lost: {_ending(status)}")
                return

    def _on_server_lost(self, lost: ServerHandle) -> None:
        for channel, child in list(self._busy.items()):
            if channel.server is lost and not channel.is_open:
                child.end_unreported("its supervisor and the fork server were lost")

    def _note_what_runs(self) -> None:
        if self._busy or self._launching:
            self._nothing_runs.clear()
        else:
            self._nothing_runs.set()


async def _ask_for_supervisor(server: ServerHandle, on_closed: Callable[[Channel], None]) -> Channel:
    try:
        ours, theirs = socket.socketpair()
    except OSError as error:
        raise SupervisionError(f"cannot talk to one more supervisor: {error.strerror} (see ulimit -n)") from error
    with theirs:
        try:
            await server.fork(theirs)
        except BaseException:
            ours.close()
            raise
    ours.setblocking(False)
    return Channel(ours, server, on_closed)


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
