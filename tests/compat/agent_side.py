"""Replays the master, the clients and the executors of a session against our agent."""

import asyncio
import signal
from collections import deque
from collections.abc import Collection
from pathlib import Path
from typing import Any

from tests.compat.agent_process import AgentProcess
from tests.compat.comparison import answer_differences, our_value, recorded_value, value_differences
from tests.compat.identities import Identities
from tests.compat.inbox import Inbox
from tests.compat.recording import Closed, Happening, Moment, Row, read_session
from tests.compat.requests import request_bytes
from tests.compat.sessions import Session
from tests.compat.stand_ins import StandIns
from tests.compat.talk import Talk
from tests.compat.verdict import Findings
from tfmesos.transport import HttpServer, LibprocessMessage, TcpAddress, reply
from tfmesos.wire import decode, executor_pb2, internal_pb2
from tfmesos.wire.json_codec import message_to_dict
from tfmesos.wire.names import message_class
from tfmesos.wire.text import state_name

PATIENCE_S = 30.0
IMPATIENCE_S = 0.1
_TRY_LATER = 503
"""What an agent that recovers answers to executors, which try again then."""
_PAUSE_S = 0.1
_SENDERS = ("master", "client", "executor")
_UNASKED = ("PongSlaveMessage", "RegisterSlaveMessage", "ReregisterSlaveMessage")
"""What an agent sends as often as it likes."""


class AgentReplay:
    """One session against one agent of ours, which is killed and started anew where the recorded one was."""

    def __init__(
        self, session: Session, absent: Collection[int], directory: Path, patience_s: float = PATIENCE_S
    ) -> None:
        self._session = session
        self._events = read_session(session.name)
        self._absent = absent
        self._directory = directory
        self._patience = patience_s
        self._identities = Identities()
        self._inbox = Inbox()
        self._stand_ins = (
            StandIns(directory, for_commands=session.stand_in_commands) if session.stand_in_executors else None
        )
        self._talks: dict[int, Talk] = {}
        self._sent: dict[int, deque[bool]] = {}
        self._last: dict[int, bytes] = {}
        self._taken: dict[int, list[int]] = {}
        self._master: HttpServer | None = None
        self._address = TcpAddress("127.0.0.1", 0)
        self._agent: AgentProcess
        self._title = ""
        self._may_end = False
        self._may_recover = False
        self._pings: dict[str, Row] = {}
        self._subscriptions = _last_subscriptions(self._events)
        self.findings = Findings(session=session.name, side="agent")

    async def run(self) -> None:
        """Replay all; `findings` then holds how it went."""
        await self._start_master()
        self._agent = AgentProcess(self._directory, self._address, self._session.agent_flags)
        self._identities.replace("@127.0.0.1:5050", f"@127.0.0.1:{self._address.port}")
        self._identities.replace("@127.0.0.1:5051", f"@127.0.0.1:{self._agent.address.port}")
        self._identities.replace("/var/lib/mesos/agent", str(self._agent.work_dir))
        self._agent.start()
        try:
            for event in self._events:
                await self._replay(event)
            self._note_unasked()
        finally:
            for talk in self._talks.values():
                await talk.close()
            await self._stop_master()
            await self._agent.close()
            await self._inbox.close()
            if self._stand_ins is not None:
                self._stand_ins.close()

    async def _start_master(self) -> None:
        if self._master is None:
            self._master = await HttpServer.start(_refuse, self._address, self._inbox.receive)
            assert isinstance(self._master.address, TcpAddress)
            self._address = self._master.address

    async def _stop_master(self) -> None:
        if self._master is not None:
            await self._master.close()
            self._master = None

    async def _replay(self, event: Happening) -> None:
        if isinstance(event, Moment):
            await self._act(event.title)
        elif isinstance(event, Closed):
            await self._close(event)
        elif event.receiver == "agent" and event.sender in _SENDERS and event.is_request:
            await self._send(event)
        elif self._is_to_be_compared(event):
            self.findings.compared += 1
            self.findings.note(event, await self._compare(event))

    async def _act(self, title: str) -> None:
        """Do what the recorder did to the programs."""
        self._title = title
        self._inbox.forget(_UNASKED)
        self._may_end = self._may_end or "SIGUSR1" in title or "SIGTERM" in title
        for word, number in (("SIGSTOP", signal.SIGSTOP), ("SIGCONT", signal.SIGCONT), ("SIGUSR1", signal.SIGUSR1)):
            if title.startswith(word):
                self._agent.signal(number)
        if title.startswith("kill -9 of the master"):
            await self._stop_master()
        elif title.startswith("the master is started again"):
            await self._start_master()
        elif title.startswith("the agent is started again"):
            self._agent.start()

    async def _close(self, closed: Closed) -> None:
        if (closed.who, closed.client) == ("agent", "agent"):
            await self._end_agent()
        elif closed.who != "agent" and closed.connection in self._talks:
            await self._talks.pop(closed.connection).close()
            ended = self._subscriptions.get(closed.connection)
            if ended is not None and self._stand_ins is not None:
                self._stand_ins.end(*ended)

    async def _end_agent(self) -> None:
        """The recorded agent has ended; the heading says by what."""
        if "kill -9" in self._title and "agent" in self._title:
            self._agent.signal(signal.SIGKILL)
        elif "SIGTERM" in self._title:
            self._agent.signal(signal.SIGTERM)
        else:
            return
        await self._agent.wait()
        for connection in list(self._talks):
            await self._talks.pop(connection).close()
        self._may_recover = True
        if "restart" in self._title:
            self._agent.start()

    def _is_to_be_compared(self, row: Row) -> bool:
        """Not what the recorder kept only once, the answers to that, and what a stock executor alone would be told."""
        if row.sender != "agent" or row.receiver not in _SENDERS:
            return False
        if row.is_record:
            return row.connection in self._talks
        if row.is_request:
            return row.stem is not None and row.receiver == "master"
        return self._sent[row.connection].popleft() and row.stem is not None and row.connection in self._talks

    async def _send(self, row: Row) -> None:
        """Send a request; a ping that the recorder kept only once is sent again."""
        if row.kind == "PingSlaveMessage" and row.stem is not None:
            self._pings[row.meaning] = row
        sent = row if row.stem is not None else self._pings.get(row.meaning)
        is_alive = self._agent.is_alive
        assert is_alive or self._may_end, f"our agent has ended by itself: {self._agent.log[-2000:]}"
        self._sent.setdefault(row.connection, deque()).append(
            is_alive and row.stem is not None and not _is_of_a_driver(row)
        )
        self._may_end = self._may_end or row.kind == "ShutdownMessage"
        self.findings.replayed += row.stem is not None
        if not is_alive and not _is_of_a_driver(row):
            self.findings.note(row, ["our agent has ended"])
        if sent is None or not is_alive:
            return
        if row.sender == "executor" and self._stand_ins is not None:
            self.findings.note(row, await self._stand_ins.wait_running(self._patience))
        if row.connection not in self._talks or self._talks[row.connection].is_broken:
            self._talks[row.connection] = await Talk.open(self._agent.address)
        change = self._stand_ins.put_into if self._stand_ins is not None else None
        data = request_bytes(sent, self._identities, change)
        self._last[row.connection] = data
        await self._talks[row.connection].send(data)

    async def _compare(self, row: Row) -> list[str]:
        if row.is_request:
            return await self._compare_message(row)
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
        if answer.status == _TRY_LATER and self._may_recover:
            await asyncio.sleep(_PAUSE_S)
            await talk.send(self._last[row.connection])
            return await self._compare_answer(row, talk)
        self._may_recover = self._may_recover and row.receiver != "executor"
        return answer_differences(row, answer, self._identities)

    async def _compare_record(self, row: Row, talk: Talk) -> list[str]:
        theirs = recorded_value(row)
        taken, found = self._taken.setdefault(row.connection, []), list[Any]()

        def look() -> bool:
            for number, record in enumerate(talk.records):
                ours = our_value(executor_pb2.Event, record, talk.media_type)
                if not found and number not in taken and ours["type"] == theirs["type"]:
                    taken.append(number)
                    found.append(ours)
            return bool(found)

        if not await talk.wait_for(look, self._patience_s(row)):
            return [f"no {row.kind} event"]
        self._identities.learn(theirs, found[0])
        return value_differences(theirs, found[0])

    async def _compare_message(self, row: Row) -> list[str]:
        to_id, _, name = row.what.split()[1].lstrip("/").partition("/")
        cls = message_class(name)
        assert cls is not None, name
        theirs = recorded_value(row)

        def fits(message: LibprocessMessage) -> bool:
            if (message.to_id, message.name) != (to_id, name):
                return False
            return bool(_update(theirs) == _update(message_to_dict(decode(cls, message.body))))

        message = await self._inbox.take(fits, self._patience_s(row))
        if message is None:
            return [f"no {row.kind}"]
        ours = message_to_dict(decode(cls, message.body))
        self._identities.learn(theirs, ours)
        return value_differences(theirs, ours)

    def _note_unasked(self) -> None:
        """Messages to the master that the recording has not; one that is sent again counts once."""
        left = {(message.name.rpartition(".")[2], message.body) for message in self._inbox.left()}
        self.findings.beyond = sorted(_told(name, body) for name, body in left if name not in _UNASKED)


def _is_of_a_driver(row: Row) -> bool:
    """Whether a stock command executor says it over libprocess; ours is a part of the agent, which drops it."""
    return row.sender == "executor" and row.kind.endswith("Message")


def _told(name: str, body: bytes) -> str:
    """What a message is, in a few words."""
    if name != "StatusUpdateMessage":
        return name
    status = internal_pb2.StatusUpdateMessage.FromString(body).update.status
    return f"{name} {status.task_id.value} {state_name(status.state)}"


def _update(value: Any) -> Any:
    """Task and state that a StatusUpdateMessage tells."""
    status = value.get("update", {}).get("status", {})
    return status.get("task_id"), status.get("state")


def _last_subscriptions(events: list[Happening]) -> dict[int, tuple[str, str]]:
    """The connections of executors' last SUBSCRIBE calls that led to a stream, with ids of framework and executor."""
    rows = [event for event in events if isinstance(event, Row)]
    streams = {row.connection for row in rows if row.is_record and row.receiver == "executor"}
    last: dict[tuple[str, str], int] = {}
    for row in rows:
        if row.connection in streams and row.is_request:
            call = recorded_value(row)
            last[call["framework_id"]["value"], call["executor_id"]["value"]] = row.connection
    return {connection: ids for ids, connection in last.items()}


async def _refuse(request: Any) -> Any:
    return reply(404, request=request)
