"""What of an answer, event or message has to be equal: its status, its headers, the set of its keys, its verdicts."""

import gzip
import json
import re
from collections.abc import Iterator
from typing import Any

from google.protobuf.message import Message

from tests.compat.identities import Identities
from tests.compat.recording import Row
from tests.compat.talk import Answer
from tests.wire.recorded import type_of
from tfmesos.wire import decode
from tfmesos.wire.json_codec import message_to_dict

_VERDICTS = ("state", "source", "reason", "message")
_HEADERS = ("content-type", "content-encoding", "content-disposition", "allow", "www-authenticate")
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_ID = re.compile(rf"{_UUID.pattern}(-[A-Z]*\d+)?")
_WORK_DIR = re.compile(r"^/.*(?=/slaves/)")
_PORT = re.compile(r"(?<=127\.0\.0\.1:)\d+")


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
    return json.loads(body) if media_type.startswith("application/json") else message_to_dict(decode(cls, body))


def keys_of(value: Any, prefix: str = "") -> Iterator[str]:
    """All paths of keys: `offers.offers[].id.value`; ids and folders in keys are left out."""
    if isinstance(value, dict):
        for key, item in value.items():
            path = prefix + _WORK_DIR.sub("WORK_DIR", _ID.sub("ID", key))
            yield path
            yield from keys_of(item, f"{path}.")
    elif isinstance(value, list):
        for item in value:
            yield from keys_of(item, f"{prefix[:-1]}[].")


def value_differences(recorded: Any, ours: Any) -> list[str]:
    """How the keys differ, and for a status update also its state, source, reason and message.

    Which ids a text names, and in which order resources, does not count.
    """
    recorded_keys, our_keys = set(keys_of(recorded)), set(keys_of(ours))
    found = [f"lacks {key}" for key in _outermost(recorded_keys - our_keys)]
    found += [f"has {key}" for key in _outermost(our_keys - recorded_keys)]
    for verdict in _VERDICTS:
        theirs, our = _verdict(recorded, verdict), _verdict(ours, verdict)
        if _words(theirs) != _words(our):
            found.append(f"{verdict} is {our!r}, not {theirs!r}")
    return found


def answer_differences(row: Row, answer: Answer, identities: Identities) -> list[str]:
    """How an answer differs: its status and headers, and the keys of its body, or the body if it is a text."""
    recorded = row.read(".http")
    assert recorded is not None, row
    head, _, recorded_body = recorded.partition(b"\r\n\r\n")
    lines = head.decode("latin-1").split("\r\n")
    status = int(lines[0].split()[1])
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:])}
    if answer.status != status:
        return [f"status {answer.status}, not {status}: {(answer.body or b'')[:200]!r}"]
    found = [
        f"{name} is {our!r}, not {theirs!r}"
        for name in _HEADERS
        if (theirs := headers.get(name)) != (our := answer.headers.get(name))
    ]
    if ("mesos-stream-id" in headers) != ("mesos-stream-id" in answer.headers):
        found.append("mesos-stream-id is there or not")
    theirs, our = headers.get("location", ""), answer.headers.get("location", "")
    if _PORT.sub("", theirs) != _PORT.sub("", our):
        found.append(f"location is {our!r}, not {theirs!r}")
    if found or answer.body is None:
        return found
    return _body_differences(row, headers, recorded_body, answer.body, identities)


def _body_differences(
    row: Row, headers: dict[str, str], recorded: bytes, ours: bytes, identities: Identities
) -> list[str]:
    media_type = headers.get("content-type", "")
    if headers.get("content-encoding") == "gzip":
        recorded, ours = gzip.decompress(recorded), gzip.decompress(ours)
    if media_type.startswith("text/plain"):
        theirs, our = identities.put_into(recorded.decode()), ours.decode()
        return [f"text {our!r}, not {theirs!r}"] if theirs != our else []
    if media_type == "text/javascript":
        recorded_name, recorded = _unwrapped(recorded)
        our_name, ours = _unwrapped(ours)
        if recorded_name != our_name:
            return [f"calls {our_name!r}, not {recorded_name!r}"]
    elif media_type == "application/x-protobuf":
        path = row.body_path(".bin")
        cls = type_of(path) if path is not None else None
        if cls is None:
            return []
        return _compared(message_to_dict(decode(cls, recorded)), message_to_dict(decode(cls, ours)), identities)
    elif media_type != "application/json":
        return []
    return _compared(json.loads(recorded), json.loads(ours), identities)


def _compared(recorded: Any, ours: Any, identities: Identities) -> list[str]:
    identities.learn(recorded, ours)
    return value_differences(recorded, ours)


def _unwrapped(body: bytes) -> tuple[bytes, bytes]:
    """Name and argument of a JSONP answer."""
    name, _, argument = body.partition(b"(")
    return name, argument.rpartition(b")")[0]


def _words(text: Any) -> list[str]:
    """In any order (resources have none), and whatever the ids in it are."""
    return sorted(re.split(r"[ ;]+", _UUID.sub("", text))) if isinstance(text, str) else []


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
