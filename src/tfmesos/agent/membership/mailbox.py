"""Libprocess messages for this agent: from bytes to calls, and back."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TypeVar

from google.protobuf.message import Message

from tfmesos.agent.membership.identity import AGENT_ID
from tfmesos.transport import LibprocessMessage, LibprocessNode, Pid
from tfmesos.wire import DecodeError, decode
from tfmesos.wire.names import message_name

M = TypeVar("M", bound=Message)
_log = logging.getLogger(__name__)


class Mailbox:
    """Receives what is addressed to the agent and sends in its name."""

    def __init__(self) -> None:
        self._handlers: dict[str, tuple[type[Message], Callable[[Pid, Message], None]]] = {}

    def on(self, kind: type[M], handle: Callable[[Pid, M], None]) -> None:
        """Give messages of this kind, complete, to `handle` with their sender."""
        self._handlers[message_name(kind)] = (kind, handle)  # type: ignore[assignment]

    def receive(self, arrived: LibprocessMessage) -> bool:
        """Take a message; False if no process of that name lives here. Mesos drops unknown and broken ones, too."""
        if arrived.to_id != AGENT_ID:
            return False
        found = self._handlers.get(arrived.name)
        if found is None:
            _log.warning("dropped %s from %s: this agent has no use for it", arrived.name, arrived.sender)
            return True
        kind, handle = found
        try:
            message = decode(kind, arrived.body)
        except DecodeError:
            _log.warning("dropped %s from %s: broken", arrived.name, arrived.sender)
            return True
        if not message.IsInitialized():
            _log.warning("dropped %s from %s: fields are missing", arrived.name, arrived.sender)
            return True
        handle(arrived.sender, message)
        return True


def send(node: LibprocessNode, to: Pid, message: Message) -> None:
    """Send a message in the agent's name, at most once."""
    node.send(to, AGENT_ID, message_name(message), message.SerializeToString())
