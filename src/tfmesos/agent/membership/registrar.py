"""Keeps the agent registered: the shell of `registration`."""

from __future__ import annotations

import asyncio
import logging
from random import Random
from typing import Protocol, assert_never

from google.protobuf.message import Message

from tfmesos.agent.alarm import Alarm
from tfmesos.agent.membership.mailbox import Mailbox, send
from tfmesos.agent.membership.registration import (
    Action,
    Detect,
    Doubt,
    Join,
    Leave,
    Link,
    Register,
    Registration,
    Stop,
)
from tfmesos.discovery import Detector, Leader, find_stranger, master_pid, stranger_text
from tfmesos.transport import NO_PID, Backoff, ConnectError, LibprocessNode, Pid
from tfmesos.wire import internal_pb2

_log = logging.getLogger(__name__)
_DETECTION_RETRY_S = (1.0, 30.0)


class Member(Protocol):
    """The agent, as its membership sees it. All are called from the event loop and must not wait."""

    def build_registration(self, agent_id: str | None) -> Message:
        """What to send to the master: a registration, or a re-registration if there is an id."""

    def build_resources_update(self, agent_id: str) -> Message:
        """What to send to the master after each registration."""

    def joined(self, agent_id: str, is_new: bool) -> None:
        """The agent is registered; `is_new`: it has just got its id."""

    def left(self) -> None:
        """The agent is not registered any more; a `joined` follows or nothing."""

    def reconcile(self, reconciliations: list[internal_pb2.ReconcileTasksMessage]) -> None:
        """The master knows tasks that this agent did not list; follows `joined`."""

    def stopped(self, reason: str) -> None:
        """The agent has to end."""


class Membership:
    """What the rest of the agent sees of the registration."""

    def __init__(
        self,
        node: LibprocessNode,
        detector: Detector,
        member: Member,
        backoff_factor_s: float,
        random: Random,
        agent_id: str | None = None,
    ) -> None:
        """`agent_id`: that of the agent before, if this one goes on as the same."""
        self._node = node
        self._detector = detector
        self._member = member
        self._core = Registration(backoff_factor_s, random, agent_id)
        self._random = random
        self._loop = asyncio.get_running_loop()
        self._alarm = Alarm(self._core.deadline, lambda now: self._do(self._core.tick(now)))
        self._watch: asyncio.Task[None] | None = None
        self._examination: asyncio.Task[None] | None = None
        self._group: asyncio.TaskGroup | None = None
        self._master = NO_PID
        self.leader: Leader | None = None

    @property
    def agent_id(self) -> str | None:
        return self._core.agent_id

    @property
    def is_registered(self) -> bool:
        return self._core.is_registered

    @property
    def master(self) -> Pid:
        """The master's process; NO_PID while none is known."""
        return self._master

    def is_master(self, sender: Pid) -> bool:
        """Whether a message comes from the master that this agent is registered with."""
        return self._core.is_registered and sender == self._master

    def send(self, message: Message) -> None:
        """Send to the master, at most once."""
        send(self._node, self._master, message)

    def begin(self, group: asyncio.TaskGroup) -> None:
        """Start to look for a master; what runs meanwhile runs in the group."""
        self._group = group
        self._do(self._core.begin())

    def listen(self, mailbox: Mailbox) -> None:
        """Take the messages about membership."""
        mailbox.on(internal_pb2.PingSlaveMessage, self._pinged)
        mailbox.on(internal_pb2.SlaveRegisteredMessage, self._registered)
        mailbox.on(internal_pb2.SlaveReregisteredMessage, self._reregistered)
        mailbox.on(internal_pb2.ShutdownMessage, self._ordered_to_stop)

    def close(self) -> None:
        """Stop looking, waiting and watching the link."""
        self._core.close(self._loop.time())
        self._alarm.close()
        if self._master:
            self._node.unlink(self._master)
        for task in (self._watch, self._examination):
            if task is not None:
                task.cancel()

    def _pinged(self, sender: Pid, message: internal_pb2.PingSlaveMessage) -> None:
        send(self._node, sender, internal_pb2.PongSlaveMessage())
        if sender.host == self._master.host and sender.port == self._master.port:
            self._do(self._core.pinged(message.connected, self._loop.time()))

    def _registered(self, sender: Pid, message: internal_pb2.SlaveRegisteredMessage) -> None:
        timeout_s = message.connection.total_ping_timeout_seconds or None
        self._do(self._core.registered(str(sender), message.slave_id.value, timeout_s, self._loop.time()))

    def _reregistered(self, sender: Pid, message: internal_pb2.SlaveReregisteredMessage) -> None:
        timeout_s = message.connection.total_ping_timeout_seconds or None
        self._do(self._core.reregistered(str(sender), message.slave_id.value, timeout_s, self._loop.time()))
        if self.is_master(sender):
            self._member.reconcile(list(message.reconciliations))

    def _ordered_to_stop(self, sender: Pid, message: internal_pb2.ShutdownMessage) -> None:
        self._do(self._core.ordered_to_stop(str(sender), message.message, self._loop.time()))

    def _do(self, actions: list[Action]) -> None:
        for action in actions:
            match action:
                case Detect():
                    self._detect()
                case Link():
                    self._node.link(self._master, self._lost_link, reconnect=True)
                case Register():
                    _log.info(
                        "registering with %s%s", action.master, f" as {action.agent_id}" if action.agent_id else ""
                    )
                    self.send(self._member.build_registration(action.agent_id))
                case Doubt():
                    self._examine()
                case Join():
                    _log.info("registered with %s as %s", self._master, action.agent_id)
                    self._member.joined(action.agent_id, action.is_new)
                    self.send(self._member.build_resources_update(action.agent_id))
                case Leave():
                    _log.warning("no longer registered with %s: %s", self._master, action.reason)
                    self._member.left()
                case Stop():
                    _log.error("stopping: %s", action.reason)
                    self._member.stopped(action.reason)
                case _:
                    assert_never(action)
        self._alarm.update()

    def _detect(self) -> None:
        assert self._group is not None
        if self._watch is not None:
            self._watch.cancel()
        self._watch = self._group.create_task(self._watch_leader(), name="detect the leading master")

    def _examine(self) -> None:
        assert self._group is not None
        assert self.leader is not None
        if self._examination is not None:
            self._examination.cancel()
        self._examination = self._group.create_task(_tell_stranger(self.leader), name="find out who answers")

    async def _watch_leader(self) -> None:
        leader: Leader | None = None
        backoff = Backoff(*_DETECTION_RETRY_S, self._random)
        while True:
            try:
                leader = await self._detector.detect(leader)
            except ConnectError as error:
                _log.warning("cannot tell who leads: %s", error)
                await asyncio.sleep(backoff.next())
                continue
            self._found(leader)

    def _found(self, leader: Leader) -> None:
        pid = master_pid(leader)
        if not pid:
            _log.error("the master at %s has no IPv4 address: agents cannot register there", leader.address)
            return
        if self._master and self._master != pid:
            self._node.unlink(self._master)
        _log.info("the leading master is %s", pid)
        self.leader, self._master = leader, pid
        self._do(self._core.found_master(str(pid), self._loop.time()))

    def _lost_link(self, to: Pid) -> None:
        if to == self._master:
            self._do(self._core.lost_link(self._loop.time()))


async def _tell_stranger(leader: Leader) -> None:
    stranger = await find_stranger(leader.address)
    if stranger is not None:
        _log.error("%s; asking it again and again", stranger_text(leader.address, stranger))
