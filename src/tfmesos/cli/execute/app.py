"""`mesos-execute` put together: the core in its asyncio shell."""

import asyncio
import sys
from typing import assert_never

from tfmesos.cli.execute.core import (
    Accept,
    Acknowledge,
    Action,
    Decline,
    ExecuteCore,
    Kill,
    Note,
    Over,
    Print,
    StartKillTimer,
    Suppress,
)
from tfmesos.cli.execute.request import GPU_CAPABILITY, Request
from tfmesos.cli.printing import print_text
from tfmesos.client import CallRejected, NotSubscribed, SchedulerClient, SubscriptionRejected
from tfmesos.discovery import Detector
from tfmesos.wire import mesos_pb2, scheduler_pb2

__all__ = ["run"]

_MASTER_PATIENCE_S = 3.0
_OFFER_PATIENCE_S = 6.0
Event = scheduler_pb2.Event


async def run(request: Request, detector: Detector, master: str) -> int:
    """Launch what was asked and follow it; the exit status. Waits for a master and a fitting offer for ever."""
    for note in request.notes:
        _note(note)
    core = ExecuteCore(request)
    async with SchedulerClient(detector, request.framework) as client:
        shell = _Shell(core, client)
        watch = asyncio.create_task(_explain_silence(core, client, request, master))
        try:
            return await shell.follow()
        except (SubscriptionRejected, CallRejected) as error:
            print(f"Received an ERROR event: {_unexpected(error)}", file=sys.stderr)
            return 1
        finally:
            watch.cancel()
            shell.close()


class _Shell:
    """Carries the core's actions out."""

    def __init__(self, core: ExecuteCore, client: SchedulerClient) -> None:
        self._core = core
        self._client = client
        self._timers: list[asyncio.TimerHandle] = []
        self._kills: set[asyncio.Task[int | None]] = set()

    async def follow(self) -> int:
        """Until all tasks are over or the master sends an error."""
        async for event in self._client:
            if event.type == Event.ERROR:
                print(f"Received an ERROR event: {event.error.message}", file=sys.stderr)
                return 1
            exit_status = await self._perform(self._react(event))
            if exit_status is not None:
                return exit_status
        return 1

    def close(self) -> None:
        """Forget timers and kills under way."""
        for timer in self._timers:
            timer.cancel()
        for kill in self._kills:
            kill.cancel()

    def _react(self, event: scheduler_pb2.Event) -> list[Action]:
        if event.type == Event.SUBSCRIBED:
            return self._core.subscribed(event.subscribed.framework_id)
        if event.type == Event.OFFERS:
            return self._core.offers_arrived(event.offers.offers)
        if event.type == Event.UPDATE:
            return self._core.updated(event.update.status)
        return []

    async def _perform(self, actions: list[Action]) -> int | None:
        """The exit status, once it is over."""
        for action in actions:
            match action:
                case Print(text):
                    print_text(f"{text}\n")
                case Note(text):
                    _note(text)
                case StartKillTimer(after_s, status):
                    self._start_timer(after_s, status)
                case Over(exit_status):
                    return exit_status
                case _:
                    await self._call(action)
        return None

    async def _call(self, action: Accept | Decline | Suppress | Acknowledge | Kill) -> None:
        try:
            match action:
                case Accept(offer_id, operation):
                    await self._client.accept([offer_id], [operation])
                case Decline(offer_ids, refuse_s):
                    await self._client.decline(offer_ids, refuse_s)
                case Suppress():
                    await self._client.suppress()
                case Acknowledge(status):
                    await self._client.acknowledge(status)
                case Kill(task_id, agent_id):
                    await self._client.kill(task_id, agent_id)
                case _:
                    assert_never(action)
        except NotSubscribed:
            if isinstance(action, Accept):
                await self._perform(self._core.launch_lost())

    def _start_timer(self, after_s: float, status: mesos_pb2.TaskStatus) -> None:
        loop = asyncio.get_running_loop()
        self._timers.append(loop.call_later(after_s, self._start_kill, status))

    def _start_kill(self, status: mesos_pb2.TaskStatus) -> None:
        kill = asyncio.create_task(self._perform(self._core.kill_due(status)))
        self._kills.add(kill)
        kill.add_done_callback(self._kills.discard)


async def _explain_silence(core: ExecuteCore, client: SchedulerClient, request: Request, master: str) -> None:
    """Say once on standard error what is waited for when nothing comes."""
    await asyncio.sleep(_MASTER_PATIENCE_S)
    if not client.is_subscribed:
        _note(f"Still waiting for the master at {master}: {client.trouble}.")
    await asyncio.sleep(_OFFER_PATIENCE_S)
    if client.is_subscribed and not core.has_seen_offers:
        _note(_no_offer_text(request))


def _note(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _no_offer_text(request: Request) -> str:
    has_gpus = any(
        item.type == mesos_pb2.FrameworkInfo.Capability.GPU_RESOURCES for item in request.framework.capabilities
    )
    hint = "" if has_gpus else f"; agents with GPUs are shown only with {GPU_CAPABILITY}"
    return (
        f"Still waiting: the master has made no offer to role '{request.framework.role}'. "
        f"No agent is registered, or all is in use{hint}."
    )


def _unexpected(error: SubscriptionRejected | CallRejected) -> str:
    """Mesos 1.11: the scheduler library's text for an HTTP status it does not expect."""
    from http import HTTPStatus

    body, call = (error.message, "SUBSCRIBE") if isinstance(error, SubscriptionRejected) else (error.body, error.call)
    phrase = HTTPStatus(error.status).phrase if error.status in set(HTTPStatus) else ""
    return f"Received unexpected '{error.status} {phrase}' ({body}) for {call}"
