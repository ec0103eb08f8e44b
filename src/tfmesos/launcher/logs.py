"""Follows the output of tasks in their sandboxes."""

import asyncio
import json
import logging
from collections.abc import Callable
from dataclasses import dataclass, field

from tfmesos.client import AgentClient, ClientError
from tfmesos.launcher.events import NewTask
from tfmesos.launcher.lines import LineMixer, Piece, Tail
from tfmesos.launcher.placement import TaskKey
from tfmesos.launcher.sinks import Stream, TextSink
from tfmesos.transport import Address, TransportError

log = logging.getLogger(__name__)

FIRST_LOOK_S = 0.03
BUSY_LOOK_S = 0.25
IDLE_LOOK_S = 1.0
"""A line is seen within IDLE_LOOK_S of its end in the sandbox; looks come closer while something is written."""

CROWD = 100
"""With more tasks than this looks become rarer in proportion, so that looking never costs more than it is worth."""

LOOK_TIMEOUT_S = 10.0

CHUNK = 64 * 1024
"""Mesos 1.11: an agent never reads more than 16 pages at once."""

GIVE_UP_AFTER = 4
"""Failed looks in a row, after the task's end, until its output is given up."""


@dataclass(slots=True)
class _Followed:
    task: NewTask
    directory: str
    address: Address
    client: AgentClient
    is_shown: bool
    ended: asyncio.Event = field(default_factory=asyncio.Event)
    drained: asyncio.Event = field(default_factory=asyncio.Event)
    offsets: dict[Stream, int] = field(default_factory=lambda: dict.fromkeys(Stream, 0))
    tail: Tail = field(default_factory=Tail)


class LogFollower:
    """Copies the output of the tasks to a sink, one connection per agent.

    A task's output is read as fast as the sink takes it and never kept: where the sink waits, reading waits.
    """

    def __init__(
        self,
        sink: TextSink,
        group: asyncio.TaskGroup,
        *,
        resolve: Callable[[tuple[str, int]], Address],
        is_shown: Callable[[TaskKey], bool],
    ) -> None:
        """`resolve`: where the agent with this host and port is reached."""
        self._sink = sink
        self._group = group
        self._resolve = resolve
        self._is_shown = is_shown
        self._mixer = LineMixer()
        self._lock = asyncio.Lock()
        self._waiting = asyncio.Event()
        self._clients: dict[Address, AgentClient] = {}
        self._followed: dict[str, _Followed] = {}
        self._tasks = [group.create_task(self._flush_partial_lines())]

    def follow(self, task: NewTask, framework_id: str, executor_id: str) -> None:
        """A task began."""
        address = self._resolve(task.placed.endpoint)
        client = self._clients.setdefault(address, AgentClient(address))
        followed = _Followed(
            task=task,
            directory=f"/frameworks/{framework_id}/executors/{executor_id}/runs/latest",
            address=address,
            client=client,
            is_shown=self._is_shown(task.placed.key),
        )
        self._followed[task.task_id] = followed
        if followed.is_shown:
            for stream in Stream:
                self._mixer.add((task.task_id, stream), f"[{task.placed.key}] ".encode(), stream)
            self._tasks.append(self._group.create_task(self._copy(followed)))

    def finish(self, task_id: str) -> None:
        """A task ended: what it wrote is all there."""
        self._followed[task_id].ended.set()

    async def drain(self) -> None:
        """Wait until the output of all tasks that ended is written; the others are read no further."""
        for followed in self._followed.values():
            if followed.is_shown and followed.ended.is_set():
                await followed.drained.wait()

    async def close(self) -> None:
        """Stop following."""
        for task in self._tasks:
            task.cancel()
        for client in self._clients.values():
            await client.close()

    async def last_lines(self, task_id: str) -> tuple[str, ...]:
        """The last lines of a task's output, read now if it was not followed."""
        followed = self._followed.get(task_id)
        if followed is None:
            return ()
        if not followed.is_shown:
            for stream in Stream:
                followed.tail.feed(stream, await self._end_of(followed, stream))
        return followed.tail.lines

    async def log_path(self, task_id: str) -> str:
        """Where the agent keeps the output: its directory there, empty where there never was one.

        The name that the agent serves it by while the agent cannot be asked.
        """
        followed = self._followed.get(task_id)
        if followed is None:
            return ""
        try:
            async with asyncio.timeout(LOOK_TIMEOUT_S):
                answer = await followed.client.request("GET", "/state")
            return _directory_in(json.loads(answer.body), followed.directory) or ""
        except (ClientError, TransportError, TimeoutError, ValueError):
            return followed.directory

    @property
    def _crowd(self) -> float:
        return max(1.0, len(self._followed) / CROWD)

    async def _copy(self, followed: _Followed) -> None:
        delay, failures = FIRST_LOOK_S * self._crowd, 0
        while True:
            was_ended = followed.ended.is_set()
            try:
                is_busy, has_failed = await self._read_all(followed), False
            except (ClientError, TransportError, TimeoutError) as error:
                log.debug("%s: its output cannot be read now: %s", followed.task.task_id, error)
                is_busy, has_failed = False, True
            failures += was_ended and has_failed
            if was_ended and (not has_failed or failures == GIVE_UP_AFTER):
                break
            await _wait(followed.ended, delay, unless=was_ended)
            delay = BUSY_LOOK_S * self._crowd if is_busy else min(IDLE_LOOK_S * self._crowd, delay * 2)
        await self._end(followed, is_lost=has_failed)

    async def _end(self, followed: _Followed, *, is_lost: bool) -> None:
        async with self._lock:
            for stream in Stream:
                await self._write(self._mixer.finish((followed.task.task_id, stream)))
        if is_lost:
            self._sink.write_note(f"the last output of {followed.task.placed.key} could not be read")
        followed.drained.set()

    async def _read_all(self, followed: _Followed) -> bool:
        """Read both streams to their present end; tells whether there was anything."""
        found = False
        for stream in Stream:
            while data := await self._read(followed, stream):
                found = True
                followed.offsets[stream] += len(data)
                followed.tail.feed(stream, data)
                await self._show(followed, stream, data)
                if len(data) < CHUNK // 2:
                    break
        return found

    async def _read(self, followed: _Followed, stream: Stream) -> bytes:
        try:
            path = f"{followed.directory}/{stream}"
            async with asyncio.timeout(LOOK_TIMEOUT_S):
                return (await followed.client.read_file(path, followed.offsets[stream], CHUNK))[1]
        except FileNotFoundError:
            return b""

    async def _end_of(self, followed: _Followed, stream: Stream) -> bytes:
        path = f"{followed.directory}/{stream}"
        try:
            async with asyncio.timeout(LOOK_TIMEOUT_S):
                size, _ = await followed.client.read_file(path, 0, 0)
                return (await followed.client.read_file(path, max(0, size - CHUNK), CHUNK))[1]
        except (FileNotFoundError, ClientError, TransportError, TimeoutError):
            return b""

    async def _show(self, followed: _Followed, stream: Stream, data: bytes) -> None:
        async with self._lock:
            now = asyncio.get_running_loop().time()
            await self._write(self._mixer.feed((followed.task.task_id, stream), data, now))
            self._waiting.set()

    async def _write(self, pieces: list[Piece]) -> None:
        for piece in pieces:
            await self._sink.write_log(piece.stream, piece.data)

    async def _flush_partial_lines(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            await self._waiting.wait()
            self._waiting.clear()
            while (at := self._mixer.wakes_at) is not None:
                await asyncio.sleep(max(0.0, at - loop.time()))
                async with self._lock:
                    await self._write(self._mixer.flush(loop.time()))


async def _wait(event: asyncio.Event, timeout_s: float, *, unless: bool) -> None:
    """Until the event or the time; only the time if the event is old news."""
    if unless:
        await asyncio.sleep(timeout_s)
        return
    try:
        async with asyncio.timeout(timeout_s):
            await event.wait()
    except TimeoutError:
        pass


def _directory_in(state: object, virtual: str) -> str | None:
    """The sandbox of `/frameworks/F/executors/E/runs/latest` in an agent's /state."""
    _, _, framework_id, _, executor_id, *_ = virtual.split("/")
    if not isinstance(state, dict):
        return None
    for framework in [*state.get("frameworks", []), *state.get("completed_frameworks", [])]:
        if framework.get("id") == framework_id:
            for executor in [*framework.get("executors", []), *framework.get("completed_executors", [])]:
                if executor.get("id") == executor_id:
                    return str(executor["directory"])
    return None
