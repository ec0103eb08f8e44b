"""What of an answer, event or message has to be equal: its status, its headers, the set of its keys, its verdicts."""

import json
import re
from collections.abc import Iterator
from typing import Any

from google.protobuf.message import Message

from tests.compat.identities import Identities
from tests.compat.recording import Row
from tests.wire.recorded import type_of
from tfmesos.wire import decode
from tfmesos.wire.json_codec import message_from_json, message_to_dict

_VERDICTS = ("state", "source", "reason", "message")
_HEADERS = ("content-type", "mesos-stream-id")


def recorded_value(row: Row) -> Any:
    """The body of a recorded event or message as a JSON value; an absent body is an empty message."""
    path = row.body_path(".json") or row.body_path(".bin")
    if path is None:
        return {}
    if path.suffix == ".json":
        return json.loads(path.read_bytes())
    cls = type_of(path)
    assert cls is not None, path
    return message_to_dict(decode(cls, path.read_bytes()))


def our_value(cls: type[Message], body: bytes, media_type: str) -> Any:
    """The same of ours."""
    is_json = media_type.startswith("application/json")
    return message_to_dict(message_from_json(cls, body) if is_json else decode(cls, body))


def keys_of(value: Any, prefix: str = "") -> Iterator[str]:
    """All paths of keys: `offers.offers[].id.value`."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield f"{prefix}{key}"
            yield from keys_of(item, f"{prefix}{key}.")
    elif isinstance(value, list):
        for item in value:
            yield from keys_of(item, f"{prefix[:-1]}[].")


def value_differences(recorded: Any, ours: Any, identities: Identities) -> list[str]:
    """How the keys differ, and for a status update also its state, source, reason and message.

    Ids in a message are ours; the order in which it names resources does not count.
    """
    recorded_keys, our_keys = set(keys_of(recorded)), set(keys_of(ours))
    found = [f"lacks {key}" for key in _outermost(recorded_keys - our_keys)]
    found += [f"has {key}" for key in _outermost(our_keys - recorded_keys)]
    for verdict in _VERDICTS:
        theirs, our = _verdict(recorded, verdict), _verdict(ours, verdict)
        if _words(theirs, identities) != _words(our, identities):
            found.append(f"{verdict} is {our!r}, not {theirs!r}")
    return found


def answer_differences(
    recorded: bytes, status: int, headers: dict[str, str], body: bytes | None, identities: Identities
) -> list[str]:
    """How the head of an answer differs, and the body if it is a text."""
    head, _, recorded_body = recorded.partition(b"\r\n\r\n")
    lines = head.decode("latin-1").split("\r\n")
    recorded_status = int(lines[0].split()[1])
    recorded_headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:])}
    found = []
    if status != recorded_status:
        found.append(f"status {status}, not {recorded_status}")
    for name in _HEADERS:
        theirs, our = recorded_headers.get(name), headers.get(name)
        if name == "mesos-stream-id":
            theirs, our = theirs and "present", our and "present"
        if theirs != our:
            found.append(f"{name} is {our!r}, not {theirs!r}")
    if recorded_headers.get("content-type", "").startswith("text/plain") and body is not None:
        theirs, our = identities.put_into(recorded_body.decode()), body.decode()
        if theirs != our and not found:
            found.append(f"text {our!r}, not {theirs!r}")
    return found


def _words(text: Any, identities: Identities) -> list[str]:
    return sorted(re.split(r"[ ;]+", identities.put_into(text))) if isinstance(text, str) else []


def _outermost(keys: set[str]) -> list[str]:
    """Without keys whose parent is named already."""
    return sorted(key for key in keys if not any(key.startswith((f"{other}.", f"{other}[")) for other in keys))


def _verdict(value: Any, name: str) -> Any:
    """A field of a TaskStatus or of an ERROR event, whichever this is."""
    if not isinstance(value, dict):
        return None
    if "error" in value and name == "message":
        return value["error"].get("message")
    part = value.get("update")
    return part.get("status", {}).get(name) if isinstance(part, dict) else None
