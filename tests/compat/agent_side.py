"""Replays the master of a session against our agent."""

import asyncio
from collections import deque
from collections.abc import Collection
from typing import Any

from tests.compat.comparison import answer_differences, recorded_value, value_differences
from tests.compat.identities import Identities
from tests.compat.inbox import MASTER_PID, Inbox
from tests.compat.recording import Row, read_session
from tests.compat.requests import request_bytes
from tests.compat.talk import Talk
from tfmesos.agent import Agent, AgentFlags
from tfmesos.discovery import Leader
from tfmesos.transport import HttpServer, LibprocessMessage, TcpAddress, reply
from tfmesos.wire import decode
from tfmesos.wire.json_codec import message_to_dict
from tfmesos.wire.names import message_class

PATIENCE_S = 30.0
IMPATIENCE_S = 0.2
_ENDS = {"master", "agent"}


class _AlwaysThere:
    """A detector whose master never changes."""

    def __init__(self, leader: Leader) -> None:
        self._leader = leader

    async def detect(self, previous: Leader | None) -> Leader:
        if previous is not None:
            await asyncio.Event().wait()
        return self._leader

    async def close(self) -> None:
        pass


class AgentReplay:
    """One session against one agent of ours."""

    def __init__(self, session: str, listed: Collection[int], flags: AgentFlags) -> None:
        self._rows = [
            row for row in read_session(session) if isinstance(row, Row) and {row.sender, row.receiver} == _ENDS
        ]
        self._listed = listed
        self._flags = flags
        self._identities = Identities()
        self._inbox = Inbox()
        self._talk: Talk | None = None
        self._sent: deque[bool] = deque()
        self._agent: Agent | None = None
        self.differences: dict[int, tuple[Row, list[str]]] = {}
        self.replayed = 0
        self.compared = 0

    async def run(self) -> None:
        """Replay all; `differences` then holds how rows differ, by their numbers."""
        master = await HttpServer.start(_refuse, TcpAddress("127.0.0.1", 0), self._inbox.receive)
        self._agent = Agent(
            self._flags,
            detector=_AlwaysThere(Leader(master.address, MASTER_PID)),
            routes={(MASTER_PID.host, MASTER_PID.port): master.address},
        )
        await self._agent.start()
        try:
            for row in self._rows:
                await self._replay(row)
        finally:
            if self._talk is not None:
                await self._talk.close()
            await self._inbox.close()
            await self._agent.close()
            await master.close()

    async def _replay(self, row: Row) -> None:
        if row.sender == "master" and row.is_request:
            self._sent.append(row.stem is not None)
            if row.stem is not None:
                await self._send(row)
        elif self._is_to_be_compared(row):
            self.compared += 1
            found = await (self._compare_message(row) if row.is_request else self._compare_answer(row))
            if found:
                self.differences[row.number] = (row, found)

    def _is_to_be_compared(self, row: Row) -> bool:
        """Not what the recorder kept only once, nor the answers to that."""
        if row.sender != "agent":
            return False
        was_sent = row.is_request or self._sent.popleft()
        return was_sent and row.stem is not None

    async def _send(self, row: Row) -> None:
        assert self._agent is not None
        if self._talk is None:
            self._talk = await Talk.open(self._agent.address)
        await self._talk.send(request_bytes(row, self._identities))
        self.replayed += 1

    def _patience_s(self, row: Row) -> float:
        return IMPATIENCE_S if row.number in self._listed else PATIENCE_S

    async def _compare_answer(self, row: Row) -> list[str]:
        talk = self._talk
        assert talk is not None
        if not await talk.wait_for(lambda: bool(talk.answers), self._patience_s(row)):
            return ["no answer"]
        answer = talk.answers.popleft()
        recorded = row.read(".http")
        assert recorded is not None, row
        return answer_differences(recorded, answer.status, answer.headers, answer.body, self._identities)

    async def _compare_message(self, row: Row) -> list[str]:
        target = row.what.split()[1].lstrip("/")
        to_id, _, name = target.partition("/")
        cls = message_class(name)
        assert cls is not None, name
        theirs = recorded_value(row)

        def fits(message: LibprocessMessage) -> bool:
            ours = message_to_dict(decode(cls, message.body))
            return (message.to_id, message.name) == (to_id, name) and _state(theirs) == _state(ours)

        message = await self._inbox.take(fits, self._patience_s(row))
        if message is None:
            return [f"no {row.kind}"]
        ours = message_to_dict(decode(cls, message.body))
        self._identities.learn(theirs, ours)
        return value_differences(theirs, ours, self._identities)


def _state(value: Any) -> Any:
    """The task state that a StatusUpdateMessage tells."""
    return value.get("update", {}).get("status", {}).get("state")


async def _refuse(request: Any) -> Any:
    return reply(404, request=request)
