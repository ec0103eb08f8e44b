"""The face of supervision for an asyncio program: starts the fork server, launches programs, reports their ends."""

import asyncio
import os
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from tfmesos.supervision import _place
from tfmesos.supervision._channel import Channel
from tfmesos.supervision._frames import Kind, encode_frame
from tfmesos.supervision._place import Origin, Place
from tfmesos.supervision._recovery import settle, unknown
from tfmesos.supervision._server_handle import ServerHandle
from tfmesos.supervision._translation import to_program
from tfmesos.supervision.errors import OwnedElsewhere, SupervisionError, SupervisorLost
from tfmesos.supervision.processes import read_boot_id
from tfmesos.supervision.spec import ProcessSpec, Termination
from tfmesos.supervision.supervised import Supervised

_TRIES = 5
"""A loss may be noticed only by the launches that meet it."""
_MAX_FORKING = 8
"""Forks asked for at a time; the fork server makes one after the other."""
_GREET_AGAIN_S = 0.02
_ANSWER_S = 10.0
_OWNER_LEAVES_S = 0.5
"""A killed owner's descriptors are closed one after the other, while the next one may be there already."""
_CLOSED = "no more programs are started: these supervisors were closed"


class Supervisors:
    """Launches programs, each under its own supervisor, through one fork server."""

    def __init__(self, *, has_terminal: bool = False, max_descriptors: int | None = None) -> None:
        """With a terminal: programs keep stdin, stdout, stderr and the process group of this process.

        `max_descriptors`: the soft RLIMIT_NOFILE of programs; None: this process' (see `raise_descriptor_limit`).
        """
        self._has_terminal = has_terminal
        self._max_descriptors = max_descriptors
        self._server: ServerHandle | None = None
        self._busy: dict[Channel, Supervised] = {}
        self._launching = 0
        self._forks = asyncio.Semaphore(_MAX_FORKING)
        self._settling: set[asyncio.Task[None]] = set()
        self._is_closed = False
        self._is_server_needed = False
        self._nothing_runs = asyncio.Event()
        self._nothing_runs.set()

    async def start(self) -> None:
        """Start the fork server; launches wait until it is up (about 30 ms). Raises SupervisionError."""
        if self._is_closed:
            raise SupervisionError(_CLOSED)
        if self._server is None or not self._server.is_alive:
            server = ServerHandle(self._on_supervisor_gone, self._on_server_lost)
            server.start(has_terminal=self._has_terminal, max_descriptors=self._max_descriptors)
            self._server = server

    async def launch(self, spec: ProcessSpec) -> Supervised:
        """A supervisor waits at its gate with this program; a lost fork server is replaced. Raises SupervisionError.

        If there is a `record_dir`, its record.json is written by then.
        """
        frame = encode_frame(Kind.PROGRAM, to_program(spec, has_terminal=self._has_terminal).encode())
        with self._being_busy():
            for attempt in range(_TRIES - 1):
                with suppress(SupervisorLost):
                    return await self._launch(spec, frame, attempt)
            return await self._launch(spec, frame, _TRIES - 1)

    async def adopt(self, record_dir: str) -> Supervised | Termination:
        """The program that was launched detached with this `record_dir`, by an owner that is gone.

        It runs: it is this process' from now on. It has ended, or ends because its supervisor was lost: how, as soon as
        nothing of it is left (`wait_status` None: that is not known; `message` says why). The latter also for a
        directory without a record and for one written before the machine was last started.
        Raises OwnedElsewhere, and SupervisionError for a supervisor that is silent or a record that cannot be read;
        what runs there is ended then.
        """
        loop = asyncio.get_running_loop()
        patient_until = loop.time() + _OWNER_LEAVES_S
        with self._being_busy():
            while not self._is_closed:
                try:
                    record = _place.read(record_dir)
                except SupervisionError:
                    await asyncio.gather(*(_end_at(record_dir, name) for name in _place.socket_names(record_dir)))
                    raise
                if record is None:
                    return unknown(f"there is no record in {record_dir!r}: it was never started", has_run=False)
                origin, life = record
                if not life.has_ended and origin.boot_id != read_boot_id():
                    return unknown("the machine was started again", killed=life.killed)
                if life.has_ended or not origin.has_supervisor:
                    return await settle(record_dir)
                channel = await self._greet(origin, record_dir, is_patient=loop.time() < patient_until)
                if channel is not None:
                    child = self._note_adopted(channel, origin, record_dir)
                    await child.release()  # which is to hear from the supervisor how far it is
                    return child
                await asyncio.sleep(_GREET_AGAIN_S)  # it is about to end, or its owner is
            raise SupervisionError(_CLOSED)

    async def close(self, *, end_detached: bool = False) -> None:
        """Kill all (with each one's grace), wait until nothing is left, end the fork server. Idempotent.

        Detached programs that have started are let go, unless `end_detached`.
        """
        self._is_closed = True
        for child in list(self._busy.values()):
            if child.is_detached and child.is_released and not end_detached:
                self._let_go(child)
            else:
                child.kill(child.grace_s)
        self._note_what_runs()
        await self._nothing_runs.wait()
        if self._server is None:
            return
        if self._is_server_needed:
            self._server.leave()
        else:
            await self._server.close()

    @contextmanager
    def _being_busy(self) -> Iterator[None]:
        """`close` waits for what is on its way."""
        self._launching += 1
        try:
            yield
        finally:
            self._launching -= 1
            self._note_what_runs()

    async def _launch(self, spec: ProcessSpec, frame: bytes, attempt: int) -> Supervised:
        if spec.record_dir is None:
            return await self._launch_at(None, spec, frame)
        place = Place(spec.record_dir, attempt)
        child = None
        try:
            child = await self._launch_at(place, spec, frame)
            return child
        finally:
            place.close(is_given_up=child is None)

    async def _launch_at(self, place: Place | None, spec: ProcessSpec, frame: bytes) -> Supervised:
        channel = await self._fork_supervisor(place, spec)
        try:
            await channel.send_program(frame)
            if self._is_closed:
                raise SupervisionError(_CLOSED)
            if not channel.is_open or not channel.is_alive:
                raise SupervisorLost(f"the supervisor of {spec.id!r} was lost before it started")
            if place and channel.pid and channel.server:
                server = channel.server
                place.write((channel.pid, channel.start_time), (server.pid, server.start_time), spec)
        except BaseException:
            channel.close()
            raise
        child = Supervised(
            channel,
            self._on_ended,
            record_dir=spec.record_dir,
            console_socket=place.socket_name if place and spec.console else None,
            grace_s=spec.grace_s,
            is_detached=spec.detached,
        )
        return self._take(child)  # if it goes from now on, that is told to this one

    async def _fork_supervisor(self, place: Place | None, spec: ProcessSpec) -> Channel:
        async with self._forks:
            await self.start()
            assert self._server is not None
            channel = await _ask_for_supervisor(self._server, place, self._on_channel_closed, is_detached=spec.detached)
            try:
                await channel.wait_greeted()
            except BaseException:
                channel.close()
                raise
            return channel

    async def _greet(self, origin: Origin, record_dir: str, *, is_patient: bool) -> Channel | None:
        """Become the owner; None: the supervisor hears nobody any more, or its owner may be about to go."""
        try:
            connection = _place.connect(record_dir, origin.socket)
        except OSError:
            return None
        channel = Channel(connection, None, self._on_channel_closed)
        channel.send(Kind.ADOPT)
        try:
            async with asyncio.timeout(_ANSWER_S):
                await channel.wait_greeted()
        except SupervisorLost:
            return None
        except SupervisionError as error:
            if is_patient:
                return None
            raise OwnedElsewhere(f"the supervisor of {record_dir!r} (pid {origin.pid}): {error}") from error
        except TimeoutError:
            raise SupervisionError(f"the supervisor of {record_dir!r} (pid {origin.pid}) does not answer") from None
        finally:
            if channel.pid is None:
                channel.close()
        return channel

    def _note_adopted(self, channel: Channel, origin: Origin, record_dir: str) -> Supervised:
        child = Supervised(
            channel,
            self._on_ended,
            record_dir=record_dir,
            console_socket=origin.socket if origin.has_console else None,
            grace_s=origin.grace_s,
            is_detached=True,
            is_released=True,
        )
        return self._take(child)

    def _take(self, child: Supervised) -> Supervised:
        self._busy[child.channel] = child
        child.channel.give_to(child)
        if not child.channel.is_open:
            self._on_channel_closed(child.channel)
        return child

    def _let_go(self, child: Supervised) -> None:
        del self._busy[child.channel]
        if child.channel.server is self._server:
            self._is_server_needed = True
        child.let_go()
        child.channel.close()

    def _on_ended(self, child: Supervised) -> None:
        del self._busy[child.channel]
        child.channel.close()
        self._note_what_runs()

    def _on_channel_closed(self, channel: Channel) -> None:
        child = self._busy.get(channel)
        if child is not None:
            child.on_supervisor_lost()
            if channel.server is None or channel.server.has_exited:
                self._on_both_lost(child)

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
                self._on_both_lost(child)

    def _on_both_lost(self, child: Supervised) -> None:
        """Nobody will report how its tree ends."""
        if child.record_dir is None:
            child.end_unreported("its supervisor and the fork server were lost")
            return
        task = asyncio.get_running_loop().create_task(self._settle(child, child.record_dir))
        self._settling.add(task)
        task.add_done_callback(self._settling.discard)

    async def _settle(self, child: Supervised, record_dir: str) -> None:
        try:
            child.end(await settle(record_dir))
        except SupervisionError as error:
            child.end_unreported(str(error))

    def _note_what_runs(self) -> None:
        if self._busy or self._launching:
            self._nothing_runs.clear()
        else:
            self._nothing_runs.set()


async def _ask_for_supervisor(
    server: ServerHandle, place: Place | None, on_closed: Callable[[Channel], None], *, is_detached: bool
) -> Channel:
    try:
        ours, theirs = socket.socketpair()
    except OSError as error:
        raise SupervisionError(f"cannot talk to one more supervisor: {error.strerror} (see ulimit -n)") from error
    with theirs:
        try:
            await server.fork(theirs, place, is_detached=is_detached)
        except BaseException:
            ours.close()
            raise
    ours.setblocking(False)
    return Channel(ours, server, on_closed)


async def _end_at(record_dir: str, socket_name: str) -> None:
    """End what nobody can take over, if its supervisor still listens there; returns when nothing of it is left."""
    closed = asyncio.Event()
    try:
        channel = Channel(_place.connect(record_dir, socket_name), None, lambda _: closed.set())
    except OSError:
        return
    channel.send(Kind.ADOPT)
    with suppress(SupervisionError, TimeoutError):
        async with asyncio.timeout(_ANSWER_S):
            await channel.wait_greeted()
            channel.send(Kind.KILL, b"0.0")
            await closed.wait()
    channel.close()


def _ending(status: int) -> str:
    if os.WIFSIGNALED(status):
        return f"signal {signal.strsignal(os.WTERMSIG(status))}"
    return f"exit status {os.waitstatus_to_exitcode(status)}"
