"""Every recorded body of Mesos 1.11 whose message type we know goes through our codecs and comes back the same."""

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from google.protobuf.message import Message

from tests.wire.recorded import TRANSCRIPTS, sender_of, type_of
from tfmesos.wire import (
    DecodeError,
    JsonError,
    JsonSyntaxError,
    RecordDecoder,
    decode,
    encode_record,
    executor_pb2,
    scheduler_pb2,
)
from tfmesos.wire.json_codec import message_from_json, message_to_dict, message_to_json
from tfmesos.wire.names import message_name

# How many bodies the recordings hold; fewer means that this test no longer knows their types.
PROTOBUF_BODIES = 1361
JSON_BODIES_OF_STOCK_MESOS = 484
JSON_BODIES_OF_CLIENTS = 459
STREAMS = 86

STOCK = ("master", "agent")


class Recorded(NamedTuple):
    path: Path
    cls: type[Message]
    sender: str


def recorded(suffix: str) -> Iterator[Recorded]:
    for path in sorted(TRANSCRIPTS.glob(f"*/*{suffix}")):
        cls = type_of(path)
        if cls is not None:
            yield Recorded(path, cls, sender_of(path))


def without_empty_lists(value: Any) -> Any:
    """The operator API's master writes `"tasks":[]`, and clients write empty lists; a message does not keep them."""
    if isinstance(value, dict):
        return {key: without_empty_lists(item) for key, item in value.items() if item != []}
    return [without_empty_lists(item) for item in value] if isinstance(value, list) else value


def with_types(value: Any) -> Any:
    """A value in which 1, 1.0 and True differ and the order of keys counts."""
    if isinstance(value, dict):
        return [(key, with_types(item)) for key, item in value.items()]
    return [with_types(item) for item in value] if isinstance(value, list) else (type(value), value)


def is_part(wanted: Any, whole: Any) -> bool:
    """Whether all that `wanted` says is in `whole`."""
    if isinstance(wanted, dict):
        return isinstance(whole, dict) and all(key in whole and is_part(wanted[key], whole[key]) for key in wanted)
    if isinstance(wanted, list):
        return isinstance(whole, list) and all(map(is_part, wanted, whole)) and len(wanted) == len(whole)
    return bool(wanted == whole)


def holds_v0_field(message: Message) -> bool:
    """Whether bytes of the v1 API carry SlaveInfo.checkpoint, unknown to v1 and so written last by stock."""
    return isinstance(message, executor_pb2.Event) and message.subscribed.agent_info.HasField("checkpoint")


def test_every_protobuf_body_decodes_and_encodes_to_the_same_bytes() -> None:
    count = 0
    for path, cls, _ in recorded(".bin"):
        body = path.read_bytes()
        message = decode(cls, body)
        assert message.IsInitialized(), path
        again = message.SerializeToString()
        if holds_v0_field(message):
            assert sorted(again) == sorted(body), path
            assert decode(cls, again) == message, path
        else:
            assert again == body, path
        count += 1
    print(f"{count} recorded protobuf bodies decode and encode to the same bytes")
    assert count >= PROTOBUF_BODIES


def test_every_libprocess_message_is_found_by_the_name_it_travels_under() -> None:
    for path, cls, _ in recorded("Message.bin"):
        request_line = path.with_suffix(".http").read_bytes().partition(b"\r\n")[0].decode()
        assert request_line.split()[1].rpartition("/")[2] == message_name(cls)


def test_every_json_body_of_stock_mesos_is_written_the_same() -> None:
    count = 0
    for path, cls, sender in recorded(".json"):
        if sender not in STOCK:
            continue
        body = path.read_bytes()
        written = message_to_json(message_from_json(cls, body))
        assert with_types(json.loads(written)) == with_types(without_empty_lists(json.loads(body))), path
        count += 1
    print(f"{count} recorded JSON bodies of stock Mesos are read and written with the same keys, types, values, order")
    assert count >= JSON_BODIES_OF_STOCK_MESOS


def test_every_json_body_of_clients_keeps_its_content() -> None:
    count = 0
    for path, cls, sender in recorded(".json"):
        body = path.read_bytes()
        try:
            message = message_from_json(cls, body)
        except JsonError:
            assert path.parent.name in ("scheduler-errors", "executor-errors"), path
            continue
        written = message_to_dict(message)
        assert message_to_dict(message_from_json(cls, message_to_json(message))) == written, path
        if sender not in STOCK:
            right = not path.parent.name.endswith("-errors")
            assert not right or is_part(without_empty_lists(json.loads(body)), written), path
            count += 1
    print(f"{count} recorded JSON bodies of clients keep their content")
    assert count >= JSON_BODIES_OF_CLIENTS


def test_every_stream_in_random_pieces_gives_its_records() -> None:
    pieces = random.Random(1)
    count = 0
    for path in sorted(TRANSCRIPTS.glob("*/*.recordio")):
        stream = path.read_bytes()
        decoder, records, rest = RecordDecoder(), list[bytes](), stream
        while rest:
            cut = pieces.randint(1, 40)
            records += decoder.feed(rest[:cut])
            rest = rest[cut:]
        assert b"".join(map(encode_record, records)) == stream, path
        count += bool(records)
    print(f"{count} recorded streams")
    assert count >= STREAMS


@pytest.mark.parametrize(
    ("file", "text"),
    [
        (
            "scheduler-errors/045-scheduler-to-master-SUBSCRIBE",
            "Missing required fields: subscribe.framework_info.user",
        ),
        ("scheduler-errors/047-scheduler-to-master-SUBSCRIBE", "Not expecting a JSON number for field 'name'"),
        ("scheduler-errors/108-scheduler-to-master-KILL", "Missing required fields: kill.task_id"),
        (
            "scheduler-errors/106-scheduler-to-master-ACKNOWLEDGE",
            "Failed to base64 decode bytes field 'uuid': Invalid character '*'",
        ),
    ],
)
def test_a_wrong_body_gets_the_recorded_text(file: str, text: str) -> None:
    with pytest.raises(JsonError) as caught:
        message_from_json(scheduler_pb2.Call, (TRANSCRIPTS / f"{file}.json").read_bytes())
    assert str(caught.value) == text
    number = f"{int(Path(file).name[:3]) + 1:03d}"
    answer = next((TRANSCRIPTS / Path(file).parent).glob(f"{number}-*.body")).read_text()
    assert answer == f"Failed to convert JSON into Call protobuf: {text}"


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("executor-errors/064-executor-to-agent-HEARTBEAT", "Missing required fields: executor_id"),
        ("executor-errors/066-executor-to-agent-HEARTBEAT", "Missing required fields: framework_id"),
        ("executor-errors/092-executor-to-agent-UPDATE", "Missing required fields: update.status.state"),
        ("executor-errors/094-executor-to-agent-UPDATE", "Failed to find enum for 'TASK_NO_SUCH'"),
    ],
)
def test_a_wrong_executor_call_gets_the_recorded_text(file: str, text: str) -> None:
    with pytest.raises(JsonError) as caught:
        message_from_json(executor_pb2.Call, (TRANSCRIPTS / f"{file}.json").read_bytes())
    assert str(caught.value) == text


def test_bytes_that_are_no_message_are_refused() -> None:
    body = (TRANSCRIPTS / "scheduler-errors").glob("*undecodable.bin")
    files = [*body, *TRANSCRIPTS.glob("*/*undecodable.bin")]
    assert files
    for path in files:
        with pytest.raises(DecodeError, match="Failed to parse Call"):
            decode(scheduler_pb2.Call, path.read_bytes())


@pytest.mark.parametrize("path", sorted(TRANSCRIPTS.glob("*/*-bad-JSON.json")), ids=lambda path: path.name)
def test_what_is_no_json_gets_the_recorded_text(path: Path) -> None:
    with pytest.raises(JsonSyntaxError) as caught:
        message_from_json(scheduler_pb2.Call, path.read_bytes())
    assert str(caught.value) == "syntax error at line 1 near: "
