"""Replays the schedulers, clients and agents of a session against our master."""

from collections import deque
from collections.abc import Collection
from typing import Any

from tests.compat.comparison import answer_differences, our_value, recorded_value, value_differences
from tests.compat.identities import Identities
from tests.compat.inbox import AGENT_PID, Inbox
from tests.compat.recording import Closed, Row, read_session
from tests.compat.requests import request_bytes
from tests.compat.talk import Talk
from tfmesos.master import Master, MasterFlags
from tfmesos.transport import HttpServer, TcpAddress, reply
from tfmesos.wire import decode, scheduler_pb2
from tfmesos.wire.json_codec import message_to_dict
from tfmesos.wire.names import message_class

PATIENCE_S = 120.0
"""How long (on the quick loop) to wait for what must come."""
IMPATIENCE_S = 2.0
"""How long for what the table says does not come."""
_TIMED = ("HEARTBEAT", "OFFERS")


class MasterReplay:
    """One session against one master of ours."""

    def __init__(self, session: str, listed: Collection[int], flags: MasterFlags) -> None:
        self._events = read_session(session)
        self._listed = listed
        self._flags = flags
        self._identities = Identities()
        self._inbox = Inbox()
        self._talks: dict[int, Talk] = {}
        self._sent: dict[int, deque[bool]] = {}
        self._taken: dict[int, list[int]] = {}
        self._master: Master | None = None
        self.differences: dict[int, tuple[Row, list[str]]] = {}
        self.beyond: list[str] = []
        self.replayed = 0
        self.compared = 0

    async def run(self) -> None:
        """Replay all; `differences` then holds how rows differ, by their numbers."""
        agent = await HttpServer.start(_refuse, TcpAddress("127.0.0.1", 0), self._inbox.receive)
        routes = {(AGENT_PID.host, AGENT_PID.port): agent.address}
        self._master = Master(self._flags, listen=TcpAddress("127.0.0.1", 0), routes=routes)
        await self._master.start()
        try:
            for event in self._events:
                await self._replay(event)
        finally:
            for connection in list(self._talks):
                await self._hang_up(connection)
            await self._inbox.close()
            await self._master.close()
            await agent.close()

    async def _replay(self, event: Row | Closed) -> None:
        if isinstance(event, Closed):
            if event.who != "master" and event.connection in self._talks:
                await self._hang_up(event.connection)
        elif "executor" in (event.sender, event.receiver):
            return
        elif event.receiver == "master" and event.is_request:
            self._sent.setdefault(event.connection, deque()).append(event.stem is not None)
            if event.stem is not None:
                await self._send(event)
        elif self._is_to_be_compared(event):
            self.compared += 1
            found = await self._compare(event)
            if found:
                self.differences[event.number] = (event, found)

    async def _hang_up(self, connection: int) -> None:
        """Close our end; events that the recording has not are noted, but for those that depend on the time."""
        talk = self._talks.pop(connection)
        taken = self._taken.get(connection, [])
        for number, record in enumerate(talk.records):
            event = our_value(scheduler_pb2.Event, record, talk.media_type)
            if number not in taken and event["type"] not in _TIMED:
                self.beyond.append(_name(event))
        await talk.close()

    def _is_to_be_compared(self, row: Row) -> bool:
        """Not what the recorder kept only once, answers to that, and what came after the other side was gone."""
        if row.sender != "master":
            return False
        is_answer = not row.is_request and not row.is_record
        was_sent = self._sent[row.connection].popleft() if is_answer else True
        return was_sent and row.stem is not None and (row.receiver == "agent" or row.connection in self._talks)

    async def _send(self, row: Row) -> None:
        assert self._master is not None
        if row.connection not in self._talks:
            self._talks[row.connection] = await Talk.open(self._master.address)
        await self._talks[row.connection].send(request_bytes(row, self._identities))
        self.replayed += 1

    async def _compare(self, row: Row) -> list[str]:
        if row.receiver == "agent":
            return await self._compare_message(row) if row.is_request else []
        talk = self._talks[row.connection]
        return await (self._compare_record(row, talk) if row.is_record else self._compare_answer(row, talk))

    def _patience_s(self, row: Row) -> float:
        return IMPATIENCE_S if row.number in self._listed else PATIENCE_S

    async def _compare_answer(self, row: Row, talk: Talk) -> list[str]:
        if not await talk.wait_for(lambda: bool(talk.answers) or talk.is_broken, self._patience_s(row)):
            return ["no answer"]
        if not talk.answers:
            return ["connection closed without an answer"]
        answer = talk.answers.popleft()
        recorded = row.read(".http")
        assert recorded is not None, row
        if "mesos-stream-id" in answer.headers:
            head = recorded.partition(b"\r\n\r\n")[0].decode("latin-1")
            theirs = next((line[17:] for line in head.split("\r\n") if line.startswith("Mesos-Stream-Id: ")), None)
            self._identities.learn(theirs, answer.headers["mesos-stream-id"])
        return answer_differences(recorded, answer.status, answer.headers, answer.body, self._identities)

    async def _compare_record(self, row: Row, talk: Talk) -> list[str]:
        theirs = recorded_value(row)
        taken, found = self._taken.setdefault(row.connection, []), list[Any]()

        def look() -> bool:
            for number, record in enumerate(talk.records):
                ours = our_value(scheduler_pb2.Event, record, talk.media_type)
                if not found and number not in taken and _fits(theirs, ours):
                    taken.append(number)
                    found.append(ours)
            return bool(found)

        if not await talk.wait_for(look, self._patience_s(row)):
            return [f"no {row.kind} event"]
        self._identities.learn(theirs, found[0])
        return value_differences(theirs, found[0], self._identities)

    async def _compare_message(self, row: Row) -> list[str]:
        name = row.what.split()[1].rpartition("/")[2]
        theirs = recorded_value(row)
        message = await self._inbox.take(lambda message: message.name == name, self._patience_s(row))
        if message is None:
            return [f"no {row.kind}"]
        cls = message_class(name)
        assert cls is not None, name
        ours = message_to_dict(decode(cls, message.body))
        self._identities.learn(theirs, ours)
        return value_differences(theirs, ours, self._identities)


def _name(event: Any) -> str:
    """What an event is, in a few words."""
    if event["type"] != "UPDATE":
        return str(event["type"])
    status = event["update"]["status"]
    return f"UPDATE {status['task_id']['value']} {status['state']}"


def _fits(recorded: Any, ours: Any) -> bool:
    """Whether an event of ours is the one recorded: its type, and task and state of an update."""
    if recorded["type"] != ours["type"]:
        return False
    if recorded["type"] != "UPDATE":
        return True
    theirs, our = recorded["update"]["status"], ours["update"]["status"]
    return bool(theirs["task_id"] == our["task_id"] and theirs["state"] == our["state"])


async def _refuse(request: Any) -> Any:
    return reply(404, request=request)
