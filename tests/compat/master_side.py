"""Replays the schedulers, clients and agents of a session against our master."""

import asyncio
from collections import deque
from collections.abc import Collection
from typing import Any

from tests.compat.comparison import answer_differences, our_value, recorded_value, value_differences
from tests.compat.identities import Identities
from tests.compat.inbox import AGENT_PID, Inbox
from tests.compat.recording import Closed, Happening, Moment, Row, read_session
from tests.compat.requests import request_bytes
from tests.compat.talk import Talk
from tests.compat.verdict import Findings
from tfmesos.master import Master, MasterFlags
from tfmesos.transport import HttpServer, TcpAddress, reply
from tfmesos.wire import decode, master_pb2, scheduler_pb2
from tfmesos.wire.json_codec import message_to_dict
from tfmesos.wire.names import message_class

PATIENCE_S = 120.0
"""How long (on the quick loop) to wait for what must come."""
IMPATIENCE_S = 2.0
"""How long for what the table says does not come."""
_TIMED = ("HEARTBEAT", "OFFERS")


class MasterReplay:
    """One session against one master of ours, which is started anew where the recorded one was."""

    def __init__(
        self, session: str, absent: Collection[int], flags: MasterFlags, patience_s: float = PATIENCE_S
    ) -> None:
        self._events = read_session(session)
        self._absent = absent
        self._flags = flags
        self._patience = patience_s
        self._identities = Identities()
        self._inbox = Inbox()
        self._talks: dict[int, Talk] = {}
        self._clients: set[int] = set()
        self._sent: dict[int, deque[bool]] = {}
        self._taken: dict[int, list[int]] = {}
        self._silent_since = 0.0, 0.0
        self._agent: HttpServer | None = None
        self._master: Master | None = None
        self._address: TcpAddress = TcpAddress("127.0.0.1", 0)
        self.findings = Findings(session=session, side="master")

    async def run(self) -> None:
        """Replay all; `findings` then holds how it went."""
        await self._start_agent(TcpAddress("127.0.0.1", 0))
        await self._start_master()
        try:
            for event in self._events:
                await self._replay(event)
        finally:
            await self._hang_up_all()
            await self._inbox.close()
            await self._stop_master()
            await self._stop_agent()

    async def _start_agent(self, address: TcpAddress) -> None:
        self._agent = await HttpServer.start(_refuse, address, self._inbox.receive)

    async def _stop_agent(self) -> TcpAddress:
        assert self._agent is not None
        assert isinstance(self._agent.address, TcpAddress)
        await self._agent.close()
        return self._agent.address

    async def _start_master(self) -> None:
        assert self._agent is not None
        routes = {(AGENT_PID.host, AGENT_PID.port): self._agent.address}
        self._master = Master(self._flags, listen=self._address, routes=routes)
        await self._master.start()
        assert isinstance(self._master.address, TcpAddress)
        self._address = self._master.address

    async def _stop_master(self) -> None:
        if self._master is not None:
            await self._master.close()
            self._master = None

    async def _replay(self, event: Happening) -> None:
        if isinstance(event, Moment):
            await self._act(event.title, event.time)
        elif isinstance(event, Closed):
            await self._close(event)
        elif "executor" in (event.sender, event.receiver):
            return
        elif event.receiver == "master" and event.is_request:
            self._sent.setdefault(event.connection, deque()).append(event.stem is not None)
            if event.stem is not None:
                await self._send(event)
        elif self._is_to_be_compared(event):
            self.findings.compared += 1
            self.findings.note(event, await self._compare(event))

    async def _act(self, title: str, time: float) -> None:
        """Do what the recorder did to the programs."""
        if title.startswith("SIGSTOP of the agent"):
            self._inbox.is_silent = True
            self._silent_since = time, asyncio.get_running_loop().time()
        elif title.startswith("SIGCONT of the agent"):
            await self._let_time_pass(time)
            self._inbox.is_silent = False
        elif title.startswith("kill -9 of the master"):
            await self._hang_up_all()
            await self._stop_master()
        elif title.startswith("the master is started again"):
            await self._start_master()

    async def _let_time_pass(self, time: float) -> None:
        """While the agent is silent, what happens to it depends on how long."""
        if self._inbox.is_silent:
            recorded, since = self._silent_since
            await asyncio.sleep(time - recorded - (asyncio.get_running_loop().time() - since))

    async def _close(self, closed: Closed) -> None:
        """The recorded other side closes; an agent that does closes what leads to it."""
        if (closed.who, closed.client, closed.server) == ("agent", "master", "agent"):
            await self._start_agent(await self._stop_agent())
        elif closed.who != "master" and closed.connection in self._talks:
            await self._hang_up(closed.connection)

    async def _hang_up_all(self) -> None:
        for connection in list(self._talks):
            await self._hang_up(connection)

    async def _hang_up(self, connection: int) -> None:
        """Close our end; events that the recording has not are noted, but for those that depend on the time."""
        talk = self._talks.pop(connection)
        taken = self._taken.get(connection, [])
        for number, record in enumerate(talk.records):
            event = self._event(connection, record, talk)
            if number not in taken and event["type"] not in _TIMED:
                self.findings.beyond.append(_name(event))
        await talk.close()

    def _event(self, connection: int, record: bytes, talk: Talk) -> Any:
        is_client = connection in self._clients
        return our_value(master_pb2.Event if is_client else scheduler_pb2.Event, record, talk.media_type)

    def _is_to_be_compared(self, row: Row) -> bool:
        """Not what the recorder kept only once, answers to that, and what came after the other side was gone."""
        if row.sender != "master":
            return False
        is_answer = not row.is_request and not row.is_record
        was_sent = self._sent[row.connection].popleft() if is_answer else True
        return was_sent and row.stem is not None and (row.receiver == "agent" or row.connection in self._talks)

    async def _send(self, row: Row) -> None:
        await self._let_time_pass(row.time)
        if row.connection not in self._talks:
            self._talks[row.connection] = await Talk.open(self._address)
        if row.sender == "client":
            self._clients.add(row.connection)
        await self._talks[row.connection].send(request_bytes(row, self._identities))
        self.findings.replayed += 1

    async def _compare(self, row: Row) -> list[str]:
        if row.receiver == "agent":
            return await self._compare_message(row) if row.is_request else []
        talk = self._talks[row.connection]
        return await (self._compare_record(row, talk) if row.is_record else self._compare_answer(row, talk))

    def _patience_s(self, row: Row) -> float:
        return IMPATIENCE_S if row.number in self._absent else self._patience

    async def _compare_answer(self, row: Row, talk: Talk) -> list[str]:
        if not await talk.wait_for(lambda: bool(talk.answers) or talk.is_broken, self._patience_s(row)):
            return ["no answer"]
        if not talk.answers:
            return ["connection closed without an answer"]
        answer = talk.answers.popleft()
        if "mesos-stream-id" in answer.headers:
            head = (row.read(".http") or b"").partition(b"\r\n\r\n")[0].decode("latin-1")
            theirs = next((line[17:] for line in head.split("\r\n") if line.startswith("Mesos-Stream-Id: ")), None)
            self._identities.learn(theirs, answer.headers["mesos-stream-id"])
        return answer_differences(row, answer, self._identities)

    async def _compare_record(self, row: Row, talk: Talk) -> list[str]:
        theirs = recorded_value(row)
        taken, found = self._taken.setdefault(row.connection, []), list[Any]()

        def look() -> bool:
            for number, record in enumerate(talk.records):
                ours = self._event(row.connection, record, talk)
                if not found and number not in taken and _name(theirs) == _name(ours):
                    taken.append(number)
                    found.append(ours)
            return bool(found)

        if not await talk.wait_for(look, self._patience_s(row)):
            return [f"no {row.kind} event"]
        self._identities.learn(theirs, found[0])
        return value_differences(theirs, found[0])

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
        return value_differences(theirs, ours)


def _name(event: Any) -> str:
    """What an event is, in a few words: its type, and task and state of an update."""
    match event["type"]:
        case "UPDATE":
            status = event["update"]["status"]
        case "TASK_UPDATED":
            status = event["task_updated"]["status"]
        case other:
            return str(other)
    return f"{event['type']} {status['task_id']['value']} {status['state']}"


async def _refuse(request: Any) -> Any:
    return reply(404, request=request)
