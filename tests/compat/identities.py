"""What differs from run to run by nature: ids and uuids. Learnt from pairs of messages, put into what is sent."""

import base64
import re
from collections.abc import Iterator
from typing import Any

from google.protobuf.message import Message

_UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
_ID = re.compile(rf"{_UUID}(-[A-Z]*\d+)?")
_RAW_UUID = re.compile(r"[A-Za-z0-9+/]{22}==")
_ANY = re.compile(rf"{_UUID}(?:-[A-Z]*\d+)?|(?<![A-Za-z0-9+/]){_RAW_UUID.pattern}")


class Identities:
    """Ids of the recording and ours that stand for them."""

    def __init__(self) -> None:
        self._ours: dict[str, str] = {}
        self._texts: dict[str, str] = {}

    def replace(self, recorded: str, ours: str) -> None:
        """From now on put this text (an address, a folder) in place of the recorded one."""
        self._texts[recorded] = ours

    def learn(self, recorded: Any, ours: Any) -> None:
        """Take the ids at equal places of two messages (as JSON values) as equal."""
        for recorded_text, our_text in _pairs(recorded, ours):
            if _ID.fullmatch(recorded_text) or _RAW_UUID.fullmatch(recorded_text):
                self._ours.setdefault(recorded_text, our_text)
                if "-" in recorded_text[36:] and "-" in our_text[36:]:
                    self._ours.setdefault(recorded_text[:36], our_text[:36])

    def put_into(self, text: str) -> str:
        """The text with our ids; an unknown id of a known master keeps its ending."""
        for recorded, ours in self._texts.items():
            text = text.replace(recorded, ours)
        return _ANY.sub(lambda match: self._translated(match[0]), text)

    def put_into_message(self, message: Message) -> None:
        """The same for all texts and uuids in a message."""
        for field, value in message.ListFields():
            if field.message_type is not None:
                if field.message_type.GetOptions().map_entry:
                    continue
                for part in [value] if isinstance(value, Message) else value:
                    self.put_into_message(part)
            elif isinstance(value, str):
                setattr(message, field.name, self.put_into(value))
            elif isinstance(value, bytes) and len(value) == 16:
                raw = self._ours.get(base64.b64encode(value).decode())
                setattr(message, field.name, base64.b64decode(raw) if raw is not None else value)

    def _translated(self, recorded: str) -> str:
        if recorded in self._ours:
            return self._ours[recorded]
        master, dash, ending = recorded[:36], recorded[36:37], recorded[37:]
        return self._ours.get(master, master) + dash + ending


def _pairs(recorded: Any, ours: Any) -> Iterator[tuple[str, str]]:
    if isinstance(recorded, dict) and isinstance(ours, dict):
        for key in recorded.keys() & ours.keys():
            yield from _pairs(recorded[key], ours[key])
    elif isinstance(recorded, list) and isinstance(ours, list):
        for pair in zip(recorded, ours, strict=False):
            yield from _pairs(*pair)
    elif isinstance(recorded, str) and isinstance(ours, str):
        yield recorded, ours
