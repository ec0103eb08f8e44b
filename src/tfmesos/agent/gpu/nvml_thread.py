"""One thread for all calls of NVML: a call hangs for as long as the driver does, and the agent must not."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future
from queue import SimpleQueue
from typing import Any, TypeVar

from tfmesos.agent.gpu.errors import NvmlFailed

_Answer = TypeVar("_Answer")


class NvmlThread:
    """Does one call after the other. It is a daemon: a call that never returns does not keep the agent from ending."""

    def __init__(self) -> None:
        self._jobs: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._is_started = False
        self._hangs: Future[Any] | None = None

    @property
    def is_hanging(self) -> bool:
        """Whether a call that took too long still goes on."""
        return self._hangs is not None and not self._hangs.done()

    async def call(self, call: Callable[[], _Answer], *, timeout_s: float) -> _Answer:
        """What the call returns or raises. Raises NvmlFailed when it takes too long; it goes on then.

        As long as it does, all others fail at once.
        """
        if self.is_hanging:
            raise NvmlFailed("NVML does not answer: the driver hangs")
        if not self._is_started:
            self._is_started = True
            threading.Thread(target=self._work, name="nvml", daemon=True).start()
        answer: Future[_Answer] = Future()
        self._jobs.put(lambda: _answer(answer, call))
        try:
            return await asyncio.wait_for(asyncio.wrap_future(answer), timeout_s)
        except TimeoutError as error:
            self._hangs = answer
            raise NvmlFailed(f"NVML does not answer within {timeout_s:g} seconds: the driver hangs") from error

    def close(self) -> None:
        """Let the thread end after what it does now."""
        self._jobs.put(None)

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            job()


def _answer(answer: Future[_Answer], call: Callable[[], _Answer]) -> None:
    if not answer.set_running_or_notify_cancel():  # nobody waits for it any more
        return
    try:
        answer.set_result(call())
    except Exception as error:
        answer.set_exception(error)
